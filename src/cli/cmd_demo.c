/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "relayout/ops.h"
#include "relayout/plan.h"
#include "relayout/text.h"

#include "command.h"
#include "display.h"
#include "json.h"
#include "message.h"
#include "options.h"
#include "session.h"
#include "subprocess.h"

enum { NUM_STEPS = 4, MAX_ROUNDS = 1000 };

/* The results of one step. */
typedef struct demo_row {
  const char *name;
  const char *src_text;
  const char *dst_text;
  char family[32];
  /* Bytes read and written. */
  int64_t moved_bytes;
  int64_t num_wrong_bytes;
  double seconds[MAX_ROUNDS];
} demo_row;

typedef struct demo_table {
  /* Borrowed. */
  const char *device_name;
  rlo_device_class device_class;
  int32_t num_rounds;
  double copy_gb_per_s[MAX_ROUNDS];
  demo_row rows[NUM_STEPS];
} demo_table;

static int compare_doubles(const void *a, const void *b) {
  const double *left = a;
  const double *right = b;
  return (*left > *right) - (*left < *right);
}

static double median(double *values, int32_t count) {
  qsort(values, (size_t)count, sizeof(*values), compare_doubles);
  int32_t middle = count / 2;
  return count % 2 != 0 ? values[middle]
                        : (values[middle - 1] + values[middle]) / 2;
}

static void print_row(const demo_row *row,
                      int32_t number,
                      double seconds,
                      double gb_per_s,
                      double limit) {
  rlo__bytes_text bytes;
  printf("%d %-24s %-7s %9s %8.3f ms %6.2f GB/s %5.0f %%  ",
         number,
         row->name,
         row->family,
         rlo__bytes_text_make(row->moved_bytes, &bytes),
         1e3 * seconds,
         gb_per_s,
         100 * gb_per_s / limit);
  if (row->num_wrong_bytes == 0) {
    puts("equal");
  } else {
    printf("%" PRId64 " WRONG\n", row->num_wrong_bytes);
  }
  printf("  from %s\n", row->src_text);
  printf("  to   %s\n", row->dst_text);
}

static void write_row(rlo__json *json,
                      const demo_row *row,
                      double seconds,
                      double gb_per_s,
                      double limit) {
  rlo__json_begin_object(json, NULL);
  rlo__json_string(json, "name", row->name);
  rlo__json_string(json, "src", row->src_text);
  rlo__json_string(json, "dst", row->dst_text);
  rlo__json_string(json, "family", row->family);
  rlo__json_int(json, "moved_bytes", row->moved_bytes);
  rlo__json_double(json, "seconds", seconds);
  rlo__json_double(json, "gb_per_s", gb_per_s);
  rlo__json_double(json, "fraction_of_limit", gb_per_s / limit);
  rlo__json_int(json, "wrong_bytes", row->num_wrong_bytes);
  rlo__json_end_object(json);
}

/* Prints the table and sorts its measurements. Returns RLO__EXIT_FAILURE, after
 * a message, if a step wrote a wrong byte. */
