/* SPDX-License-Identifier: Apache-2.0 */
#include "nulls/null_objects.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/plan_case.h"

/* Ends the program: without these objects nothing can be tested. */
static void need(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "no valid argument: %s\n", rlo_error_last()->message);
    exit(2);
  }
}

/* ------------------------------------------------------------ plain structs */

static void begin_shapes(objects *o) {
  const int64_t sizes[] = {2, 3};
  const int64_t rows[] = {2};
  need(rlo_shape_make(RLO_DTYPE_F32, sizes, 2, &o->shape));
  need(rlo_shape_make(RLO_DTYPE_S32, rows, 1, &o->ids_shape));
  o->shapes[0] = o->shapes[1] = &o->shape;
  o->layout = o->shape.layout;
  o->tile = (rlo_tile){.rank = 2, .dims = {2, 2}};
  need(rlo_relayout_lower(&o->shape, &o->shape, NULL, &o->problem));
  need(rlo_address_map_make(&o->shape, &o->map));
  o->bare = (rlo_bare_layout){.rank = 2, .layout = o->shape.layout};
  o->npy_header = (rlo_npy_header)RLO_NPY_HEADER_INIT;
  o->numpy_view = (rlo_numpy_view)RLO_NUMPY_VIEW_INIT;
  o->pjrt_view = (rlo_pjrt_view)RLO_PJRT_VIEW_INIT;
  o->pjrt = (rlo_pjrt_export)RLO_PJRT_EXPORT_INIT;
  need(rlo_shape_to_pjrt(&o->shape, RLO_PJRT_LAYOUT_TILED, &o->pjrt));
  o->device_info = test_plan_cpu();
}

static void begin_numbers(objects *o) {
  for (int i = 0; i < 2; ++i) {
    o->order[i] = i;
    o->order64[i] = i;
    o->sizes[i] = 2 + i;
    o->ones[i] = 1;
    o->flags[i] = true;
    o->names[i] = "x";
    o->memories[i] = o->memory;
  }
  o->strides_bytes[0] = 12;
  o->strides_bytes[1] = 4;
}

static void begin_attributes(objects *o) {
  o->items[0] = rlo_attribute_i64("i64", 1);
  o->items[1] = rlo_attribute_i64s("i64s", o->ones, 2);
  o->items[2] = rlo_attribute_f64("f64", 1.0);
  o->items[3] = rlo_attribute_string("string", "x");
  o->items[4] = rlo_attribute_shape("shape", &o->shape);
  o->items[5] = rlo_attribute_f64s("f64s", o->numbers64, 2);
  o->items[6] = rlo_attribute_strings("strings", o->names, 2);
  o->items[7] = rlo_attribute_shapes("shapes", &o->shape, 1);
  o->items[8] = rlo_attribute_map("map", &o->no_attributes);
  for (int i = 0; i < NUM_ATTRIBUTES; ++i) {
    o->specs[i] =
        (rlo_attribute_spec){o->items[i].name, o->items[i].type, false};
  }
  o->attributes = (rlo_attributes){o->items, NUM_ATTRIBUTES};
}

static void delete_nothing(DLManagedTensor *self) {
  (void)self;
}

static void delete_nothing_versioned(struct DLManagedTensorVersioned *self) {
  (void)self;
}

static void begin_dlpack(objects *o) {
  const DLDataType f32 = {2, 32, 1};
  o->dl_dims[0] = 2;
  o->dl_dims[1] = 3;
  o->managed.dl_tensor = test_dlpack_tensor(f32, o->dl_dims, NULL, 2);
  o->managed.deleter = delete_nothing;
  o->managed_versioned.version.major = 1;
  o->managed_versioned.dl_tensor = o->managed.dl_tensor;
  o->managed_versioned.deleter = delete_nothing_versioned;
  o->dlpack_view = (rlo_dlpack_view)RLO_DLPACK_VIEW_INIT;
  need(rlo_dlpack_view_tensor(
      &o->managed.dl_tensor, 0, RLO_AVAILABLE_UNKNOWN, &o->dlpack_view));
}

