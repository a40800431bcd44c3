/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_DEVICE_H
#define RLO_RUNTIME_DEVICE_H

#include "relayout/opencl.h"

/**
 * Everything rlo_device_list tells, on the heap: *out_entries goes to
 * rlo__free. Exactly one entry is the default.
 * @return as rlo_device_list; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__device_list(rlo_device_entry **out_entries,
                                          int32_t *out_count);

/** Name a device for a message; cut to fit, empty if the device does not
 *  say. */
void rlo__device_get_name(cl_device_id device, char *name, size_t name_bytes);

#endif
