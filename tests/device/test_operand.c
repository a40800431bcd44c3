/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"
#include "relayout/text.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"

/*
 * Every way of asking for what cannot be done: nothing is enqueued, the event
 * is left alone, the sentence says what was wrong.
 */

enum { BYTES = 4 * 6 * 10 };

static cl_context context;
static rlo_plan *plan;
static cl_mem src, dst;

static void begin_file(void) {
  open_device();
  context = rlo_context_cl_context(device.context);
  const rlo_problem problem = test_problem_of("f32[6,10]", "f32[10,6]", "1,0");
  plan = test_context_plan(device.context, &problem, NULL);
  src = test_context_buffer(device.context, 0, 1024, NULL);
  dst = test_context_buffer(device.context, 0, 1024, NULL);
}

static void end_file(void) {
  clReleaseMemObject(src);
  clReleaseMemObject(dst);
  rlo_plan_release(plan);
  close_device();
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_TIMEOUT(120);

static cl_mem sub_buffer(cl_mem parent, size_t origin, size_t bytes, cl_mem_flags flags) {
  cl_buffer_region region = {origin, bytes};
  cl_int code = CL_SUCCESS;
  cl_mem buffer = clCreateSubBuffer(parent, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  expect_cl(code);
  return buffer;
}

/** One attempt: everything as it should be, until a test spoils a field. */
typedef struct attempt {
  rlo_plan *plan;
  cl_command_queue queue;
  cl_mem src, dst;
  int64_t src_offset, dst_offset;
  cl_uint num_wait;
  const cl_event *wait_list;
} attempt;

static attempt good_attempt(void) {
  return (attempt){plan, device.queue, src, dst, 0, 0, 0, NULL};
}

static rlo_status run(const attempt *a, cl_event *out_event) {
  return rlo_enqueue(a->plan, a->queue, a->src, a->src_offset, a->dst, a->dst_offset, a->num_wait,
                     a->wait_list, out_event);
}

static void expect_works(const attempt *a) {
  ck_assert_msg(run(a, NULL) == RLO_OK, "refused: %s", rlo_error_last()->message);
  expect_cl(clFinish(device.queue));
}

static void expect_refused(const attempt *a, rlo_status status, const char *words) {
  rlo_context_stats before = test_context_stats(device.context);
  cl_event untouched = (cl_event)(void *)&before;
  cl_event event = untouched;
  ck_assert_int_eq(run(a, &event), status);
  ck_assert_ptr_eq(event, untouched);
  ck_assert_msg(strstr(rlo_error_last()->message, words) != NULL, "\"%s\" is not in \"%s\"", words,
                rlo_error_last()->message);
  rlo_context_stats after = test_context_stats(device.context);
  ck_assert_int_eq(after.launches, before.launches);
}

RLO_TEST(test_operand__null_objects) {
  attempt a = good_attempt();
  expect_works(&a);
  a.plan = NULL;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "'plan' is NULL");
  a = good_attempt();
  a.queue = NULL;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "'queue' is NULL");
  a = good_attempt();
  a.src = NULL;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "source buffer is NULL");
  a = good_attempt();
  a.dst = NULL;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "destination buffer is NULL");
}

RLO_TEST(test_operand__wait_lists_that_contradict_themselves) {
  cl_event events[2] = {NULL, NULL};
  attempt a = good_attempt();
  a.num_wait = 1;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "wait list of 1 events is NULL");
  a = good_attempt();
  a.wait_list = events;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "wait list of 0 events is not NULL");
  a.num_wait = 2;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "event 0 of the wait list is NULL");
}

RLO_TEST(test_operand__objects_of_another_context) {
  test_device other = test_device_open();
  cl_mem foreign = test_context_buffer(other.context, 0, 1024, NULL);
  attempt a = good_attempt();
  a.queue = other.queue;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "queue is of another context");
  a = good_attempt();
  a.src = foreign;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "source buffer is of another context");
  a = good_attempt();
  a.dst = foreign;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "destination buffer is of another context");
  clReleaseMemObject(foreign);
  test_device_close(&other);
}

