/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_sizes.h"
#include "describe.h"
#include "display.h"
#include "hlo_text.h"
#include "message.h"
#include "report.h"

/* An array of a module: all of one shape, layout included. */
typedef struct array_kind {
  char *text;
  /* Of one. */
  rlo__array_sizes sizes;
  /* The last use, in `uses`, whose computation is the current one; -1. */
  int64_t last_use;
  /* How many results of instructions, in memory and within fusions. */
  int64_t count, fused_count;
  /* The first use that is in memory; -1 for none. */
  int64_t first_use;
} array_kind;

/* The arrays of one kind in one computation: whether that is fused is known
 * when the whole module has been read. */
typedef struct use {
  int64_t kind, computation;
  int64_t count;
  /* Of the first one. */
  char *name, *opcode;
  int64_t line;
} use;

typedef struct list {
  void *items;
  int64_t count, capacity;
} list;

/* The module that is read. */
typedef struct module {
  char *name;
  bool has_entry;
  rlo__array_sizes parameters, result;
  int64_t instructions;
  int64_t without_size;
  /* array_kind; use; char *: names of computations, and of fused ones. */
  list kinds, uses, computations, fused;
  /* Open addressing over kinds: numbers from 1; 0 is free. */
  int64_t *places;
  size_t num_places;
} module;

typedef struct report {
  int64_t top;
  bool is_json;
  rlo__report report;
  bool has_module;
  int64_t num_modules;
  module current;
} report;

/* ------------------------------------------------------------------- memory */

static int fail_memory(void) {
  return rlo__fail("cannot get memory for what the file holds");
}

/* Appends an item, zeroed; NULL if memory ran out. */
static void *append(list *l, size_t item_bytes) {
  if (l->count == l->capacity) {
    int64_t capacity = l->capacity == 0 ? 64 : 2 * l->capacity;
    void *items = realloc(l->items, (size_t)capacity * item_bytes);
    if (items == NULL) {
      return NULL;
    }
    l->items = items;
    l->capacity = capacity;
  }
  void *item = (char *)l->items + (size_t)l->count++ * item_bytes;
  memset(item, 0, item_bytes);
  return item;
}

static int append_name(list *l, const char *name) {
  char **place = append(l, sizeof(*place));
  char *copy = place == NULL ? NULL : strdup(name);
  if (copy == NULL) {
    l->count -= place != NULL;
    return fail_memory();
  }
  *place = copy;
  return RLO__EXIT_OK;
}

static void free_names(list *l) {
  char **names = l->items;
  for (int64_t n = 0; n < l->count; ++n) {
    free(names[n]);
  }
  free(l->items);
}

static void deinit_module(module *m) {
  array_kind *kinds = m->kinds.items;
  for (int64_t n = 0; n < m->kinds.count; ++n) {
    free(kinds[n].text);
  }
  use *uses = m->uses.items;
  for (int64_t n = 0; n < m->uses.count; ++n) {
    free(uses[n].name);
    free(uses[n].opcode);
  }
  free(m->kinds.items);
  free(m->uses.items);
  free_names(&m->computations);
  free_names(&m->fused);
  free(m->places);
  free(m->name);
  *m = (module){0};
}

/* ------------------------------------------------------------------- arrays */

static uint64_t hash_text(const char *text) {
  /* FNV-1a. */
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *text != '\0'; ++text) {
    hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  }
  return hash;
}

/* The place of a text: that of its kind, or a free one. */
static int64_t *find_place(const module *m, const char *text) {
  const array_kind *kinds = m->kinds.items;
  size_t at = (size_t)hash_text(text) & (m->num_places - 1);
  while (m->places[at] != 0 &&
         strcmp(kinds[m->places[at] - 1].text, text) != 0) {
    at = (at + 1) & (m->num_places - 1);
  }
  return &m->places[at];
}

/* Keeps half of the places free. */
static int make_places(module *m) {
  if ((size_t)m->kinds.count * 2 < m->num_places) {
    return RLO__EXIT_OK;
  }
  size_t num_places = m->num_places == 0 ? 256 : 2 * m->num_places;
  int64_t *places = calloc(num_places, sizeof(*places));
  if (places == NULL) {
    return fail_memory();
  }
  free(m->places);
  m->places = places;
  m->num_places = num_places;
  const array_kind *kinds = m->kinds.items;
  for (int64_t n = 0; n < m->kinds.count; ++n) {
    *find_place(m, kinds[n].text) = n + 1;
  }
  return RLO__EXIT_OK;
}

