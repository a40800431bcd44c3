/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_DEVICE_H
#define RLO_RUNTIME_DEVICE_H

#include "relayout/opencl.h"

/**
 * Lists all devices on the heap; the caller releases *out_entries with
 * rlo__free. Exactly one entry is the default.
 * @return as rlo_device_list; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__device_list(rlo_device_entry **out_entries,
                                          int32_t *out_count);

/** Writes the name of a device for a message: truncated to fit, empty if the
 *  device reports none. */
void rlo__device_get_name(cl_device_id device, char *name, size_t name_bytes);

#endif
