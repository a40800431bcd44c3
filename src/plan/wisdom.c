/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/wisdom.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/status.h"
#include "ir/problem.h"

#define KEY_SEED UINT64_C(0x776973646f6d0001)

/* Wisdom as text. relayout/plan.h describes the format. */
#define TITLE "relayout-wisdom\t1"

enum {
  /** Alignment beyond a line makes no difference to any kernel. */
  ENOUGH_ALIGNMENT_BYTES = 64,
  MAX_LINE_BYTES = 511,
  NUM_DEVICE_FIELDS = 4,
  NUM_RECORD_FIELDS = 7,
  /** Resolution of the fraction, and its maximum. */
  FRACTION_UNITS = 1000,
  MAX_FRACTION = 1000
};

/* ------------------------------------------------------------------ entries */

/* Fields of the text end at control characters, so names have none. */
static void copy_name(const char *name, char *out_name, size_t room) {
  snprintf(out_name, room, "%s", name);
  for (char *c = out_name; *c != '\0'; ++c) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f) {
      *c = ' ';
    }
  }
}

void rlo__wisdom_init(const char *device, const char *driver, uint64_t table_hash,
                      rlo__wisdom *out_wisdom) {
  *out_wisdom = (rlo__wisdom){.table_hash = table_hash};
  copy_name(device, out_wisdom->device, sizeof out_wisdom->device);
  copy_name(driver, out_wisdom->driver, sizeof out_wisdom->driver);
  rlo__table_init(&out_wisdom->entries, offsetof(rlo__wisdom_entry, node));
}

void rlo__wisdom_deinit(rlo__wisdom *wisdom) {
  rlo__wisdom_entry *entry = NULL;
  while ((entry = rlo__table_remove_oldest(&wisdom->entries)) != NULL) {
    rlo__free(entry);
  }
  rlo__table_deinit(&wisdom->entries);
}

rlo__wisdom_key rlo__wisdom_key_of(const rlo__family_query *query, rlo_device_class device_class) {
  rlo__hash hash = rlo__hash_init(KEY_SEED);
  rlo__hash_i64(&hash, device_class);
  rlo__problem_hash_into(query->problem, &hash);
  return (rlo__wisdom_key){
      .problem = rlo__hash_finish(&hash),
      .alignment_bytes = rlo__min(ENOUGH_ALIGNMENT_BYTES, rlo__min(query->src_alignment_bytes,
                                                                   query->dst_alignment_bytes))};
}

static bool is_of(const void *entry, const void *key) {
  const rlo__wisdom_key *have = &((const rlo__wisdom_entry *)entry)->key;
  const rlo__wisdom_key *wanted = key;
  return rlo__hash128_is_equal(have->problem, wanted->problem) &&
         have->alignment_bytes == wanted->alignment_bytes;
}

const rlo__wisdom_entry *rlo__wisdom_find(const rlo__wisdom *wisdom, const rlo__wisdom_key *key) {
  return rlo__table_find(&wisdom->entries, key->problem.low, is_of, key);
}

static rlo_status check_count(size_t count) {
  return count <= RLO__WISDOM_MAX_ENTRIES
             ? RLO_OK
             : RLO_FAIL(RLO_OUT_OF_RANGE, "wisdom holds at most %d records of one device",
                        RLO__WISDOM_MAX_ENTRIES);
}

rlo_status rlo__wisdom_put(rlo__wisdom *wisdom, const rlo__wisdom_entry *entry) {
  const uint64_t hash = entry->key.problem.low;
  rlo__wisdom_entry *old = rlo__table_find(&wisdom->entries, hash, is_of, &entry->key);
  if (old == NULL) {
    RLO_TRY(check_count(wisdom->entries.count + 1));
  }
  rlo__wisdom_entry *made = rlo__alloc(sizeof *made);
  RLO_TRY_MEMORY(made);
  *made = *entry;
  if (old != NULL) {
    rlo__table_remove(&wisdom->entries, old);
    rlo__free(old);
  }
  rlo__table_insert(&wisdom->entries, made, hash);
  return RLO_OK;
}

