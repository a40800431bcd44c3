/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_DEVICE_H
#define RLO_RUNTIME_DEVICE_H

#include "relayout/opencl.h"

/**
 * Lists all devices on the heap; the caller releases *out_entries with
 * rlo__free. Exactly one entry is the default.
 * @return as rlo_device_list; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__device_list(rlo_device_entry **out_entries, int32_t *out_count);

/** The kind of kernels that suit a device, recognized by names, since there is no query. */
typedef enum rlo__device_kind {
  RLO__KIND_POCL_CPU,
  RLO__KIND_INTEL_CPU,
  RLO__KIND_OCLGRIND,
  RLO__KIND_OTHER_CPU,
  /** Mesa's software device: a CPU by type, but its compiler vectorizes over
   *  work-items and crashes on clang's builtins. */
  RLO__KIND_LLVMPIPE,
  RLO__KIND_ACCELERATOR,
  RLO__KIND_GPU
} rlo__device_kind;

rlo__device_kind rlo__device_find_kind(const char *platform_name, const char *device_name,
                                       cl_device_type type);

/** Facts that a driver reports of a device, beside sizes. */
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
  /** The first-level cache of the host's first core, as the system reports it;
   *  0 if it does not. */
  int64_t near_cache_bytes;
} rlo__device_facts;

/**
 * Sets the class of a device and what it has from what its driver says: no
 * OpenCL call.
 *
 * @param info  its sizes are set before; local memory becomes 0 for a device of
 *              the GPU class that has it in global memory.
 */
void rlo__device_assess(const rlo__device_facts *facts, rlo_device_info *info);

/** Queries a device into a whole rlo_device_info. @return as
 *  rlo_device_query. */
rlo_status rlo__device_query(cl_device_id device, rlo_device_info *out_info);

/** Reads a string of a device or a platform: truncated to fit, empty if there
 * is none. */
void rlo__device_get_string(cl_device_id device, cl_device_info what, char *text,
                            size_t text_bytes);
void rlo__platform_get_string(cl_platform_id platform, cl_platform_info what, char *text,
                              size_t text_bytes);

#endif
