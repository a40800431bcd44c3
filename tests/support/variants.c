/* SPDX-License-Identifier: Apache-2.0 */
#include "support/variants.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/ops.h"

/* ----------------------------------------------------------------- the table
 */

/** What of a constant's value chooses code. */
typedef enum reading {
  AS_IS,
  /** Units of a tile's side: in lines of 64 bytes. */
  IN_LINES,
  /** 0 or more. */
  IS_ANY,
  /** 1 or more. */
  IS_MANY,
  /** The unit's alignment, or a line's. */
  IS_LINE,
  /** Nothing: a size that the code is the same for. */
  IGNORED
} reading;

enum { MAX_VALUES = 16 };

typedef struct constant {
  const char *kernel_file;
  const char *name;
  reading reading;
  bool is_per_unit;
  int32_t num_values;
  int64_t values[MAX_VALUES];
} constant;

// clang-format off
#define VALUES(...)                                              \
  (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
  {__VA_ARGS__}
#define NONE 0, {0}

/* What all kernels with a grid have. What makes RLO_INDEX32=0, and the vectors
 * that go with it, is no pair of shapes within 2 GiB: those kernels are left to
 * test_device_wide. */
#define GRID_CONSTANTS(file)                                      \
  {file, "RLO_UNIT_BYTES", AS_IS, false, VALUES(1, 2, 4, 8, 16)}, \
  {file, "RLO_GRID_RANK", AS_IS, false, VALUES(16)},              \
  {file, "RLO_INDEX32", AS_IS, false, VALUES(1)}
#define GUARD_CONSTANTS(file)                                          \
  {file, "RLO_PAD_GUARDS", AS_IS, false, VALUES(0, 1, 2, 3, 4, 5, 6)}, \
  {file, "RLO_SKIP_GUARDS", AS_IS, false, VALUES(0, 1, 2, 3, 4, 5, 6)}
#define NO_GUARD_CONSTANTS(file)                     \
  {file, "RLO_PAD_GUARDS", AS_IS, false, VALUES(0)}, \
  {file, "RLO_SKIP_GUARDS", AS_IS, false, VALUES(0)}
#define CPU_CONSTANTS(file)                    \
  {file, "RLO_NT", AS_IS, true, VALUES(0, 1)}, \
  {file, "RLO_PREFETCH", AS_IS, true, VALUES(0, 1)}
#define PLANE_CONSTANTS(file)                              \
  {file, "RLO_VECTOR_SHUFFLE", AS_IS, true, VALUES(0, 1)}, \
  {file, "RLO_DST_ALIGN", IS_LINE, true, VALUES(0, 1)}
#define BAKED_CONSTANTS(file)                             \
  {file, "RLO_NUM_AXES", IGNORED, false, NONE},           \
  {file, "RLO_EXTENTS", IGNORED, false, NONE},            \
  {file, "RLO_TERMS", IGNORED, false, NONE},              \
  {file, "RLO_SRC", IGNORED, false, NONE},                \
  {file, "RLO_DST", IGNORED, false, NONE},                \
  {file, "RLO_PAD_GUARDS", IS_ANY, false, VALUES(0, 1)},  \
  {file, "RLO_SKIP_GUARDS", IS_ANY, false, VALUES(0, 1)}, \
  {file, "RLO_GUARD_FORMS", IGNORED, false, NONE}
#define GPU_CONSTANTS(file)                        \
  {file, "RLO_NT", AS_IS, false, VALUES(0)},       \
  {file, "RLO_PREFETCH", AS_IS, false, VALUES(0)}, \
  {file, "RLO_LOCAL", AS_IS, false, VALUES(256)}

static const constant constants[] = {
    GRID_CONSTANTS("cpu_copy"), NO_GUARD_CONSTANTS("cpu_copy"),
    {"cpu_copy", "RLO_NT", AS_IS, true, VALUES(0, 1)},
    {"cpu_copy", "RLO_PREFETCH", AS_IS, false, VALUES(0)},

    GRID_CONSTANTS("cpu_rows"), GUARD_CONSTANTS("cpu_rows"),
    CPU_CONSTANTS("cpu_rows"),
    {"cpu_rows", "RLO_ROWS_PACKED_MAX", AS_IS, false, VALUES(128, 256)},

    GRID_CONSTANTS("cpu_skinny"), GUARD_CONSTANTS("cpu_skinny"),
    CPU_CONSTANTS("cpu_skinny"), PLANE_CONSTANTS("cpu_skinny"),
    {"cpu_skinny", "RLO_SKINNY_SPLIT", AS_IS, true, VALUES(0, 1)},
    {"cpu_skinny", "RLO_SKINNY_N", AS_IS, false,
     VALUES(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)},
    {"cpu_skinny", "RLO_SKINNY_LD", AS_IS, false,
     VALUES(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)},
    {"cpu_skinny", "RLO_SKINNY_LONG", IGNORED, false, NONE},

    GRID_CONSTANTS("cpu_tile"), GUARD_CONSTANTS("cpu_tile"),
    CPU_CONSTANTS("cpu_tile"), PLANE_CONSTANTS("cpu_tile"),
    {"cpu_tile", "RLO_LEVELS", AS_IS, true, VALUES(1, 3)},
    {"cpu_tile", "RLO_TILE_A", IN_LINES, false, VALUES(1, 2, 4, 8, 16)},
    {"cpu_tile", "RLO_TILE_B", IN_LINES, false, VALUES(4, 8, 16, 32)},

    GRID_CONSTANTS("cpu_packed"), NO_GUARD_CONSTANTS("cpu_packed"),
    CPU_CONSTANTS("cpu_packed"),
    {"cpu_packed", "RLO_VECTOR_SHUFFLE", AS_IS, true, VALUES(0, 1)},
    {"cpu_packed", "RLO_PACKED_ROW", IS_ANY, true, VALUES(0, 1)},
    {"cpu_packed", "RLO_PACKED_DIRECT", AS_IS, true, VALUES(0, 1)},
    {"cpu_packed", "RLO_PACKED_TILE", AS_IS, false, VALUES(4, 8, 16)},
    {"cpu_packed", "RLO_PACKED_NA", AS_IS, false,
     VALUES(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)},
    {"cpu_packed", "RLO_PACKED_NB", AS_IS, false,
     VALUES(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)},
    {"cpu_packed", "RLO_PACKED_STAGE", IGNORED, false, NONE},
    {"cpu_packed", "RLO_PACKED_PLACES", IGNORED, false, NONE},

    GRID_CONSTANTS("cpu_packed_cells"), NO_GUARD_CONSTANTS("cpu_packed_cells"),
    CPU_CONSTANTS("cpu_packed_cells"),
    {"cpu_packed_cells", "RLO_VECTOR_SHUFFLE", AS_IS, true, VALUES(0, 1)},
    {"cpu_packed_cells", "RLO_CELL_X0", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_X1", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_X2", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_X3", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_S0", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_S1", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_S2", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_S3", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_UNITS", IGNORED, false, NONE},
    {"cpu_packed_cells", "RLO_CELL_JOINED", IS_MANY, false, VALUES(0, 1)},
    {"cpu_packed_cells", "RLO_CELL_LINES", AS_IS, false,
     VALUES(1, 2, 3, 4, 5, 6, 7, 8)},
    {"cpu_packed_cells", "RLO_CELL_DIRECT", AS_IS, true, VALUES(0, 1)},

    {"gather", "RLO_UNIT_BYTES", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"gather", "RLO_INDEX32", AS_IS, false, VALUES(1)},
    {"gather", "RLO_LOCAL", IGNORED, false, NONE},
    {"gather", "RLO_NUM_TERMS", IS_ANY, false, VALUES(0, 1)},
    BAKED_CONSTANTS("gather"),
    {"gather", "RLO_SEGMENT", IS_MANY, true, VALUES(0, 1)},
    {"gather", "RLO_ROW_SEGMENTS", IGNORED, false, NONE},
    {"gather", "RLO_SEGMENTS", IGNORED, false, NONE},
    {"gather", "RLO_PIECES", IS_MANY, false, VALUES(0, 1)},
    {"gather", "RLO_LOOP", AS_IS, false, VALUES(0)},

    {"cpu_lookup", "RLO_UNIT_BYTES", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"cpu_lookup", "RLO_INDEX32", AS_IS, false, VALUES(1)},
    {"cpu_lookup", "RLO_NT", AS_IS, false, VALUES(0, 1)},
    {"cpu_lookup", "RLO_PREFETCH", AS_IS, false, VALUES(0, 1)},
    {"cpu_lookup", "RLO_NUM_TERMS", IS_ANY, false, VALUES(1)},
    BAKED_CONSTANTS("cpu_lookup"),
    {"cpu_lookup", "RLO_ROWS", IGNORED, false, NONE},
    {"cpu_lookup", "RLO_GROUP_ROWS", IGNORED, false, NONE},
    {"cpu_lookup", "RLO_CHUNK_UNITS", IGNORED, false, NONE},
    {"cpu_lookup", "RLO_ROW_CHUNKS", IS_MANY, false, VALUES(0)},
    {"cpu_lookup", "RLO_LOOKUP_AHEAD", IGNORED, false, NONE},

    {"gpu_copy", "RLO_UNIT_BYTES", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"gpu_copy", "RLO_LOCAL", AS_IS, false, VALUES(256)},
    {"gpu_copy", "RLO_WIDE_BYTES", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"gpu_copy", "RLO_PIECES", IGNORED, false, NONE},

    GRID_CONSTANTS("gpu_rows"), GUARD_CONSTANTS("gpu_rows"),
    GPU_CONSTANTS("gpu_rows"),
    {"gpu_rows", "RLO_WIDE_UNITS", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"gpu_rows", "RLO_SHIFT", AS_IS, false, VALUES(0, 1)},
    {"gpu_rows", "RLO_FLAT", AS_IS, true, VALUES(0, 1)},
    {"gpu_rows", "RLO_PIECES", IGNORED, false, NONE},

    GRID_CONSTANTS("gpu_tile"), GUARD_CONSTANTS("gpu_tile"),
    GPU_CONSTANTS("gpu_tile"),
    {"gpu_tile", "RLO_TILE_A", AS_IS, false,
     VALUES(4, 8, 16, 32, 64, 128, 256, 512, 1024)},
    {"gpu_tile", "RLO_TILE_B", AS_IS, false,
     VALUES(4, 8, 16, 32, 64, 128, 256, 512, 1024)},
    {"gpu_tile", "RLO_SQUARE", AS_IS, false, VALUES(1, 2, 4)},
    {"gpu_tile", "RLO_READ_UNITS", AS_IS, false, VALUES(1, 2, 4)},
    {"gpu_tile", "RLO_WRITE_UNITS", AS_IS, false, VALUES(1, 2, 4)},

    /* More guards than these take more than the 1024 bytes of arguments that
     * every device has. */
    GRID_CONSTANTS("gpu_packed"),
    {"gpu_packed", "RLO_PAD_GUARDS", AS_IS, false, VALUES(0, 1, 2)},
    {"gpu_packed", "RLO_SKIP_GUARDS", AS_IS, false, VALUES(0, 1, 2)},
    GPU_CONSTANTS("gpu_packed"),
    {"gpu_packed", "RLO_READ_RANK", IGNORED, false, NONE},
    {"gpu_packed", "RLO_WRITE_RANK", IGNORED, false, NONE},
    {"gpu_packed", "RLO_READ_UNITS", AS_IS, false, VALUES(1, 2, 4)},
    {"gpu_packed", "RLO_WRITE_UNITS", AS_IS, false, VALUES(1, 2, 4)},
    {"gpu_packed", "RLO_REPEAT", AS_IS, false, VALUES(1, 2, 4)},
    {"gpu_packed", "RLO_PIECES", IGNORED, false, NONE},
    {"gpu_packed", "RLO_LOCAL_BYTES", IGNORED, false, NONE},
    {"gpu_packed", "RLO_ENDS", AS_IS, false, VALUES(0, 1, 2)},
};

// clang-format on

enum {
  NUM_CONSTANTS = sizeof constants / sizeof constants[0],
  NUM_UNITS = 5,
  LINE_BYTES = 64
};

/* Pairs for variants that test_pairs have no reason to have. */
// clang-format off
static const test_pair more_pairs[] = {
    /* Structures of each number of members, split and joined. */
    {"?[100,5]", "?[5,100]", "1,0", true},
    {"?[5,100]", "?[100,5]", "1,0", true},
    {"?[100,6]", "?[6,100]", "1,0", true},
    {"?[100,7]", "?[7,100]", "1,0", true},
    {"?[100,8]", "?[8,100]", "1,0", true},
    {"?[100,9]", "?[9,100]", "1,0", true},
    {"?[100,10]", "?[10,100]", "1,0", true},
    {"?[100,11]", "?[11,100]", "1,0", true},
    {"?[100,12]", "?[12,100]", "1,0", true},
    {"?[100,13]", "?[13,100]", "1,0", true},
    {"?[100,14]", "?[14,100]", "1,0", true},
    {"?[100,15]", "?[15,100]", "1,0", true},
    {"?[100,16]", "?[16,100]", "1,0", true},
    {"?[3,100]", "?[100,3]", "1,0", true},
    {"?[6,100]", "?[100,6]", "1,0", true},
    {"?[7,100]", "?[100,7]", "1,0", true},
    {"?[9,100]", "?[100,9]", "1,0", true},
    {"?[11,100]", "?[100,11]", "1,0", true},
    {"?[14,100]", "?[100,14]", "1,0", true},
    {"?[15,100]", "?[100,15]", "1,0", true},
    {"?[2,128]", "?[128,2]", "1,0", true},
    {"?[128,2]", "?[2,128]", "1,0", true},
    {"?[4,128]", "?[128,4]", "1,0", true},
    {"?[128,4]", "?[4,128]", "1,0", true},
    /* Cells of any number of lines, with gaps and without. */
    {"?[40,3,5]", "?[40,5,3]", "0,2,1", true},
    {"?[40,4,4]", "?[40,4,4]", "0,2,1", true},
    {"?[40,8,8]", "?[40,8,8]", "0,2,1", true},
    {"?[40,5,7]", "?[40,7,5]", "0,2,1", true},
    {"?[40,5,9]", "?[40,9,5]", "0,2,1", true},
    {"?[40,5,11]", "?[40,11,5]", "0,2,1", true},
    /* Rows whose places are quotients, padded and cut. */
    {"?[10,12,9]{2,1,0:T(8,8,9)}", "?[10,12,9]{2,1,0:T(3,5,9)fill(one)}", "",
     true},
    {"?[10,12,9]{2,1,0:T(8,8,9)}", "?[10,12,9]{2,1,0:T(3,5,9)}", "", true},
    /* As many guards as a kernel takes, of either kind. */
    {"?[3,3,3,3]", "?[3,3,3,3]{3,2,1,0:pad(4,4,4,4)fill(one)}", "", true},
    {"?[2,2,2,2,65]", "?[2,2,2,2,65]{4,3,2,1,0:pad(3,3,3,3,66)fill(one)}", "",
     true},
    {"?[2,2,2,2,2,65]",
     "?[2,2,2,2,2,65]{5,4,3,2,1,0:pad(3,3,3,3,3,66)fill(one)}", "", true},
    {"?[3,3,3,3]", "?[3,3,3,3]{0,1,2,3:pad(4,4,4,4)fill(one)}", "", true},
    {"?[65,2,2,2,2]", "?[65,2,2,2,2]{0,1,2,3,4:pad(66,3,3,3,3)fill(one)}", "",
     true},
    {"?[65,2,2,2,2,2]",
     "?[65,2,2,2,2,2]{0,1,2,3,4,5:pad(66,3,3,3,3,3)fill(one)}", "", true},
    {"?[65,2,2,2,2,3]",
     "?[65,2,2,2,2,3]{5,0,1,2,3,4:pad(66,3,3,3,3,3)fill(one)}", "", true},
    {"?[3,3,3,33]{3,2,1,0:T(2,2,2,2)}", "?[3,3,3,33]", "", true},
    {"?[3,3,3,3,33]{4,3,2,1,0:T(2,2,2,2,2)}", "?[3,3,3,3,33]", "", true},
    {"?[3,3,3,3,3,33]{5,4,3,2,1,0:T(2,2,2,2,2,2)}", "?[3,3,3,3,3,33]", "",
     true},
    {"?[3,3,3,33]{3,2,1,0:T(2,2,2,32)}", "?[3,3,3,33]{0,1,2,3}", "", true},
    {"?[3,3,3,3,33]{4,3,2,1,0:T(2,2,2,2,32)}", "?[3,3,3,3,33]{0,1,2,3,4}", "",
     true},
    {"?[3,3,3,3,3,33]{5,4,3,2,1,0:T(2,2,2,2,2,32)}",
     "?[3,3,3,3,3,33]{0,1,2,3,4,5}", "", true},
    /* And any number of them around a plane, a tiny one and a row. */
    {"?[2,2,2,70,3]",
     "?[2,2,2,3,70]{4,3,2,1,0:pad(3,3,3,3,70)fill(one)}", "0,1,2,4,3",
     true},
    {"?[2,2,2,2,70,3]",
     "?[2,2,2,2,3,70]{5,4,3,2,1,0:pad(3,3,3,3,3,70)fill(one)}", "0,1,2,3,5,4",
     true},
    {"?[2,2,2,2,2,2,70,3]",
     "?[2,2,2,2,2,2,3,70]{7,6,5,4,3,2,1,0:pad(3,3,3,3,3,3,3,70)fill(one)}", "0,1,2,3,4,5,7,6",
     true},
    {"?[3,4,70,3]{3,2,1,0:T(2,2,70,3)}", "?[3,4,3,70]", "0,1,3,2", true},
    {"?[3,3,3,70,3]{4,3,2,1,0:T(2,2,2,70,3)}",
     "?[3,3,3,3,70]", "0,1,2,4,3",
     true},
    {"?[3,3,3,3,70,3]{5,4,3,2,1,0:T(2,2,2,2,70,3)}",
     "?[3,3,3,3,3,70]", "0,1,2,3,5,4",
     true},
    {"?[3,3,3,3,3,70,3]{6,5,4,3,2,1,0:T(2,2,2,2,2,70,3)}",
     "?[3,3,3,3,3,3,70]", "0,1,2,3,4,6,5",
     true},
    {"?[3,3,3,3,3,3,70,3]{7,6,5,4,3,2,1,0:T(2,2,2,2,2,2,70,3)}",
     "?[3,3,3,3,3,3,3,70]", "0,1,2,3,4,5,7,6",
     true},
    {"?[3,4,66,70]{3,2,1,0:T(2,2,66,70)}", "?[3,4,70,66]", "0,1,3,2", true},
    {"?[3,4,70]{2,1,0:T(2,2,70)}", "?[3,4,70]", "", true},
    {"?[3,3,3,66,70]{4,3,2,1,0:T(2,2,2,66,70)}",
     "?[3,3,3,70,66]", "0,1,2,4,3",
     true},
    {"?[3,3,3,70]{3,2,1,0:T(2,2,2,70)}", "?[3,3,3,70]", "", true},
    {"?[2,2,65]", "?[2,2,65]{2,1,0:pad(3,3,66)fill(one)}", "", true},
};

// clang-format on

enum { NUM_MORE_PAIRS = sizeof more_pairs / sizeof more_pairs[0] };

/* ------------------------------------------------------------------- numbers
 */

static int32_t numbers_of(const constant *c) {
  return c->num_values * (c->is_per_unit ? NUM_UNITS : 1);
}

int32_t test_variants_count(void) {
  int32_t count = 0;
  for (int32_t n = 0; n < NUM_CONSTANTS; ++n) {
    count += numbers_of(&constants[n]);
  }
  ck_assert_int_le(count, TEST_MAX_VARIANTS);
  return count;
}

const char *test_variant_name(int32_t number) {
  static char name[128];
  int32_t n = 0;
  for (; number >= numbers_of(&constants[n]); ++n) {
    number -= numbers_of(&constants[n]);
  }
  const constant *c = &constants[n];
  int length = snprintf(name,
                        sizeof name,
                        "%s %s=%lld",
                        c->kernel_file,
                        c->name,
                        (long long)c->values[number % c->num_values]);
  if (c->is_per_unit && length > 0) {
    snprintf(name + length,
             sizeof name - (size_t)length,
             ", units of %d bytes",
             1 << number / c->num_values);
  }
  return name;
}

bool test_variant_set_has(const test_variant_set *set, int32_t number) {
  return (set->words[number / 64] >> (number % 64) & 1) != 0;
}

int32_t test_variant_set_count_new(const test_variant_set *set,
                                   const test_variant_set *beside) {
  int32_t count = 0;
  for (size_t w = 0; w < sizeof set->words / sizeof set->words[0]; ++w) {
    count += __builtin_popcountll(set->words[w] & ~beside->words[w]);
  }
  return count;
}

void test_variant_set_add(test_variant_set *set,
                          const test_variant_set *other) {
  for (size_t w = 0; w < sizeof set->words / sizeof set->words[0]; ++w) {
    set->words[w] |= other->words[w];
  }
}

/* ------------------------------------------------------------------ launches
 */

static int64_t unit_bytes_of(const rlo_launch *launch) {
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    if (strcmp(launch->defines[d].name, "RLO_UNIT_BYTES") == 0) {
      return launch->numbers[launch->defines[d].first];
    }
  }
  ck_abort_msg("a launch of %s has no unit", launch->kernel_file);
  return 0;
}

