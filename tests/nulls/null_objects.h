/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_NULLS_NULL_OBJECTS_H
#define RLO_TESTS_NULLS_NULL_OBJECTS_H

#include <string.h>

#include "relayout/backend.h"
#include "relayout/dlpack.h"
#include "relayout/engine.h"
#include "relayout/engine_opencl.h"
#include "relayout/engine_ops.h"
#include "relayout/exchange.h"
#include "relayout/gradient.h"
#include "relayout/index.h"
#include "relayout/kernel.h"
#include "relayout/npy.h"
#include "relayout/profile.h"
#include "relayout/redistribution.h"
#include "relayout/relayout.h"
#include "relayout/scope.h"
#include "relayout/service.h"
#include "relayout/storage_opencl.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/pjrt.h"
#include "relayout/xla/proto.h"
#include "relayout/xla/shape_util.h"
#include "support/dlpack_tensor.h"

enum { NUM_ATTRIBUTES = 9, ROOMS = 9, ROOM_BYTES = 32768, FILE_BYTES = 128 };

/**
 * Valid arguments for every public function: f32[2,3], or what belongs to it.
 * Those of a call are made before it, and those that take time when a function
 * below first returns them.
 */
typedef struct objects {
  rlo_shape shape, ids_shape;
  const rlo_shape *shapes[2];
  rlo_layout layout;
  rlo_tile tile;
  rlo_problem problem;
  rlo_address_map map;
  rlo_box box;
  rlo_redistribution_piece piece;
  rlo_sharding_tiles sharding_tiles;
  rlo_bare_layout bare;
  rlo_npy_header npy_header;
  rlo_numpy_view numpy_view;
  rlo_pjrt_export pjrt;
  rlo_pjrt_view pjrt_view;
  rlo_dlpack_view dlpack_view;
  DLManagedTensor managed;
  struct DLManagedTensorVersioned managed_versioned;
  int64_t dl_dims[2];
  rlo_device_info device_info;
  rlo_attribute items[NUM_ATTRIBUTES];
  rlo_attributes attributes, no_attributes;
  rlo_attribute_spec specs[NUM_ATTRIBUTES];

  int32_t order[2], numbers32[64];
  int64_t order64[2], sizes[2], zeros[4], ones[2], strides_bytes[2];
  int64_t numbers[64];
  double numbers64[2];
  bool flags[2];
  const char *names[2];
  void *nothing[4];

  rlo_cache_info cache_info;
  rlo_combine_options combine_options;
  rlo_context_options context_options;
  rlo_context_stats context_stats;
  rlo_engine_options engine_options;
  rlo_engine_stats engine_stats;
  rlo_gradient_config gradient_config, old_gradient;
  rlo_job_estimate job_estimate;
  rlo_job_info job_info;
  rlo_job_options job_options;
  rlo_kernel_config kernel_config, old_kernel;
  rlo_memory_info memory_info;
  rlo_operands operands;
  rlo_plan_info plan_info;
  rlo_plan_options plan_options;
  rlo_profile_entry profile_entry;
  rlo_proto_options proto_options;
  rlo_redistribution_cost redistribution_cost;
  rlo_redistribution_options redistribution_options;
  rlo_exchange_member exchange_members[2];
  rlo_exchange_memory exchange_memories[2];
  rlo_exchange_options exchange_options;
  rlo_exchange_info exchange_info;
  float exchange_rows[4][3];
  rlo_service_options service_options;
  rlo_storage_ops storage_ops;
  rlo_storage_traits storage_traits, file_traits;

  /** Texts, files, and a file that is open. */
  char text[256];
  const char *wisdom, *wisdom_path;
  char path[4096];
  int fd;
  unsigned char npy[FILE_BYTES], proto_tile[FILE_BYTES];
  unsigned char proto_layout[FILE_BYTES], proto_shape[FILE_BYTES];
  unsigned char proto_program[FILE_BYTES];
  size_t npy_bytes, proto_tile_bytes, proto_layout_bytes, proto_shape_bytes;
  size_t proto_program_bytes;

  /** Made when needed. */
  rlo_engine *engine;
  rlo_tensor *tensors[2], *ids, *scalar;
  rlo_tape *tape;
  rlo_scope *scope;
  rlo_named_tensor named;
  rlo_chain *chain;
  const rlo_chain *chains[2];
  rlo_problem_list *problems;
  rlo_segment_sum *segment_sum;
  rlo_shape_tree *tree, *tuple, *trees[2];
  rlo_program_shape *program;
  rlo_sharding *sharding;
  rlo_redistribution *redistribution;
  rlo_exchange *exchange;
  rlo_dlpack_import *dlpack_import;
  rlo_storage *storage, *target;
  rlo_service *service;
  rlo_job *job;
  rlo_engine *device_engine;
  rlo_tensor *device_tensor;

  /** Memory of arrays, 64-byte aligned; room for results. */
  const void *memories[2];
  _Alignas(64) unsigned char memory[4096], target_memory[4096];
  _Alignas(64) unsigned char rooms[ROOMS][ROOM_BYTES];
} objects;