static rlo_status fail_read(void *payload,
                            int64_t offset,
                            int64_t bytes,
                            void *into) {
  (void)payload;
  (void)offset;
  (void)bytes;
  (void)into;
  return RLO_IO;
}

/* Each of two devices holds a row of f32[2,3]. */
static void begin_shardings(objects *o) {
  o->box = (rlo_box){.rank = 2, .limit = {2, 3}};
  /* Of device 0. */
  o->piece = (rlo_redistribution_piece){.box = {.rank = 2, .limit = {1, 3}},
                                        .bytes = 12};
  o->sharding_tiles = (rlo_sharding_tiles){.rank = 2,
                                           .counts = {2, 1},
                                           .iota_rank = 1,
                                           .iota_dims = {2},
                                           .devices = o->order64};
  o->redistribution_options =
      (rlo_redistribution_options)RLO_REDISTRIBUTION_OPTIONS_INIT;
  o->redistribution_options.from = &o->shape;
  o->redistribution_options.to = &o->shape;
  o->redistribution_options.from_sharding = sharding(o);
  o->redistribution_options.to_sharding = sharding(o);
  o->exchange_members[1].device = 1;
  o->exchange_options = (rlo_exchange_options)RLO_EXCHANGE_OPTIONS_INIT;
  o->exchange_options.plan = redistribution(o);
  o->exchange_options.members = o->exchange_members;
  o->exchange_options.num_members = 2;
  o->exchange_info = (rlo_exchange_info)RLO_EXCHANGE_INFO_INIT;
  for (int k = 0; k < 2; ++k) {
    o->exchange_memories[k].host_src = o->exchange_rows[k];
    o->exchange_memories[k].host_dst = o->exchange_rows[2 + k];
  }
}

static void begin_options(objects *o) {
  o->combine_options = (rlo_combine_options)RLO_COMBINE_OPTIONS_INIT;
  o->cache_info = (rlo_cache_info)RLO_CACHE_INFO_INIT;
  o->context_stats = (rlo_context_stats)RLO_CONTEXT_STATS_INIT;
  o->context_options = (rlo_context_options)RLO_CONTEXT_OPTIONS_INIT;
  o->context_options.cache_dir = "";
  o->engine_options = (rlo_engine_options)RLO_ENGINE_OPTIONS_INIT;
  o->engine_stats = (rlo_engine_stats)RLO_ENGINE_STATS_INIT;
  o->gradient_config = (rlo_gradient_config)RLO_GRADIENT_CONFIG_INIT;
  o->old_gradient = o->gradient_config;
  o->gradient_config.kernel_name = "Mine";
  o->gradient_config.run = fail_gradient;
  o->job_estimate = (rlo_job_estimate)RLO_JOB_ESTIMATE_INIT;
  o->job_info = (rlo_job_info)RLO_JOB_INFO_INIT;
  o->job_options = (rlo_job_options)RLO_JOB_OPTIONS_INIT;
  o->memory_info = (rlo_memory_info)RLO_MEMORY_INFO_INIT;
  o->plan_info = (rlo_plan_info)RLO_PLAN_INFO_INIT;
  o->profile_entry = (rlo_profile_entry){.name = "none"};
  o->redistribution_cost =
      (rlo_redistribution_cost)RLO_REDISTRIBUTION_COST_INIT;
  o->operands = (rlo_operands)RLO_OPERANDS_INIT;
  o->plan_options = (rlo_plan_options)RLO_PLAN_OPTIONS_INIT;
  o->proto_options = (rlo_proto_options)RLO_PROTO_OPTIONS_INIT;
  o->service_options = (rlo_service_options)RLO_SERVICE_OPTIONS_INIT;
  o->storage_ops = (rlo_storage_ops)RLO_STORAGE_OPS_INIT;
  o->storage_ops.read = fail_read;
  o->storage_traits = (rlo_storage_traits)RLO_STORAGE_TRAITS_INIT;
  o->file_traits = o->storage_traits;
  o->storage_traits.bytes = 24;
}