static int64_t read_value(reading how, int64_t value, int64_t unit_bytes) {
  switch (how) {
    case IN_LINES:
      return value * unit_bytes / LINE_BYTES;
    case IS_ANY:
      return value > 0;
    case IS_MANY:
      return value > 1;
    case IS_LINE:
      return value == LINE_BYTES;
    case AS_IS:
    case IGNORED:
      break;
  }
  return value;
}

/* The number of a constant's variant; -1: nothing to tell, -2: not declared. */
static int32_t find_number(const char *file,
                           const char *name,
                           int64_t value,
                           int64_t unit_bytes) {
  int32_t before = 0;
  for (int32_t n = 0; n < NUM_CONSTANTS; ++n) {
    const constant *c = &constants[n];
    if (strcmp(c->kernel_file, file) == 0 && strcmp(c->name, name) == 0) {
      if (c->reading == IGNORED) {
        return -1;
      }
      int64_t read = read_value(c->reading, value, unit_bytes);
      int32_t unit = c->is_per_unit ? __builtin_ctzll((uint64_t)unit_bytes) : 0;
      for (int32_t v = 0; v < c->num_values; ++v) {
        if (c->values[v] == read) {
          return before + unit * c->num_values + v;
        }
      }
      return -2;
    }
    before += numbers_of(c);
  }
  return -2;
}

