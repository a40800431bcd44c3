/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix in a device buffer, behind a header of 64 bytes, is transposed into
 * a file.
 */
#define _POSIX_C_SOURCE 200809L
#include <relayout/relayout.h>
#include <relayout/service.h>
#include <relayout/storage_opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 300, COLUMNS = 500, HEADER_BYTES = 64 };

static float matrix[ROWS * COLUMNS];

static void check(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s: %s\n", rlo_status_name(status), rlo_error_last()->message);
    exit(EXIT_FAILURE);
  }
}

static void check_cl(cl_int code) {
  if (code != CL_SUCCESS) {
    fprintf(stderr, "OpenCL: %d\n", (int)code);
    exit(EXIT_FAILURE);
  }
}

static rlo_shape parse(const char *text) {
  rlo_shape shape;
  check(rlo_shape_parse(text, strlen(text), &shape));
  return shape;
}

/* A buffer on the device, in which the matrix is. */
static cl_mem make_buffer(rlo_context *context) {
  cl_int code = CL_SUCCESS;
  cl_mem buffer;
  check(rlo_buffer_create(context, HEADER_BYTES + sizeof matrix, &buffer));
  cl_command_queue queue = clCreateCommandQueue(rlo_context_cl_context(context),
                                                rlo_context_cl_device(context), 0, &code);
  check_cl(code);
  check_cl(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, HEADER_BYTES, sizeof matrix, matrix, 0,
                                NULL, NULL));
  check_cl(clReleaseCommandQueue(queue));
  return buffer;
}

static void transpose(rlo_context *context, cl_mem buffer, int out) {
  const int32_t permutation[] = {1, 0};
  rlo_shape src = parse("f32[300,500]{1,0}");
  rlo_shape dst = parse("f32[500,300]{1,0}");
  rlo_problem problem;
  check(rlo_relayout_lower(&src, &dst, permutation, &problem));

  // [snippet stream_buffer/storage]
  rlo_storage *from;
  rlo_storage *to;
  check(rlo_storage_from_buffer(context, buffer, HEADER_BYTES, problem.src_bytes, &from));
  check(rlo_storage_from_fd(out, 0, problem.dst_bytes, NULL, &to));

  rlo_service *service;
  check(rlo_service_create(&context, 1, NULL, &service)); /* on the device */
  rlo_job *job;
  check(rlo_service_submit(service, &problem, from, to, NULL, &job));
  check(rlo_job_wait(job, -1, NULL));
  check(rlo_job_result(job));
  // [/snippet]
  rlo_job_release(job);
  rlo_service_release(service);
  rlo_storage_release(to);
  rlo_storage_release(from);
}

int main(void) {
  for (int k = 0; k < ROWS * COLUMNS; ++k) {
    matrix[k] = (float)k;
  }
  FILE *out = tmpfile();
  if (out == NULL) {
    perror("tmpfile");
    return EXIT_FAILURE;
  }
  rlo_context *context;
  check(rlo_context_create_default(-1, NULL, &context));
  cl_mem buffer = make_buffer(context);
  transpose(context, buffer, fileno(out));
  rlo_buffer_release(context, buffer);
  rlo_context_release(context);

  int wrong = 0;
  for (int k = 0; k < ROWS * COLUMNS; ++k) {
    float number = -1;
    if (fread(&number, sizeof number, 1, out) != 1) {
      perror("fread");
      return EXIT_FAILURE;
    }
    wrong += number != matrix[k % ROWS * COLUMNS + k / ROWS];
  }
  printf("%d wrong\n", wrong);
  fclose(out);
  return wrong != 0;
}