/* A kernel that never runs: it is registered only. */
static rlo_status fail_kernel(rlo_kernel_call *call, void *payload) {
  (void)call;
  (void)payload;
  return RLO_INTERNAL;
}

static void begin_kernel(objects *o) {
  o->kernel_config = (rlo_kernel_config)RLO_KERNEL_CONFIG_INIT;
  o->old_kernel = o->kernel_config;
  o->kernel_config.kernel_name = "Mine";
  o->kernel_config.backend_name = "host";
  o->kernel_config.infer = rlo_infer_like_input;
  o->kernel_config.run = fail_kernel;
}

static void begin_files(objects *o) {
  o->wisdom = "relayout-wisdom\t1\n";
  o->wisdom_path = "null_calls.wisdom";
  if (getcwd(o->path, sizeof o->path) == NULL) {
    perror("getcwd");
    exit(2);
  }
  need(rlo_npy_format(&o->shape, o->npy, FILE_BYTES, &o->npy_bytes));
  const rlo_proto_options *options = NULL;
  need(rlo_proto_format_tile(
      &o->tile, options, o->proto_tile, FILE_BYTES, &o->proto_tile_bytes));
  need(rlo_proto_format_layout(&o->shape.layout,
                               2,
                               options,
                               o->proto_layout,
                               FILE_BYTES,
                               &o->proto_layout_bytes));
  need(rlo_proto_format_shape(
      &o->shape, options, o->proto_shape, FILE_BYTES, &o->proto_shape_bytes));
  need(rlo_proto_format_program(program(o),
                                options,
                                o->proto_program,
                                FILE_BYTES,
                                &o->proto_program_bytes));
}

/* The files that calls read. */
static int open_file(const char *path, const char *text) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) {
    perror(path);
    exit(2);
  }
  return fd;
}

void objects_begin(objects *o) {
  static int fd = -1;
  memset(o, 0, sizeof *o);
  begin_shapes(o);
  begin_numbers(o);
  begin_attributes(o);
  begin_dlpack(o);
  begin_shardings(o);
  begin_options(o);
  begin_kernel(o);
  begin_files(o);
  if (fd < 0) {
    fd = open_file(o->wisdom_path, o->wisdom);
  }
  o->fd = fd;
}

void *room(objects *o, int place) {
  return o->rooms[place];
}

/* ---------------------------------------------------- objects of the engine */

rlo_engine *engine(objects *o) {
  if (o->engine == NULL) {
    need(rlo_engine_create(NULL, &o->engine));
  }
  return o->engine;
}

rlo_tensor *const *tensors(objects *o) {
  for (int i = 0; i < 2 && o->tensors[i] == NULL; ++i) {
    need(rlo_tensor_create(engine(o), &o->shape, NULL, &o->tensors[i]));
  }
  return o->tensors;
}

rlo_tensor *tensor(objects *o) {
  return tensors(o)[0];
}

rlo_tensor *ids(objects *o) {
  if (o->ids == NULL) {
    need(rlo_tensor_create(engine(o), &o->ids_shape, NULL, &o->ids));
  }
  return o->ids;
}

rlo_tensor *scalar(objects *o) {
  rlo_shape shape;
  if (o->scalar == NULL) {
    need(rlo_shape_make(RLO_DTYPE_F32, NULL, 0, &shape));
    need(rlo_tensor_create(engine(o), &shape, NULL, &o->scalar));
  }
  return o->scalar;
}

rlo_tape *tape(objects *o) {
  if (o->tape == NULL) {
    need(rlo_tape_begin(engine(o), &o->tape));
  }
  return o->tape;
}

rlo_scope *scope(objects *o) {
  if (o->scope == NULL) {
    need(rlo_scope_begin(engine(o), &o->scope));
  }
  return o->scope;
}

