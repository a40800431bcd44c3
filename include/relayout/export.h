/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_EXPORT_H
#define RELAYOUT_EXPORT_H

/** Marks a function of the public ABI; everything else is hidden. */
#if defined(__GNUC__)
#define RLO_API __attribute__((visibility("default")))
/** The result of this function must be used. */
#define RLO_NODISCARD __attribute__((warn_unused_result))
/** Checks the arguments behind a printf-style format. */
#define RLO_PRINTF(format_index, first_index) \
  __attribute__((format(printf, format_index, first_index)))
#else
#define RLO_API
#define RLO_NODISCARD
#define RLO_PRINTF(format_index, first_index)
#endif

#ifdef __cplusplus
#define RLO_BEGIN_DECLS extern "C" {
#define RLO_END_DECLS   }
#else
#define RLO_BEGIN_DECLS
#define RLO_END_DECLS
#endif

#endif
