/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relayout/redistribution.h"
#include "relayout/text.h"
#include "relayout/xla/shape_util.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "base/str.h"
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
  return rlo_sharding_parse(text, strlen(text), out_sharding) == RLO_OK ? RLO__EXIT_OK
                                                                        : rlo__fail_in_text(text);
}

/* SHAPE[,] sharding=SHARDING, as HLO writes an instruction's. */
static int parse_sharded(const char *text, sharded *out) {
  static const char word[] = "sharding=";
  const char *found = strstr(text, word);
  RLO__EXIT_IF(
      found == NULL,
      "'%s': expected SHAPE sharding=SHARDING, as in 'f32[8,8] sharding={devices=[4,1]<=[4]}'",
      text);
  size_t length = (size_t)(found - text);
  while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == ',')) {
    --length;
  }
  if (rlo_shape_parse(text, length, &out->shape) != RLO_OK) {
    return rlo__fail_in_text(text);
  }
  return parse_sharding(found + sizeof word - 1, &out->sharding);
}

/* The text of a sharding, for rlo__free; NULL if memory ran out. */
static char *sharding_text(const rlo_sharding *sharding) {
  const size_t bytes = rlo_sharding_format(sharding, NULL, 0) + 1;
  char *text = rlo__alloc(bytes);
  if (text != NULL) {
    rlo_sharding_format(sharding, text, bytes);
  }
  return text;
}

/* ------------------------------------------------------------ one sharding */

/* Room for the text of a box. */
#define BOX_BYTES (RLO_MAX_RANK * 42 + 4)

/* "[0:4,2:6]" */
static const char *format_box(const rlo_box *box, char buffer[BOX_BYTES]) {
  rlo__str text = rlo__str_over(buffer, BOX_BYTES);
  for (int32_t d = 0; d < box->rank; ++d) {
    rlo__str_printf(&text, "%c%" PRId64 ":%" PRId64, d == 0 ? '[' : ',', box->start[d],
                    box->limit[d]);
  }
  rlo__str_append(&text, box->rank == 0 ? "[]" : "]");
  return buffer;
}

/* Adds the part that a device holds. Without a report only looks for it. */
static rlo_status add_part(rlo__report *r, const sharded *s, int64_t device, int width) {
  rlo_box box;
  rlo_shape shape;
  int64_t bytes = 0;
  char box_text[BOX_BYTES];
  RLO_TRY(rlo_sharding_get_box(s->sharding, &s->shape, device, &box));
  RLO_TRY(rlo_sharding_get_shard_shape(s->sharding, &s->shape, device, &shape));
  RLO_TRY(rlo_shape_array_size(&shape, &bytes));
  if (r == NULL) {
    return RLO_OK;
  }
  rlo__report_line(r, "", "%6" PRId64 "  %-*s  %10" PRId64 "  %s", device, width,
                   format_box(&box, box_text), bytes, rlo__shape_text(&shape));
  RLO__REPORT_OBJECT(
      r, NULL, RLO__INT("device", NULL, device), RLO__INTS("start", NULL, box.start, box.rank),
      RLO__INTS("limit", NULL, box.limit, box.rank),
      RLO__STRING("shape", NULL, rlo__shape_text(&shape)), RLO__INT("bytes", NULL, bytes));
  return RLO_OK;
}

/* Characters of the longest box. */
static int box_width(const rlo_shape *shape) {
  int width = 2;
  for (int32_t d = 0; d < shape->rank; ++d) {
    width += 2 * snprintf(NULL, 0, "%" PRId64, shape->dims[d]) + 2;
  }
  return width;
}

static int print_parts(const sharded *s, int64_t first, int64_t end, int64_t num_devices,
                       bool is_json) {
  rlo__report r;
  const int width = box_width(&s->shape);
  char *text = sharding_text(s->sharding);
  RLO__EXIT_TRY_MEMORY(text);
  rlo__report_begin(&r, is_json, 0);
  rlo__report_line(&r, "", "%s sharding=%s on %" PRId64 " devices", rlo__shape_text(&s->shape),
                   text, num_devices);
  rlo__report_line(&r, "", "device  %-*s  %10s  shape", width, "holds", "bytes");
  RLO__REPORT(&r, RLO__STRING("shape", NULL, rlo__shape_text(&s->shape)),
              RLO__STRING("sharding", NULL, text), RLO__INT("num_devices", NULL, num_devices));
  rlo__free(text);
  rlo__report_open(&r, "devices", '[');
  rlo_status status = RLO_OK;
  for (int64_t device = first; device < end && status == RLO_OK; ++device) {
    status = add_part(&r, s, device, width);
  }
  rlo__report_end(&r);
  if (status == RLO_OK && !is_json && first == 0 && end == num_devices) {
    rlo__shard_picture_print(&s->shape, s->sharding, num_devices);
  }
  return rlo__check(status);
}

