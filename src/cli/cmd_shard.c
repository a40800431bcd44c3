/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/redistribution.h"
#include "relayout/text.h"
#include "relayout/xla/shape_util.h"

#include "command.h"
#include "diagram.h"
#include "display.h"
#include "message.h"
#include "options.h"
#include "report.h"

/* A shape and its sharding. */
typedef struct sharded {
  rlo_shape shape;
  rlo_sharding *sharding;
} sharded;

typedef struct request {
  const char *permutation;
  int64_t num_devices;
  bool is_explained;
  bool is_relabelled;
} request;

static int parse_sharding(const char *text, rlo_sharding **out_sharding) {
  return rlo_sharding_parse(text, strlen(text), out_sharding) == RLO_OK
             ? RLO__EXIT_OK
             : rlo__fail_in_text(text);
}

/* SHAPE[,] sharding=SHARDING, as HLO writes an instruction's. */
static int parse_sharded(const char *text, sharded *out) {
  static const char word[] = "sharding=";
  const char *found = strstr(text, word);
  if (found == NULL) {
    return rlo__fail(
        "'%s': expected SHAPE sharding=SHARDING, as in "
        "'f32[8,8] sharding={devices=[4,1]<=[4]}'",
        text);
  }
  size_t length = (size_t)(found - text);
  while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == ',')) {
    --length;
  }
  if (rlo_shape_parse(text, length, &out->shape) != RLO_OK) {
    return rlo__fail_in_text(text);
  }
  return parse_sharding(found + sizeof word - 1, &out->sharding);
}

static char *sharding_text(const rlo_sharding *sharding) {
  size_t length = rlo_sharding_format(sharding, NULL, 0);
  char *text = malloc(length + 1);
  if (text != NULL) {
    rlo_sharding_format(sharding, text, length + 1);
  }
  return text;
}

/* ------------------------------------------------------------ one sharding */

/* Room for the text of a box. */
#define BOX_BYTES (RLO_MAX_RANK * 42 + 4)

/* "[0:4,2:6]" */
static const char *format_box(const rlo_box *box, char text[BOX_BYTES]) {
  size_t at = (size_t)snprintf(text, BOX_BYTES, "[");
  for (int32_t d = 0; d < box->rank; ++d) {
    at += (size_t)snprintf(text + at,
                           BOX_BYTES - at,
                           "%s%" PRId64 ":%" PRId64,
                           d > 0 ? "," : "",
                           box->start[d],
                           box->limit[d]);
  }
  snprintf(text + at, BOX_BYTES - at, "]");
  return text;
}

/* The part that a device holds. */
typedef struct part {
  rlo_box box;
  rlo_shape shape;
  int64_t bytes;
} part;

static int find_part(const sharded *s, int64_t device, part *out) {
  if (rlo_sharding_get_box(s->sharding, &s->shape, device, &out->box) !=
          RLO_OK ||
      rlo_sharding_get_shard_shape(
          s->sharding, &s->shape, device, &out->shape) != RLO_OK ||
      rlo_shape_array_size(&out->shape, &out->bytes) != RLO_OK) {
    return rlo__fail_last();
  }
  return RLO__EXIT_OK;
}

static void add_part(rlo__report *r, int64_t device, const part *p, int width) {
  rlo__shape_text shape;
  char box[BOX_BYTES];
  rlo__shape_text_make(&p->shape, &shape);
  rlo__report_line(r,
                   "",
                   "%6" PRId64 "  %-*s  %10" PRId64 "  %s",
                   device,
                   width,
                   format_box(&p->box, box),
                   p->bytes,
                   shape.text);
  RLO__REPORT_OBJECT(r,
                     NULL,
                     RLO__INT("device", NULL, device),
                     RLO__INTS("start", NULL, p->box.start, p->box.rank),
                     RLO__INTS("limit", NULL, p->box.limit, p->box.rank),
                     RLO__STRING("shape", NULL, shape.text),
                     RLO__INT("bytes", NULL, p->bytes));
}

