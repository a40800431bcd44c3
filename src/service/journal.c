/* SPDX-License-Identifier: Apache-2.0 */
#include "service/journal.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/threshold.h"
#include "service/journal_file.h"

/** Raised whenever an equal plan would give its boxes other numbers or other
 *  contents. */
#define PLANNER_VERSION 1

enum { BITS_OF_WORD = 64 };

/** How much may have to be done again. */
static const double default_seconds = 5.0;

/** For tests; negative: the default. */
static _Atomic double set_seconds = -1.0;

/** Boxes that are done, and not durable. */
typedef struct record_list {
  rlo__journal_record *items;
  size_t count, capacity;
} record_list;

struct rlo__journal {
  char *path;
  rlo__journal_file file;
  rlo__journal_header header;
  rlo__journal_settings settings;
  /** There is a job to be resumed. */
  bool exists;
  /** Of each pass: how many boxes are before it. One more entry than passes:
   *  the number of all. */
  int64_t *first_boxes;
  /** A bit for each box. */
  uint64_t *durable;
  int64_t bytes_resumed;
  record_list done, in_checkpoint;
  bool is_in_checkpoint, is_wanted;
  /** Since the last checkpoint. */
  double begin_seconds;
  int64_t begin_bytes;
};

void rlo__journal_set_interval(double seconds) {
  atomic_store(&set_seconds, seconds);
}

/* ---------------------------------------------------------------------- key */

/** What has to be equal, in the order in which differences are named. */
typedef enum key_number {
  KEY_PLANNER,
  KEY_PROBLEM,
  KEY_SRC_FILE,
  KEY_SRC_OFFSET,
  KEY_SRC_BYTES,
  KEY_SRC_MODIFIED,
  KEY_SRC_NUMBER,
  KEY_DST_FILE,
  KEY_DST_OFFSET,
  KEY_DST_BYTES,
  KEY_COPIES,
  KEY_NUM_PASSES,
  KEY_PIECES,
  KEY_COUNT
} key_number;

_Static_assert((int)KEY_COUNT == (int)RLO__JOURNAL_NUM_KEYS,
               "the header has a word for each number of the key");

static const struct {
  const char *words;
  rlo_status status;
  /** The two numbers say something to a reader. */
  bool is_shown;
} differences[KEY_COUNT] = {
    [KEY_PLANNER] = {"is of a version of relayout that cuts jobs into other "
                     "pieces",
                     RLO_UNSUPPORTED,
                     true},
    [KEY_PROBLEM] = {"is of another problem", RLO_INVALID_ARGUMENT, false},
    [KEY_SRC_FILE] = {"is of another source", RLO_INVALID_ARGUMENT, false},
    [KEY_SRC_OFFSET] = {"is of another part of the source's file: its first "
                        "byte differs",
                        RLO_INVALID_ARGUMENT,
                        true},
    [KEY_SRC_BYTES] = {"is of an earlier source: its file was changed since "
                       "the job began, its length differs",
                       RLO_DATA_LOSS,
                       true},
    [KEY_SRC_MODIFIED] = {"is of an earlier source: its file was changed since "
                          "the job began",
                          RLO_DATA_LOSS,
                          false},
    [KEY_SRC_NUMBER] = {"is of another source, or it was changed since the job "
                        "began",
                        RLO_DATA_LOSS,
                        false},
    [KEY_DST_FILE] = {"is of another destination", RLO_INVALID_ARGUMENT, false},
    [KEY_DST_OFFSET] = {"is of another part of the destination's file: its "
                        "first byte differs",
                        RLO_INVALID_ARGUMENT,
                        true},
    [KEY_DST_BYTES] = {"is of a destination of another length",
                       RLO_INVALID_ARGUMENT,
                       true},
    [KEY_COPIES] = {"is of a job on other devices: one of the two copies its "
                    "pieces to memory of theirs",
                    RLO_INVALID_ARGUMENT,
                    false},
    [KEY_NUM_PASSES] = {"is of a job with another number of passes",
                        RLO_INVALID_ARGUMENT,
                        true},
    [KEY_PIECES] = {"is of a job that is cut into other pieces",
                    RLO_INVALID_ARGUMENT,
                    false}};