/* A part of a device is another device. */
RLO_TEST(test_operand__a_queue_of_another_device) {
  cl_device_id whole = rlo_context_cl_device(device.context);
  const cl_device_partition_property parts[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_device_id devices[2] = {whole, NULL};
  cl_uint num_parts = 0;
  if (clCreateSubDevices(whole, parts, 0, NULL, &num_parts) != CL_SUCCESS || num_parts == 0) {
    printf("the device cannot be partitioned: not tried\n");
    return;
  }
  cl_device_id *made = malloc(num_parts * sizeof *made);
  ck_assert_ptr_nonnull(made);
  expect_cl(clCreateSubDevices(whole, parts, num_parts, made, NULL));
  devices[1] = made[0];
  cl_int code = CL_SUCCESS;
  cl_context both = clCreateContext(NULL, 2, devices, NULL, NULL, &code);
  expect_cl(code);

  rlo_context *own = NULL;
  expect_ok(rlo_context_create(both, whole, NULL, &own));
  const rlo_problem problem = test_problem_of("f32[8]", "f32[8]", NULL);
  rlo_plan *own_plan = test_context_plan(own, &problem, NULL);
  cl_command_queue queue = clCreateCommandQueue(both, made[0], 0, &code);
  expect_cl(code);
  expect_refusal_with(rlo_enqueue(own_plan, queue, src, 0, dst, 0, 0, NULL, NULL),
                      RLO_INVALID_ARGUMENT, "queue is of another device");
  clReleaseCommandQueue(queue);
  rlo_plan_release(own_plan);
  rlo_context_release(own);
  clReleaseContext(both);
  for (cl_uint i = 0; i < num_parts; ++i) {
    clReleaseDevice(made[i]);
  }
  free(made);
}

RLO_TEST(test_operand__offsets_and_sizes) {
  attempt a = good_attempt();
  a.src_offset = 1024 - BYTES;
  a.dst_offset = 1024 - BYTES;
  expect_works(&a);
  a.src_offset += 4;
  expect_refused(&a, RLO_OUT_OF_RANGE, "the source needs 240 bytes from offset 788");
  a = good_attempt();
  a.dst_offset = 788;
  expect_refused(&a, RLO_OUT_OF_RANGE, "the destination needs 240 bytes");
  a.dst_offset = 1028;
  expect_refused(&a, RLO_OUT_OF_RANGE, "its memory has 1024");
  a.dst_offset = INT64_MAX - 3;
  expect_refused(&a, RLO_OUT_OF_RANGE, "9223372036854775804");
  a.dst_offset = INT64_MIN;
  expect_refused(&a, RLO_OUT_OF_RANGE, "is negative");
  a.dst_offset = -4;
  expect_refused(&a, RLO_OUT_OF_RANGE, "is negative");
  a.dst_offset = 6;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "not a multiple of the element's 4");
  a = good_attempt();
  a.src_offset = 1;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "source offset of 1 bytes is not a multiple");
}

RLO_TEST(test_operand__overlap_in_one_buffer) {
  attempt a = good_attempt();
  a.dst = src;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "overlap");
  a.dst_offset = BYTES - 4;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "overlap");
  a.dst_offset = BYTES;
  expect_works(&a);
  a.src_offset = 4;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "bytes 4 to 244 and 240 to 480");
  a.src_offset = 2 * BYTES;
  expect_works(&a);
}

/* The destination is longer than the source. */
RLO_TEST(test_operand__overlap_of_different_lengths) {
  rlo_problem problem;
  attempt a = good_attempt();
  rlo_shape from = test_shape_of("f32[8]");
  rlo_shape to = test_shape_of("f32[8]{0:pad(64)}");
  expect_ok(rlo_relayout_lower(&from, &to, NULL, &problem));
  a.plan = test_context_plan(device.context, &problem, NULL);
  a.dst = src;
  a.src_offset = 256;
  expect_works(&a);
  a.src_offset = 252;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "bytes 252 to 284 and 0 to 256");
  a.src_offset = 0;
  a.dst_offset = 32;
  expect_works(&a);
  a.dst_offset = 28;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "bytes 0 to 32 and 28 to 284");
  rlo_plan_release(a.plan);
}

RLO_TEST(test_operand__overlap_through_sub_buffers) {
  /* Where any device lets one begin. */
  cl_mem parent = test_context_buffer(device.context, 0, 2048, NULL);
  cl_mem low = sub_buffer(parent, 0, 1024, 0);
  cl_mem high = sub_buffer(parent, 1024, 1024, 0);
  cl_mem middle = sub_buffer(parent, 512, 1024, 0);
  attempt a = good_attempt();
  a.src = low;
  a.dst = high;
  expect_works(&a);
  a.dst = middle;
  expect_works(&a); /* 240 bytes from 0 and from 512 */
  a.src_offset = 276;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "bytes 276 to 516 and 512 to 752");
  a.src_offset = 0;
  a.dst = parent;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "overlap");
  a.dst_offset = 1024;
  expect_works(&a);
  a = good_attempt();
  a.src = low; /* 1024 bytes only, whatever its parent has */
  a.src_offset = 1024 - BYTES + 4;
  expect_refused(&a, RLO_OUT_OF_RANGE, "its memory has 1024");
  clReleaseMemObject(low);
  clReleaseMemObject(middle);
  clReleaseMemObject(high);
  clReleaseMemObject(parent);
}

RLO_TEST(test_operand__overlap_in_host_memory) {
  uint8_t *memory = aligned_alloc(4096, 4096);
  ck_assert_ptr_nonnull(memory);
  memset(memory, 0, 4096);
  cl_mem a_buffer = test_context_buffer(device.context, CL_MEM_USE_HOST_PTR, 1024, memory);
  cl_mem b_buffer = test_context_buffer(device.context, CL_MEM_USE_HOST_PTR, 1024, memory + 512);
  attempt a = good_attempt();
  a.src = a_buffer;
  a.dst = b_buffer;
  expect_works(&a);
  a.src_offset = 512;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "at host address");
  a.src_offset = 512 - BYTES + 4;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "overlap");
  a.src_offset = 512 - BYTES;
  expect_works(&a);
  clReleaseMemObject(a_buffer);
  clReleaseMemObject(b_buffer);
  free(memory);
}