/* Characters of the longest box. */
static int box_width(const rlo_shape *shape) {
  int width = 2;
  for (int32_t d = 0; d < shape->rank; ++d) {
    width += 2 * snprintf(NULL, 0, "%" PRId64, shape->dims[d]) + 2;
  }
  return width;
}

static int print_parts(const sharded *s,
                       int64_t first,
                       int64_t end,
                       int64_t num_devices,
                       bool is_json) {
  rlo__report r;
  rlo__shape_text shape;
  const int width = box_width(&s->shape);
  char *text = sharding_text(s->sharding);
  int code = RLO__EXIT_OK;
  rlo__shape_text_make(&s->shape, &shape);
  rlo__report_begin(&r, is_json, 0);
  rlo__report_line(&r,
                   "",
                   "%s sharding=%s on %" PRId64 " devices",
                   shape.text,
                   text == NULL ? "?" : text,
                   num_devices);
  rlo__report_line(
      &r, "", "device  %-*s  %10s  shape", width, "holds", "bytes");
  RLO__REPORT(&r,
              RLO__STRING("shape", NULL, shape.text),
              RLO__STRING("sharding", NULL, text),
              RLO__INT("num_devices", NULL, num_devices));
  free(text);
  rlo__report_open(&r, "devices", '[');
  for (int64_t device = first; device < end && code == RLO__EXIT_OK; ++device) {
    part p;
    code = find_part(s, device, &p);
    if (code == RLO__EXIT_OK) {
      add_part(&r, device, &p, width);
    }
  }
  rlo__report_end(&r);
  if (code == RLO__EXIT_OK && !is_json && first == 0 && end == num_devices) {
    rlo__shard_picture_print(&s->shape, s->sharding, num_devices);
  }
  return code;
}

static int show(const sharded *s,
                const request *r,
                const rlo__common_options *common) {
  int64_t num_devices = r->num_devices;
  if (num_devices == 0) {
    num_devices = rlo_sharding_num_devices(s->sharding);
    num_devices = num_devices > 0 ? num_devices : 1;
  }
  if (rlo_sharding_validate(s->sharding, &s->shape, num_devices) != RLO_OK) {
    return rlo__fail_last();
  }
  int64_t first = 0;
  int64_t end = num_devices;
  if (common->device.index >= 0) {
    first = common->device.index;
    if (first >= num_devices) {
      return rlo__fail(
          "device %" PRId64 " is outside 0..%" PRId64, first, num_devices - 1);
    }
    end = first + 1;
  }
  /* Nothing is printed of what cannot be printed whole. */
  for (int64_t device = first; device < end; ++device) {
    rlo_shape shard;
    if (rlo_sharding_get_shard_shape(s->sharding, &s->shape, device, &shard) !=
        RLO_OK) {
      return rlo__fail_last();
    }
  }
  return print_parts(s, first, end, num_devices, common->is_json);
}

/* ---------------------------------------------------------- redistribution */

typedef struct listing {
  rlo__report *report;
  int64_t device;
} listing;

static rlo_status add_piece(void *user, const rlo_redistribution_piece *piece) {
  const listing *l = user;
  const rlo_box *box = &piece->box;
  char text[BOX_BYTES];
  rlo__report_line(l->report,
                   "",
                   "%6" PRId64 " <- %-6" PRId64 " %10" PRId64 "  %s%s",
                   l->device,
                   piece->peer,
                   piece->bytes,
                   format_box(box, text),
                   piece->peer == l->device ? "  (stays)" : "");
  RLO__REPORT_OBJECT(l->report,
                     NULL,
                     RLO__INT("from", NULL, piece->peer),
                     RLO__INT("to", NULL, l->device),
                     RLO__INT("addend", NULL, piece->addend),
                     RLO__INTS("start", NULL, box->start, box->rank),
                     RLO__INTS("limit", NULL, box->limit, box->rank),
                     RLO__INT("bytes", NULL, piece->bytes));
  return RLO_OK;
}

