# SPDX-License-Identifier: Apache-2.0
"""What the generator of null_calls.c has to know beyond the headers.

Parameters are named `function.parameter`, without the prefix rlo_. All other
pointers must not be NULL: the rule in relayout/status.h.
"""

# Parameters that may be NULL, as their function's comment says: with NULL the
# call succeeds. (`payload` may be NULL everywhere.)
OPTIONAL = """
attributes_check.attributes attributes_clone.attributes attributes_find.attributes
cache_clear.out_info cache_clear.path cache_inspect.path
chain_batch_to_space.high chain_batch_to_space.low chain_combine.dst chain_lower.dst
chain_mirror_pad.high chain_mirror_pad.low chain_pad.fill chain_pad.high
chain_pad.interior chain_pad.low chain_slice.strides chain_space_to_batch.high
chain_space_to_batch.low chain_combine.options
context_create.options context_create_default.options
context_explain.options context_import_wisdom.out_ignored
context_import_wisdom.out_taken context_load_wisdom.out_ignored
context_load_wisdom.out_taken
custom_gradient.gradient dlpack_export.destroy dlpack_export_versioned.destroy
engine_create.options engine_get_memory.backend_name enqueue.out_event enqueue_operands.out_event
gradient_register.out_old infer_kernel.attributes infer_like_input.attributes
job_estimate_make.dst job_estimate_make.job_options job_estimate_make.service_options
job_estimate_make.src job_wait.out_has_ended
kernel_copy_all.out_count kernel_register.out_old layout_from_strides.strides_elems
lower_kernel.attributes lower_kernel.dst
op_batch_to_space.high op_batch_to_space.low op_mirror_pad.high op_mirror_pad.low
op_pad.high op_pad.interior op_pad.low op_pad.value op_space_to_batch.high
op_space_to_batch.low op_strided_slice.strides op_sum.dims op_transpose.permutation
plan_create.options plan_create_segment_sum.options plan_explain.options
problem_canonicalize.trace problem_run_host_indexed.indices run_host.indices
program_shape_create.names
proto_format_layout.options proto_format_program.options proto_format_shape.options
proto_format_sharding.options proto_parse_sharding.out_origin
proto_format_tile.options proto_format_tree.options proto_parse_layout.out_origin
proto_parse_program.out_origin proto_parse_shape.out_origin
proto_parse_tile.out_origin proto_parse_tree.out_origin
relayout_combine.options relayout_combine.permutation relayout_lower.permutation
run_chain.out_shape run_kernel.attributes run_kernel.out_count
run_kernel_named.attributes run_kernel_named.out_count scope_end.scope
service_create.options service_drain.out_is_idle service_submit.options
shape_for_each_index.base shape_for_each_index.count shape_for_each_index.step
shape_from_numpy.strides_bytes shape_from_pjrt.layout shape_make_dynamic.is_dynamic
shape_make_descending_with_same_physical_layout.out_permutation
storage_from_fd.hints tape_end.tape tape_gradients.dy tensor_create.data
tensor_wrap_buffer.ready tensor_wrap_buffer.release tensor_wrap_host.release
value_and_gradients.dy value_and_gradients.out_y vjp.attributes vjp.wants
wisdom_read.fn
program_shape_create.names[0] vjp.dys[0]
""".split()

# As OPTIONAL, but NULL stands for a value with which these calls fail: what they
# return, and a part of the sentence.
OTHERWISE = {
    "attributes_get_%s.attributes" % kind: ("RLO_NOT_FOUND", "attribute")
    for kind in ("f64", "f64s", "i64", "i64s", "map", "shape", "shapes",
                 "string", "strings")
}
OTHERWISE["error_set.format"] = ("RLO_CANCELLED", "")
OTHERWISE["source_kernel_run.payload"] = ("RLO_INVALID_ARGUMENT",
                                          "'payload' is NULL")

# Headers whose functions are called elsewhere: MPI has to be initialised for them
# (tests/mpi).
LEFT_OUT = ["mpi.h"]

# What the sentence about a parameter says in place of its name.
SENTENCE = {
    "enqueue.dst": "the destination buffer is NULL",
    "tensor_wrap_buffer.buffer": "the source buffer is NULL",
    "enqueue.src": "the source buffer is NULL",
    "enqueue.wait_list": "a wait list of 1 events is NULL",
    "enqueue_operands.wait_list": "a wait list of 1 events is NULL",
}

