/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_OPENCL_DEVICE_H
#define RELAYOUT_OPENCL_DEVICE_H

#include "relayout/opencl.h"

RLO_BEGIN_DECLS

/** A device as `relayout devices` lists it. Strings are cut to fit. */
typedef struct rlo_device_entry {
  cl_platform_id platform;
  cl_device_id device;
  int32_t platform_number;
  /** Place in rlo_device_list's order: what --device takes. */
  int32_t device_number;
  char platform_name[128];
  char device_name[128];
  char device_version[128];
  char driver_version[128];
  cl_device_type type;
  /** The device rlo_context_create_default would take. */
  bool is_default;
  /** Why it is, or why not: one sentence. */
  char reason[160];
  rlo_device_info info;
} rlo_device_entry;

/**
 * List every device of every platform, in the order of the loader.
 * @param out_entries  room for `capacity` entries; may be NULL if that is 0.
 * @param out_count    how many devices there are.
 * @return RLO_OK, also if there is no room for all; RLO_INVALID_ARGUMENT;
 *         RLO_NOT_FOUND if there is no OpenCL platform or no device;
 *         RLO_OUT_OF_MEMORY; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_device_list(rlo_device_entry *out_entries,
                                                 int32_t capacity,
                                                 int32_t *out_count);

/** The numbers planning needs, asked of a device. @return RLO_OK; RLO_DEVICE.
 */
RLO_API RLO_NODISCARD rlo_status rlo_device_query(cl_device_id device,
                                                  rlo_device_info *out_info);

RLO_END_DECLS

#endif