const rlo_named_tensor *named(objects *o) {
  o->named = (rlo_named_tensor){"x", tensor(o)};
  return &o->named;
}

/* ----------------------------------------------------------- host's objects */

rlo_chain *chain(objects *o) {
  if (o->chain == NULL) {
    need(rlo_chain_create(&o->shape, &o->chain));
  }
  return o->chain;
}

const rlo_chain *const *chains(objects *o) {
  o->chains[0] = o->chains[1] = chain(o);
  return o->chains;
}

rlo_problem_list *problems(objects *o) {
  if (o->problems == NULL) {
    need(rlo_chain_lower(chain(o), NULL, &o->problems));
  }
  return o->problems;
}

rlo_segment_sum *segment_sum(objects *o) {
  if (o->segment_sum == NULL) {
    need(rlo_segment_sum_create(
        &o->shape, &o->ids_shape, 0, 0, &o->shape, &o->segment_sum));
  }
  return o->segment_sum;
}

rlo_shape_tree *tree(objects *o) {
  if (o->tree == NULL) {
    need(rlo_shape_tree_make_array(&o->shape, &o->tree));
  }
  return o->tree;
}

rlo_shape_tree *const *trees(objects *o) {
  o->trees[0] = o->trees[1] = tree(o);
  return o->trees;
}

rlo_shape_tree *tuple(objects *o) {
  if (o->tuple == NULL) {
    const rlo_shape_tree *const elements[] = {tree(o), tree(o)};
    need(rlo_shape_tree_make_tuple(elements, 2, &o->tuple));
  }
  return o->tuple;
}

rlo_sharding *sharding(objects *o) {
  if (o->sharding == NULL) {
    need(rlo_sharding_make_tiled(&o->sharding_tiles, &o->sharding));
  }
  return o->sharding;
}

rlo_redistribution *redistribution(objects *o) {
  if (o->redistribution == NULL) {
    need(rlo_redistribution_create(&o->redistribution_options,
                                   &o->redistribution));
  }
  return o->redistribution;
}

rlo_exchange *exchange(objects *o) {
  if (o->exchange == NULL) {
    need(rlo_exchange_create(&o->exchange_options, &o->exchange));
  }
  return o->exchange;
}

rlo_program_shape *program(objects *o) {
  if (o->program == NULL) {
    need(rlo_program_shape_create(trees(o), NULL, 2, tree(o), &o->program));
  }
  return o->program;
}

rlo_dlpack_import *dlpack_import(objects *o) {
  if (o->dlpack_import == NULL) {
    need(rlo_dlpack_import_create(
        &o->managed, RLO_AVAILABLE_UNKNOWN, &o->dlpack_import));
  }
  return o->dlpack_import;
}

rlo_storage *storage(objects *o) {
  if (o->storage == NULL) {
    need(rlo_storage_from_memory(o->memory, sizeof o->memory, &o->storage));
  }
  return o->storage;
}

rlo_storage *target(objects *o) {
  if (o->target == NULL) {
    need(rlo_storage_from_memory(
        o->target_memory, sizeof o->target_memory, &o->target));
  }
  return o->target;
}

rlo_service *service(objects *o) {
  if (o->service == NULL) {
    need(rlo_service_create(NULL, 0, NULL, &o->service));
  }
  return o->service;
}

rlo_job *job(objects *o) {
  if (o->job == NULL) {
    need(rlo_service_submit(
        service(o), &o->problem, storage(o), target(o), NULL, &o->job));
    need(rlo_job_wait(o->job, -1, NULL));
  }
  return o->job;
}