RLO_TEST(test_operand__host_memory_beside_the_elements) {
  uint8_t *memory = aligned_alloc(4096, 4096);
  ck_assert_ptr_nonnull(memory);
  memset(memory, 0, 4096);
  cl_mem odd = test_context_buffer(device.context, CL_MEM_USE_HOST_PTR, 1024, memory + 2);
  attempt a = good_attempt();
  a.src = odd;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "not a multiple of the element's 4");
  a = good_attempt();
  a.dst = odd;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "the destination begins at host");
  clReleaseMemObject(odd);
  free(memory);
}

RLO_TEST(test_operand__flags_that_forbid_it) {
  cl_mem read_only = test_context_buffer(device.context, CL_MEM_READ_ONLY, 1024, NULL);
  cl_mem write_only = test_context_buffer(device.context, CL_MEM_WRITE_ONLY, 1024, NULL);
  attempt a = good_attempt();
  a.dst = read_only;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "CL_MEM_READ_ONLY");
  a = good_attempt();
  a.src = write_only;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "CL_MEM_WRITE_ONLY");
  a.src = read_only;
  a.dst = write_only;
  expect_works(&a);

  /* A sub-buffer without access flags inherits those of its parent. */
  cl_mem part = sub_buffer(read_only, 0, 512, 0);
  a = good_attempt();
  a.dst = part;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "CL_MEM_READ_ONLY");
  clReleaseMemObject(part);
  part = sub_buffer(dst, 0, 512, CL_MEM_READ_ONLY);
  a.dst = part;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "CL_MEM_READ_ONLY");
  clReleaseMemObject(part);
  clReleaseMemObject(read_only);
  clReleaseMemObject(write_only);
}

/* y = x + y: the destination is read and written. In integers, which each
 * device adds. */
RLO_TEST(test_operand__flags_that_forbid_an_update) {
  const int32_t permutation[] = {1, 0};
  rlo_combine_options options = RLO_COMBINE_OPTIONS_INIT;
  rlo_problem problem;
  attempt a = good_attempt();
  cl_mem read_only = test_context_buffer(device.context, CL_MEM_READ_ONLY, 1024, NULL);
  cl_mem write_only = test_context_buffer(device.context, CL_MEM_WRITE_ONLY, 1024, NULL);
  options.beta = 1;
  rlo_shape from = test_shape_of("s32[6,10]");
  rlo_shape to = test_shape_of("s32[10,6]");
  expect_ok(rlo_relayout_combine(&from, &to, permutation, &options, &problem));
  a.plan = test_context_plan(device.context, &problem, NULL);
  expect_works(&a);
  a.dst = read_only;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "destination buffer is CL_MEM_READ");
  a.dst = write_only;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "destination buffer is CL_MEM_WRITE");
  a = (attempt){a.plan, a.queue, read_only, dst, 0, 0, 0, NULL};
  expect_works(&a);
  rlo_plan_release(a.plan);
  clReleaseMemObject(read_only);
  clReleaseMemObject(write_only);
}

RLO_TEST(test_operand__an_image_is_no_buffer) {
  const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc description;
  memset(&description, 0, sizeof description);
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 16;
  description.image_height = 16;
  cl_int code = CL_SUCCESS;
  cl_mem image = clCreateImage(context, 0, &format, &description, NULL, &code);
  if (code != CL_SUCCESS) {
    printf("the device has no such images: not tried\n");
    return;
  }
  attempt a = good_attempt();
  a.src = image;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "not a buffer");
  clReleaseMemObject(image);
}

RLO_TEST(test_operand__events_that_cannot_be_waited_for) {
  test_device other = test_device_open();
  cl_int code = CL_SUCCESS;
  cl_event foreign = clCreateUserEvent(rlo_context_cl_context(other.context), &code);
  expect_cl(code);
  attempt a = good_attempt();
  a.num_wait = 1;
  a.wait_list = &foreign;
  expect_refused(&a, RLO_INVALID_ARGUMENT, "event 0 of the wait list is of");
  clSetUserEventStatus(foreign, CL_COMPLETE);
  clReleaseEvent(foreign);
  test_device_close(&other);

  cl_event failed = clCreateUserEvent(context, &code);
  expect_cl(code);
  expect_cl(clSetUserEventStatus(failed, CL_OUT_OF_RESOURCES));
  a.wait_list = &failed;
  expect_refused(&a, RLO_DEVICE, "has failed with CL_OUT_OF_RESOURCES (-5)");
  ck_assert_int_eq(rlo_error_last()->cl_code, CL_OUT_OF_RESOURCES);
  clReleaseEvent(failed);
}