rlo__wisdom_entry rlo__wisdom_entry_of(const rlo__family_query *query, const rlo__family *family,
                                       const rlo__schedule *schedule, double fraction) {
  const rlo_problem *problem = query->problem;
  rlo__wisdom_entry entry = {.key = rlo__wisdom_key_of(query, family->device_class),
                             .family = family,
                             .schedule = schedule,
                             .fraction = fraction};
  rlo__str note = rlo__str_over(entry.note, sizeof entry.note);
  rlo__str_printf(&note, "%d bits", problem->unit_bits);
  for (int32_t a = 0; a < problem->num_axes; ++a) {
    rlo__str_printf(&note, "%s%lld", a == 0 ? ", " : " x ", (long long)problem->extents[a]);
  }
  if (problem->num_guards > 0) {
    rlo__str_printf(&note, ", %d guards", problem->num_guards);
  }
  return entry;
}

/* ------------------------------------------------------------------ reading */

typedef struct reader {
  const char *next;
  const char *end;
  int64_t line_number;
  /** The line, its tabs replaced by NULs. */
  char line[MAX_LINE_BYTES + 1];
  /** The current line that names a device. */
  char device_line[MAX_LINE_BYTES + 1];
  rlo_wisdom_record record;
} reader;

/* The functions below return NULL, or what is wrong with the line. */

/* Copies the next line. A line without an end is an error, so that a truncated
 * text is noticed. */
static const char *read_line(reader *r) {
  ++r->line_number;
  const char *newline = memchr(r->next, '\n', (size_t)(r->end - r->next));
  if (newline == NULL) {
    return "has no end";
  }
  const size_t length = (size_t)(newline - r->next);
  if (length > MAX_LINE_BYTES) {
    return "is longer than 511 bytes";
  }
  for (size_t k = 0; k < length; ++k) {
    unsigned char c = (unsigned char)r->next[k];
    if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return "holds a control character";
    }
  }
  memcpy(r->line, r->next, length);
  r->line[length] = '\0';
  r->next = newline + 1;
  return NULL;
}

/* Splits a line at its tabs. @return the number of its fields, of which the
 * first `room` are stored. */
static int32_t split(char *line, int32_t room, const char **out_fields) {
  int32_t count = 0;
  for (char *at = line; at != NULL; ++count) {
    if (count < room) {
      out_fields[count] = at;
    }
    at = strchr(at, '\t');
    if (at != NULL) {
      *at++ = '\0';
    }
  }
  return count;
}

/* Sixteen lower-case hexadecimal digits for each number. */
static bool read_hex(const char *text, size_t count, uint64_t *out_numbers) {
  if (strspn(text, "0123456789abcdef") != 16 * count || text[16 * count] != '\0') {
    return false;
  }
  for (size_t n = 0; n < count; ++n) {
    char digits[17] = "";
    memcpy(digits, text + 16 * n, 16);
    out_numbers[n] = strtoull(digits, NULL, 16);
  }
  return true;
}

/* Reads at most nine digits. @return their number; 0: none, or too many. */
static int32_t read_digits(const char *text, int64_t *out_value) {
  const size_t count = strspn(text, "0123456789");
  *out_value = count <= 9 ? strtoll(text, NULL, 10) : 0;
  return count <= 9 ? (int32_t)count : 0;
}

static bool read_alignment(const char *text, int64_t *out_bytes) {
  const int32_t length = read_digits(text, out_bytes);
  return length > 0 && text[length] == '\0' && *out_bytes > 0 &&
         (*out_bytes & (*out_bytes - 1)) == 0;
}

/* "0.871". Not strtod, whose decimal point depends on the locale. */
static bool read_fraction(const char *text, double *out_fraction) {
  int64_t whole = 0;
  int64_t thousandths = 0;
  const int32_t length = read_digits(text, &whole);
  if (length == 0 || whole > MAX_FRACTION || text[length] != '.' ||
      read_digits(text + length + 1, &thousandths) != 3 || text[length + 4] != '\0') {
    return false;
  }
  *out_fraction = (double)whole + (double)thousandths / (double)FRACTION_UNITS;
  return true;
}

