/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_OPENCL_WISDOM_H
#define RELAYOUT_OPENCL_WISDOM_H

#include "relayout/opencl.h"

RLO_BEGIN_DECLS

/*
 * Wisdom: what was fastest on this device when it was measured, by
 * rlo_plan_create with RLO_EFFORT_MEASURE. A context remembers it as long as it
 * lives, and plans with it whatever the effort; texts and files carry it on.
 * relayout/wisdom.h tells the form.
 */

/**
 * Take over wisdom. Records of other devices, drivers and tables are ignored;
 * of two for one problem, the later counts.
 * @param text  any bytes; NULL only if num_bytes is 0.
 * @param out_taken, out_ignored  records; may be NULL.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL context; RLO_PARSE with the
 *         number of the line that is wrong, with nothing taken;
 *         RLO_OUT_OF_RANGE beyond 16384 problems, or RLO_OUT_OF_MEMORY, with
 *         the records before it taken.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_context_import_wisdom(rlo_context *context,
                          const char *text,
                          size_t num_bytes,
                          int32_t *out_taken,
                          int32_t *out_ignored);

/** Print the context's wisdom; snprintf rules, as rlo_shape_format: the length
 *  is returned without the NUL, 0 for a NULL context. What another thread
 *  measures between two calls can make it longer. Threads: safe. */
RLO_API size_t rlo_context_export_wisdom(const rlo_context *context,
                                         char *buffer,
                                         size_t capacity);

/** Take over a file of wisdom, as rlo_context_import_wisdom does.
 *  @return also RLO_NOT_FOUND if there is no such file; RLO_IO;
 *          RLO_OUT_OF_RANGE beyond 64 MiB. Threads: safe. */
RLO_API RLO_NODISCARD rlo_status rlo_context_load_wisdom(rlo_context *context,
                                                         const char *path,
                                                         int32_t *out_taken,
                                                         int32_t *out_ignored);

/**
 * Add the context's wisdom to a file, which then holds what it held of other
 * devices and drivers, what it held of this one, and what the context knows,
 * which wins. The file appears whole or stays as it was; of two processes that
 * save at once, one may lose what the other wrote. A file that is no wisdom of
 * ours is not touched.
 * @return RLO_OK; RLO_INVALID_ARGUMENT for a NULL context; RLO_PARSE if the
 *         file is no wisdom; RLO_IO; RLO_NOT_FOUND if its folder does not
 * exist; RLO_OUT_OF_RANGE beyond 64 MiB or 16384 problems; RLO_OUT_OF_MEMORY.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status rlo_context_save_wisdom(rlo_context *context,
                                                         const char *path);

/** Forget what the context knows. Plans made stay what they are. NULL is legal.
 *  Threads: safe. */
RLO_API void rlo_context_clear_wisdom(rlo_context *context);

/**
 * As rlo_plan_explain for the context's device, with its wisdom: what
 * rlo_plan_create would plan for memory aligned so. Nothing is measured.
 * @param out_report  goes to rlo_plan_report_release.
 * @return as rlo_plan_explain; RLO_INVALID_ARGUMENT for a NULL context;
 *         RLO_OUT_OF_MEMORY.
 * Threads: safe.
 */
RLO_API RLO_NODISCARD rlo_status
rlo_context_explain(rlo_context *context,
                    const rlo_problem *problem,
                    const rlo_plan_options *options,
                    int64_t src_alignment_bytes,
                    int64_t dst_alignment_bytes,
                    rlo_plan_report **out_report);

RLO_END_DECLS

#endif