/** Makes what every call has. */
void objects_begin(objects *o);

/** Releases all that was made. */
void objects_end(objects *o);

/** Room for the result that parameter `place` points to: zeros. */
void *room(objects *o, int place);

rlo_engine *engine(objects *o);
rlo_tensor *tensor(objects *o);
rlo_tensor *const *tensors(objects *o);
rlo_tensor *ids(objects *o);
rlo_tensor *scalar(objects *o);
rlo_tape *tape(objects *o);
rlo_scope *scope(objects *o);
const rlo_named_tensor *named(objects *o);
rlo_chain *chain(objects *o);
const rlo_chain *const *chains(objects *o);
rlo_problem_list *problems(objects *o);
rlo_segment_sum *segment_sum(objects *o);
rlo_shape_tree *tree(objects *o);
rlo_shape_tree *tuple(objects *o);
rlo_shape_tree *const *trees(objects *o);
rlo_program_shape *program(objects *o);
rlo_sharding *sharding(objects *o);
rlo_redistribution *redistribution(objects *o);
rlo_exchange *exchange(objects *o);
rlo_dlpack_import *dlpack_import(objects *o);
rlo_storage *storage(objects *o);
rlo_storage *target(objects *o);
rlo_service *service(objects *o);
/** One that has ended. */
rlo_job *job(objects *o);

/* Those that need a device live as long as the process, but for the last three
 * rows. */
rlo_context *device_context(void);
rlo_context *const *device_contexts(void);
cl_command_queue device_queue(void);
cl_mem device_buffer(void);
cl_mem device_destination(void);
cl_event *device_event(void);
rlo_plan *device_plan(void);
rlo_engine *device_engine(objects *o);
rlo_tensor *device_tensor(objects *o);
const rlo_operands *device_operands(objects *o);
/** Releases them. */
void device_end(void);

/* What deletes what a call made and no function named _release does. */
void delete_managed(struct DLManagedTensor *managed);
void delete_managed_versioned(struct DLManagedTensorVersioned *managed);
void end_scope(rlo_scope *scope);
void end_tape(rlo_tape *tape);
void release_event(cl_event event);

/* Functions to pass. */
rlo_status copy_inputs(rlo_engine *engine,
                       rlo_tensor *const *inputs,
                       int32_t num_inputs,
                       rlo_saver *saver,
                       rlo_tensor **outputs,
                       int32_t num_outputs,
                       void *payload);
rlo_status copy_shape(const rlo_shape *shape,
                      rlo_shape *out_shape,
                      void *payload);
void do_nothing(void *payload);
rlo_status fail_factory(rlo_engine *engine,
                        void *payload,
                        const rlo_backend_methods **out_methods,
                        void **out_self);
rlo_status fail_gradient(rlo_gradient_call *call, void *payload);
void on_prepared(void *payload, rlo_status status);
void on_run(const rlo_profile_entry *entry, void *payload);
void on_record(void *payload, const rlo_wisdom_record *record);
void on_step(void *payload, const char *step, const rlo_problem *after);
rlo_status take_first(rlo_engine *engine,
                      rlo_tensor *const *xs,
                      int32_t count,
                      rlo_tensor **out_y,
                      void *payload);
rlo_status visit_index(const int64_t *index, bool *go_on, void *payload);
rlo_status visit_piece(void *payload, const rlo_redistribution_piece *piece);
rlo_status visit_subshape(const rlo_subshape *subshape, void *payload);

/* ------------------------------------------------------ the generated table */

/** What a call returned: a status, or another value. */
typedef struct answer {
  rlo_status status;
  int64_t value;
} answer;

/** A pointer that is NULL in a call; "xs[0]" is the entry of a list. */
typedef struct null_case {
  const char *name;
  /** Of a function that returns a status, with a part of its message. */
  rlo_status status;
  const char *sentence;
  /** Of another: the value, unless any will do. */
  bool is_any;
  int64_t value;
  bool needs_device;
} null_case;

typedef struct null_function {
  const char *name;
  /** Calls it with case number `null` NULL; -1: with valid arguments. */
  void (*call)(objects *o, int null, answer *a);
  const null_case *cases;
  int num_cases;
  bool has_status;
  /** Whether it is called with valid arguments too, and what that needs. */
  bool is_called_valid;
  bool needs_device;
} null_function;

extern const null_function null_functions[];
extern const int null_num_functions;

#endif