bool test_variants_of(const rlo_launch *launch, test_variant_set *out_set) {
  memset(out_set, 0, sizeof *out_set);
  int64_t unit_bytes = unit_bytes_of(launch);
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    const rlo_define *define = &launch->defines[d];
    int64_t value = define->count > 0 ? launch->numbers[define->first] : 0;
    int32_t number =
        find_number(launch->kernel_file, define->name, value, unit_bytes);
    if (number == -2) {
      printf("tests/support/variants.c does not declare %s %s=%lld\n",
             launch->kernel_file,
             define->name,
             (long long)value);
      return false;
    }
    if (number >= 0) {
      out_set->words[number / 64] |= UINT64_C(1) << (number % 64);
    }
  }
  return true;
}

/* --------------------------------------------------------------------- cases
 */

static void plan_case(const rlo_device_info *device,
                      const rlo_problem *problem,
                      const test_variant_case *c,
                      test_variant_fn fn,
                      void *payload) {
  static rlo_problem scratch;
  static rlo_launch launch;
  scratch = *problem;
  int64_t element_bytes = (int64_t)1 << c->width;
  int64_t alignment = c->is_aligned ? LINE_BYTES : element_bytes;
  rlo_plan_options options = RLO_PLAN_OPTIONS_INIT;
  options.family = c->family->name;
  options.device_class = c->family->device_class;
  options.way = c->way->name;
  rlo_status status = rlo__planner_choose(
      &scratch, device, &options, alignment, alignment, NULL, &launch);
  if (status == RLO_UNSUPPORTED || rlo_problem_is_empty(&scratch)) {
    return;
  }
  ck_assert_msg(status == RLO_OK, "%s", rlo_error_last()->message);
  fn(payload, c, &launch);
}

