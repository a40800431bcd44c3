/* SPDX-License-Identifier: Apache-2.0 */
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/launch.h"
#include "relayout/ops.h"
#include "support/device_suite.h"
#include "support/expect.h"
#include "support/plan_case.h"
#include "support/shape_of.h"

/* A plan that does not go the usual way from buffers to a queue: memory by its pointer,
 * launches that the caller enqueues, command buffers. Each runs a segment sum, which has
 * every kind of operand and several steps, in a room whose every byte is compared. */

enum { ROOM = 8192, IDS_AT = 2048, DST_AT = 4096 + 16, SCRATCH_AT = 6144, SCRATCH_END = 7168 };

/* The rows, the ids, the sums. */
enum { NUM_ROWS = 8, ROW = 40, SEGMENTS = 3 };

static rlo_plan *sums, *transpose;
static uint8_t before[ROOM], expected[ROOM];

static void begin_file(void) {
  open_device_unordered();
  const rlo_shape rows = test_shape_of("s32[8,40]");
  const rlo_shape ids = test_shape_of("s32[8]");
  const rlo_shape out = test_shape_of("s32[3,40]");
  rlo_segment_sum *sum = NULL;
  expect_ok(rlo_segment_sum_create(&rows, &ids, 0, 0, &out, &sum));
  expect_ok(rlo_plan_create_segment_sum(device.context, sum, NULL, &sums));
  const rlo_problem problem = test_problem_of("s32[8,40]", "s32[40,8]", "1,0");
  transpose = test_context_plan(device.context, &problem, NULL);
  test_fill_unique(before, ROOM, 4, 3);
  memcpy(before + IDS_AT, (int32_t[NUM_ROWS]){2, 0, 2, 1, 0, 2, 7, 1}, NUM_ROWS * sizeof(int32_t));
  memcpy(expected, before, ROOM);
  expect_ok(rlo_segment_sum_run_host(sum, before, before + IDS_AT, expected + DST_AT));
  ck_assert_int_le(test_plan_info_of(sums).scratch_bytes, SCRATCH_END - SCRATCH_AT);
  rlo_segment_sum_release(sum);
}

static void end_file(void) {
  rlo_plan_release(sums);
  rlo_plan_release(transpose);
  expect_programs_within(8);
  close_device();
}

RLO_FILE_FIXTURE(begin_file, end_file);
RLO_TIMEOUT(120);

/* The operands of the sum in a room. */
static rlo_operands operands_in(cl_mem room) {
  rlo_operands o = RLO_OPERANDS_INIT;
  o.src = o.indices = o.dst = o.scratch = room;
  o.index_offset_bytes = IDS_AT;
  o.dst_offset_bytes = DST_AT;
  o.scratch_offset_bytes = SCRATCH_AT;
  return o;
}

static cl_mem fresh_room(void) {
  return test_context_buffer(device.context, CL_MEM_COPY_HOST_PTR, ROOM, before);
}

/* The whole room, but for what is scratch. */
static void expect_room(uint8_t *got) {
  memcpy(got + SCRATCH_AT, expected + SCRATCH_AT, SCRATCH_END - SCRATCH_AT);
  for (int32_t b = 0; b < ROOM; ++b) {
    ck_assert_msg(got[b] == expected[b], "byte %d is 0x%02x and not 0x%02x", b, got[b],
                  expected[b]);
  }
}

static void expect_room_of(cl_mem room) {
  uint8_t got[ROOM];
  test_device_read(device.queue, room, 0, ROOM, got);
  expect_room(got);
}

/* ------------------------------------------------------------------ pointers */

static cl_device_svm_capabilities svm_capabilities(void) {
  cl_device_svm_capabilities svm = 0;
  (void)clGetDeviceInfo(rlo_context_cl_device(device.context), CL_DEVICE_SVM_CAPABILITIES,
                        sizeof svm, &svm, NULL);
  return svm;
}

static uint8_t *make_shared(cl_svm_mem_flags flags) {
  const cl_context context = rlo_context_cl_context(device.context);
  uint8_t *room = clSVMAlloc(context, CL_MEM_READ_WRITE | flags, ROOM, 0);
  ck_assert_ptr_nonnull(room);
  expect_cl(clEnqueueSVMMemcpy(device.queue, CL_TRUE, room, before, ROOM, 0, NULL, NULL));
  return room;
}