static int find_kind(module *m, const rlo_subshape *leaf, int64_t *out_kind) {
  static rlo__shape_text text;
  int code = make_places(m);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  int64_t *place = find_place(m, rlo__shape_text_make(leaf->shape, &text));
  if (*place == 0) {
    array_kind *made = append(&m->kinds, sizeof(*made));
    char *copy = made == NULL ? NULL : strdup(text.text);
    if (copy == NULL) {
      m->kinds.count -= made != NULL;
      return fail_memory();
    }
    *made = (array_kind){.text = copy, .last_use = -1, .first_use = -1};
    if (rlo__array_sizes_add(&made->sizes, leaf) != RLO_OK) {
      return rlo__fail_last();
    }
    *place = m->kinds.count;
  }
  *out_kind = *place - 1;
  return RLO__EXIT_OK;
}

/* Where the arrays of an instruction go. */
typedef struct target {
  module *m;
  const rlo__hlo_instruction *instruction;
  int code;
} target;

static int add_use(module *m,
                   int64_t kind,
                   const rlo__hlo_instruction *instruction) {
  array_kind *kinds = m->kinds.items;
  use *uses = m->uses.items;
  int64_t computation = m->computations.count - 1;
  int64_t last = kinds[kind].last_use;
  if (last >= 0 && uses[last].computation == computation) {
    ++uses[last].count;
    return RLO__EXIT_OK;
  }
  use *made = append(&m->uses, sizeof(*made));
  if (made == NULL) {
    return fail_memory();
  }
  *made = (use){.kind = kind,
                .computation = computation,
                .count = 1,
                .name = strdup(instruction->name),
                .opcode = strdup(instruction->opcode),
                .line = instruction->line};
  kinds[kind].last_use = m->uses.count - 1;
  return made->name == NULL || made->opcode == NULL ? fail_memory()
                                                    : RLO__EXIT_OK;
}

static rlo_status visit_leaf(const rlo_subshape *leaf, void *payload) {
  target *t = payload;
  if (leaf->shape == NULL || rlo_shape_is_unbounded(leaf->shape)) {
    t->m->without_size += leaf->kind != RLO_SHAPE_KIND_TOKEN;
    return RLO_OK;
  }
  int64_t kind = 0;
  t->code = find_kind(t->m, leaf, &kind);
  if (t->code == RLO__EXIT_OK) {
    t->code = add_use(t->m, kind, t->instruction);
  }
  return t->code == RLO__EXIT_OK ? RLO_OK : RLO_CANCELLED;
}

/* ------------------------------------------------------------------ results */

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_fused(const module *m, int64_t computation) {
  char *const *names = m->computations.items;
  return m->fused.count > 0 && bsearch(&names[computation],
                                       m->fused.items,
                                       (size_t)m->fused.count,
                                       sizeof(char *),
                                       compare_names) != NULL;
}

/* The arrays of instructions, in memory and within fusions. */
typedef struct totals {
  int64_t fused_computations;
  int64_t fused_arrays;
  /* Bytes as numbers with rounding: they are sums over a program, of which
   * much is in memory at different times. */
  int64_t arrays;
  double bytes, physical_bytes;
} totals;