static void each_of_pair(const rlo_device_info *device,
                         const test_pair *pair,
                         test_variant_fn fn,
                         void *payload) {
  static rlo_problem problem;
  rlo_shape src;
  rlo_shape dst;
  int32_t permutation[RLO_MAX_RANK];
  for (int32_t width = 0; width < NUM_UNITS; ++width) {
    test_pair_shapes(pair, test_dtypes[width], &src, &dst, permutation);
    ck_assert_msg(
        rlo_relayout_lower(&src, &dst, permutation, &problem) == RLO_OK,
        "%s",
        rlo_error_last()->message);
    for (int32_t f = 0; f < rlo__num_families; ++f) {
      for (int32_t w = 0; w < rlo__num_ways; ++w) {
        for (int32_t aligned = 0; aligned < 2; ++aligned) {
          const test_variant_case c = {.pair = pair,
                                       .width = width,
                                       .family = rlo__families[f],
                                       .way = &rlo__ways[w],
                                       .is_aligned = aligned != 0};
          plan_case(device, &problem, &c, fn, payload);
        }
      }
    }
  }
}

void test_variants_each(const rlo_device_info *device,
                        bool is_small,
                        test_variant_fn fn,
                        void *payload) {
  for (int32_t p = 0; p < test_num_pairs; ++p) {
    if (test_pairs[p].is_small || !is_small) {
      each_of_pair(device, &test_pairs[p], fn, payload);
    }
  }
  for (int32_t p = 0; p < NUM_MORE_PAIRS; ++p) {
    each_of_pair(device, &more_pairs[p], fn, payload);
  }
}