static void print_cost(rlo__report *r, const rlo_redistribution_cost *cost) {
  rlo__bytes_text text;
  rlo__report_line(r,
                   "messages",
                   "%" PRId64 " in %" PRId64 " rounds",
                   cost->num_messages,
                   cost->num_rounds);
  rlo__report_line(r,
                   "bytes sent",
                   "%" PRId64 " (%s; the least is %" PRId64 ")",
                   cost->bytes_sent,
                   rlo__bytes_text_make(cost->bytes_sent, &text),
                   cost->least_bytes_sent);
  rlo__report_line(
      r, "largest message", "%" PRId64, cost->largest_message_bytes);
  rlo__report_line(r,
                   "most of a device",
                   "%" PRId64 " received, %" PRId64 " sent, %" PRId64
                   " resident",
                   cost->most_bytes_received,
                   cost->most_bytes_sent,
                   cost->most_bytes_resident);
  rlo__report_line(r,
                   "by replicating",
                   "%" PRId64 " sent, %" PRId64 " resident",
                   cost->replicate_bytes_sent,
                   cost->replicate_bytes_resident);
}

static void add_cost(rlo__report *r, const rlo_redistribution_cost *cost) {
  RLO__REPORT(
      r,
      RLO__INT("num_messages", NULL, cost->num_messages),
      RLO__INT("num_rounds", NULL, cost->num_rounds),
      RLO__INT("bytes_sent", NULL, cost->bytes_sent),
      RLO__INT("least_bytes_sent", NULL, cost->least_bytes_sent),
      RLO__INT("largest_message_bytes", NULL, cost->largest_message_bytes),
      RLO__INT("most_bytes_received", NULL, cost->most_bytes_received),
      RLO__INT("most_bytes_sent", NULL, cost->most_bytes_sent),
      RLO__INT("most_bytes_resident", NULL, cost->most_bytes_resident),
      RLO__INT("replicate_bytes_sent", NULL, cost->replicate_bytes_sent),
      RLO__INT(
          "replicate_bytes_resident", NULL, cost->replicate_bytes_resident));
}

/* The pieces of one device, or of all where they are asked for as JSON. */
static int list_pieces(const rlo_redistribution *plan,
                       const rlo__common_options *common,
                       rlo__report *report) {
  int64_t end = rlo_redistribution_num_devices(plan);
  listing l = {.report = report};
  if (common->device.index >= 0) {
    l.device = common->device.index;
    end = l.device + 1;
  }
  for (; l.device < end; ++l.device) {
    if (rlo_redistribution_visit_receives(plan, l.device, add_piece, &l) !=
        RLO_OK) {
      return rlo__fail_last();
    }
  }
  return RLO__EXIT_OK;
}

/* A destination whose parts are held by other devices. */
typedef struct relabelling {
  int64_t *devices;
  int64_t num_devices;
  rlo_sharding *sharding;
  rlo_redistribution_cost cost;
} relabelling;

static int relabel(const rlo_redistribution_options *o,
                   const rlo_redistribution *plan,
                   relabelling *out) {
  out->num_devices = rlo_redistribution_num_devices(plan);
  out->devices = calloc((size_t)out->num_devices, sizeof *out->devices);
  if (out->devices == NULL) {
    return rlo__fail("cannot get memory for %" PRId64 " devices",
                     out->num_devices);
  }
  rlo_redistribution_options other = *o;
  rlo_redistribution *relabelled = NULL;
  other.num_devices = out->num_devices;
  if (rlo_redistribution_relabel(plan, out->devices) != RLO_OK ||
      rlo_sharding_relabel(
          o->to_sharding, out->devices, out->num_devices, &out->sharding) !=
          RLO_OK) {
    return rlo__fail_last();
  }
  other.to_sharding = out->sharding;
  rlo_status status = rlo_redistribution_create(&other, &relabelled);
  if (status == RLO_OK) {
    out->cost = (rlo_redistribution_cost)RLO_REDISTRIBUTION_COST_INIT;
    status = rlo_redistribution_measure(relabelled, &out->cost);
  }
  rlo_redistribution_release(relabelled);
  return status == RLO_OK ? RLO__EXIT_OK : rlo__fail_last();
}

