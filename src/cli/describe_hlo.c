/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/table.h"
#include "describe.h"
#include "display.h"
#include "hlo_text.h"
#include "message.h"
#include "report.h"

/* The beginning of each entry of a table of names. */
typedef struct named {
  rlo__table_node node;
  /* It lies behind the entry. */
  const char *name;
} named;

/* An array of a module: all of one shape, layout included. */
typedef struct array_kind {
  /* Its name is the text of the shape. */
  named named;
  /* The sizes of one. */
  rlo__array_sizes sizes;
  /* Numbers in `uses`, from 1 on; 0: none. The last one, and the first that is
   * in memory. */
  size_t last_use, first_use;
  /* How many results of instructions, in memory and within fusions. */
  int64_t count, fused_count;
} array_kind;

typedef struct computation {
  named named;
  int64_t times_begun;
  bool is_fused;
} computation;

/* An array of one kind in one computation: whether that is fused is known when
 * the whole module has been read. */
typedef struct use {
  array_kind *kind;
  const computation *computation;
  int64_t count;
  /* The first one's. */
  char *name, *opcode;
  int64_t line;
} use;

/* The module that is read. */
typedef struct module {
  char *name;
  bool has_entry;
  rlo__array_sizes parameters, result;
  int64_t instructions;
  int64_t without_size;
  rlo__table kinds, computations;
  /* The current ones. */
  const computation *computation;
  const rlo__hlo_instruction *instruction;
  use *uses;
  size_t num_uses, uses_capacity;
} module;

typedef struct report {
  int64_t top;
  bool is_json;
  rlo__report report;
  int64_t num_modules;
  module current;
} report;

/* ------------------------------------------------------------------- memory */

static void free_names(rlo__table *table) {
  for (named *n = rlo__table_remove_oldest(table); n != NULL; n = rlo__table_remove_oldest(table)) {
    rlo__free(n);
  }
  rlo__table_deinit(table);
}

static void deinit_module(module *m) {
  for (size_t n = 0; n < m->num_uses; ++n) {
    rlo__free(m->uses[n].name);
    rlo__free(m->uses[n].opcode);
  }
  rlo__free(m->uses);
  free_names(&m->kinds);
  free_names(&m->computations);
  rlo__free(m->name);
}

static bool has_name(const void *entry, const void *name) {
  return strcmp(((const named *)entry)->name, name) == 0;
}

/* Finds the entry of a name, or makes one of zeros; NULL if memory ran out. */
static void *find_name(rlo__table *table, const char *name, size_t bytes) {
  rlo__hash hash = rlo__hash_init(0);
  rlo__hash_string(&hash, name);
  const uint64_t key = rlo__hash_finish_u64(&hash);
  named *found = rlo__table_find(table, key, has_name, name);
  if (found != NULL) {
    return found;
  }
  const size_t length = strlen(name) + 1;
  named *made = rlo__alloc(bytes + length);
  if (made != NULL) {
    made->name = memcpy((char *)made + bytes, name, length);
    rlo__table_insert(table, made, key);
  }
  return made;
}

/* ------------------------------------------------------------------- arrays */

static rlo_status add_use(module *m, array_kind *kind) {
  use *last = kind->last_use == 0 ? NULL : &m->uses[kind->last_use - 1];
  if (last != NULL && last->computation == m->computation) {
    ++last->count;
    return RLO_OK;
  }
  RLO_TRY(rlo__array_reserve(&m->uses, sizeof(*m->uses), m->num_uses + 1, &m->uses_capacity));
  use *made = &m->uses[m->num_uses++];
  *made = (use){.kind = kind,
                .computation = m->computation,
                .count = 1,
                .name = rlo__alloc_string(m->instruction->name),
                .opcode = rlo__alloc_string(m->instruction->opcode),
                .line = m->instruction->line};
  kind->last_use = m->num_uses;
  return made->name == NULL || made->opcode == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
}