static int show(const sharded *s, const request *r, const rlo__common_options *common) {
  const int64_t num_devices =
      r->num_devices != 0 ? r->num_devices : rlo__max(rlo_sharding_num_devices(s->sharding), 1);
  const int64_t first = rlo__max(common->device.index, 0);
  const int64_t end = common->device.index >= 0 ? first + 1 : num_devices;
  RLO__EXIT_TRY(rlo__check(rlo_sharding_validate(s->sharding, &s->shape, num_devices)));
  RLO__EXIT_IF(first >= num_devices, "device %" PRId64 " is outside 0..%" PRId64, first,
               num_devices - 1);
  /* Nothing is printed of what cannot be printed whole. */
  for (int64_t device = first; device < end; ++device) {
    RLO__EXIT_TRY(rlo__check(add_part(NULL, s, device, 0)));
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
  rlo__report_line(l->report, "", "%6" PRId64 " <- %-6" PRId64 " %10" PRId64 "  %s%s", l->device,
                   piece->peer, piece->bytes, format_box(box, text),
                   piece->peer == l->device ? "  (stays)" : "");
  RLO__REPORT_OBJECT(
      l->report, NULL, RLO__INT("from", NULL, piece->peer), RLO__INT("to", NULL, l->device),
      RLO__INT("addend", NULL, piece->addend), RLO__INTS("start", NULL, box->start, box->rank),
      RLO__INTS("limit", NULL, box->limit, box->rank), RLO__INT("bytes", NULL, piece->bytes));
  return RLO_OK;
}

static void add_cost(rlo__report *r, const rlo_redistribution_cost *cost) {
  RLO__REPORT(r, RLO__INT("num_messages", "messages", cost->num_messages),
              RLO__INT("num_rounds", "rounds", cost->num_rounds),
              RLO__INT("bytes_sent", "bytes sent", cost->bytes_sent),
              RLO__INT("least_bytes_sent", "  the least", cost->least_bytes_sent),
              RLO__INT("largest_message_bytes", "largest message", cost->largest_message_bytes),
              RLO__INT("most_bytes_received", "most received", cost->most_bytes_received),
              RLO__INT("most_bytes_sent", "most sent", cost->most_bytes_sent),
              RLO__INT("most_bytes_resident", "most resident", cost->most_bytes_resident),
              RLO__INT("replicate_bytes_sent", "by replicating", cost->replicate_bytes_sent),
              RLO__INT("replicate_bytes_resident", "  resident", cost->replicate_bytes_resident));
}

/* The pieces of one device, or of all where they are asked for as JSON. */
static rlo_status list_pieces(const rlo_redistribution *plan, int32_t device, rlo__report *report) {
  listing l = {.report = report, .device = rlo__max(device, 0)};
  const int64_t end = device >= 0 ? l.device + 1 : rlo_redistribution_num_devices(plan);
  for (; l.device < end; ++l.device) {
    RLO_TRY(rlo_redistribution_visit_receives(plan, l.device, add_piece, &l));
  }
  return RLO_OK;
}

/* A redistribution, and what it costs. */
typedef struct planned {
  rlo_redistribution *plan;
  rlo_redistribution_cost cost;
} planned;

static rlo_status make_plan(const rlo_redistribution_options *o, planned *out) {
  out->cost = (rlo_redistribution_cost)RLO_REDISTRIBUTION_COST_INIT;
  RLO_TRY(rlo_redistribution_create(o, &out->plan));
  return rlo_redistribution_measure(out->plan, &out->cost);
}

/* A redistribution, and that to a destination whose parts are held by other
 * devices. */
typedef struct explanation {
  rlo_redistribution_options options;
  planned stated;
  int64_t num_devices;
  int64_t *devices;
  /* NULL: it is not wanted. */
  rlo_sharding *sharding;
  planned relabelled;
} explanation;

static rlo_status relabel(explanation *e) {
  rlo_redistribution_options other = e->options;
  e->devices = rlo__alloc_array((size_t)e->num_devices, sizeof *e->devices);
  RLO_TRY_MEMORY(e->devices);
  RLO_TRY(rlo_redistribution_relabel(e->stated.plan, e->devices));
  RLO_TRY(rlo_sharding_relabel(other.to_sharding, e->devices, e->num_devices, &e->sharding));
  other.num_devices = e->num_devices;
  other.to_sharding = e->sharding;
  return make_plan(&other, &e->relabelled);
}

static rlo_status add_relabelling(rlo__report *r, const explanation *e) {
  char *text = sharding_text(e->sharding);
  RLO_TRY_MEMORY(text);
  rlo__report_line(r, "", "\nrelabelled");
  rlo__report_open(r, "relabelled", '{');
  /* RLO_SHARDING_MAX_DEVICES and less. */
  RLO__REPORT(r, RLO__STRING("sharding", "to", text),
              RLO__INTS("devices", NULL, e->devices, e->num_devices));
  rlo__free(text);
  add_cost(r, &e->relabelled.cost);
  rlo__report_close(r);
  return RLO_OK;
}

static rlo_status print_plan(const explanation *e, const rlo__common_options *common) {
  rlo__report r;
  rlo__report_begin(&r, common->is_json, 16);
  RLO__REPORT(&r, RLO__INT("num_devices", NULL, e->num_devices));
  add_cost(&r, &e->stated.cost);
  rlo_status status = e->sharding == NULL ? RLO_OK : add_relabelling(&r, e);
  rlo__report_open(&r, "pieces", '[');
  if (status == RLO_OK && (common->is_json || common->device.index >= 0)) {
    status = list_pieces(e->stated.plan, common->device.index, &r);
  }
  rlo__report_end(&r);
  return status;
}

static int explain_plan(explanation *e, bool is_relabelled, const rlo__common_options *common) {
  RLO__EXIT_TRY(rlo__check(make_plan(&e->options, &e->stated)));
  e->num_devices = rlo_redistribution_num_devices(e->stated.plan);
  RLO__EXIT_IF(common->device.index >= e->num_devices, "device %d is outside 0..%" PRId64,
               common->device.index, e->num_devices - 1);
  if (is_relabelled) {
    RLO__EXIT_TRY(rlo__check(relabel(e)));
  }
  return rlo__check(print_plan(e, common));
}

static int explain(const sharded s[2], const request *r, const rlo__common_options *common) {
  int32_t permutation[RLO_MAX_RANK];
  explanation e = {.options = RLO_REDISTRIBUTION_OPTIONS_INIT};
  e.options.from = &s[0].shape;
  e.options.to = &s[1].shape;
  e.options.from_sharding = s[0].sharding;
  e.options.to_sharding = s[1].sharding;
  e.options.num_devices = r->num_devices;
  if (r->permutation != NULL) {
    RLO__EXIT_TRY(
        rlo__permutation_parse("shard", "--perm", r->permutation, s[0].shape.rank, permutation));
    e.options.permutation = permutation;
  }
  const int code = explain_plan(&e, r->is_relabelled, common);
  rlo_redistribution_release(e.relabelled.plan);
  rlo_redistribution_release(e.stated.plan);
  rlo_sharding_release(e.sharding);
  rlo__free(e.devices);
  return code;
}

/* ------------------------------------------------------------ command line */

static int try_operands(char **operands, const request *r, const rlo__common_options *common,
                        sharded s[2]) {
  if (r->is_explained) {
    RLO__EXIT_TRY(parse_sharded(operands[0], &s[0]));
    RLO__EXIT_TRY(parse_sharded(operands[1], &s[1]));
    return explain(s, r, common);
  }
  RLO__EXIT_TRY(rlo__shape_operand_parse(operands[0], &s[0].shape));
  RLO__EXIT_TRY(parse_sharding(operands[1], &s[0].sharding));
  return show(&s[0], r, common);
}

static const rlo__option options[] = {
    RLO__OPTION_COMMON("help", HELP),
    RLO__OPTION_COMMON("json", JSON),
    RLO__OPTION_COMMON("device", DEVICE),
    RLO__OPTION_WITHIN("devices", request, num_devices, 1, RLO_SHARDING_MAX_DEVICES),
    RLO__OPTION("explain", FLAG, request, is_explained),
    RLO__OPTION("perm", TEXT, request, permutation),
    RLO__OPTION("relabel", FLAG, request, is_relabelled),
    {0}};

static int run(int argc, char **argv) {
  request r = {0};
  rlo__common_options common;
  sharded s[2] = {{.sharding = NULL}, {.sharding = NULL}};
  RLO__EXIT_TRY(rlo__options_take(&rlo__cmd_shard, argc, argv, &r, &common));
  RLO__USAGE_IF(common.device.name[0] != '\0', "shard",
                "--device: '%s' is not a number: devices of a sharding have no names",
                common.device.name);
  RLO__USAGE_IF((r.permutation != NULL || r.is_relabelled) && !r.is_explained, "shard",
                "%s needs --explain", r.is_relabelled ? "--relabel" : "--perm");
  RLO__EXIT_TRY(rlo__operands_take(
      argc, argv, 2, r.is_explained ? "two sharded shapes" : "a shape and a sharding"));
  const int code = try_operands(argv + optind, &r, &common, s);
  rlo_sharding_release(s[0].sharding);
  rlo_sharding_release(s[1].sharding);
  return code;
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
        "  --explain     what bringing an array from one sharding to another\n"
        "                sends. FROM and TO are SHAPE sharding=SHARDING\n"
        "  --device K    only what device K holds; with --explain, also the\n"
        "                pieces that it receives\n"
        "  --devices N   the number of devices, where the sharding does not\n"
        "                say it\n"
        "  --perm P      destination dimension k is source dimension P[k]\n"
        "  --relabel     with --explain: which device should hold which part of\n"
        "                TO for the fewest bytes to be sent, and what that sends\n"
        "  --json        the same as JSON; with --explain, all pieces\n"
        "\n"
        "Example: relayout shard 'f32[10,6]' '{devices=[4,2]<=[8]}'\n"
        "         relayout shard --explain \\\n"
        "           'f32[16,16,16] sharding={devices=[2,1,4]<=[4,2]T(1,0)}' \\\n"
        "           'f32[16,16,16] sharding={devices=[1,8,1]<=[8]}'\n",
    .options = options,
    .run = run,
};
