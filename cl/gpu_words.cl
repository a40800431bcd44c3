/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of words of cl/gpu_tile.cl: a tile of units of one or two bytes, the
 * rows of which begin anywhere on either side.
 *
 * Rows of the source pass to local memory as the words of four bytes that hold
 * them. Lanes put the words of the destination together from there, one unit
 * from each of as many rows. No address of a word is computed twice, because
 * the rows that a lane takes all begin at the same place of their first word.
 */
#ifndef RLO_GPU_WORDS_CL
#define RLO_GPU_WORDS_CL

#include "gpu_common.cl"

/* Units of a tile along each side: powers of two. */
#ifndef RLO_TILE_A
#define RLO_TILE_A 32
#endif
#ifndef RLO_TILE_B
#define RLO_TILE_B 32
#endif

/* Pieces that a lane has in flight at a time. */
#define RLO_PIECES 8

/* 1: units of one and two bytes may move as words. The host proves that sides
 * of tiles are whole words, that a group has lanes for whole rows of words, and
 * that the number of rows it takes at a time, in bytes, is a multiple of four.
 */
#ifndef RLO_WORDS
#define RLO_WORDS 0
#endif

#if RLO_WORDS
/* Units of a word, words of a tile's row on either side, and words of local
 * memory from row to row: a row that begins within a word has one more. */
#define RLO_WORD_UNITS  (4 / RLO_UNIT_BYTES)
#define RLO_READ_WORDS  (RLO_TILE_A / RLO_WORD_UNITS)
#define RLO_WRITE_WORDS (RLO_TILE_B / RLO_WORD_UNITS)
#define RLO_WORDS_LD    (RLO_READ_WORDS + 1)
#define RLO_WORDS_BYTES \
  (4 * (RLO_TILE_B * RLO_WORDS_LD + RLO_TILE_B / RLO_WORD_UNITS))

/* First byte of row j in local memory. After every RLO_WORD_UNITS rows, which a
 * lane puts together, a word is left out: so neighbouring lanes meet different
 * banks. */
static inline uint rlo_row_at(uint j) {
  return 4 * (j * RLO_WORDS_LD + j / RLO_WORD_UNITS);
}

/* Bytes of a row's first word that lie before it; row 0 begins at `address`. */
static inline uint rlo_bytes_before(uint address, uint row, rlo_index ld) {
  return (address + row * (uint)ld * RLO_UNIT_BYTES) & 3;
}

/* Where local memory has unit 0 of row j. */
static inline uint rlo_cell_at(uint address, uint j, rlo_index src_ld) {
  return rlo_row_at(j) + rlo_bytes_before(address, j, src_ld);
}

/* Reads the words that hold the rows. At an edge, where some overhang the
 * source's memory, only those within their row, and the rest unit by unit. */
static inline void rlo_read_words(__global const rlo_unit *from,
                                  __local uchar *tile,
                                  rlo_index src_ld,
                                  int ta,
                                  int tb,
                                  bool is_edge) {
  const uint lane = (uint)get_local_id(0);
  const uint address = (uint)(size_t)from;
  const int rows = RLO_LOCAL / RLO_READ_WORDS;
  const uint word = lane % RLO_READ_WORDS;
  const int j0 = (int)(lane / RLO_READ_WORDS);
  /* The rows of a lane all begin alike. */
  const uint before = rlo_bytes_before(address, (uint)j0, src_ld);
  const uint end = before + (uint)ta * RLO_UNIT_BYTES;
  const bool is_read = is_edge
                           ? (word > 0 || before == 0) && 4 * word + 4 <= end
                           : 4 * word < end;
  __global const uchar *at = (__global const uchar *)from - (int)before;
  at += (rlo_index)j0 * src_ld * RLO_UNIT_BYTES;
  at += 4 * (int)word;
  __local uchar *cell = tile + (rlo_row_at((uint)j0) + 4 * word);
  const long step = (long)rows * (long)src_ld * RLO_UNIT_BYTES;
  const int cell_step = (int)rlo_row_at((uint)rows);
  int j = is_read ? j0 : tb;
  while (j + (RLO_PIECES - 1) * rows < tb) {
    uint piece[RLO_PIECES];
    RLO_UNROLL
    for (int n = 0; n < RLO_PIECES; ++n) {
      piece[n] = *(__global const uint *)at;
      at += step;
    }
    RLO_UNROLL
    for (int n = 0; n < RLO_PIECES; ++n) {
      *(__local uint *)(cell + n * cell_step) = piece[n];
    }
    cell += RLO_PIECES * cell_step;
    j += RLO_PIECES * rows;
  }
  while (j < tb) {
    *(__local uint *)cell = *(__global const uint *)at;
    at += step;
    cell += cell_step;
    j += rows;
  }
  /* The word more that a row has which does not begin with one. */
  for (j = (int)lane; j < tb; j += RLO_LOCAL) {
    const uint row_before = rlo_bytes_before(address, (uint)j, src_ld);
    const uint row_end = row_before + (uint)ta * RLO_UNIT_BYTES;
    __global const rlo_unit *row = from + (rlo_index)j * src_ld;
    __local uchar *cells = tile + rlo_row_at((uint)j);
    if (row_end > 4 * RLO_READ_WORDS && !is_edge) {
      *(__local uint *)(cells + 4 * RLO_READ_WORDS) =
          *(__global const uint *)((__global const uchar *)row +
                                   4 * RLO_READ_WORDS - (int)row_before);
    }
    if (is_edge) {
      for (int n = 0; n < 2 * RLO_WORD_UNITS; ++n) {
        const int i = n < RLO_WORD_UNITS ? n : ta - 2 * RLO_WORD_UNITS + n;
        if (i >= 0 && i < ta) {
          *(__local rlo_unit *)(cells + row_before + (uint)i * RLO_UNIT_BYTES) =
              row[i];
        }
      }
    }
  }
}

