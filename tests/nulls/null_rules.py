# SPDX-License-Identifier: Apache-2.0
"""What the generator of null_calls.c has to know beyond the headers.

Parameters are named `function.parameter`, without the prefix rlo_. All other
pointers must not be NULL: the rule in relayout/status.h.
"""

# Parameters that may be NULL, as their function's comment says: no sentence says that
# they are NULL. (`payload` may be NULL everywhere.)
OPTIONAL = """
attributes_check.attributes attributes_clone.attributes attributes_find.attributes
batch_create.options
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
gradient_register.out_old infer_kernel.attributes infer_elementwise.attributes
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
proto_format_layout.options proto_format_shape.options
proto_format_sharding.options proto_parse_sharding.out_origin
proto_format_tile.options proto_format_tree.options proto_parse_layout.out_origin
proto_parse_program.out_origin proto_parse_shape.out_origin
proto_parse_tile.out_origin proto_parse_tree.out_origin
relayout_combine.options relayout_combine.permutation relayout_lower.permutation
run_chain.out_shape run_kernel.attributes run_kernel.out_count
run_kernel_named.attributes run_kernel_named.out_count
safetensors_plan_create.options safetensors_storage.hints
scope_end.scope
service_create.options service_drain.out_is_idle service_estimate.dst
service_estimate.job_options service_estimate.src service_submit.options
shape_for_each_index.base shape_for_each_index.count shape_for_each_index.step
shape_from_numpy.strides_bytes shape_from_pjrt.layout shape_make_dynamic.is_dynamic
shape_make_descending_with_same_physical_layout.out_permutation
storage_from_fd.hints tape_end.tape tape_gradients.dy tensor_create.data
tensor_wrap_buffer.ready tensor_wrap_buffer.release tensor_wrap_host.release
value_and_gradients.dy value_and_gradients.out_y vjp.attributes vjp.wants
wisdom_read.fn
program_shape_create.names[0] vjp.dys[0]
""".split()

# Like OPTIONAL, but NULL stands for a value with which these calls fail: what
# they return, and a part of the sentence.
OTHERWISE = {
    "attributes_get_%s.attributes" % kind: ("RLO_NOT_FOUND", "attribute")
    for kind in ("f64", "f64s", "i64", "i64s", "map", "shape", "shapes",
                 "string", "strings")
}
OTHERWISE["recipe_results_lower.begin"] = ("RLO_INVALID_ARGUMENT", "a box has no begin")
OTHERWISE["recipe_results_lower.end"] = ("RLO_INVALID_ARGUMENT", "a box has no end")
OTHERWISE["error_set.format"] = ("RLO_CANCELLED", "")
OTHERWISE["source_kernel_run.payload"] = ("RLO_INVALID_ARGUMENT",
                                          "'payload' is NULL")

# What functions that return no status return for NULL, where it is not 0, false
# or NULL. The texts of *_format and *_human_string have their length without a
# buffer too.
NEUTRAL = {
    "layout_major": "-1",
    "layout_minor": "-1",
    "problem_list_indices": "-1",
    "problem_list_operand": "-1",
    "safetensors_find": "-1",
    "safetensors_match": "-1",
    "service_poll_fd": "-1",
    "shape_tree_kind": "RLO_SHAPE_KIND_OPAQUE",
    "sharding_get_kind": "RLO_SHARDING_UNKNOWN",
}

# Functions and parameters that are not tried here, and who passes NULL to them.
ELSEWHERE = {
    "batch_enqueue.memories": "tests/device/test_batch.c",
    "batch_enqueue.wait_list": "",
    "batch_enqueue.out_event": "",
    "context_create.options": "tests/device/test_context.c",
    "context_create_default.options": "tests/device/test_context.c",
    "enqueue.src": "tests/device/test_operand.c, and the next three rows",
    "enqueue.dst": "",
    "enqueue.wait_list": "",
    "command_buffer_record.out_sync_point": "tests/device/test_launches.c",
    "command_buffer_record.wait_list": "",
    "enqueue_operands.wait_list": "",
    "opencl_load": "tests/device/test_no_platform.c",
    "enqueue.out_event": "each test of an enqueue",
    "job_wait.out_has_ended": "each test of a job",
    "proto_format_program.options": "tests/unit/test_proto_tree.c",
    "program_shape_create.names": "tests/unit/test_program_shape.c",
    "program_shape_create.names[0]": "tests/unit/test_program_shape.c",
    "program_shape_format.buffer": "tests/unit/test_program_shape.c",
    "program_shape_human_string.buffer": "tests/unit/test_program_shape.c",
    "storage_from_buffer.buffer": "tests/device/test_device_service_buffer.c",
    "tensor_wrap_buffer.buffer": "tests/engine/device_engine.c",
}

# Valid arguments by type: of functions that look at them before the NULL. `o` is a
# struct objects (null_calls.h).
BY_TYPE = {
    "const rlo_address_map *": "&o->map",
    "const rlo_chain *": "o->chain",
    "const rlo_engine *": "o->engine",
    "const rlo_problem *": "&o->problem",
    "const rlo_problem_list *": "o->problems",
    "const rlo_segment_sum *": "o->segment_sum",
    "const rlo_shape *": "&o->shape",
    "const rlo_tensor *": "o->tensor",
    "rlo_chain *": "o->chain",
    "rlo_engine *": "o->engine",
    "rlo_exchange *": "o->exchange",
    "rlo_tape *": "o->tape",
    "rlo_tensor_fn": "take_first",
    "rlo_tensor *": "o->tensor",
    "rlo_tensor *const *": "o->tensors",
}

# Numbers that are not 0.
NUMBERS = {
    "dtype": "RLO_DTYPE_F32",
    "rank": "2",
    "from_rank": "2",
    "to_rank": "2",
    "count": "2",
    "size": "2",
    "capacity": "4",
    "num_inputs": "1",
    "num_outputs": "1",
    "num_dys": "1",
    "num_elements": "2",
    "num_parameters": "2",
    "num_segments": "2",
    "num_contexts": "1",
    "num_wait": "1",
    "num_memories": "1",
    "num_threads": "1",
    "num_devices": "2",
    "num_boxes": "1",
    "num_bytes": "8",
    "size_bytes": "8",
    "text_bytes": "8",
    "bytes": "24",
}

# Arguments of single parameters.
ARGUMENTS = {
    "error_set.format": '"%s"',
    "error_set.status": "RLO_CANCELLED",
    "infer_kernel.kernel_name": '"Identity"',
    "kernel_place_inputs.kernel_name": '"Identity"',
    "lower_kernel.kernel_name": '"Identity"',
    "run_kernel.kernel_name": '"Identity"',
    "vjp.kernel_name": '"Identity"',
}
