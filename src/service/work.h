/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_SERVICE_WORK_H
#define RLO_SERVICE_WORK_H

#include "move/move.h"
#include "relayout/service.h"
#include "service/journal.h"
#include "service/piece_plan.h"

/**
 * A context that runs pieces, one after the other on a queue of its own: one
 * thread's, which waits for each. Where the device shares the host's memory a
 * piece runs where it lies; else it is copied to buffers and back.
 */
typedef struct rlo__lane {
  rlo__place *place;
  /** Pieces are copied; the memory that they come from and go to may then be
   * the same. */
  bool copies;
  /** Buffers, which stay for the next piece and grow. */
  rlo__free_buffer src, dst, indices;
  /** The number of the indices that their buffer holds; 0: none. */
  uint64_t index_number;
} rlo__lane;

/** Retains the context. @param copies  to buffers and back, whatever the device
 *  is. @return RLO_OK; RLO_OUT_OF_MEMORY; RLO_DEVICE. */
RLO_NODISCARD rlo_status rlo__lane_init(rlo__lane *lane, rlo_context *context, bool copies);

/** A zeroed one is legal. */
void rlo__lane_deinit(rlo__lane *lane);

/** Bytes of the buffers. */
int64_t rlo__lane_buffer_bytes(const rlo__lane *lane);

/** Releases the buffers. */
void rlo__lane_trim(rlo__lane *lane);

/**
 * One pass of a job over its bytes: a plan of pieces, and where they come from
 * and go to. A job is a list of passes, each of which begins when the one
 * before it has ended.
 */
typedef struct rlo__pass {
  rlo__piece_plan plan;
  /** Borrowed. */
  rlo_storage *storages[2];
  /** Sides whose bytes are used where they lie in memory. */
  bool is_in_memory[2];
  /** See rlo_job_options. */
  bool is_new_destination;
  /** Contexts that run the pieces; 0: the host does. */
  int32_t num_lanes;
  /** Pieces are copied to a device and back. */
  bool copies;
  rlo__staging staging;
  /** Above 0: both sides are in memory, and the host runs the problem in so
   *  many shares in place of pieces. */
  int32_t num_shares;
  /** The indices that the problem loads, in host memory; NULL: none. Devices
   *  copy them once for each `index_number`, which is not 0. */
  const void *indices;
  int64_t index_bytes;
  uint64_t index_number;
  /** Which boxes of the pass, by its number, are in the destination already.
   *  Borrowed; NULL: none. */
  rlo__journal *journal;
  int32_t number;
  /** Of rlo_job_options, in the last pass; NULL: none. */
  rlo_status (*watch)(void *payload, int64_t offset, int64_t bytes, const void *from);
  void *watch_payload;
} rlo__pass;

/** Alignment of the staging memory, and of each box and slot, in bytes. */
enum { RLO__STAGING_ALIGNMENT = 64 };

/** Pieces, or shares. */
static inline int64_t rlo__pass_num_pieces(const rlo__pass *pass) {
  return pass->num_shares > 0 ? pass->num_shares : pass->plan.num_pieces;
}

/**
 * A pass consists of works, each done by one thread.
 *
 *   gathered destination:  open the box; read a piece, run it into the box, for
 *                          each; store the box
 *   gathered source:       open and load the box; run a piece from the box,
 *                          write it, for each
 */
typedef enum rlo__work_kind {
  /** Finds out where a box's bytes are. */
  RLO__WORK_OPEN,
  /** Makes one transfer from, or to, a box's storage. */
  RLO__WORK_LOAD,
  RLO__WORK_STORE,
  /** Prepares a piece and reads its source. */
  RLO__WORK_READ,
  RLO__WORK_RUN,
  /** Writes the destination of a piece. */
  RLO__WORK_WRITE
} rlo__work_kind;

/** The stages of a box, in the order in which it goes through them. */
typedef enum rlo__box_stage {
  RLO__BOX_EMPTY,
  RLO__BOX_OPENING,
  RLO__BOX_LOADING,
  RLO__BOX_RUNNING,
  RLO__BOX_STORING,
  RLO__BOX_NUM_STAGES
} rlo__box_stage;

/** The works of a stage: transfers, or pieces. */
typedef struct rlo__box_works {
  int64_t count, num_taken, num_done;
} rlo__box_works;

/**
 * A lattice of a storage, cut into transfers of about equal bytes, which many
 * threads make at once. Each is a lattice itself, whose packed bytes are a
 * contiguous part of the whole's.
 */
typedef struct rlo__transfers {
  int64_t count;
  /** The dim that is cut into `parts` parts of `part` indices of `bytes` packed
   *  bytes each. Those before it have one index in each transfer, those behind
   *  it are whole. If it is num_dims, runs are cut. */
  int32_t dim;
  int64_t part, parts, bytes;
} rlo__transfers;

