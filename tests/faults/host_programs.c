/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"
#include "relayout/dlpack.h"
#include "relayout/exchange.h"
#include "relayout/npy.h"
#include "relayout/ops.h"
#include "relayout/service.h"
#include "relayout/storage.h"
#include "relayout/xla/text.h"
#include "support/dlpack_tensor.h"
#include "support/expect.h"
#include "support/redistribute.h"
#include "support/shape_of.h"
#include "support/temp_file.h"

enum { ROWS = 24, COLUMNS = 40, COUNT = ROWS * COLUMNS, NUM_DEVICES = 4 };

/* ------------------------------------------------------------------- texts */

/* Parses a tree, prints it and flattens it. */
static rlo_status run_tree(rlo_context *context, bool *out_is_right) {
  static const char text[] = "(f32[1]{0}, (f32[2]{0}, token[]), opaque[], b(s32[3]{0}), ())";
  char got[256] = "";
  rlo_shape_tree *tree = NULL;
  rlo_shape_tree *flat = NULL;
  (void)context;
  rlo_status status = rlo_shape_tree_parse(text, strlen(text), &tree);
  if (status == RLO_OK) {
    (void)rlo_shape_tree_format(tree, got, sizeof got);
    status = rlo_shape_tree_flatten(tree, &flat);
  }
  *out_is_right = status == RLO_OK && strstr(got, "token[]") != NULL &&
                  rlo_shape_tree_tuple_element_count(flat) == 5;
  rlo_shape_tree_release(tree);
  rlo_shape_tree_release(flat);
  return status;
}

static rlo_status run_program_shape(rlo_context *context, bool *out_is_right) {
  static const char text[] = "(a: f32[2]{0}, b: (s32[], f32[3,4]{1,0})) -> f32[]";
  char got[256] = "";
  rlo_program_shape *program = NULL;
  rlo_bare_layout layout = {0};
  (void)context;
  rlo_status status = rlo_program_shape_parse(text, strlen(text), &program);
  if (status == RLO_OK) {
    (void)rlo_program_shape_format(program, got, sizeof got);
    status = rlo_bare_layout_parse("{1,0:T(8,128)}", 14, &layout);
  }
  *out_is_right = strcmp(got, text) == 0;
  rlo_bare_layout_deinit(&layout);
  rlo_program_shape_release(program);
  return status;
}

static void note_deletion(void *payload) {
  *(bool *)payload = true;
}

/* Exported and given back to where it came from. */
static rlo_status run_tensors(rlo_context *context, bool *out_is_right) {
  static float data[COUNT];
  char header[256];
  size_t header_bytes = 0;
  bool is_deleted = false;
  rlo_npy_header parsed = RLO_NPY_HEADER_INIT;
  DLManagedTensor *managed = NULL;
  rlo_dlpack_import *import = NULL;
  const rlo_dlpack_view view = {.struct_size = sizeof(rlo_dlpack_view),
                                .shape = test_shape_of("f32[24,40]{1,0}"),
                                .device = RLO_DLPACK_CPU,
                                .data = data};
  (void)context;
  rlo_status status = rlo_npy_format(&view.shape, header, sizeof header, &header_bytes);
  THEN(rlo_npy_parse(header, header_bytes, (int64_t)(header_bytes + sizeof data), &parsed));
  THEN(rlo_dlpack_export(&view, note_deletion, &is_deleted, &managed));
  if (status == RLO_OK) {
    status = rlo_dlpack_import_create(managed, RLO_AVAILABLE_UNKNOWN, &import);
    if (status != RLO_OK) {
      managed->deleter(managed);
    }
  }
  rlo_dlpack_import_release(import);
  *out_is_right = is_deleted;
  return status;
}

/* --------------------------------------------------------------- exchanges */

/* From rows to columns of devices. */
static rlo_status exchange(rlo_redistribution *plan, bool *out_is_right) {
  static float parts[2][NUM_DEVICES][COUNT / NUM_DEVICES];
  rlo_exchange_member members[NUM_DEVICES] = {0};
  rlo_exchange_memory memories[NUM_DEVICES] = {0};
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  rlo_exchange *made = NULL;
  memset(parts, 0, sizeof parts);
  for (int k = 0; k < NUM_DEVICES; ++k) {
    members[k].device = k;
    memories[k].host_src = parts[0][k];
    memories[k].host_dst = parts[1][k];
    for (int i = 0; i < COUNT / NUM_DEVICES; ++i) {
      parts[0][k][i] = (float)(k * (COUNT / NUM_DEVICES) + i);
    }
  }
  options.plan = plan;
  options.members = members;
  options.num_members = NUM_DEVICES;
  rlo_status status = rlo_exchange_create(&options, &made);
  THEN(rlo_exchange_run(made, memories));
  *out_is_right = true;
  for (int i = 0; i < COUNT; ++i) {
    const int width = COLUMNS / NUM_DEVICES;
    const int row = i / COLUMNS;
    const int column = i % COLUMNS;
    *out_is_right =
        *out_is_right && parts[1][column / width][row * width + column % width] == (float)i;
  }
  rlo_exchange_release(made);
  return status;
}

