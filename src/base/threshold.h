/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_THRESHOLD_H
#define RLO_BASE_THRESHOLD_H

#include <stdint.h>

/**
 * The sizes at which code takes another path, all in one place, so that tests
 * can lower them and take with arrays of some KiB the paths that users take
 * with large ones. X(name, value, low): `low` is what tests set
 * (tests/support/low_thresholds.h). Units are in the names. docs/testing.md has
 * the table.
 */
#define RLO__THRESHOLDS(X)                                                     \
  /* The widest vectors of the host mover; 1: portable C. */                   \
  X(host_vector_bytes, 64, 64)                                                 \
  /* The host mover stores destinations of at least so many bytes past the     \
   * caches: about what caches hold. */                                        \
  X(host_past_caches_bytes, INT64_C(4) << 20, 1)                               \
  /* A thread of the host mover that moves less is not worth its start. */     \
  X(host_thread_bytes, INT64_C(1) << 20, 512)                                  \
  /* Axes are joined to a side of a plane until it has so many bytes. */       \
  X(host_side_bytes, 1024, 96)                                                 \
  /* A tile of blocks: the bytes of a source row, of a row where the tile is   \
   * staged, of a destination row (most and least), and of all of it. */       \
  X(host_tile_src_bytes, 512, 64)                                              \
  X(host_staged_tile_src_bytes, 256, 64)                                       \
  X(host_tile_dst_bytes, 1024, 128)                                            \
  X(host_tile_min_dst_bytes, 256, 64)                                          \
  X(host_tile_bytes, INT64_C(128) << 10, 4096)                                 \
  X(host_staged_tile_bytes, INT64_C(64) << 10, 4096)                           \
  /* All of a tile of units below a byte, which are bytes there. */            \
  X(host_packed_tile_bytes, INT64_C(256) << 10, 4096)                          \
  /* A tile of grains: the bytes of a source row, and of all of it. */         \
  X(host_grains_src_bytes, 4096, 64)                                           \
  X(host_grains_bytes, INT64_C(16) << 10, 1024)                                \
  /* The bytes that a tile has of each of a few streams. */                    \
  X(host_stream_bytes, 4096, 96)                                               \
  /* Blocks of units are shuffled where there are at least so many. */         \
  X(host_shuffled_blocks, 64, 4)                                               \
  /* A longer grain moves in chunks of so many bytes. */                       \
  X(host_chunk_bytes, INT64_C(64) << 10, 192)                                  \
  /* Tiles that need more are not staged; at most RLO__HOST_STAGE_BYTES. */    \
  X(host_stage_bytes, INT64_C(128) << 10, 8192)                                \
  /* Shorter runs of the destination are stored without a stage; at least a    \
   * line, so that a tile holds the end of a line that the one before began.   \
   */                                                                          \
  X(host_staged_run_bytes, 256, 64)                                            \
  /* Longer grains are stored past the caches one by one. */                   \
  X(host_staged_grain_bytes, 256, 48)                                          \
  /* A splat copies so much of its pattern at once. */                         \
  X(host_pattern_bytes, 4096, 64)                                              \
  /* A problem in so many parts is cut no further at its guards. */            \
  X(host_parts, 256, 12)                                                       \
  /* So many points of an axis are looked at one by one for a guard. */        \
  X(host_guard_points, 16, 3)                                                  \
  /* Destinations of at least so many bytes are stored past the caches, by     \
   * kernels of the CPU class: below, the caches hold them. */                 \
  X(plan_cpu_past_caches_bytes, INT64_C(2) << 20, 1)                           \
  /* Along a run of so many bytes hardware prefetches by itself, and prefetch  \
   * instructions only get in its way. */                                      \
  X(plan_cpu_followed_bytes, 4096, 128)                                        \
  /* Chunks of a row that has more than two of them; whole lines. */           \
  X(plan_cpu_chunk_bytes, INT64_C(64) << 10, 256)                              \
  /* A block of rows, which makes few streams: more if rows are short, less if \
   * they are long. */                                                         \
  X(plan_cpu_least_block_bytes, 4096, 256)                                     \
  X(plan_cpu_most_block_bytes, INT64_C(16) << 10, 1024)                        \
  /* Blocks that a group moves: their rows are listed once for all. */         \
  X(plan_cpu_group_bytes, INT64_C(256) << 10, 1024)                            \
  /* A tile along rows of the source and of the destination: long pieces of    \
   * rows take few pages, and memory delivers them faster; the latter also     \
   * have few ends of rows. Units of 1 and 2 bytes have so many rows in a line \
   * that shorter tiles take fewer pages. At most 8, 16 and 16. */             \
  X(plan_cpu_tile_a_lines, 8, 2)                                               \
  X(plan_cpu_tile_b_lines, 16, 2)                                              \
  X(plan_cpu_narrow_tile_b_lines, 8, 1)                                        \
  /* Rows of so many lines are streams, whose tiles are wide (at most 48), if  \
   * each compute unit has so many of them. */                                 \
  X(plan_cpu_stream_lines, 32, 4)                                              \
  X(plan_cpu_stream_tile_a_lines, 48, 3)                                       \
  X(plan_cpu_stream_unit_tiles, 16, 0)                                         \
  /* Each line of joined rows is read from as many rows: tiles shrink by that, \
   * down to the second. */                                                    \
  X(plan_cpu_joined_tile_a_lines, 4, 1)                                        \
  X(plan_cpu_joined_tile_b_lines, 4, 1)                                        \
  /* Rows that begin anywhere in a byte are joined; shorter ones take less     \
   * time element by element, where planes are small. */                       \
  X(plan_cpu_odd_row_bytes, 16, 2)                                             \
  /* Tiles that touch so many rows of the destination in between share pages   \
   * by a grid that is split. */                                               \
  X(plan_cpu_many_pages, 2048, 16)                                             \
  /* Rows of the source that are so far apart are read more slowly. */         \
  X(plan_cpu_far_bytes, INT64_C(64) << 10, 1024)                               \
  /* A smaller box is not worth a program of family packed. */                 \
  X(plan_cpu_packed_box_bytes, INT64_C(64) << 10, 1024)                        \
  /* A block that uses the stage, at most RLO__PACKED_STAGE_BYTES, and         \
   * one that does not. */                                                     \
  X(plan_cpu_staged_block_bytes, INT64_C(16) << 10, 1024)                      \
  X(plan_cpu_direct_block_bytes, INT64_C(32) << 10, 2048)                      \
  /* A group copies so much, and at most so much in cells, in four             \
   * parts, which begin at different places of their pages; a quarter          \
   * of it is whole lines. The least in cells. */                              \
  X(plan_cpu_parts_bytes, INT64_C(260) << 10, 1280)                            \
  X(plan_cpu_least_cells_bytes, 4096, 256)                                     \
  /* A group moves so much of a plane with a tiny side, over both axes; a      \
   * quarter of it has a line of each of 16 streams. */                        \
  X(plan_cpu_skinny_bytes, INT64_C(16) << 10, 4096)                            \
  /* Rows that a group computes; a row of a tile of them, whole blocks of 16   \
   * cells; a row of a group that sums down columns, at least 32 cells. */     \
  X(plan_cpu_compute_bytes, INT64_C(32) << 10, 1024)                           \
  X(plan_cpu_compute_tile_bytes, 4096, 512)                                    \
  X(plan_cpu_column_bytes, INT64_C(8) << 10, 512)                              \
  /* Rows that a group of family gather_rows moves, and rows that it locates   \
   * ahead, so that prefetches have time to complete. */                       \
  X(plan_cpu_gather_bytes, INT64_C(32) << 10, 1024)                            \
  X(plan_cpu_ahead_bytes, 4096, 256)                                           \
  /* Cells of a group of a segment sum, enough because many segments have no   \
   * rows. */                                                                  \
  X(plan_cpu_segment_sum_cells, 4096, 64)                                      \
  /* Rows of a chunk of segment ids: smaller ones do not pay for their         \
   * counters. And the most chunks of a GPU. */                                \
  X(plan_cpu_order_chunk_rows, 1024, 8)                                        \
  X(plan_gpu_order_chunk_rows, 16, 2)                                          \
  X(plan_gpu_order_chunks, 1024, 3)                                            \
  /* Points along a row that a work-item of a problem's own program takes, and \
   * points of a group: with fewer, starting groups costs more than their      \
   * work. The same of packed elements. */                                     \
  X(plan_cpu_segment_points, 1024, 64)                                         \
  X(plan_cpu_group_points, 4096, 256)                                          \
  X(plan_cpu_bits_segment_bytes, 2048, 16)                                     \
  /* Work-items of a launch: kernels loop over the rest, because some drivers  \
   * count them in an int. At least 256, a group. */                           \
  X(plan_work_items, INT64_C(1) << 30, 256)                                    \
  /* Kernels index memory that reaches further with 64 bits. */                \
  X(plan_index32_bytes, INT32_MAX, 4096)                                       \
  /* To compile a program for one problem takes longer than to move less with  \
   * any that serves many. */                                                  \
  X(plan_compile_bytes, INT64_C(1) << 20, 4096)                                \
  /* The least that a part of a sum reads. */                                  \
  X(plan_cpu_sum_part_bytes, INT64_C(256) << 10, 512)                          \
  X(plan_gpu_sum_part_bytes, INT64_C(64) << 10, 512)                           \
  /* Rows that a group moves, at least so many pieces for each lane, so that   \
   * decoding the group pays. */                                               \
  X(plan_gpu_rows_bytes, INT64_C(16) << 10, 1024)                              \
  X(plan_gpu_rows_lane_pieces, 8, 1)                                           \
  /* Groups for each compute unit, or tiles are halved. */                     \
  X(plan_gpu_tile_unit_groups, 2, 0)                                           \
  /* A block in local memory, of which a multiprocessor holds several. */      \
  X(plan_gpu_packed_bytes, INT64_C(16) << 10, 1024)                            \
  /* Larger fills hang some drivers. */                                        \
  X(runtime_fill_bytes, INT64_C(1) << 30, 1000)                                \
  /* The moves that a place keeps, and its buffers without a user: so many (at \
   * most RLO__PLACE_MAX_FREE), and 1 / 8 of the budget. */                    \
  X(move_kept, 64, 2)                                                          \
  X(move_free_buffers, 64, 2)                                                  \
  X(move_free_share, 8, INT64_C(1) << 20)                                      \
  /* So much memory of our own is requested in huge pages. */                  \
  X(base_huge_page_bytes, INT64_C(2) << 20, 4096)                              \
  /* The most that one system call reads or writes: Linux moves less than 2    \
   * GiB. Whole blocks of direct I/O. */                                       \
  X(base_call_bytes, INT64_C(1) << 30, 4096)                                   \
  /* The first read of a file whose size is not known. */                      \
  X(base_first_read_bytes, INT64_C(64) << 10, 16)                              \
  /* A larger message of protocol buffers has memory of its own. */            \
  X(xla_proto_chunk_bytes, INT64_C(64) << 10, 64)                              \
  /* Coordinates of a period that is walked, parts that are searched for the   \
   * last slot, and units of two layouts that are compared one by one: beyond  \
   * them the answer is not known. */                                          \
  X(shape_period, INT64_C(1) << 20, 6)                                         \
  X(shape_search_parts, 100000, 8)                                             \
  X(shape_compared_points, INT64_C(1) << 20, 1)                                \
  /* Messages whose costs are counted, in seconds, and gains of parts that are \
   * weighed to relabel: beyond them the answer is refused. */                 \
  X(shard_counted_messages, INT64_C(1) << 31, INT64_C(1) << 31)                \
  X(shard_weighed_gains, INT64_C(1) << 25, INT64_C(1) << 25)                   \
  /* The order of as many rows and segments has indices of 64 bits; at most    \
   * INT32_MAX. */                                                             \
  X(ops_order_count, INT32_MAX, 12)                                            \
  /* Files of jobs of more bytes are streamed past the page cache. */          \
  X(service_streamed_bytes, INT64_C(64) << 20, 2048)                           \
  /* A chunk of what a stream leaves in the page cache: its bytes, its ranges  \
   * (at most RLO__TRAIL_RANGES), and the reads that are noted: shorter ones   \
   * share pages with the next ones, which are better kept. */                 \
  X(service_trail_chunk_bytes, INT64_C(8) << 20, 8192)                         \
  X(service_trail_ranges, 128, 3)                                              \
  X(service_trail_read_bytes, INT64_C(64) << 10, 128)                          \
  /* Shorter transfers are better off in the page cache. */                    \
  X(service_direct_bytes, INT64_C(64) << 10, 512)                              \
  /* Memory between a file and memory that is not aligned: whole blocks, at    \
   * least two. */                                                             \
  X(service_bounce_bytes, INT64_C(1) << 20, 8192)                              \
  /* Shorter runs are read together over a gap of at most so many bytes (room  \
   * for 16 KiB), in one call with so many runs and gaps (room for 512). */    \
  X(service_joined_run_bytes, INT64_C(64) << 10, 256)                          \
  X(service_joined_gap_bytes, INT64_C(16) << 10, 64)                           \
  X(service_read_parts, 512, 5)                                                \
  /* Transfers from which on the bytes cost more than the call: of files, of   \
   * memory (a page, for the sake of address translation) and of buffers. */   \
  X(service_good_read_bytes, INT64_C(24) << 10, 256)                           \
  X(service_good_write_bytes, INT64_C(96) << 10, 512)                          \
  X(service_memory_good_bytes, 4096, 64)                                       \
  X(service_buffer_good_bytes, INT64_C(1) << 20, 512)                          \
  /* A transfer of a part of a box is no longer, unless it has to be to be a   \
   * good one: threads take turns. */                                          \
  X(service_transfer_bytes, INT64_C(4) << 20, 1024)                            \
  /* From the first on a piece hides what it costs to begin one. */            \
  X(service_least_piece_bytes, INT64_C(256) << 10, 256)                        \
  X(service_good_piece_bytes, INT64_C(4) << 20, 1024)                          \
  X(service_most_piece_bytes, INT64_C(16) << 20, 4096)                         \
  /* A piece where nothing is transferred, and runs that are worth while       \
   * there. */                                                                 \
  X(service_most_memory_piece_bytes, INT64_C(64) << 20, 4096)                  \
  X(service_memory_run_bytes, 1024, 64)                                        \
  /* A longer tile of two passes is written no faster. */                      \
  X(service_tile_bytes, INT64_C(16) << 20, 2048)                               \
  /* Regions that are looked at; beyond them a tally of pieces is a bound.     \
   * Steps by which a part grows (room for RLO__MAX_GROWTH_STEPS). */          \
  X(service_tally_regions, 256, 64)                                            \
  X(service_growth_steps, 1024, 8)                                             \
  /* A share of a problem in memory: long enough to be as fast as the whole,   \
   * short enough to be cancelled soon. */                                     \
  X(service_share_bytes, INT64_C(512) << 20, 4096)                             \
  X(service_least_share_bytes, INT64_C(256) << 10, 256)                        \
  /* With a journal: what is lost with a box that was not complete is moved    \
   * again in about the seconds between two checkpoints. */                    \
  X(service_journaled_box_bytes, INT64_C(1) << 30, INT64_C(64) << 10)          \
  /* A checkpoint is due after so many bytes, however soon, or seconds. */     \
  X(service_checkpoint_bytes, INT64_C(4) << 30, 4096)                          \
  X(service_checkpoint_seconds, 5, 5)                                          \
  /* Records of a journal that are read at once (room for 256). */             \
  X(service_journal_records, 256, 3)                                           \
  /* Default budgets of a service. */                                          \
  X(service_least_host_bytes, INT64_C(256) << 20, INT64_C(64) << 10)           \
  X(service_most_host_bytes, INT64_C(16) << 30, INT64_C(256) << 10)            \
  X(service_device_bytes, INT64_C(64) << 20, INT64_C(64) << 10)                \
  /* The default limit of a message; at least an element. */                   \
  X(exchange_message_bytes, INT64_C(16) << 20, 256)                            \
  /* The messages of a rank that are in memory of all ranks of a machine: who  \
   * sends little gains less than that costs; what is much leaves the caches   \
   * on its way, and the machine may have little of such memory. */            \
  X(mpi_least_window_bytes, INT64_C(256) << 10, 512)                           \
  X(mpi_most_window_bytes, INT64_C(4) << 20, 1024)                             \
  /* Shorter messages are sent, which is as fast; at least a notice. */        \
  X(mpi_shared_message_bytes, 8192, 64)                                        \
  /* A message between ranks that have their devices in host memory: it stays  \
   * in the caches of a core while it is packed, sent and placed. */           \
  X(mpi_host_message_bytes, INT64_C(256) << 10, 512)                           \
  /* Arrays with more bytes, on either side, are moved in pieces, and lie at   \
   * the beginning of a page of the file where the format lets them. */        \
  X(move_large_bytes, INT64_C(64) << 20, 1024)                                 \
  /* Memory for a part of a member of weights whose operands would write short \
   * runs between those of each other: longer ones are read no faster. */      \
  X(cli_band_bytes, INT64_C(256) << 20, 512)                                   \
  /* Outputs of as many bytes, all together, have a journal. */                \
  X(cli_journaled_bytes, INT64_C(1) << 30, 4096)                               \
  /* A rank of relayout-mpi stages in at most so many bytes. */                \
  X(cli_rank_bytes, INT64_C(1) << 30, INT64_C(1) << 20)

/** A field for each row of the table. */
typedef struct rlo__threshold_values {
#define RLO__THRESHOLD_FIELD(name, value, low) int64_t name;
  RLO__THRESHOLDS(RLO__THRESHOLD_FIELD)
#undef RLO__THRESHOLD_FIELD
} rlo__threshold_values;

/** Constant but for tests, which set it while nothing runs. */
extern rlo__threshold_values rlo__thresholds;

#endif