static const char *class_name(rlo_device_class device_class) {
  return device_class == RLO_DEVICE_CLASS_CPU ? "cpu" : "gpu";
}

static const char *read_device(reader *r) {
  const char *fields[NUM_DEVICE_FIELDS];
  memcpy(r->device_line, r->line, sizeof r->device_line);
  if (split(r->device_line, NUM_DEVICE_FIELDS, fields) != NUM_DEVICE_FIELDS) {
    return "is no device with a name, a driver and a table";
  }
  if (!read_hex(fields[3], 1, &r->record.table)) {
    return "has no table of 16 hexadecimal digits";
  }
  r->record.device = fields[1];
  r->record.driver = fields[2];
  return NULL;
}

static const char *read_record(reader *r) {
  const char *fields[NUM_RECORD_FIELDS];
  rlo_wisdom_record *record = &r->record;
  if (record->device == NULL) {
    return "is a record before any device";
  }
  if (split(r->line, NUM_RECORD_FIELDS, fields) != NUM_RECORD_FIELDS) {
    return "is no record of seven fields";
  }
  record->device_class =
      strcmp(fields[3], "cpu") == 0 ? RLO_DEVICE_CLASS_CPU : RLO_DEVICE_CLASS_GPU;
  record->family = fields[4];
  record->schedule = fields[5];
  record->note = fields[6];
  return !read_hex(fields[0], 2, record->problem) ? "has no problem of 32 hexadecimal digits"
         : !read_alignment(fields[1], &record->alignment_bytes)
             ? "has an alignment that is no power of two"
         : !read_fraction(fields[2], &record->fraction) ? "has no fraction such as 0.871"
         : strcmp(fields[3], class_name(record->device_class)) != 0
             ? "has a class that is neither cpu nor gpu"
         : record->family[0] == '\0' || record->schedule[0] == '\0'
             ? "names no family or no schedule"
             : NULL;
}

rlo_status rlo_wisdom_read(const char *text, size_t num_bytes, rlo_wisdom_fn fn, void *payload) {
  RLO_REQUIRE_LIST(text, num_bytes);
  reader r = {.next = text == NULL ? "" : text};
  r.end = r.next + num_bytes;
  const char *wrong = read_line(&r);
  if (wrong == NULL && strcmp(r.line, TITLE) != 0) {
    wrong = "is not the title of version 1, which this library reads";
  }
  while (wrong == NULL && r.next < r.end) {
    wrong = read_line(&r);
    if (wrong != NULL || r.line[0] == '\0' || r.line[0] == '#') {
      continue;
    }
    if (strncmp(r.line, "device\t", 7) == 0) {
      wrong = read_device(&r);
      continue;
    }
    wrong = read_record(&r);
    if (wrong == NULL && fn != NULL) {
      fn(payload, &r.record);
    }
  }
  return wrong == NULL
             ? RLO_OK
             : RLO_FAIL(RLO_PARSE, "line %lld of the wisdom %s", (long long)r.line_number, wrong);
}

/* -------------------------------------------------- importing and exporting */

static bool is_same_device(const rlo__wisdom *wisdom, const rlo_wisdom_record *record) {
  return strcmp(record->device, wisdom->device) == 0 && strcmp(record->driver, wisdom->driver) == 0;
}

static rlo__wisdom_key key_of(const rlo_wisdom_record *record) {
  return (rlo__wisdom_key){.problem = {.high = record->problem[0], .low = record->problem[1]},
                           .alignment_bytes = record->alignment_bytes};
}

typedef struct importer {
  rlo__wisdom *wisdom;
  rlo__wisdom_count count;
  rlo_status status;
} importer;

static void import_record(void *payload, const rlo_wisdom_record *record) {
  importer *into = payload;
  const rlo__family *family = rlo__family_find(record->device_class, record->family);
  const rlo__schedule *schedule = rlo__schedule_find(record->schedule);
  if (!is_same_device(into->wisdom, record) || record->table != into->wisdom->table_hash ||
      family == NULL || schedule == NULL) {
    ++into->count.num_ignored;
    return;
  }
  rlo__wisdom_entry entry = {
      .key = key_of(record), .family = family, .schedule = schedule, .fraction = record->fraction};
  snprintf(entry.note, sizeof entry.note, "%s", record->note);
  if (into->status == RLO_OK) {
    into->status = rlo__wisdom_put(into->wisdom, &entry);
  }
  into->count.num_taken += into->status == RLO_OK;
}