static int print_table(demo_table *table, bool is_json) {
  double limit = median(table->copy_gb_per_s, table->num_rounds);
  const char *class_name = rlo__device_class_name(table->device_class);
  rlo__json json = {0};
  if (is_json) {
    rlo__json_begin_object(&json, NULL);
    rlo__json_string(&json, "device", table->device_name);
    rlo__json_string(&json, "class", class_name);
    rlo__json_int(&json, "rounds", table->num_rounds);
    rlo__json_double(&json, "copy_limit_gb_per_s", limit);
    rlo__json_begin_array(&json, "steps");
  } else {
    printf("device  %s (%s class)\n", table->device_name, class_name);
    printf("limit   %.2f GB/s: a plain copy on it, in the same run\n", limit);
    printf("times   medians of %d; bytes are those read and those written\n",
           table->num_rounds);
    puts("check   every byte against the host reference\n");
    puts(
        "  step                     family      bytes        time       speed "
        "of limit  check");
  }
  int64_t num_wrong_bytes = 0;
  for (int32_t i = 0; i < NUM_STEPS; ++i) {
    demo_row *row = &table->rows[i];
    double seconds = median(row->seconds, table->num_rounds);
    double gb_per_s = (double)row->moved_bytes / seconds / 1e9;
    num_wrong_bytes += row->num_wrong_bytes;
    if (is_json) {
      write_row(&json, row, seconds, gb_per_s, limit);
    } else {
      print_row(row, i + 1, seconds, gb_per_s, limit);
    }
  }
  if (is_json) {
    rlo__json_end_array(&json);
    rlo__json_int(&json, "wrong_bytes", num_wrong_bytes);
    rlo__json_end_object(&json);
  }
  if (num_wrong_bytes != 0) {
    return rlo__fail("%" PRId64 " bytes differ from the host reference",
                     num_wrong_bytes);
  }
  return RLO__EXIT_OK;
}

typedef struct demo_request {
  demo_table table;
  rlo__common_options common;
  int64_t rounds;
  bool is_small;
} demo_request;

/* Step i reads buffer i and writes buffer i + 1. */
typedef struct demo_step {
  rlo_shape src;
  rlo_shape dst;
  rlo_problem problem;
  rlo_plan *plan;
} demo_step;

typedef struct demo {
  demo_request *request;
  rlo__session session;
  demo_step steps[NUM_STEPS];
  cl_mem buffers[NUM_STEPS + 1];
  /* Contents of each buffer, computed by the host reference. */
  unsigned char *expected[NUM_STEPS + 1];
  size_t bytes[NUM_STEPS + 1];
} demo;

/* Images; the dimensions are [batch, height, width, channel]. */
static const char *const full_shapes[NUM_STEPS + 1] = {
    "f32[64,224,224,3]{3,2,1,0}",
    "f32[64,224,224,3]{2,1,3,0}",
    "f32[64,224,224,3]{2,1,3,0:pad(64,224,256,3)fill(zero)}",
    "f32[64,224,224,3]{2,1,3,0:T(8,128)fill(zero)}",
    "f32[64,224,224,3]{3,2,1,0}",
};
static const char *const small_shapes[NUM_STEPS + 1] = {
    "f32[2,16,16,3]{3,2,1,0}",
    "f32[2,16,16,3]{2,1,3,0}",
    "f32[2,16,16,3]{2,1,3,0:pad(2,16,24,3)fill(zero)}",
    "f32[2,16,16,3]{2,1,3,0:T(8,128)fill(zero)}",
    "f32[2,16,16,3]{3,2,1,0}",
};
static const char *const step_names[NUM_STEPS] = {
    "NHWC to NCHW",
    "to rows of padded width",
    "to tiles of 8 x 128",
    "back to NHWC",
};

static int make_steps(demo *d) {
  const char *const *texts = d->request->is_small ? small_shapes : full_shapes;
  for (int32_t i = 0; i < NUM_STEPS; ++i) {
    demo_step *step = &d->steps[i];
    demo_row *row = &d->request->table.rows[i];
    row->name = step_names[i];
    row->src_text = texts[i];
    row->dst_text = texts[i + 1];
    if (rlo_shape_parse(texts[i], strlen(texts[i]), &step->src) != RLO_OK ||
        rlo_shape_parse(texts[i + 1], strlen(texts[i + 1]), &step->dst) !=
            RLO_OK ||
        rlo_relayout_lower(&step->src, &step->dst, NULL, &step->problem) !=
            RLO_OK) {
      return rlo__fail_last();
    }
    d->bytes[i] = (size_t)step->problem.src_bytes;
    d->bytes[i + 1] = (size_t)step->problem.dst_bytes;
    row->moved_bytes = step->problem.read_bytes + step->problem.written_bytes;
  }
  return RLO__EXIT_OK;
}

/* Sets each element to its index, so that all differ: there are fewer than
 * 2^24, which f32 represents exactly. */