static totals count_uses(module *m) {
  totals t = {0};
  array_kind *kinds = m->kinds.items;
  const use *uses = m->uses.items;
  if (m->fused.count > 0) {
    qsort(
        m->fused.items, (size_t)m->fused.count, sizeof(char *), compare_names);
  }
  for (int64_t n = 0; n < m->computations.count; ++n) {
    t.fused_computations += is_fused(m, n);
  }
  for (int64_t n = 0; n < m->uses.count; ++n) {
    array_kind *kind = &kinds[uses[n].kind];
    if (is_fused(m, uses[n].computation)) {
      kind->fused_count += uses[n].count;
      t.fused_arrays += uses[n].count;
      continue;
    }
    kind->first_use = kind->first_use < 0 ? n : kind->first_use;
    kind->count += uses[n].count;
    t.arrays += uses[n].count;
    t.bytes += (double)kind->sizes.bytes * (double)uses[n].count;
    t.physical_bytes +=
        (double)kind->sizes.physical_bytes * (double)uses[n].count;
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
  return x->count != y->count
             ? (x->count > y->count ? -1 : 1)
             : (x->first_use > y->first_use) - (x->first_use < y->first_use);
}

/* Lists the kinds in memory that have padding, the most first. The caller frees
 * the list; NULL if memory ran out. */
static const array_kind **sort_kinds(const module *m, int64_t *out_count) {
  const array_kind *kinds = m->kinds.items;
  const array_kind **sorted =
      calloc((size_t)m->kinds.count + 1, sizeof(*sorted));
  *out_count = 0;
  for (int64_t n = 0; sorted != NULL && n < m->kinds.count; ++n) {
    if (kinds[n].count > 0 &&
        rlo__array_sizes_padding_bytes(&kinds[n].sizes) > 0) {
      sorted[(*out_count)++] = &kinds[n];
    }
  }
  if (sorted != NULL) {
    qsort((void *)sorted, (size_t)*out_count, sizeof(*sorted), compare_kinds);
  }
  return sorted;
}

static double share_of(double bytes, double physical_bytes) {
  return physical_bytes > bytes ? (physical_bytes - bytes) / physical_bytes : 0;
}

/* ----------------------------------------------------------------- printing */

static void add_side(rlo__report *r,
                     const char *key,
                     const rlo__array_sizes *sizes) {
  rlo__bytes_text physical;
  rlo__report_line(r,
                   key,
                   "%" PRId64 " array%s, %s in memory, %.1f %% padding",
                   sizes->arrays,
                   sizes->arrays == 1 ? "" : "s",
                   rlo__bytes_text_make(sizes->physical_bytes, &physical),
                   100 * rlo__array_sizes_padding_share(sizes));
  if (r->is_json) {
    rlo__report_open(r, key, '{');
    RLO__REPORT(r,
                RLO__INT("arrays", NULL, sizes->arrays),
                RLO__INT("without_size", NULL, sizes->without_size));
    rlo__array_sizes_report(r, sizes);
    rlo__report_close(r);
  }
}

/* Bytes beyond 64 bits are shown as the most that fit. */
static int64_t whole_bytes(double bytes) {
  return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

static void print_kind(rlo__report *r,
                       const array_kind *kind,
                       const use *first) {
  rlo__bytes_text padding;
  rlo__bytes_text physical;
  char where[64];
  snprintf(where, sizeof(where), "%s (%s)", first->name, first->opcode);
  rlo__report_line(r,
                   "",
                   "%10s  %6.1f %%  %10s  %6" PRId64 "  %6" PRId64
                   "  %-28s  %s",
                   rlo__bytes_text_make(
                       rlo__array_sizes_padding_bytes(&kind->sizes), &padding),
                   100 * rlo__array_sizes_padding_share(&kind->sizes),
                   rlo__bytes_text_make(kind->sizes.physical_bytes, &physical),
                   kind->count,
                   first->line,
                   where,
                   kind->text);
}

static void add_kind(rlo__report *r, const module *m, const array_kind *kind) {
  const use *first = (const use *)m->uses.items + kind->first_use;
  char *const *computations = m->computations.items;
  if (!r->is_json) {
    print_kind(r, kind, first);
    return;
  }
  rlo__report_open(r, NULL, '{');
  RLO__REPORT(
      r,
      RLO__STRING("shape", NULL, kind->text),
      RLO__INT("arrays", NULL, kind->count),
      RLO__INT("arrays_in_fusions", NULL, kind->fused_count),
      RLO__INT(
          "padding_bytes", NULL, rlo__array_sizes_padding_bytes(&kind->sizes)));
  rlo__array_sizes_report(r, &kind->sizes);
  RLO__REPORT(
      r,
      RLO__STRING("instruction", NULL, first->name),
      RLO__STRING("opcode", NULL, first->opcode),
      RLO__STRING("computation", NULL, computations[first->computation]),
      RLO__INT("line", NULL, first->line));
  rlo__report_close(r);
}

static void add_totals(rlo__report *r, const module *m, const totals *t) {
  rlo__bytes_text physical;
  rlo__bytes_text_make(whole_bytes(t->physical_bytes), &physical);
  const double share = share_of(t->bytes, t->physical_bytes);
  rlo__report_line(r,
                   "computations",
                   "%" PRId64 ", %" PRId64 " of them fused",
                   m->computations.count,
                   t->fused_computations);
  RLO__REPORT(r,
              RLO__INT("computations", NULL, m->computations.count),
              RLO__INT("fused_computations", NULL, t->fused_computations),
              RLO__INT("instructions", "instructions", m->instructions));
  rlo__report_line(r,
                   "arrays",
                   "%" PRId64 ", %s together, %.1f %% padding",
                   t->arrays,
                   physical.text,
                   100 * share);
  rlo__report_line(r,
                   "within fusions",
                   "%" PRId64 " arrays, not in memory",
                   t->fused_arrays);
  RLO__REPORT(r,
              RLO__INT("arrays", NULL, t->arrays),
              RLO__INT("arrays_in_fusions", NULL, t->fused_arrays),
              RLO__INT("without_size",
                       m->without_size > 0 ? "without size" : NULL,
                       m->without_size),
              RLO__INT("bytes", NULL, whole_bytes(t->bytes)),
              RLO__INT("physical_bytes", NULL, whole_bytes(t->physical_bytes)),
              RLO__REAL("padding_share", share));
}

static int add_module(report *p, const module *m, const totals *t) {
  rlo__report *r = &p->report;
  int64_t count = 0;
  const array_kind **sorted = sort_kinds(m, &count);
  if (sorted == NULL) {
    return fail_memory();
  }
  rlo__report_open(r, NULL, '{');
  if (p->num_modules > 0) {
    rlo__report_line(r, "", "%s", "");
  }
  RLO__REPORT(r, RLO__STRING("name", "module", m->name));
  if (m->has_entry) {
    add_side(r, "parameters", &m->parameters);
    add_side(r, "result", &m->result);
  } else {
    RLO__REPORT(r,
                RLO__STRING("parameters", NULL, NULL),
                RLO__STRING("result", NULL, NULL));
  }
  add_totals(r, m, t);
  rlo__report_line(
      r,
      "",
      "%s",
      count == 0 ? "\nno array has padding"
                 : "\n   padding     share   in memory  arrays    line  first "
                   "of them                 shape");
  RLO__REPORT(r, RLO__INT("shapes_with_padding", NULL, count));
  rlo__report_open(r, "wasteful", '[');
  for (int64_t n = 0; n < count && n < p->top; ++n) {
    add_kind(r, m, sorted[n]);
  }
  if (count > p->top) {
    rlo__report_line(
        r, "", "... %" PRId64 " more shapes with padding", count - p->top);
  }
  rlo__report_close(r);
  rlo__report_close(r);
  free((void *)sorted);
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
  if (!r->has_module) {
    return RLO__EXIT_OK;
  }
  module *m = &r->current;
  totals t = count_uses(m);
  begin_report(r);
  int code = add_module(r, m, &t);
  deinit_module(m);
  r->has_module = false;
  ++r->num_modules;
  return code;
}

static int begin_module(void *payload,
                        const char *name,
                        const rlo_shape_tree *parameters,
                        const rlo_shape_tree *result) {
  report *r = payload;
  int code = end_module(r);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  module *m = &r->current;
  r->has_module = true;
  m->name = strdup(name);
  m->has_entry = parameters != NULL;
  if (m->name == NULL) {
    return fail_memory();
  }
  bool is_measured =
      !m->has_entry ||
      (rlo__array_sizes_add_tree(&m->parameters, parameters) == RLO_OK &&
       rlo__array_sizes_add_tree(&m->result, result) == RLO_OK);
  return is_measured ? RLO__EXIT_OK : rlo__fail_last();
}

static int begin_computation(void *payload, const char *name) {
  report *r = payload;
  if (!r->has_module) {
    int code = begin_module(r, "without a name", NULL, NULL);
    if (code != RLO__EXIT_OK) {
      return code;
    }
  }
  return append_name(&r->current.computations, name);
}

static int add_instruction(void *payload,
                           const rlo__hlo_instruction *instruction) {
  report *r = payload;
  module *m = &r->current;
  target t = {m, instruction, RLO__EXIT_OK};
  ++m->instructions;
  if (instruction->fused_computation != NULL) {
    t.code = append_name(&m->fused, instruction->fused_computation);
  }
  if (t.code != RLO__EXIT_OK) {
    return t.code;
  }
  rlo_status status = rlo_shape_tree_for_each_subshape(
      instruction->shape, RLO_WALK_LEAVES, visit_leaf, &t);
  return status == RLO_OK || t.code != RLO__EXIT_OK ? t.code : rlo__fail_last();
}

int rlo__describe_hlo(const char *path, int64_t top, bool is_json) {
  static const rlo__hlo_visitor visitor = {
      begin_module, begin_computation, add_instruction};
  report r = {.top = top, .is_json = is_json};
  int64_t bad_lines = 0;
  int code = rlo__hlo_read(path, &visitor, &r, &bad_lines);
  if (code == RLO__EXIT_OK) {
    code = end_module(&r);
  }
  deinit_module(&r.current);
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