# What functions that return no status return for NULL, where it is not 0, false
# or NULL. The texts of *_format and *_human_string have their length without a
# buffer too.
NEUTRAL = {
    "layout_major": "-1",
    "layout_minor": "-1",
    "problem_list_indices": "-1",
    "problem_list_operand": "-1",
    "service_poll_fd": "-1",
    "shape_tree_kind": "RLO_SHAPE_KIND_OPAQUE",
    "sharding_get_kind": "RLO_SHARDING_UNKNOWN",
}

# Functions that are called with NULL only, and why: a call with valid arguments
# is beyond this test.
NULL_ONLY = {
    "buffer_create": "its buffer would have to be released",
    "buffer_release": "the buffer is what other calls use",
    "copy_limit": "it measures",
    "device_find": "no device has the name",
    "device_list": "its list may be empty",
    "error_set": "it returns its argument",
    "exchange_step": "it needs a run",
    "gradient_input": "it needs a gradient that runs",
    "gradient_saved": "it needs a gradient that runs",
    "kernel_input": "it needs a kernel that runs",
    "kernel_output": "it needs a kernel that runs",
    "kernel_output_host_data": "it needs a kernel that runs",
    "plan_prepare_async": "its callback runs later",
    "profile_device_time": "it needs a kernel that runs on a device",
    "profile_end": "it needs a profile that is open",
    "saver_save": "it needs a custom gradient that runs",
    "scope_keep": "the reference that it takes would have to be released",
    "scope_end": "it releases its argument",
    "source_kernel_run": "it needs a kernel that runs",
    "tape_end": "it releases its argument",
}

# Functions that ask the OpenCL loader although no argument is of OpenCL.
ASKS_LOADER = {"context_create_default", "device_find", "device_list"}