static void add_relabelling(rlo__report *r, const relabelling *relabelled) {
  const rlo_redistribution_cost *cost = &relabelled->cost;
  char *text = sharding_text(relabelled->sharding);
  rlo__bytes_text bytes;
  rlo__report_line(r,
                   "relabelled",
                   "%" PRId64 " sent (%s), %" PRId64 " messages in %" PRId64
                   " rounds",
                   cost->bytes_sent,
                   rlo__bytes_text_make(cost->bytes_sent, &bytes),
                   cost->num_messages,
                   cost->num_rounds);
  rlo__report_line(r, "  to", "%s", text == NULL ? "?" : text);
  rlo__report_open(r, "relabelled", '{');
  /* RLO_SHARDING_MAX_DEVICES and less. */
  RLO__REPORT(
      r,
      RLO__STRING("sharding", NULL, text),
      RLO__INTS("devices", NULL, relabelled->devices, relabelled->num_devices));
  free(text);
  add_cost(r, cost);
  rlo__report_close(r);
}

static int print_plan(const rlo_redistribution *plan,
                      const rlo_redistribution_cost *cost,
                      const relabelling *relabelled,
                      const rlo__common_options *common) {
  rlo__report r;
  rlo__report_begin(&r, common->is_json, 18);
  RLO__REPORT(
      &r, RLO__INT("num_devices", NULL, rlo_redistribution_num_devices(plan)));
  print_cost(&r, cost);
  add_cost(&r, cost);
  if (relabelled->sharding != NULL) {
    add_relabelling(&r, relabelled);
  }
  rlo__report_open(&r, "pieces", '[');
  int code = common->is_json || common->device.index >= 0
                 ? list_pieces(plan, common, &r)
                 : RLO__EXIT_OK;
  rlo__report_end(&r);
  return code;
}

static int explain_plan(const rlo_redistribution_options *o,
                        const rlo_redistribution *plan,
                        const request *r,
                        const rlo__common_options *common) {
  rlo_redistribution_cost cost = RLO_REDISTRIBUTION_COST_INIT;
  relabelling relabelled = {0};
  int64_t num_devices = rlo_redistribution_num_devices(plan);
  if (common->device.index >= num_devices) {
    return rlo__fail("device %d is outside 0..%" PRId64,
                     common->device.index,
                     num_devices - 1);
  }
  if (rlo_redistribution_measure(plan, &cost) != RLO_OK) {
    return rlo__fail_last();
  }
  int code = r->is_relabelled ? relabel(o, plan, &relabelled) : RLO__EXIT_OK;
  if (code == RLO__EXIT_OK) {
    code = print_plan(plan, &cost, &relabelled, common);
  }
  rlo_sharding_release(relabelled.sharding);
  free(relabelled.devices);
  return code;
}

static int explain(const sharded *from,
                   const sharded *to,
                   const request *r,
                   const rlo__common_options *common) {
  int32_t permutation[RLO_MAX_RANK];
  rlo_redistribution_options options = RLO_REDISTRIBUTION_OPTIONS_INIT;
  options.from = &from->shape;
  options.to = &to->shape;
  options.from_sharding = from->sharding;
  options.to_sharding = to->sharding;
  options.num_devices = r->num_devices;
  if (r->permutation != NULL) {
    int code = rlo__permutation_parse(
        "shard", "--perm", r->permutation, from->shape.rank, permutation);
    if (code != RLO__EXIT_OK) {
      return code;
    }
    options.permutation = permutation;
  }
  rlo_redistribution *plan;
  if (rlo_redistribution_create(&options, &plan) != RLO_OK) {
    return rlo__fail_last();
  }
  int code = explain_plan(&options, plan, r, common);
  rlo_redistribution_release(plan);
  return code;
}

/* ------------------------------------------------------------ command line */

