/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array in a file is transposed into another file, within 2 MiB of memory:
 * neither side is ever in memory as a whole.
 */
#define _POSIX_C_SOURCE 200809L
#include <relayout/relayout.h>
#include <relayout/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 1200, COLUMNS = 1500 };

static void check(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s: %s\n", rlo_status_name(status), rlo_error_last()->message);
    exit(EXIT_FAILURE);
  }
}

static rlo_shape parse(const char *text) {
  rlo_shape shape;
  check(rlo_shape_parse(text, strlen(text), &shape));
  return shape;
}

/* A file that is gone when the program ends. */
static FILE *make_file(void) {
  FILE *file = tmpfile();
  if (file == NULL) {
    perror("tmpfile");
    exit(EXIT_FAILURE);
  }
  return file;
}

static void transpose(int in, int out) {
  // [snippet stream/job]
  rlo_shape src = parse("f32[1200,1500]{1,0}");
  rlo_shape dst = parse("f32[1500,1200]{1,0}");
  const int32_t permutation[] = {1, 0};
  rlo_problem problem;
  check(rlo_relayout_lower(&src, &dst, permutation, &problem));

  rlo_storage *from;
  rlo_storage *to;
  check(rlo_storage_from_fd(in, 0, problem.src_bytes, NULL, &from));
  check(rlo_storage_from_fd(out, 0, problem.dst_bytes, NULL, &to));

  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  options.host_memory_bytes = 2 << 20;
  options.max_running_jobs = 1; /* so that the job gets all of it */
  rlo_service *service;
  check(rlo_service_create(NULL, 0, &options, &service)); /* on the host */

  rlo_job_options job_options = RLO_JOB_OPTIONS_INIT;
  job_options.is_new_destination = true;
  rlo_job *job;
  check(rlo_service_submit(service, &problem, from, to, &job_options, &job));
  // [/snippet]

  // [snippet stream/wait]
  bool has_ended = false;
  while (!has_ended) {
    check(rlo_job_wait(job, 100, &has_ended)); /* milliseconds */
    rlo_job_info info = RLO_JOB_INFO_INIT;
    check(rlo_job_get_info(job, &info));
    printf("%lld of %lld bytes\n", (long long)info.bytes_done, (long long)info.bytes_total);
  }
  check(rlo_job_result(job));
  // [/snippet]
  rlo_job_release(job);
  rlo_service_release(service);
  rlo_storage_release(to);
  rlo_storage_release(from);
}

static float read_number(int fd, int64_t index) {
  float number = 0;
  if (pread(fd, &number, sizeof number, (off_t)(index * 4)) != 4) {
    perror("pread");
    exit(EXIT_FAILURE);
  }
  return number;
}

int main(void) {
  FILE *in = make_file();
  FILE *out = make_file();
  for (int k = 0; k < ROWS * COLUMNS; ++k) {
    const float number = (float)k;
    if (fwrite(&number, sizeof number, 1, in) != 1) {
      perror("fwrite");
      return EXIT_FAILURE;
    }
  }
  if (fflush(in) != 0) {
    perror("fflush");
    return EXIT_FAILURE;
  }
  transpose(fileno(in), fileno(out));
  int wrong = 0;
  for (int k = 0; k < ROWS * COLUMNS; k += 997) {
    const int64_t i = k / COLUMNS;
    const int64_t j = k % COLUMNS;
    wrong += read_number(fileno(out), j * ROWS + i) != (float)k;
  }
  printf("%d wrong\n", wrong);
  fclose(out);
  fclose(in);
  return wrong != 0;
}
