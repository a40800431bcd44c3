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

/** What a driver says of a device, beside sizes. */
typedef struct rlo__device_facts {
  char platform_name[128];
  char platform_version[256];
  char device_name[128];
  /** $POCL_WORK_GROUP_METHOD is cbs. */
  bool is_pocl_by_cbs;
  cl_device_type type;
  cl_device_local_mem_type local_memory_type;
  cl_device_fp_config single_config;
  cl_device_fp_config double_config;
} rlo__device_facts;

/**
 * Sets the class of a device and what it has from what its driver says: no
 * OpenCL call.
 *
 * @param info  its sizes are set before; local memory becomes 0 for a device of
 *              the GPU class that has it in global memory.
 */
void rlo__device_assess(const rlo__device_facts *facts, rlo_device_info *info);

/** As rlo_device_query, into a whole rlo_device_info. */
rlo_status rlo__device_query(cl_device_id device, rlo_device_info *out_info);

/** Writes the name of a device for a message: truncated to fit, empty if the
 *  device reports none. */
void rlo__device_get_name(cl_device_id device, char *name, size_t name_bytes);

#endif