static int run_operands(char **operands,
                        const request *r,
                        const rlo__common_options *common) {
  sharded s[2] = {{.sharding = NULL}, {.sharding = NULL}};
  int code;
  if (r->is_explained) {
    code = parse_sharded(operands[0], &s[0]);
    if (code == RLO__EXIT_OK) {
      code = parse_sharded(operands[1], &s[1]);
    }
    if (code == RLO__EXIT_OK) {
      code = explain(&s[0], &s[1], r, common);
    }
  } else {
    code = rlo__shape_operand_parse(operands[0], &s[0].shape);
    if (code == RLO__EXIT_OK) {
      code = parse_sharding(operands[1], &s[0].sharding);
    }
    if (code == RLO__EXIT_OK) {
      code = show(&s[0], r, common);
    }
  }
  rlo_sharding_release(s[0].sharding);
  rlo_sharding_release(s[1].sharding);
  return code;
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION_COMMON("device", DEVICE),
    RLO__OPTION_WITHIN(
        "devices", request, num_devices, 1, RLO_SHARDING_MAX_DEVICES),
    RLO__OPTION("explain", FLAG, request, is_explained),
    RLO__OPTION("perm", TEXT, request, permutation),
    RLO__OPTION("relabel", FLAG, request, is_relabelled),
    {0}};

static int run(int argc, char **argv) {
  request r = {0};
  rlo__common_options common;
  int code = rlo__options_take(&rlo__cmd_shard, argc, argv, &r, &common);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (common.device.name[0] != '\0') {
    return rlo__fail_usage("shard",
                           "--device: '%s' is not a number: devices of a "
                           "sharding have no names",
                           common.device.name);
  }
  if ((r.permutation != NULL || r.is_relabelled) && !r.is_explained) {
    return rlo__fail_usage("shard",
                           "%s needs --explain",
                           r.is_relabelled ? "--relabel" : "--perm");
  }
  char **operands;
  code = rlo__operands_take(
      argc,
      argv,
      2,
      r.is_explained ? "two sharded shapes" : "a shape and a sharding",
      &operands);
  return code == RLO__EXIT_OK ? run_operands(operands, &r, &common) : code;
}

const rlo__command rlo__cmd_shard = {
    .name = "shard",
    .summary = "print which device holds what, and what resharding would send",
    .help =
        "Usage: relayout shard [OPTION...] SHAPE SHARDING\n"
        "       relayout shard --explain [OPTION...] FROM TO\n"
        "\n"
        "Prints the box that each device holds of an array of this shape, the\n"
        "bytes and the shape of its part, and a picture where at most two\n"
        "dimensions are cut. SHARDING is written as in HLO:\n"
        "\n"
        "  {replicated}  {maximal device=3}  {devices=[2,2]0,1,2,3}\n"
        "  {devices=[2,1,4]<=[4,2]T(1,0)}\n"
        "  {devices=[4,2]<=[8] last_tile_dim_replicate}\n"
        "  {boxes=[0:8,0:3][0:8,3:6]}     ours: the box of each device\n"
        "\n"
        "With --explain: what bringing an array from one sharding to another\n"
        "sends. FROM and TO are SHAPE sharding=SHARDING.\n"
        "\n"
        "  --device K    only what device K holds; with --explain, also the\n"
        "                pieces that it receives\n"
        "  --devices N   the number of devices, where the sharding does not\n"
        "                say it\n"
        "  --perm P      destination dimension k is source dimension P[k]\n"
        "  --relabel     with --explain: which device should hold which part "
        "of\n"
        "                TO for the fewest bytes to be sent, and what that "
        "sends\n"
        "  --json        the same as JSON; with --explain, all pieces\n"
        "\n"
        "Example: relayout shard 'f32[10,6]' '{devices=[4,2]<=[8]}'\n"
        "         relayout shard --explain \\\n"
        "           'f32[16,16,16] "
        "sharding={devices=[2,1,4]<=[4,2]T(1,0)}' \\\n"
        "           'f32[16,16,16] sharding={devices=[1,8,1]<=[8]}'\n",
    .options = options,
    .run = run,
};