rlo_status rlo__wisdom_import(rlo__wisdom *wisdom, const char *text, size_t num_bytes,
                              rlo__wisdom_count *out_count) {
  importer into = {.wisdom = wisdom, .status = RLO_OK};
  *out_count = into.count;
  /* Reads the text twice: a text with an error changes nothing. */
  RLO_TRY(rlo_wisdom_read(text, num_bytes, NULL, NULL));
  RLO_TRY(rlo_wisdom_read(text, num_bytes, import_record, &into));
  *out_count = into.count;
  return into.status;
}

/* In thousandths, within the range that the reader accepts: a machine that
 * stalls during a measurement yields any fraction. */
static int64_t fraction_units(double fraction) {
  if (!(fraction > 0.0)) {
    return 0;
  }
  return fraction < (double)MAX_FRACTION ? (int64_t)(fraction * (double)FRACTION_UNITS + 0.5)
                                         : (int64_t)MAX_FRACTION * FRACTION_UNITS;
}

typedef struct exporter {
  const rlo__wisdom *wisdom;
  rlo__str *out;
  /** The line of the device that was printed last. */
  char device[2 * MAX_LINE_BYTES];
  /** Records of the wisdom's own device. */
  size_t num_own;
} exporter;

/* Prints a record, below the line of its device. */
static void print(exporter *to, const rlo_wisdom_record *record) {
  char device[sizeof to->device];
  const int64_t units = fraction_units(record->fraction);
  snprintf(device, sizeof device, "device\t%s\t%s\t%016" PRIx64 "\n", record->device,
           record->driver, record->table);
  if (strcmp(device, to->device) != 0) {
    memcpy(to->device, device, sizeof device);
    rlo__str_append(to->out, device);
  }
  rlo__str_printf(to->out, "%016" PRIx64 "%016" PRIx64 "\t%lld\t%lld.%03lld\t%s\t%s\t%s\t%s\n",
                  record->problem[0], record->problem[1], (long long)record->alignment_bytes,
                  (long long)(units / FRACTION_UNITS), (long long)(units % FRACTION_UNITS),
                  class_name(record->device_class), record->family, record->schedule, record->note);
}

static void keep_record(void *payload, const rlo_wisdom_record *record) {
  exporter *to = payload;
  const rlo__wisdom_key key = key_of(record);
  const bool is_own = is_same_device(to->wisdom, record);
  if (!is_own ||
      (record->table == to->wisdom->table_hash && rlo__wisdom_find(to->wisdom, &key) == NULL)) {
    print(to, record);
    to->num_own += is_own;
  }
}

rlo_status rlo__wisdom_export(const rlo__wisdom *wisdom, const char *others, size_t others_bytes,
                              rlo__str *out_text) {
  exporter to = {.wisdom = wisdom, .out = out_text, .num_own = wisdom->entries.count};
  rlo__str_append(out_text, TITLE "\n");
  for (rlo__wisdom_entry *entry = rlo__table_oldest(&wisdom->entries); entry != NULL;
       entry = rlo__table_newer(&wisdom->entries, entry)) {
    const rlo_wisdom_record record = {.device = wisdom->device,
                                      .driver = wisdom->driver,
                                      .table = wisdom->table_hash,
                                      .problem = {entry->key.problem.high, entry->key.problem.low},
                                      .alignment_bytes = entry->key.alignment_bytes,
                                      .fraction = entry->fraction,
                                      .device_class = entry->family->device_class,
                                      .family = entry->family->name,
                                      .schedule = entry->schedule->name,
                                      .note = entry->note};
    print(&to, &record);
  }
  if (others != NULL) {
    RLO_TRY(rlo_wisdom_read(others, others_bytes, keep_record, &to));
  }
  return check_count(to.num_own);
}
