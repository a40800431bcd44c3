/* SPDX-License-Identifier: Apache-2.0 */
/* A function, and none of those that null_rules.py names. */
#ifndef RELAYOUT_PLANTED_H
#define RELAYOUT_PLANTED_H

RLO_API rlo_status rlo_planted_look(const rlo_planted *thing, int32_t *out_count);

#endif