static void fill_images(void *data, size_t bytes) {
  float *values = data;
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    values[i] = (float)i;
  }
}

static int make_expected(demo *d) {
  for (int32_t i = 0; i <= NUM_STEPS; ++i) {
    d->expected[i] = calloc(d->bytes[i], 1);
    if (d->expected[i] == NULL) {
      return rlo__fail("cannot get %zu bytes of memory", d->bytes[i]);
    }
  }
  fill_images(d->expected[0], d->bytes[0]);
  for (int32_t i = 0; i < NUM_STEPS; ++i) {
    if (rlo_problem_run_host(&d->steps[i].problem,
                             d->expected[i],
                             d->expected[i + 1]) != RLO_OK) {
      return rlo__fail_last();
    }
  }
  return RLO__EXIT_OK;
}

static int make_plans(demo *d) {
  /* The buffers begin at the device's alignment. */
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.is_aligned = true;
  for (int32_t i = 0; i < NUM_STEPS; ++i) {
    demo_step *step = &d->steps[i];
    if (rlo_plan_create(
            d->session.context, &step->problem, &options, &step->plan) !=
            RLO_OK ||
        rlo_plan_prepare(step->plan) != RLO_OK) {
      return rlo__fail_last();
    }
    rlo_plan_info info = RLO_PLAN_INFO_INIT;
    if (rlo_plan_get_info(step->plan, &info) != RLO_OK) {
      return rlo__fail_last();
    }
    demo_row *row = &d->request->table.rows[i];
    snprintf(row->family, sizeof(row->family), "%s", info.family);
  }
  return RLO__EXIT_OK;
}

static int make_buffers(demo *d) {
  int code = RLO__EXIT_OK;
  for (int32_t i = 0; i <= NUM_STEPS && code == RLO__EXIT_OK; ++i) {
    code = rlo__session_create_buffer(&d->session, d->bytes[i], &d->buffers[i]);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__session_upload(
        &d->session, d->buffers[0], d->expected[0], d->bytes[0]);
  }
  return code;
}

/* Runs each step once, to check it and to warm up. */
static int run_and_check(demo *d) {
  for (int32_t i = 0; i < NUM_STEPS; ++i) {
    cl_mem dst = d->buffers[i + 1];
    size_t bytes = d->bytes[i + 1];
    double seconds = 0;
    unsigned char *result = malloc(bytes);
    if (result == NULL) {
      return rlo__fail("cannot get %zu bytes of memory", bytes);
    }
    /* Slots that a step does not write must not be right by chance. */
    memset(result, 0xa5, bytes);
    int code = rlo__session_upload(&d->session, dst, result, bytes);
    if (code == RLO__EXIT_OK) {
      code = rlo__session_run(
          &d->session, d->steps[i].plan, d->buffers[i], dst, &seconds);
    }
    if (code == RLO__EXIT_OK) {
      code = rlo__session_download(&d->session, dst, result, bytes);
    }
    int64_t num_wrong = 0;
    for (size_t k = 0; code == RLO__EXIT_OK && k < bytes; ++k) {
      num_wrong += result[k] != d->expected[i + 1][k];
    }
    d->request->table.rows[i].num_wrong_bytes = num_wrong;
    free(result);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return RLO__EXIT_OK;
}

/* Alternates between one copy and one run of each step, so that other load of
 * the machine slows all of them alike. */
static int measure(demo *d) {
  demo_table *table = &d->request->table;
  for (int32_t round = 0; round < table->num_rounds; ++round) {
    if (rlo_copy_limit(d->session.context,
                       (int64_t)d->bytes[0],
                       1,
                       &table->copy_gb_per_s[round]) != RLO_OK) {
      return rlo__fail_last();
    }
    for (int32_t i = 0; i < NUM_STEPS; ++i) {
      int code = rlo__session_run(&d->session,
                                  d->steps[i].plan,
                                  d->buffers[i],
                                  d->buffers[i + 1],
                                  &table->rows[i].seconds[round]);
      if (code != RLO__EXIT_OK) {
        return code;
      }
    }
  }
  return RLO__EXIT_OK;
}

static int run_steps(demo *d) {
  int (*const stages[])(demo *) = {
      make_expected, make_plans, make_buffers, run_and_check, measure};
  int code = RLO__EXIT_OK;
  for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); ++i) {
    code = stages[i](d);
    if (code != RLO__EXIT_OK) {
      break;
    }
  }
  for (int32_t i = 0; i <= NUM_STEPS; ++i) {
    if (d->buffers[i] != NULL) {
      rlo_buffer_release(d->session.context, d->buffers[i]);
    }
    free(d->expected[i]);
    if (i < NUM_STEPS) {
      rlo_plan_release(d->steps[i].plan);
    }
  }
  return code;
}