void objects_end(objects *o) {
  end_scope(o->scope);
  end_tape(o->tape);
  rlo_tensor_release(o->tensors[0]);
  rlo_tensor_release(o->tensors[1]);
  rlo_tensor_release(o->ids);
  rlo_tensor_release(o->scalar);
  rlo_engine_release(o->engine);
  rlo_tensor_release(o->device_tensor);
  rlo_engine_release(o->device_engine);
  rlo_chain_release(o->chain);
  rlo_problem_list_release(o->problems);
  rlo_segment_sum_release(o->segment_sum);
  rlo_shape_tree_release(o->tree);
  rlo_shape_tree_release(o->tuple);
  rlo_program_shape_release(o->program);
  rlo_exchange_release(o->exchange);
  rlo_redistribution_release(o->redistribution);
  rlo_sharding_release(o->sharding);
  rlo_dlpack_import_release(o->dlpack_import);
  rlo_job_release(o->job);
  rlo_service_release(o->service);
  rlo_storage_release(o->storage);
  rlo_storage_release(o->target);
}

/* --------------------------------------------------------- with a device */

static struct {
  rlo_context *context;
  cl_command_queue queue;
  cl_mem source, destination;
  cl_event event;
  rlo_plan *plan;
} device;

rlo_context *device_context(void) {
  if (device.context == NULL) {
    need(rlo_context_create_default(-1, NULL, &device.context));
  }
  return device.context;
}

rlo_context *const *device_contexts(void) {
  (void)device_context();
  return &device.context;
}

cl_command_queue device_queue(void) {
  if (device.queue == NULL) {
    device.queue =
        clCreateCommandQueue(rlo_context_cl_context(device_context()),
                             rlo_context_cl_device(device_context()),
                             0,
                             NULL);
  }
  return device.queue;
}

cl_mem device_buffer(void) {
  if (device.source == NULL) {
    need(rlo_buffer_create(device_context(), 4096, &device.source));
    need(rlo_buffer_create(device_context(), 4096, &device.destination));
  }
  return device.source;
}

cl_mem device_destination(void) {
  (void)device_buffer();
  return device.destination;
}

cl_event *device_event(void) {
  if (device.event == NULL) {
    (void)clEnqueueMarkerWithWaitList(device_queue(), 0, NULL, &device.event);
  }
  return &device.event;
}

rlo_plan *device_plan(void) {
  if (device.plan == NULL) {
    objects o;
    objects_begin(&o);
    need(rlo_plan_create(device_context(), &o.problem, NULL, &device.plan));
    objects_end(&o);
  }
  return device.plan;
}

const rlo_operands *device_operands(objects *o) {
  o->operands.src = device_buffer();
  o->operands.dst = device_destination();
  return &o->operands;
}

rlo_engine *device_engine(objects *o) {
  if (o->device_engine == NULL) {
    o->engine_options.context = device_context();
    need(rlo_engine_create(&o->engine_options, &o->device_engine));
  }
  return o->device_engine;
}

rlo_tensor *device_tensor(objects *o) {
  if (o->device_tensor == NULL) {
    need(rlo_tensor_create(
        device_engine(o), &o->shape, o->memory, &o->device_tensor));
  }
  return o->device_tensor;
}

void device_end(void) {
  if (device.context == NULL) {
    return;
  }
  if (device.queue != NULL) {
    (void)clFinish(device.queue);
    (void)clReleaseCommandQueue(device.queue);
  }
  if (device.event != NULL) {
    (void)clReleaseEvent(device.event);
  }
  rlo_plan_release(device.plan);
  rlo_buffer_release(device.context, device.source);
  rlo_buffer_release(device.context, device.destination);
  rlo_context_release(device.context);
}

/* ----------------------------------------------------------------- deleting */

void delete_managed(struct DLManagedTensor *managed) {
  managed->deleter(managed);
}

void delete_managed_versioned(struct DLManagedTensorVersioned *managed) {
  managed->deleter(managed);
}

void end_scope(rlo_scope *scope) {
  need(rlo_scope_end(scope));
}

void end_tape(rlo_tape *tape) {
  need(rlo_tape_end(tape));
}

void release_event(cl_event event) {
  (void)clWaitForEvents(1, &event);
  (void)clReleaseEvent(event);
}