/* With the offset in the pointer or beside it, alone and among buffers. */
RLO_TEST(test_launches__shared_virtual_memory) {
  if (svm_capabilities() == 0) {
    printf("the device shares no memory: not tried\n");
    return;
  }
  const bool has_fine = (svm_capabilities() & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  for (int32_t way = 0; way < 4; ++way) {
    uint8_t *room = make_shared(way == 3 && has_fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
    cl_mem others = fresh_room();
    rlo_operands o = operands_in(NULL);
    o.src_pointer = room;
    o.index_pointer = o.dst_pointer = o.scratch_pointer = room;
    if (way == 1) {
      o.dst_pointer = room + DST_AT - 8;
      o.dst_offset_bytes = 8;
    } else if (way == 2) {
      o.src = o.scratch = others;
      o.src_pointer = o.scratch_pointer = NULL;
    }
    const int64_t kernels = test_context_stats(device.context).kernels_created;
    expect_ok(rlo_enqueue_operands(sums, unordered, &o, 0, NULL, NULL));
    expect_cl(clFinish(unordered));
    /* Buffers in the place of pointers take kernels that have had none there. */
    const int64_t made = test_context_stats(device.context).kernels_created - kernels;
    ck_assert_int_eq(made > 0, way == 0 || way == 2);
    uint8_t got[ROOM];
    expect_cl(clEnqueueSVMMemcpy(device.queue, CL_TRUE, got, room, ROOM, 0, NULL, NULL));
    expect_room(got);
    clReleaseMemObject(others);
    clSVMFree(rlo_context_cl_context(device.context), room);
  }
}

/* A buffer over shared memory is that memory: whatever takes buffers takes it so. */
RLO_TEST(test_launches__a_buffer_over_shared_memory) {
  if (svm_capabilities() == 0) {
    printf("the device shares no memory: not tried\n");
    return;
  }
  uint8_t *room = make_shared(0);
  cl_mem over = test_context_buffer(device.context, CL_MEM_USE_HOST_PTR, ROOM, room);
  rlo_operands o = operands_in(over);
  expect_ok(rlo_enqueue_operands(sums, device.queue, &o, 0, NULL, NULL));
  uint8_t got[ROOM];
  expect_cl(clEnqueueSVMMemcpy(device.queue, CL_TRUE, got, room, ROOM, 0, NULL, NULL));
  expect_room(got);
  o.dst = NULL;
  o.dst_pointer = room;
  o.dst_offset_bytes = 64;
  expect_refusal_with(rlo_enqueue_operands(sums, device.queue, &o, 0, NULL, NULL),
                      RLO_INVALID_ARGUMENT, "source and destination overlap");
  clReleaseMemObject(over);
  clSVMFree(rlo_context_cl_context(device.context), room);
}

static void *find(const char *name) {
  cl_platform_id platform = NULL;
  expect_cl(clGetDeviceInfo(rlo_context_cl_device(device.context), CL_DEVICE_PLATFORM,
                            sizeof platform, &platform, NULL));
  return clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* Whose length the driver knows. */
RLO_TEST(test_launches__unified_memory) {
  char extensions[8192] = "";
  expect_cl(clGetDeviceInfo(rlo_context_cl_device(device.context), CL_DEVICE_EXTENSIONS,
                            sizeof extensions, extensions, NULL));
  clSharedMemAllocINTEL_fn allocate = NULL;
  clMemFreeINTEL_fn release = NULL;
  *(void **)&allocate = find("clSharedMemAllocINTEL");
  *(void **)&release = find("clMemFreeINTEL");
  if (strstr(extensions, "cl_intel_unified_shared_memory") == NULL || allocate == NULL ||
      release == NULL) {
    printf("the device has no unified memory: not tried\n");
    return;
  }
  cl_int code = CL_SUCCESS;
  const cl_context context = rlo_context_cl_context(device.context);
  uint8_t *room = allocate(context, rlo_context_cl_device(device.context), NULL, ROOM, 64, &code);
  expect_cl(code);
  memcpy(room, before, ROOM);
  rlo_operands o = operands_in(NULL);
  o.src_pointer = o.index_pointer = o.dst_pointer = o.scratch_pointer = room;
  expect_ok(rlo_enqueue_operands(sums, device.queue, &o, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  expect_room(room);
  o.src_pointer = room + ROOM - 1280 + 4;
  expect_refusal_with(rlo_enqueue_operands(sums, device.queue, &o, 0, NULL, NULL), RLO_OUT_OF_RANGE,
                      "the source needs 1280 bytes from offset 0 on; its memory has 1276");
  expect_cl(release(context, room));
}

RLO_TEST(test_launches__pointers_that_cannot_be) {
  if (svm_capabilities() == 0) {
    printf("the device shares no memory: not tried\n");
    return;
  }
  uint8_t *room = make_shared(0);
  cl_mem buffer = fresh_room();
  const rlo_context_stats stats = test_context_stats(device.context);

  const struct {
    int32_t src_at;
    int64_t src_offset;
    bool has_buffer;
    rlo_status status;
    const char *words;
  } cases[] = {
      {0, 0, true, RLO_INVALID_ARGUMENT, "the source is both a buffer and a pointer"},
      {2, 0, false, RLO_INVALID_ARGUMENT, "not a multiple of the element's 4"},
      {0, 2, false, RLO_INVALID_ARGUMENT, "source offset of 2 bytes is not a multiple"},
      {4, -4, false, RLO_OUT_OF_RANGE, "source offset of -4 bytes is negative"},
      {DST_AT - 4, 0, false, RLO_INVALID_ARGUMENT,
       "source and destination overlap: 1280 bytes at host address"},
  };

  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
    rlo_operands o = operands_in(NULL);
    o.src_pointer = room + cases[n].src_at;
    o.src_offset_bytes = cases[n].src_offset;
    o.src = cases[n].has_buffer ? buffer : NULL;
    o.index_pointer = o.dst_pointer = o.scratch_pointer = room;
    expect_refusal_with(rlo_enqueue_operands(sums, device.queue, &o, 0, NULL, NULL),
                        cases[n].status, cases[n].words);
  }
  ck_assert_int_eq(test_context_stats(device.context).launches, stats.launches);
  clReleaseMemObject(buffer);
  clSVMFree(rlo_context_cl_context(device.context), room);
}

/* --------------------------------------------------- launches that are handed out */

/** The caller's side. */
typedef struct own_queue {
  cl_event last;
  int32_t seen;
  /** The step at which it has enough; -1: none. */
  int32_t refused;
} own_queue;

static rlo_status enqueue_it(void *payload, const rlo_launch *launch) {
  own_queue *own = payload;
  ck_assert_uint_eq(launch->struct_size, sizeof *launch);
  ck_assert_int_eq(launch->step, own->seen);
  if (launch->step == own->refused) {
    return RLO_CANCELLED;
  }
  ++own->seen;
  cl_event done = NULL;
  expect_cl(clEnqueueNDRangeKernel(unordered, launch->kernel, launch->work_dim, NULL,
                                   launch->global_size, launch->local_size, launch->step > 0,
                                   launch->step > 0 ? &own->last : NULL, &done));
  if (own->last != NULL) {
    clReleaseEvent(own->last);
  }
  own->last = done;
  /* No lock is held, and the arguments are the command's own. */
  cl_mem room = fresh_room();
  const rlo_operands other = operands_in(room);
  expect_ok(rlo_enqueue_operands(sums, device.queue, &other, 0, NULL, NULL));
  expect_cl(clFinish(device.queue));
  clReleaseMemObject(room);
  return RLO_OK;
}

RLO_TEST(test_launches__the_caller_enqueues_them) {
  cl_mem room = fresh_room();
  const rlo_operands o = operands_in(room);
  own_queue own = {NULL, 0, -1};
  expect_ok(rlo_plan_get_launches(sums, &o, enqueue_it, &own));
  ck_assert_int_eq(own.seen, test_plan_info_of(sums).num_steps);
  ck_assert_int_gt(own.seen, 1);
  expect_cl(clWaitForEvents(1, &own.last));
  clReleaseEvent(own.last);
  expect_room_of(room);
  clReleaseMemObject(room);
}

static rlo_status never_called(void *payload, const rlo_launch *launch) {
  ck_abort_msg("step %d of %p", (int)launch->step, payload);
  return RLO_OK;
}

RLO_TEST(test_launches__refusals) {
  cl_mem room = fresh_room();
  rlo_operands o = operands_in(room);
  own_queue own = {NULL, 0, 1};
  ck_assert_int_eq(rlo_plan_get_launches(sums, &o, enqueue_it, &own), RLO_CANCELLED);
  ck_assert_int_eq(own.seen, 1);
  expect_cl(clFinish(unordered));
  clReleaseEvent(own.last);
  o.dst_offset_bytes = ROOM - 4;
  expect_refusal_with(rlo_plan_get_launches(sums, &o, never_called, NULL), RLO_OUT_OF_RANGE,
                      "the destination needs 480 bytes");
  const rlo_problem nothing = test_problem_of("f32[0,8]", "f32[8,0]", "1,0");
  rlo_plan *empty = test_context_plan(device.context, &nothing, NULL);
  o = (rlo_operands)RLO_OPERANDS_INIT;
  expect_ok(rlo_plan_get_launches(empty, &o, never_called, NULL));
  rlo_plan_release(empty);
  clReleaseMemObject(room);
}

/* ------------------------------------------------------------ command buffers */

/** The functions of the extension. */
typedef struct recorder {
  clCreateCommandBufferKHR_fn create;
  clFinalizeCommandBufferKHR_fn finalize;
  clEnqueueCommandBufferKHR_fn enqueue;
  clReleaseCommandBufferKHR_fn release;
} recorder;

static bool find_recorder(recorder *r) {
  void *functions[4];
  const char *const names[] = {"clCreateCommandBufferKHR", "clFinalizeCommandBufferKHR",
                               "clEnqueueCommandBufferKHR", "clReleaseCommandBufferKHR"};
  for (int32_t n = 0; n < 4; ++n) {
    functions[n] = find(names[n]);
    if (functions[n] == NULL) {
      printf("the device has no command buffers: not tried\n");
      return false;
    }
  }
  memcpy(r, functions, sizeof functions);
  return true;
}

/* The sum, and its rows transposed to where the ids were not: two plans, one after the
 * other, played again and again. */
RLO_TEST(test_launches__a_command_buffer_played_1000_times) {
  enum { TURNS = 1000, TURNED_AT = IDS_AT - 4 * NUM_ROWS * ROW };

  recorder r;
  if (!find_recorder(&r)) {
    return;
  }
  cl_int code = CL_SUCCESS;
  cl_command_buffer_khr buffer = r.create(1, &device.queue, NULL, &code);
  expect_cl(code);
  cl_mem room = fresh_room();
  cl_mem turned = test_context_buffer(device.context, 0, ROOM, NULL);
  rlo_operands o = operands_in(room);
  cl_uint points[2] = {0, 0};
  expect_ok(rlo_command_buffer_record(sums, &o, buffer, 0, NULL, &points[0]));
  o = (rlo_operands)RLO_OPERANDS_INIT;
  o.src = room;
  o.dst = turned;
  o.dst_offset_bytes = TURNED_AT;
  expect_ok(rlo_command_buffer_record(transpose, &o, buffer, 1, &points[0], &points[1]));
  ck_assert_uint_ne(points[0], points[1]);
  expect_cl(r.finalize(buffer));
  const int64_t launches = test_context_stats(device.context).launches;
  const cl_uint zero = 0;
  for (int32_t turn = 0; turn < TURNS; ++turn) {
    expect_cl(
        clEnqueueFillBuffer(device.queue, room, &zero, sizeof zero, DST_AT, 480, 0, NULL, NULL));
    expect_cl(r.enqueue(0, NULL, buffer, 0, NULL, NULL));
    expect_cl(clFinish(device.queue));
  }
  ck_assert_int_eq(test_context_stats(device.context).launches, launches);
  expect_room_of(room);
  int32_t got[NUM_ROWS * ROW];
  int32_t rows[NUM_ROWS * ROW];
  memcpy(rows, before, sizeof rows);
  test_device_read(device.queue, turned, TURNED_AT, sizeof got, got);
  for (int32_t i = 0; i < NUM_ROWS * ROW; ++i) {
    ck_assert_int_eq(got[i % ROW * NUM_ROWS + i / ROW], rows[i]);
  }
  expect_cl(r.release(buffer));
  clReleaseMemObject(turned);
  clReleaseMemObject(room);
}

RLO_TEST(test_launches__refused_command_buffers) {
  recorder r;
  if (!find_recorder(&r)) {
    return;
  }
  cl_int code = CL_SUCCESS;
  cl_command_buffer_khr buffer = r.create(1, &device.queue, NULL, &code);
  expect_cl(code);
  const rlo_problem nothing = test_problem_of("f32[0,8]", "f32[8,0]", "1,0");
  rlo_plan *empty = test_context_plan(device.context, &nothing, NULL);
  rlo_operands o = RLO_OPERANDS_INIT;
  cl_uint point = 77;
  expect_refusal(rlo_command_buffer_record(empty, &o, buffer, 1, NULL, &point),
                 RLO_INVALID_ARGUMENT, "a wait list of 1 sync points is NULL");
  o.struct_size = 3;
  expect_refusal_with(rlo_command_buffer_record(empty, &o, buffer, 0, NULL, &point),
                      RLO_INVALID_ARGUMENT, "RLO_OPERANDS_INIT");
  ck_assert_uint_eq(point, 77);
  o = (rlo_operands)RLO_OPERANDS_INIT;
  expect_ok(rlo_command_buffer_record(empty, &o, buffer, 0, NULL, NULL));
  expect_ok(rlo_command_buffer_record(empty, &o, buffer, 0, NULL, &point));
  ck_assert_uint_eq(point, 0);
  expect_cl(r.release(buffer));
  rlo_plan_release(empty);
}