static int run_demo(void *payload) {
  demo_request *request = payload;
  demo *d = calloc(1, sizeof(*d));
  if (d == NULL) {
    return rlo__fail("cannot get %zu bytes of memory", sizeof(*d));
  }
  d->request = request;
  int code = make_steps(d);
  if (code == RLO__EXIT_OK) {
    code = rlo__session_init(&request->common.device, &d->session);
  }
  if (code == RLO__EXIT_OK) {
    request->table.device_name = d->session.device_name;
    request->table.device_class =
        rlo_context_device_info(d->session.context)->device_class;
    code = run_steps(d);
  }
  if (code == RLO__EXIT_OK) {
    code = print_table(&request->table, request->common.is_json);
  }
  rlo__session_deinit(&d->session);
  free(d);
  return code;
}

static int take_option(void *payload, int option, const char *value) {
  demo_request *request = payload;
  if (option == RLO__OPTION_SMALL) {
    request->is_small = true;
    return RLO__EXIT_OK;
  }
  return rlo__number_parse(
      "demo", "--rounds", value, 1, MAX_ROUNDS, &request->rounds);
}

static const struct option options[] = {
    {"help", no_argument, NULL, RLO__OPTION_HELP},
    {"json", no_argument, NULL, RLO__OPTION_JSON},
    {"device", required_argument, NULL, RLO__OPTION_DEVICE},
    {"rounds", required_argument, NULL, RLO__OPTION_ROUNDS},
    {"small", no_argument, NULL, RLO__OPTION_SMALL},
    {"no-isolate", no_argument, NULL, RLO__OPTION_NO_ISOLATE},
    {0}};

static int run(int argc, char **argv) {
  /* Static: its table of times is too large for the stack. */
  static demo_request request = {.rounds = 15};
  int code =
      rlo__options_take(&rlo__cmd_demo, argc, argv, &request, &request.common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  char **operands;
  code = rlo__operands_take(argc, argv, 0, "no operands", &operands);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  request.table.num_rounds = (int32_t)request.rounds;
  return rlo__subprocess_run(request.common.is_isolated, run_demo, &request);
}

const rlo__command rlo__cmd_demo = {
    .name = "demo",
    .summary = "relayout a batch of images, check and time it",
    .help =
        "Usage: relayout demo [OPTION...]\n"
        "\n"
        "Makes a batch of 64 images of 224 x 224 x 3 in memory and moves it\n"
        "on a device from NHWC to NCHW, to rows of padded width, to tiles of\n"
        "8 x 128, and back to NHWC. Each step is compared byte for byte with\n"
        "the host reference. Times are medians; runs alternate with a plain\n"
        "copy of the batch, whose speed is the limit.\n"
        "\n"
        "  --device D    a device of `relayout devices`, by its number or a "
        "part\n"
        "                of its name; the default device without it\n"
        "  --rounds N    how often each step is timed (15)\n"
        "  --small       2 images of 16 x 16 x 3\n"
        "  --json        print one object\n"
        "  --no-isolate  use the OpenCL driver in this process\n"
        "\n"
        "Exit code 1 if any byte differs.\n",
    .options = options,
    .take_option = take_option,
    .run = run,
};