static rlo_status visit_leaf(const rlo_subshape *leaf, void *payload) {
  module *m = payload;
  if (leaf->shape == NULL || rlo_shape_is_unbounded(leaf->shape)) {
    m->without_size += leaf->kind != RLO_SHAPE_KIND_TOKEN;
    return RLO_OK;
  }
  array_kind *kind = find_name(&m->kinds, rlo__shape_text(leaf->shape), sizeof(*kind));
  RLO_TRY_MEMORY(kind);
  if (kind->sizes.arrays == 0) {
    RLO_TRY(rlo__array_sizes_add(&kind->sizes, leaf));
  }
  return add_use(m, kind);
}

/* ------------------------------------------------------------------ results */

/* The arrays of instructions, in memory and within fusions. */
typedef struct totals {
  int64_t computations;
  int64_t fused_computations;
  int64_t fused_arrays;
  /* Bytes as numbers with rounding: they are sums over a program, of which
   * much is in memory at different times. */
  int64_t arrays;
  double bytes, physical_bytes;
} totals;

static totals count_uses(module *m) {
  totals t = {0};
  for (computation *c = rlo__table_oldest(&m->computations); c != NULL;
       c = rlo__table_newer(&m->computations, c)) {
    t.computations += c->times_begun;
    t.fused_computations += c->is_fused ? c->times_begun : 0;
  }
  for (size_t n = 0; n < m->num_uses; ++n) {
    const use *u = &m->uses[n];
    array_kind *kind = u->kind;
    if (u->computation->is_fused) {
      kind->fused_count += u->count;
      t.fused_arrays += u->count;
      continue;
    }
    kind->first_use = kind->first_use == 0 ? n + 1 : kind->first_use;
    kind->count += u->count;
    t.arrays += u->count;
    t.bytes += (double)kind->sizes.bytes * (double)u->count;
    t.physical_bytes += (double)kind->sizes.physical_bytes * (double)u->count;
  }
  return t;
}

static int compare_kinds(const void *a, const void *b) {
  const array_kind *x = *(const array_kind *const *)a;
  const array_kind *y = *(const array_kind *const *)b;
  int64_t of_x = rlo__array_sizes_padding_bytes(&x->sizes);
  int64_t of_y = rlo__array_sizes_padding_bytes(&y->sizes);
  if (of_x != of_y) {
    return of_x > of_y ? -1 : 1;
  }
  return x->count != y->count ? (x->count > y->count ? -1 : 1)
                              : (x->first_use > y->first_use) - (x->first_use < y->first_use);
}

/* Lists the kinds in memory that have padding, the most first. The caller frees
 * the list with rlo__free; NULL if memory ran out. */
static const array_kind **sort_kinds(const module *m, int64_t *out_count) {
  const array_kind **sorted = rlo__alloc_array(m->kinds.count + 1, sizeof(*sorted));
  array_kind *kind = rlo__table_oldest(&m->kinds);
  *out_count = 0;
  for (; sorted != NULL && kind != NULL; kind = rlo__table_newer(&m->kinds, kind)) {
    if (kind->count > 0 && rlo__array_sizes_padding_bytes(&kind->sizes) > 0) {
      sorted[(*out_count)++] = kind;
    }
  }
  if (sorted != NULL) {
    qsort((void *)sorted, (size_t)*out_count, sizeof(*sorted), compare_kinds);
  }
  return sorted;
}

/* ----------------------------------------------------------------- printing */

static void add_side(rlo__report *r, const char *key, const rlo__array_sizes *sizes) {
  rlo__report_line(r, key, "%" PRId64 " array%s, %s in memory, %.1f %% padding", sizes->arrays,
                   sizes->arrays == 1 ? "" : "s", rlo__bytes_text(sizes->physical_bytes),
                   100 * rlo__array_sizes_padding_share(sizes));
  rlo__report_open(r, key, '{');
  RLO__REPORT(r, RLO__INT("arrays", NULL, sizes->arrays),
              RLO__INT("without_size", NULL, sizes->without_size));
  rlo__array_sizes_report(r, sizes);
  rlo__report_close(r);
}