typedef struct cover {
  /** A case is taken if it has so many new variants. */
  int32_t least_new;
  test_variant_case *cases;
  test_variant_set *sets;
  int32_t count;
  int32_t capacity;
  test_variant_set reached;
} cover;

static void cover_case(void *payload,
                       const test_variant_case *c,
                       const rlo_launch *launch) {
  cover *into = payload;
  test_variant_set set;
  ck_assert(test_variants_of(launch, &set));
  if (test_variant_set_count_new(&set, &into->reached) < into->least_new) {
    return;
  }
  ck_assert_int_lt(into->count, into->capacity);
  into->sets[into->count] = set;
  into->cases[into->count++] = *c;
  test_variant_set_add(&into->reached, &set);
}

int32_t test_variants_cover(const rlo_device_info *device,
                            bool is_small,
                            test_variant_case *out_cases,
                            test_variant_set *out_sets,
                            int32_t capacity,
                            test_variant_set *out_reached) {
  cover into = {.cases = out_cases, .sets = out_sets, .capacity = capacity};
  /* Those with much that is new first: fewer programs to build. */
  for (into.least_new = 4; into.least_new > 0; --into.least_new) {
    test_variants_each(device, is_small, cover_case, &into);
  }
  *out_reached = into.reached;
  return into.count;
}