/* The word of units `i` behind these. */
static inline uint rlo_gather_word(__local const uchar *const *cell, int i) {
  uint word = 0;
  RLO_UNROLL
  for (int k = 0; k < RLO_WORD_UNITS; ++k) {
    const uint unit = *(__local const rlo_unit *)(cell[k] + i * RLO_UNIT_BYTES);
    word |= unit << (8 * RLO_UNIT_BYTES * k);
  }
  return word;
}

/* Writes the words that lie within rows, then the units beside them. */
static inline void rlo_write_words(__global rlo_unit *to,
                                   __local const uchar *tile,
                                   uint src_address,
                                   rlo_index src_ld,
                                   rlo_index dst_ld,
                                   int ta,
                                   int tb) {
  const uint lane = (uint)get_local_id(0);
  const uint address = (uint)(size_t)to;
  const int rows = RLO_LOCAL / RLO_WRITE_WORDS;
  const int i0 = (int)(lane / RLO_WRITE_WORDS);
  /* The rows of a lane all begin alike. */
  const uint before = rlo_bytes_before(address, (uint)i0, dst_ld);
  const int j = (int)((4 - before) % 4 / RLO_UNIT_BYTES +
                      lane % RLO_WRITE_WORDS * RLO_WORD_UNITS);
  __local const uchar *cell[RLO_WORD_UNITS];
  RLO_UNROLL
  for (int n = 0; n < RLO_WORD_UNITS; ++n) {
    cell[n] = tile + (rlo_cell_at(src_address, (uint)(j + n), src_ld) +
                      (uint)i0 * RLO_UNIT_BYTES);
  }
  __global rlo_unit *at = to + ((rlo_index)i0 * dst_ld + j);
  const long step = (long)rows * (long)dst_ld;
  int i = j + RLO_WORD_UNITS <= tb ? i0 : ta;
  while (i + (RLO_PIECES - 1) * rows < ta) {
    RLO_UNROLL
    for (int n = 0; n < RLO_PIECES; ++n) {
      *(__global uint *)at = rlo_gather_word(cell, n * rows);
      at += step;
    }
    RLO_UNROLL
    for (int k = 0; k < RLO_WORD_UNITS; ++k) {
      cell[k] += RLO_PIECES * rows * RLO_UNIT_BYTES;
    }
    i += RLO_PIECES * rows;
  }
  for (int n = 0; i < ta; n += rows) {
    *(__global uint *)at = rlo_gather_word(cell, n);
    at += step;
    i += rows;
  }
  for (uint p = lane; p < (uint)ta * (2 * RLO_WORD_UNITS); p += RLO_LOCAL) {
    i = (int)(p / (2 * RLO_WORD_UNITS));
    const int n = (int)(p % (2 * RLO_WORD_UNITS));
    const uint row_before = rlo_bytes_before(address, (uint)i, dst_ld);
    const int head = min((int)((4 - row_before) % 4 / RLO_UNIT_BYTES), tb);
    const int end = head + (tb - head) / RLO_WORD_UNITS * RLO_WORD_UNITS;
    const int beside = n < RLO_WORD_UNITS ? n : end + n - RLO_WORD_UNITS;
    if (n < RLO_WORD_UNITS ? n < head : beside < tb) {
      to[(rlo_index)i * dst_ld + beside] =
          *(__local const rlo_unit *)(tile +
                                      rlo_cell_at(
                                          src_address, (uint)beside, src_ld) +
                                      (uint)i * RLO_UNIT_BYTES);
    }
  }
}

/* Tells if words that hold units of the tile may overhang the source's memory.
 * Its first unit is `units` from src_offset_bytes, which is at `address`. */
static inline bool rlo_is_edge(uint address,
                               rlo_index units,
                               rlo_index src_ld,
                               int ta,
                               int tb,
                               long src_begin,
                               long src_end) {
  const long first = (long)units * RLO_UNIT_BYTES;
  const long across = (long)(tb - 1) * (long)src_ld * RLO_UNIT_BYTES;
  const long low = first + min(across, 0L);
  const long high = first + max(across, 0L) + (long)ta * RLO_UNIT_BYTES;
  return low - (long)((address + (uint)low) & 3) < src_begin ||
         high + (long)(-(address + (uint)high) & 3) > src_end;
}
#endif

#endif