# Valid arguments by type. `o` is a struct objects (null_objects.h); what begins
# with device_ needs a device. An output (a pointer named out_...) needs no entry,
# nor does a number, which is 0.
BY_TYPE = {
    "char *": "o->text",
    "const bool *": "o->flags",
    "const char *": '"Identity"',
    "const char *const *": "o->names",
    "const cl_event *": "device_event()",
    "const int32_t *": "o->order",
    "const int64_t *": "o->sizes",
    "cl_command_queue": "device_queue()",
    "cl_context": "rlo_context_cl_context(device_context())",
    "cl_device_id": "rlo_context_cl_device(device_context())",
    "cl_event": "*device_event()",
    "cl_mem": "device_buffer()",
    "const rlo_address_map *": "&o->map",
    "const rlo_attribute_spec *": "o->specs",
    "const rlo_attributes *": "&o->attributes",
    "const rlo_bare_layout *": "&o->bare",
    "const rlo_box *": "&o->box",
    "const rlo_chain *": "chain(o)",
    "const rlo_chain *const *": "chains(o)",
    "const rlo_combine_options *": "&o->combine_options",
    "const rlo_context *": "device_context()",
    "const rlo_context_options *": "&o->context_options",
    "const rlo_device_info *": "&o->device_info",
    "const rlo_dlpack_import *": "dlpack_import(o)",
    "const rlo_dlpack_view *": "&o->dlpack_view",
    "const rlo_engine *": "engine(o)",
    "const rlo_engine_options *": "&o->engine_options",
    "const rlo_gradient_call *": "(const rlo_gradient_call *)(void *)o->memory",
    "const rlo_gradient_config *": "&o->gradient_config",
    "const rlo_job *": "job(o)",
    "const rlo_job_options *": "&o->job_options",
    "const rlo_kernel_call *": "(const rlo_kernel_call *)(void *)o->memory",
    "const rlo_kernel_config *": "&o->kernel_config",
    "const rlo_layout *": "&o->shape.layout",
    "const rlo_named_tensor *": "named(o)",
    "const rlo_operands *": "device_operands(o)",
    "const rlo_pjrt_layout *": "&o->pjrt.layout",
    "const rlo_plan *": "device_plan()",
    "const rlo_plan_options *": "&o->plan_options",
    "const rlo_problem *": "&o->problem",
    "const rlo_problem_list *": "problems(o)",
    "const rlo_program_shape *": "program(o)",
    "const rlo_proto_options *": "&o->proto_options",
    "const rlo_segment_sum *": "segment_sum(o)",
    "const rlo_service_options *": "&o->service_options",
    "const rlo_exchange *": "exchange(o)",
    "const rlo_exchange_memory *": "o->exchange_memories",
    "const rlo_exchange_options *": "&o->exchange_options",
    "const rlo_redistribution *": "redistribution(o)",
    "const rlo_redistribution_piece *": "&o->piece",
    "const rlo_redistribution_options *": "&o->redistribution_options",
    "const rlo_shape *": "&o->shape",
    "const rlo_sharding *": "sharding(o)",
    "const rlo_sharding_tiles *": "&o->sharding_tiles",
    "const rlo_shape *const *": "o->shapes",
    "const rlo_shape_tree *": "tree(o)",
    "const rlo_shape_tree *const *": "(const rlo_shape_tree *const *)trees(o)",
    "const rlo_storage *": "storage(o)",
    "const rlo_storage_ops *": "&o->storage_ops",
    "const rlo_storage_traits *": "&o->storage_traits",
    "const rlo_tape *": "tape(o)",
    "const rlo_tensor *": "tensor(o)",
    "const rlo_tile *": "&o->tile",
    "const void *": "o->memory",
    "const void *const *": "o->memories",
    "int32_t *": "o->numbers32",
    "int64_t *": "o->numbers",
    "rlo_backend_factory": "fail_factory",
    "rlo_bare_layout *": "&o->bare",
    "rlo_chain *": "chain(o)",
    "rlo_context *": "device_context()",
    "rlo_context *const *": "device_contexts()",
    "rlo_custom_fn": "copy_inputs",
    "rlo_dlpack_destroy_fn": "do_nothing",
    "rlo_engine *": "engine(o)",
    "rlo_exchange *": "exchange(o)",
    "rlo_gradient_fn": "fail_gradient",
    "rlo_index_fn": "visit_index",
    "rlo_job *": "job(o)",
    "rlo_kernel_call *": "(rlo_kernel_call *)(void *)o->memory",
    "rlo_layout *": "&o->layout",
    "rlo_plan *": "device_plan()",
    "rlo_plan_prepared_fn": "on_prepared",
    "rlo_problem *": "&o->problem",
    "rlo_problem_trace_fn": "on_step",
    "rlo_profile_fn": "on_run",
    "const rlo_profile_entry *": "&o->profile_entry",
    "rlo_release_fn": "do_nothing",
    "rlo_saver *": "(rlo_saver *)(void *)o->memory",
    "rlo_scope *": "scope(o)",
    "rlo_service *": "service(o)",
    "rlo_shape_map_fn": "copy_shape",
    "rlo_shape_tree *": "tree(o)",
    "rlo_shape_tree *const *": "trees(o)",
    "rlo_redistribution *": "redistribution(o)",
    "rlo_redistribution_fn": "visit_piece",
    "rlo_sharding *": "sharding(o)",
    "rlo_storage *": "storage(o)",
    "rlo_subshape_fn": "visit_subshape",
    "rlo_tape *": "tape(o)",
    "rlo_tensor *": "tensor(o)",
    "rlo_tensor *const *": "tensors(o)",
    "rlo_tensor_fn": "take_first",
    "rlo_wisdom_fn": "on_record",
    "struct DLManagedTensor *": "&o->managed",
    "struct DLManagedTensorVersioned *": "&o->managed_versioned",
    "void *": "o->memory",
}

# Valid arguments by name, or by type and name, for pointers to numbers and for
# numbers.
BY_NAME = {
    "base": "o->zeros",
    "begin": "o->zeros",
    "blocks": "o->ones",
    "high": "o->zeros",
    "index": "o->zeros",
    "interior": "o->zeros",
    "low": "o->zeros",
    "shifts": "o->zeros",
    "step": "o->ones",
    "strides": "o->ones",
    "times": "o->ones",
    "backend_name": '"host"',
    "dtype": "RLO_DTYPE_F32",
    "rank": "2",
    "from_rank": "2",
    "to_rank": "2",
    "count": "2",
    "size": "2",
    "capacity": "4",
    "size_t capacity": "sizeof o->text",
    "num_inputs": "1",
    "num_outputs": "1",
    "num_dys": "1",
    "num_elements": "2",
    "num_parameters": "2",
    "num_segments": "2",
    "num_contexts": "1",
    "num_wait": "1",
    "num_threads": "1",
    "block": "1",
    "channel_dim": "1",
    "bytes": "24",
    "text": '"f32[2,3]"',
    "text_bytes": "8",
    "available_bytes": "RLO_AVAILABLE_UNKNOWN",
    "available_elems": "RLO_AVAILABLE_UNKNOWN",
    "file_bytes": "-1",
    "path": "o->path",
    "mirror": "RLO_MIRROR_SYMMETRIC",
}