/** The canonical form, since equal problems may be written differently. */
static rlo_status hash_problem(const rlo_problem *problem, uint64_t *out) {
  rlo_problem *canonical = rlo__alloc(sizeof *canonical);
  if (canonical == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  *canonical = *problem;
  rlo_status status = rlo_problem_canonicalize(canonical, 0, NULL, NULL);
  *out = rlo_problem_hash(canonical);
  rlo__free(canonical);
  return status;
}

static uint64_t hash_passes(const rlo__journal_subject *job) {
  rlo__hash hash = rlo__hash_init(PLANNER_VERSION);
  rlo__hash_u64(&hash, job->index_hash);
  for (int32_t n = 0; n < job->num_passes; ++n) {
    const rlo__piece_plan *plan = &job->passes[n].plan;
    rlo__hash_u64(&hash, rlo_problem_hash(&plan->problem));
    rlo__hash_i64(&hash, plan->gathered);
    rlo__hash_i64(&hash, plan->num_boxes);
    rlo__hash_i64(&hash, plan->num_pieces);
    for (int32_t a = 0; a < plan->problem.num_axes; ++a) {
      rlo__hash_i64(&hash, plan->box[a]);
      rlo__hash_i64(&hash, plan->piece[a]);
      rlo__hash_i64(&hash, plan->band[a]);
    }
  }
  return rlo__hash_finish_u64(&hash);
}

static rlo_status make_header(const rlo__journal_subject *job,
                              rlo__journal_header *out) {
  *out = (rlo__journal_header){.settings = {job->settings.host_bytes,
                                            job->settings.piece_bytes,
                                            job->settings.box_bytes,
                                            job->settings.num_slots,
                                            job->settings.passes,
                                            job->settings.scratch_bytes}};
  uint64_t *key = out->key;
  key[KEY_PLANNER] = PLANNER_VERSION;
  RLO_TRY(hash_problem(job->problem, &key[KEY_PROBLEM]));
  /* Without devices: their numbers may change when the machine starts, and the
   * time of the last change tells two files apart well enough. */
  key[KEY_SRC_FILE] = job->src->inode;
  key[KEY_SRC_OFFSET] = (uint64_t)job->src->offset;
  key[KEY_SRC_BYTES] = (uint64_t)job->src->bytes;
  key[KEY_SRC_MODIFIED] = (uint64_t)job->src->modified_nanos;
  key[KEY_SRC_NUMBER] = job->src->number;
  key[KEY_DST_FILE] = job->dst->inode;
  key[KEY_DST_OFFSET] = (uint64_t)job->dst->offset;
  key[KEY_DST_BYTES] = (uint64_t)job->problem->dst_bytes;
  key[KEY_COPIES] = job->copies;
  key[KEY_NUM_PASSES] = (uint64_t)job->num_passes;
  key[KEY_PIECES] = hash_passes(job);
  return RLO_OK;
}

static rlo_status compare_keys(const char *path,
                               const rlo__journal_header *of_journal,
                               const rlo__journal_header *wanted) {
  for (int n = 0; n < KEY_COUNT; ++n) {
    if (of_journal->key[n] == wanted->key[n]) {
      continue;
    }
    rlo_status status = differences[n].status;
    if (!differences[n].is_shown) {
      return RLO_FAIL(
          status, "the journal \"%s\" %s", path, differences[n].words);
    }
    return RLO_FAIL(status,
                    "the journal \"%s\" %s (%" PRIu64 ", and %" PRIu64 " now)",
                    path,
                    differences[n].words,
                    of_journal->key[n],
                    wanted->key[n]);
  }
  return RLO_OK;
}

/** What is known before there is a plan. */
static rlo_status compare_problems(const char *path,
                                   const rlo__journal_header *of_journal,
                                   const rlo_problem *problem) {
  rlo__journal_header wanted = *of_journal;
  wanted.key[KEY_PLANNER] = PLANNER_VERSION;
  RLO_TRY(hash_problem(problem, &wanted.key[KEY_PROBLEM]));
  return compare_keys(path, of_journal, &wanted);
}

/* ---------------------------------------------------------------- lifecycle */

static rlo_status read_settings(const char *path,
                                const rlo__journal_header *header,
                                rlo__journal_settings *out) {
  *out = (rlo__journal_settings){.host_bytes = header->settings[0],
                                 .piece_bytes = header->settings[1],
                                 .box_bytes = header->settings[2],
                                 .num_slots = header->settings[3],
                                 .passes = header->settings[4],
                                 .scratch_bytes = header->settings[5]};
  if (out->host_bytes < 1 || out->piece_bytes < 1 || out->box_bytes < 1 ||
      out->num_slots < 1 || out->num_slots > INT32_MAX || out->passes < 1 ||
      out->passes > 2 || out->scratch_bytes < 0) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the journal \"%s\" has settings with which no job began",
                    path);
  }
  return RLO_OK;
}