/* Bytes beyond 64 bits are shown as the most that fit. */
static int64_t whole_bytes(double bytes) {
  return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

static void add_kind(rlo__report *r, const module *m, const array_kind *kind) {
  const use *first = &m->uses[kind->first_use - 1];
  const int64_t padding_bytes = rlo__array_sizes_padding_bytes(&kind->sizes);
  char where[64];
  snprintf(where, sizeof(where), "%s (%s)", first->name, first->opcode);
  rlo__report_line(r, "", "%10s  %6.1f %%  %10s  %6" PRId64 "  %6" PRId64 "  %-28s  %s",
                   rlo__bytes_text(padding_bytes),
                   100 * rlo__array_sizes_padding_share(&kind->sizes),
                   rlo__bytes_text(kind->sizes.physical_bytes), kind->count, first->line, where,
                   kind->named.name);
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(r, RLO__STRING("shape", NULL, kind->named.name),
              RLO__INT("arrays", NULL, kind->count),
              RLO__INT("arrays_in_fusions", NULL, kind->fused_count),
              RLO__INT("padding_bytes", NULL, padding_bytes));
  rlo__array_sizes_report(r, &kind->sizes);
  RLO__REPORT(r, RLO__STRING("instruction", NULL, first->name),
              RLO__STRING("opcode", NULL, first->opcode),
              RLO__STRING("computation", NULL, first->computation->named.name),
              RLO__INT("line", NULL, first->line));
  rlo__report_close(r);
}

static void add_totals(rlo__report *r, const module *m, const totals *t) {
  const double padding = t->physical_bytes - t->bytes;
  const double share = padding > 0 ? padding / t->physical_bytes : 0;
  rlo__report_line(r, "computations", "%" PRId64 ", %" PRId64 " of them fused", t->computations,
                   t->fused_computations);
  RLO__REPORT(r, RLO__INT("computations", NULL, t->computations),
              RLO__INT("fused_computations", NULL, t->fused_computations),
              RLO__INT("instructions", "instructions", m->instructions));
  rlo__report_line(r, "arrays", "%" PRId64 ", %s together, %.1f %% padding", t->arrays,
                   rlo__bytes_text(whole_bytes(t->physical_bytes)), 100 * share);
  rlo__report_line(r, "within fusions", "%" PRId64 " arrays, not in memory", t->fused_arrays);
  RLO__REPORT(
      r, RLO__INT("arrays", NULL, t->arrays), RLO__INT("arrays_in_fusions", NULL, t->fused_arrays),
      RLO__INT("without_size", m->without_size > 0 ? "without size" : NULL, m->without_size),
      RLO__INT("bytes", NULL, whole_bytes(t->bytes)),
      RLO__INT("physical_bytes", NULL, whole_bytes(t->physical_bytes)),
      RLO__REAL("padding_share", share));
}

static int add_module(report *p, const module *m, const totals *t) {
  rlo__report *r = &p->report;
  int64_t count = 0;
  const array_kind **sorted = sort_kinds(m, &count);
  RLO__EXIT_TRY_MEMORY(sorted);
  rlo__report_open(r, NULL, '{');
  if (p->num_modules > 0) {
    rlo__report_line(r, "", "%s", "");
  }
  RLO__REPORT(r, RLO__STRING("name", "module", m->name));
  if (m->has_entry) {
    add_side(r, "parameters", &m->parameters);
    add_side(r, "result", &m->result);
  } else {
    RLO__REPORT(r, RLO__STRING("parameters", NULL, NULL), RLO__STRING("result", NULL, NULL));
  }
  add_totals(r, m, t);
  rlo__report_line(r, "", "\n%s",
                   count == 0 ? "no array has padding"
                              : "   padding     share   in memory  arrays    line  first of them   "
                                "              shape");
  RLO__REPORT(r, RLO__INT("shapes_with_padding", NULL, count));
  rlo__report_open(r, "wasteful", '[');
  for (int64_t n = 0; n < count && n < p->top; ++n) {
    add_kind(r, m, sorted[n]);
  }
  if (count > p->top) {
    rlo__report_line(r, "", "... %" PRId64 " more shapes with padding", count - p->top);
  }
  rlo__report_close(r);
  rlo__report_close(r);
  rlo__free((void *)sorted);
  return RLO__EXIT_OK;
}

/* ------------------------------------------------------------------ visitor */

/* Begins with the first module: nothing is printed of what cannot be read. */
static void begin_report(report *p) {
  if (p->num_modules == 0) {
    rlo__report_begin(&p->report, p->is_json, 15);
    rlo__report_open(&p->report, "modules", '[');
  }
}

/* Prints the module that has been read, if there is one. */
static int end_module(report *r) {
  if (r->current.name == NULL) {
    return RLO__EXIT_OK;
  }
  const totals t = count_uses(&r->current);
  begin_report(r);
  const int code = add_module(r, &r->current, &t);
  deinit_module(&r->current);
  r->current = (module){0};
  ++r->num_modules;
  return code;
}

static int begin_module(void *payload, const char *name, const rlo_shape_tree *parameters,
                        const rlo_shape_tree *result) {
  report *r = payload;
  module *m = &r->current;
  RLO__EXIT_TRY(end_module(r));
  *m = (module){.name = rlo__alloc_string(name), .has_entry = parameters != NULL};
  rlo__table_init(&m->kinds, offsetof(named, node));
  rlo__table_init(&m->computations, offsetof(named, node));
  RLO__EXIT_TRY_MEMORY(m->name);
  if (m->has_entry) {
    RLO__EXIT_TRY(rlo__check(rlo__array_sizes_add_tree(&m->parameters, parameters)));
    RLO__EXIT_TRY(rlo__check(rlo__array_sizes_add_tree(&m->result, result)));
  }
  return RLO__EXIT_OK;
}

static int begin_computation(void *payload, const char *name) {
  report *r = payload;
  module *m = &r->current;
  if (r->current.name == NULL) {
    RLO__EXIT_TRY(begin_module(r, "without a name", NULL, NULL));
  }
  computation *c = find_name(&m->computations, name, sizeof(*c));
  m->computation = c;
  RLO__EXIT_TRY_MEMORY(c);
  ++c->times_begun;
  return RLO__EXIT_OK;
}

static int add_instruction(void *payload, const rlo__hlo_instruction *instruction) {
  module *m = &((report *)payload)->current;
  m->instruction = instruction;
  ++m->instructions;
  m->without_size += instruction->shape == NULL;
  if (instruction->fused_computation != NULL) {
    computation *fused =
        find_name(&m->computations, instruction->fused_computation, sizeof(*fused));
    RLO__EXIT_TRY_MEMORY(fused);
    fused->is_fused = true;
  }
  return instruction->shape == NULL ? RLO__EXIT_OK
                                    : rlo__check(rlo_shape_tree_for_each_subshape(
                                          instruction->shape, RLO_WALK_LEAVES, visit_leaf, m));
}

int rlo__describe_hlo(const char *path, int64_t top, bool is_json) {
  static const rlo__hlo_visitor visitor = {begin_module, begin_computation, add_instruction};
  report r = {.top = top, .is_json = is_json};
  int64_t bad_lines = 0;
  int code = rlo__hlo_read(path, &visitor, &r, &bad_lines);
  if (code == RLO__EXIT_OK) {
    code = end_module(&r);
  }
  if (r.current.name != NULL) {
    deinit_module(&r.current);
  }
  if (code == RLO__EXIT_OK && r.num_modules == 0 && bad_lines == 0) {
    code = rlo__fail("%s holds no HLO module", path);
  }
  if (code == RLO__EXIT_OK || r.num_modules > 0) {
    begin_report(&r);
    rlo__report_close(&r.report);
    RLO__REPORT(&r.report, RLO__INT("bad_lines", NULL, bad_lines));
    rlo__report_end(&r.report);
  }
  return bad_lines > 0 ? RLO__EXIT_FAILURE : code;
}