static rlo_status run_exchange(rlo_context *context, bool *out_is_right) {
  static const char *const texts[] = {"{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}"};
  const rlo_shape shapes[] = {test_shape_of("f32[24,40]{1,0}"), test_shape_of("f32[24,40]{1,0}")};
  int64_t devices[NUM_DEVICES];
  rlo_sharding *shardings[2] = {NULL, NULL};
  rlo_redistribution *plan = NULL;
  rlo_redistribution *adjoint = NULL;
  rlo_status status = RLO_OK;
  (void)context;
  for (int k = 0; status == RLO_OK && k < 2; ++k) {
    status = rlo_sharding_parse(texts[k], strlen(texts[k]), &shardings[k]);
  }
  THEN(test_redistribution_create(shapes, shardings, NULL, 0, &plan));
  THEN(rlo_redistribution_create_adjoint(plan, false, &adjoint));
  THEN(rlo_redistribution_relabel(plan, devices));
  THEN(exchange(plan, out_is_right));
  rlo_redistribution_release(adjoint);
  rlo_redistribution_release(plan);
  rlo_sharding_release(shardings[0]);
  rlo_sharding_release(shardings[1]);
  return status;
}

/* ----------------------------------------------------------------- journal */

static rlo_status submit_and_wait(rlo_service *service, const char *journal_path,
                                  const rlo_problem *problem, rlo_storage *src, rlo_storage *dst) {
  rlo_job_options options = RLO_JOB_OPTIONS_INIT;
  rlo_job *job = NULL;
  options.journal_path = journal_path;
  rlo_status status = rlo_service_submit(service, problem, src, dst, &options, &job);
  THEN(rlo_job_wait(job, -1, NULL));
  THEN(rlo_job_result(job));
  rlo_job_release(job);
  return status;
}

/* A job in several boxes, from a file to a file; a job that failed left its
 * journal, with which it goes on. */
static rlo_status run_files(const char *journal_path, int fds[2], bool *out_is_right) {
  enum { SIDE = 640 };

  static float row[SIDE];
  const int32_t permutation[] = {1, 0};
  rlo_shape shape = test_shape_of("f32[640,640]");
  rlo_service_options options = RLO_SERVICE_OPTIONS_INIT;
  rlo_service *service = NULL;
  rlo_storage *storages[2] = {NULL, NULL};
  rlo_problem problem;
  options.io_threads = 1;
  options.host_memory_bytes = RLO_SERVICE_MIN_HOST_BYTES;
  rlo_status status = rlo_relayout_lower(&shape, &shape, permutation, &problem);
  THEN(rlo_service_create(NULL, 0, &options, &service));
  for (int k = 0; status == RLO_OK && k < 2; ++k) {
    status = rlo_storage_from_fd(fds[k], 0, (int64_t)SIDE * SIDE * 4, NULL, &storages[k]);
  }
  THEN(submit_and_wait(service, journal_path, &problem, storages[0], storages[1]));
  *out_is_right = true;
  for (int r = 0; status == RLO_OK && r < SIDE; ++r) {
    if (pread(fds[1], row, sizeof row, (off_t)r * (off_t)sizeof row) != (ssize_t)sizeof row) {
      abort();
    }
    for (int c = 0; c < SIDE; ++c) {
      *out_is_right = *out_is_right && row[c] == (float)(c * SIDE + r);
    }
  }
  rlo_storage_release(storages[0]);
  rlo_storage_release(storages[1]);
  rlo_service_release(service);
  return status;
}

static int open_numbers(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  for (int r = 0; r < 640; ++r) {
    float row[640];
    for (int c = 0; c < 640; ++c) {
      row[c] = (float)(r * 640 + c);
    }
    if (write(fd, row, sizeof row) != (ssize_t)sizeof row) {
      abort();
    }
  }
  return fd;
}

static rlo_status run_journal(rlo_context *context, bool *out_is_right) {
  char folder[TEMP_FOLDER_CHARS];
  char paths[3][TEMP_FOLDER_CHARS + 16];
  static const char *const names[] = {"in", "out", "journal"};
  (void)context;
  temp_folder_make(folder);
  for (int k = 0; k < 3; ++k) {
    (void)snprintf(paths[k], sizeof paths[k], "%s/%s", folder, names[k]);
  }
  int fds[] = {open_numbers(paths[0]), open(paths[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  rlo_status status = run_files(paths[2], fds, out_is_right);
  (void)close(fds[0]);
  (void)close(fds[1]);
  temp_folder_remove(folder);
  return status;
}

const fault_program fault_host_programs[FAULT_NUM_HOST_PROGRAMS] = {
    {"host-chain", fault_run_chain, FAULT_ON_HOST, 250, 0, 0},
    {"host-fused", fault_run_fused, FAULT_ON_HOST, 200, 0, 0},
    {"host-gather", fault_run_gather, FAULT_ON_HOST, 245, 0, 0},
    {"host-gradient", fault_run_gradient, FAULT_ON_HOST, 310, 0, 0},
    {"host-service", fault_run_service, FAULT_ON_HOST, 19, 0, 0},
    {"journal", run_journal, FAULT_ON_HOST, 145, 0, 0},
    {"tree", run_tree, FAULT_ON_HOST, 11, 0, 0},
    {"program-shape", run_program_shape, FAULT_ON_HOST, 12, 0, 0},
    {"tensors", run_tensors, FAULT_ON_HOST, 2, 0, 0},
    {"exchange", run_exchange, FAULT_ON_HOST, 300, 0, 0},
};