rlo_status rlo__journal_peek(const char *path,
                             const rlo_problem *problem,
                             rlo__journal_settings *out_settings,
                             bool *out_exists) {
  rlo__journal_header header = {0};
  RLO_TRY(rlo__journal_file_peek(path, &header, out_exists));
  if (!*out_exists) {
    return RLO_OK;
  }
  RLO_TRY(compare_problems(path, &header, problem));
  return read_settings(path, &header, out_settings);
}

rlo_status rlo__journal_open(const char *path,
                             const rlo_problem *problem,
                             rlo__journal **out_journal) {
  *out_journal = NULL;
  rlo__journal *made = rlo__alloc(sizeof *made);
  if (made == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  made->file.fd = -1;
  made->path = rlo__alloc_string(path);
  rlo_status status =
      made->path == NULL
          ? RLO_OUT_OF_MEMORY
          : rlo__journal_file_open(
                made->path, &made->file, &made->header, &made->exists);
  if (status == RLO_OK && made->exists) {
    status = compare_problems(made->path, &made->header, problem);
  }
  if (status == RLO_OK && made->exists) {
    status = read_settings(made->path, &made->header, &made->settings);
  }
  if (status != RLO_OK) {
    rlo__journal_release(made);
    return status;
  }
  *out_journal = made;
  return RLO_OK;
}

void rlo__journal_release(rlo__journal *journal) {
  if (journal == NULL) {
    return;
  }
  rlo__journal_file_close(&journal->file);
  rlo__free(journal->in_checkpoint.items);
  rlo__free(journal->done.items);
  rlo__free(journal->durable);
  rlo__free(journal->first_boxes);
  rlo__free(journal->path);
  rlo__free(journal);
}

const rlo__journal_settings *rlo__journal_get_settings(
    const rlo__journal *journal) {
  return journal->exists ? &journal->settings : NULL;
}

/* -------------------------------------------------------------------- boxes */

static bool is_set(const rlo__journal *journal, int64_t box) {
  return (journal->durable[box / BITS_OF_WORD] >> (box % BITS_OF_WORD) & 1) !=
         0;
}

static void set(rlo__journal *journal, int64_t box) {
  journal->durable[box / BITS_OF_WORD] |= UINT64_C(1) << (box % BITS_OF_WORD);
}

static rlo_status number_boxes(rlo__journal *journal,
                               const rlo__journal_subject *job,
                               int64_t *out_num_boxes) {
  journal->first_boxes = rlo__alloc_array((size_t)job->num_passes + 1,
                                          sizeof *journal->first_boxes);
  if (journal->first_boxes == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  int64_t num_boxes = 0;
  for (int32_t n = 0; n < job->num_passes; ++n) {
    journal->first_boxes[n] = num_boxes;
    if (!rlo__add(num_boxes, job->passes[n].plan.num_boxes, &num_boxes)) {
      return rlo__fail_overflow("the number of a job's boxes");
    }
  }
  journal->first_boxes[job->num_passes] = num_boxes;
  journal->durable = rlo__alloc_array(
      (size_t)rlo__ceil_div(num_boxes, BITS_OF_WORD), sizeof *journal->durable);
  *out_num_boxes = num_boxes;
  return journal->durable == NULL ? RLO_OUT_OF_MEMORY : RLO_OK;
}

/** Reads what is durable. A box that has several records counts once. */
static rlo_status read_boxes(rlo__journal *journal, int64_t num_boxes) {
  rlo__journal_record *records;
  size_t count;
  RLO_TRY(rlo__journal_file_read(&journal->file, &records, &count));
  for (size_t n = 0; n < count; ++n) {
    int64_t box = records[n].box;
    if (box < 0 || box >= num_boxes || records[n].bytes < 0) {
      rlo__free(records);
      return RLO_FAIL(RLO_DATA_LOSS,
                      "the journal \"%s\" has box %" PRId64
                      " of a job with %" PRId64,
                      journal->path,
                      box,
                      num_boxes);
    }
    if (!is_set(journal, box)) {
      set(journal, box);
      journal->bytes_resumed =
          rlo__add_capped(journal->bytes_resumed, records[n].bytes);
    }
  }
  rlo__free(records);
  return RLO_OK;
}

rlo_status rlo__journal_fit(rlo__journal *journal,
                            const rlo__journal_subject *job) {
  rlo__journal_header wanted;
  int64_t num_boxes;
  RLO_TRY(make_header(job, &wanted));
  RLO_TRY(number_boxes(journal, job, &num_boxes));
  if (!journal->exists) {
    journal->header = wanted;
    return RLO_OK;
  }
  RLO_TRY(compare_keys(journal->path, &journal->header, &wanted));
  /* The file was reserved before the journal was created. One that is shorter
   * has been made since, even if its number is the same. */
  if (job->dst->is_file && job->dst->bytes < job->problem->dst_bytes) {
    return RLO_FAIL(RLO_DATA_LOSS,
                    "the journal \"%s\" is of another destination: the file "
                    "has %" PRId64 " bytes, and %" PRId64
                    " were reserved when the job began",
                    journal->path,
                    job->dst->bytes,
                    job->problem->dst_bytes);
  }
  return read_boxes(journal, num_boxes);
}

int64_t rlo__journal_bytes_resumed(const rlo__journal *journal) {
  return journal->bytes_resumed;
}

rlo_status rlo__journal_start(rlo__journal *journal) {
  RLO_TRY(journal->exists
              ? rlo__journal_file_trim(&journal->file)
              : rlo__journal_file_create(&journal->file, &journal->header));
  journal->begin_seconds = rlo__clock_seconds();
  return RLO_OK;
}

bool rlo__journal_is_durable(const rlo__journal *journal,
                             int32_t pass,
                             int64_t box) {
  return is_set(journal, journal->first_boxes[pass] + box);
}

rlo_status rlo__journal_add(rlo__journal *journal,
                            int32_t pass,
                            int64_t box,
                            int64_t bytes) {
  record_list *done = &journal->done;
  RLO_TRY(rlo__array_reserve(
      &done->items, sizeof *done->items, done->count + 1, &done->capacity));
  done->items[done->count++] = (rlo__journal_record){
      .box = journal->first_boxes[pass] + box, .bytes = bytes};
  return RLO_OK;
}

/* -------------------------------------------------------------- checkpoints */

void rlo__journal_want_checkpoint(rlo__journal *journal) {
  journal->is_wanted = true;
}

bool rlo__journal_is_due(const rlo__journal *journal, int64_t bytes_written) {
  if (journal->is_in_checkpoint || journal->done.count == 0) {
    return false;
  }
  double seconds = atomic_load(&set_seconds);
  return journal->is_wanted ||
         bytes_written - journal->begin_bytes >=
             rlo__thresholds.service_checkpoint_bytes ||
         rlo__clock_seconds() - journal->begin_seconds >=
             (seconds < 0 ? default_seconds : seconds);
}

void rlo__journal_begin_checkpoint(rlo__journal *journal,
                                   int64_t bytes_written) {
  record_list empty = journal->in_checkpoint;
  journal->in_checkpoint = journal->done;
  journal->done = empty;
  journal->is_in_checkpoint = true;
  journal->is_wanted = false;
  journal->begin_bytes = bytes_written;
}

rlo_status rlo__journal_checkpoint(rlo__journal *journal, rlo_storage *dst) {
  const record_list *records = &journal->in_checkpoint;
  RLO_TRY(rlo__storage_flush(dst));
  return records->count == 0
             ? RLO_OK
             : rlo__journal_file_append(
                   &journal->file, records->items, records->count);
}

void rlo__journal_end_checkpoint(rlo__journal *journal) {
  record_list *records = &journal->in_checkpoint;
  for (size_t n = 0; n < records->count; ++n) {
    set(journal, records->items[n].box);
  }
  records->count = 0;
  journal->is_in_checkpoint = false;
  journal->begin_seconds = rlo__clock_seconds();
}