/** The memory of a box, and the box that is in it. */
typedef struct rlo__box {
  rlo__box_stage stage;
  int64_t number;
  /** NULL: the gathered side is in memory. */
  char *memory;
  /** The part of the problem, the gathered side moved into packed memory of
   *  `lattice` if it is staged: the bytes of the storage that are in it. */
  rlo_problem problem;
  rlo__lattice lattice;
  rlo__transfers loads, stores;
  rlo__box_works works[RLO__BOX_NUM_STAGES];
  /** Read and written for the box. */
  int64_t bytes_moved;
} rlo__box;

typedef enum rlo__slot_state {
  RLO__SLOT_FREE,
  RLO__SLOT_READING,
  /** Ready to run. */
  RLO__SLOT_READ,
  RLO__SLOT_RUNNING,
  /** Ready to be written. */
  RLO__SLOT_RAN,
  RLO__SLOT_WRITING,
  /** A lane could not run it: to be read again. */
  RLO__SLOT_RETURNED
} rlo__slot_state;

/** Where a piece finds one side. */
typedef struct rlo__piece_side {
  /** The memory of the problem's side. */
  char *memory;
  int64_t bytes;
  /** `memory` is the slot's and holds the packed bytes of `lattice`, which are
   *  those of `storage`, or of the box if that is NULL. Else it is part of the
   *  user's memory or of a box. */
  bool is_packed;
  rlo_storage *storage;
  rlo__lattice lattice;
} rlo__piece_side;

/** A piece in flight. */
typedef struct rlo__slot {
  rlo__slot_state state;
  rlo__box *box;
  /** In the box; and in the pass, in the order of their beginning, from 1. */
  int64_t piece, number;
  /** Staging memory; NULL: none. */
  char *memory;
  /** The piece, canonical. */
  rlo_problem problem;
  /** [RLO__SIDE_SOURCE], [RLO__SIDE_DESTINATION]. */
  rlo__piece_side sides[2];
  /** The piece reads its destination, or leaves bytes of it untouched: what
   *  they hold is loaded, or they become 0. */
  bool has_gaps, loads_gaps;
} rlo__slot;

/** The state of a pass that runs. */
typedef struct rlo__pipeline {
  /** Borrowed. */
  const rlo__pass *pass;
  /** Borrowed. */
  rlo__place *host;
  /** The whole problem, if it runs in shares. */
  rlo__move *whole;
  rlo__box boxes[2];
  int64_t num_boxes_taken, num_boxes_done;
  /** So many boxes from the first on are durable, in the second of two passes
   *  with a journal. */
  int64_t num_durable;
  rlo__slot *slots;
  int64_t num_pieces_taken, num_pieces_done;
  /** Works in flight that read, and that write. */
  int32_t num_reading, num_writing;
  /** The lanes that have failed. */
  bool *is_lost;
  int32_t num_lost;
} rlo__pipeline;

/** The work that a thread has to do, and then what it has done. */
typedef struct rlo__work {
  rlo__work_kind kind;
  /** The box that is opened, loaded or stored, or that of the slot. */
  rlo__box *box;
  /** The slot of READ, RUN and WRITE; else NULL. */
  rlo__slot *slot;
  /** The transfer. */
  int64_t number;
  /** The lane's number; -1 for another thread. */
  int32_t lane_number;
  int64_t bytes_read, bytes_written;
  double seconds[RLO_STAGE_COUNT];
} rlo__work;

/** Does a work. `lane` is that of the calling thread, or NULL. */
RLO_NODISCARD rlo_status rlo__work_do(rlo__pipeline *pipeline, rlo__work *work, rlo__lane *lane);

/*
 * The order of the works of a pass (pipeline.c): which can be done next. Two
 * boxes are in work, so that one is filled while the other is stored, or one. Threads:
 * the caller holds a lock, but for create and release.
 */

/**
 * Begins a pass.
 * @param pass      borrowed.
 * @param host      borrowed.
 * @param staging  the layout's bytes, borrowed; aligned to
 *                 RLO__STAGING_ALIGNMENT.
 * @return RLO_OK; RLO_OUT_OF_MEMORY.
 */
RLO_NODISCARD rlo_status rlo__pipeline_create(const rlo__pass *pass, rlo__place *host,
                                              char *staging, rlo__pipeline **out_pipeline);

/** No work may be in flight. NULL is legal. */
void rlo__pipeline_release(rlo__pipeline *pipeline);

/** Takes the next work for a lane, or for another thread if `lane_number` is
 *  -1. @return false if there is none now. */
bool rlo__pipeline_take(rlo__pipeline *pipeline, int32_t lane_number, rlo__work *out_work);

/**
 * Ends a work that was taken and done.
 * @param status  that of rlo__work_do.
 * @return `status`; RLO_OK for a failed lane whose piece others can run.
 */
RLO_NODISCARD rlo_status rlo__pipeline_end_work(rlo__pipeline *pipeline, const rlo__work *work,
                                                rlo_status status);

/** Tells if the pass has ended. */
bool rlo__pipeline_has_ended(const rlo__pipeline *pipeline);

#endif