# Valid arguments of single parameters.
ARGUMENTS = {
    "attributes_check.count": "NUM_ATTRIBUTES",
    "attributes_find.name": '"i64"',
    "attributes_get_f64.name": '"f64"',
    "attributes_get_f64s.name": '"f64s"',
    "attributes_get_i64.name": '"i64"',
    "attributes_get_i64s.name": '"i64s"',
    "attributes_get_map.name": '"map"',
    "attributes_get_shape.name": '"shape"',
    "attributes_get_shapes.name": '"shapes"',
    "attributes_get_string.name": '"string"',
    "attributes_get_strings.name": '"strings"',
    "backend_register.name": '"other"',
    "backend_remove.name": '"host"',
    "backend_set.name": '"host"',
    "bare_layout_parse.text": '"{1,0}"',
    "bare_layout_parse.text_bytes": "5",
    "chain_split.sizes": "o->ones",
    "op_split.sizes": "o->ones",
    "chain_space_to_batch.count": "1",
    "chain_batch_to_space.count": "1",
    "op_space_to_batch.count": "1",
    "op_batch_to_space.count": "1",
    "chain_gather.indices": "&o->ids_shape",
    "context_import_wisdom.text": "o->wisdom",
    "context_import_wisdom.num_bytes": "strlen(o->wisdom)",
    "context_load_wisdom.path": "o->wisdom_path",
    "context_save_wisdom.path": "o->wisdom_path",
    "dlpack_view_tensor.dl_tensor": "&o->managed.dl_tensor",
    "dtype_from_name.name": '"f32"',
    "enqueue.dst": "device_destination()",
    "error_set.format": '"%s"',
    "error_set.status": "RLO_CANCELLED",
    "gradient_register.config": "&o->gradient_config",
    "gradient_register.out_old": "&o->old_gradient",
    "gradient_find.out_config": "&o->old_gradient",
    "gradient_list.config_bytes": "sizeof o->old_gradient",
    "gradient_list.capacity": "64",
    "infer_kernel.attributes": "&o->no_attributes",
    "infer_like_input.capacity": "1",
    "job_estimate_make.out_estimate": "&o->job_estimate",
    "exchange_get_info.out_info": "&o->exchange_info",
    "job_get_info.out_info": "&o->job_info",
    "cache_clear.out_info": "&o->cache_info",
    "cache_inspect.out_info": "&o->cache_info",
    "context_get_stats.out_stats": "&o->context_stats",
    "device_query.out_info": "&o->device_info",
    "dlpack_view_tensor.out_view": "&o->dlpack_view",
    "engine_get_memory.out_info": "&o->memory_info",
    "engine_get_stats.out_stats": "&o->engine_stats",
    "plan_get_info.out_info": "&o->plan_info",
    "redistribution_measure.out_cost": "&o->redistribution_cost",
    "kernel_copy_all.from": '"host"',
    "kernel_copy_all.to": '"other"',
    "kernel_register.out_old": "&o->old_kernel",
    "kernel_find.out_config": "&o->old_kernel",
    "kernel_list.config_bytes": "sizeof o->old_kernel",
    "kernel_list.capacity": "64",
    "kernel_place_inputs.count": "1",
    "layout_add_split.count": "1",
    "layout_add_split.indices": "o->ones",
    "layout_parse.text": '"{1,0}"',
    "layout_parse.text_bytes": "5",
    "lower_kernel.attributes": "&o->no_attributes",
    "npy_format.capacity": "sizeof o->memory",
    "npy_parse.bytes": "o->npy",
    "npy_parse.out_header": "&o->npy_header",
    "npy_parse.size_bytes": "o->npy_bytes",
    "op_gather.indices": "ids(o)",
    "op_pad.value": "scalar(o)",
    "op_segment_sum.ids": "ids(o)",
    "op_slice.size": "o->sizes",
    "op_strided_slice.end": "o->sizes",
    "op_transpose.permutation": "o->order64",
    "op_reverse.dims": "o->order64",
    "op_roll.dims": "o->order64",
    "op_sum.dims": "o->order64",
    "plan_create_segment_sum.options": "&o->plan_options",
    "program_shape_parse.text": '"() -> f32[]"',
    "program_shape_parse.text_bytes": "11",
    "proto_parse_layout.bytes": "o->proto_layout",
    "proto_parse_layout.size_bytes": "o->proto_layout_bytes",
    "proto_parse_program.bytes": "o->proto_program",
    "proto_parse_program.size_bytes": "o->proto_program_bytes",
    "proto_parse_shape.bytes": "o->proto_shape",
    "proto_parse_shape.size_bytes": "o->proto_shape_bytes",
    "proto_parse_sharding.bytes": '"\\x08\\x05"',
    "proto_parse_sharding.size_bytes": "2",
    "proto_parse_tile.bytes": "o->proto_tile",
    "proto_parse_tile.size_bytes": "o->proto_tile_bytes",
    "proto_parse_tree.bytes": "o->proto_shape",
    "proto_parse_tree.size_bytes": "o->proto_shape_bytes",
    "redistribution_relabel.out_devices": "o->numbers",
    "run_chain.out_shape": "&o->shape",
    "run_kernel.capacity": "1",
    "run_kernel.attributes": "&o->no_attributes",
    "run_kernel_named.attributes": "&o->no_attributes",
    "run_kernel_named.capacity": "1",
    "sharding_make_boxes.num_boxes": "1",
    "sharding_relabel.devices": "o->order64",
    "sharding_relabel.num_devices": "2",
    "sharding_validate.num_devices": "2",
    "sharding_parse.text": '"{replicated}"',
    "sharding_parse.text_bytes": "12",
    "segment_sum_create.ids": "&o->ids_shape",
    "segment_sum_infer.ids": "&o->ids_shape",
    "service_submit.dst": "target(o)",
    "shape_from_numpy.type": '"<f4"',
    "shape_from_numpy.out_view": "&o->numpy_view",
    "shape_from_pjrt.out_view": "&o->pjrt_view",
    "shape_to_pjrt.out_export": "&o->pjrt",
    "shape_from_numpy.strides_bytes": "o->strides_bytes",
    "byte_strides_is_major_to_minor.strides_bytes": "o->strides_bytes",
    "shape_insert_dims.count": "1",
    "shape_filter_dims.keep": "o->flags",
    "shape_delete_dims.count": "1",
    "shape_physical_dims.capacity": "8",
    "shape_tree_append_to_tuple.tuple": "tuple(o)",
    "shape_tree_get_array.index": "o->zeros",
    "shape_tree_get_array.count": "1",
    "shape_tree_get_array.tree": "tuple(o)",
    "shape_tree_get_subshape.count": "1",
    "shape_tree_get_subshape.tree": "tuple(o)",
    "shape_tree_index_is_valid.count": "1",
    "shape_tree_is_leaf_index.count": "1",
    "shape_tree_slice_tuple.tuple": "tuple(o)",
    "shape_tree_update_tuple.tuple": "tuple(o)",
    "shape_update_element_size.pack": "true",
    "storage_from_fd.bytes": "4",
    "storage_from_fd.hints": "&o->file_traits",
    "storage_from_fd.fd": "o->fd",
    "storage_get_traits.out_traits": "&o->storage_traits",
    "tape_gradients.count": "1",
    "value_and_gradients.count": "1",
    "tensor_buffer.tensor": "device_tensor(o)",
    "tensor_wrap_buffer.engine": "device_engine(o)",
    "vjp.attributes": "&o->no_attributes",
    "wisdom_read.num_bytes": "strlen(o->wisdom)",
    "wisdom_read.text": "o->wisdom",
}

# What releases a result, where it is not rlo_x_release for an rlo_x *.
RELEASES = {
    "cl_event": "release_event",
    "rlo_scope *": "end_scope",
    "rlo_tape *": "end_tape",
    "struct DLManagedTensor *": "delete_managed",
    "struct DLManagedTensorVersioned *": "delete_managed_versioned",
}
