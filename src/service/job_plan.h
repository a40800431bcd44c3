/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_JOB_PLAN_H
#define RLO_SERVICE_JOB_PLAN_H

#include "relayout/service.h"
#include "service/journal.h"
#include "service/work.h"

enum {
  /** Passes of a job. */
  RLO__MAX_PASSES = 2,
  RLO__MAX_IO_THREADS = 256
};

/** The means of a service for its jobs. */
typedef struct rlo__service_limits {
  /** Read: without a 0 that stands for a default. */
  rlo_service_options options;
  /** Contexts; and whether pieces are copied to some of their devices. */
  int32_t num_lanes;
  bool copies;
  /** The largest buffer that every context allows; INT64_MAX without any. */
  int64_t max_buffer_bytes;
} rlo__service_limits;

/** The conditions that a job is planned for. */
typedef struct rlo__job_setting {
  rlo__service_limits limits;
  /** Traits of each side; struct_size 0: memory. */
  rlo_storage_traits traits[2];
  /** Sides that may be used where they lie in memory, by the host and by
   *  devices that share its memory. */
  bool is_in_memory[2];
  bool are_indices_in_memory;
  /** The scratch of two passes, where they have one of their own; borrowed. NULL: it
   *  is behind the destination. */
  const rlo_storage_traits *scratch;
  rlo_job_options options;
  /** Settings with which the job was planned when it began; NULL: it begins
   *  now. */
  const rlo__journal_settings *resumed;
} rlo__job_setting;

/** The plan of a job. */
typedef struct rlo__job_plan {
  int32_t num_passes;
  /** Staging memory, and buffers on each device, in bytes. */
  int64_t host_bytes, device_bytes;
  /** The part of host_bytes, at its begin, that indices are read to; 0 if they
   *  are used where they lie. */
  int64_t index_bytes;
  /** Bytes that two passes use of the scratch. */
  int64_t scratch_bytes;
  /** For a journal. */
  rlo__journal_settings settings;
  /** Without storages: those are the job's. */
  rlo__pass passes[RLO__MAX_PASSES];
} rlo__job_plan;

/** Reads and checks options of a service, with defaults in place of 0. */
RLO_NODISCARD rlo_status rlo__service_options_read(const rlo_service_options *options,
                                                   int32_t num_contexts,
                                                   rlo_service_options *out_options);

/** Reads and checks options of a job. */
RLO_NODISCARD rlo_status rlo__job_options_read(const rlo_job_options *options,
                                               rlo_job_options *out_options);

/** Plans a job. `out` is large. @return as rlo_service_submit. */
RLO_NODISCARD rlo_status rlo__job_plan_make(const rlo_problem *problem,
                                            const rlo__job_setting *setting, rlo__job_plan *out);

#endif
