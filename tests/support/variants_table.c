/* SPDX-License-Identifier: Apache-2.0 */
#include "support/variants_table.h"

// clang-format off
#define VALUES(...)                                              \
  (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
  {__VA_ARGS__}
#define NONE 0, {0}

/* The constants of all kernels with a grid. No pair of shapes within 2 GiB
 * makes RLO_INDEX32=0, and the vectors that go with it: those kernels are left
 * to device/bytes/bytes_wide.c. */
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
#define SPECIALIZED_CONSTANTS(file)                             \
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
  {file, "RLO_LOCAL", AS_IS, false, VALUES(128, 256)}

const test_constant test_constants[] = {
    GRID_CONSTANTS("cpu_copy"), NO_GUARD_CONSTANTS("cpu_copy"),
    CPU_CONSTANTS("cpu_copy"),

    GRID_CONSTANTS("cpu_rows"), GUARD_CONSTANTS("cpu_rows"),
    CPU_CONSTANTS("cpu_rows"),
    {"cpu_rows", "RLO_ROWS_PLACES", IGNORED, false, NONE},

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
    SPECIALIZED_CONSTANTS("gather"),
    {"gather", "RLO_SEGMENT", IS_MANY, true, VALUES(0, 1)},
    {"gather", "RLO_ROW_SEGMENTS", IGNORED, false, NONE},
    {"gather", "RLO_SEGMENTS", IGNORED, false, NONE},
    {"gather", "RLO_PIECES", IS_MANY, false, VALUES(0, 1)},
    {"gather", "RLO_LOOP", AS_IS, false, VALUES(0)},

    {"cpu_gather_rows", "RLO_UNIT_BYTES", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"cpu_gather_rows", "RLO_INDEX32", AS_IS, false, VALUES(1)},
    {"cpu_gather_rows", "RLO_NT", AS_IS, false, VALUES(0, 1)},
    {"cpu_gather_rows", "RLO_PREFETCH", AS_IS, false, VALUES(0, 1)},
    {"cpu_gather_rows", "RLO_NUM_TERMS", IS_ANY, false, VALUES(1)},
    SPECIALIZED_CONSTANTS("cpu_gather_rows"),
    {"cpu_gather_rows", "RLO_ROWS", IGNORED, false, NONE},
    {"cpu_gather_rows", "RLO_GROUP_ROWS", IGNORED, false, NONE},
    {"cpu_gather_rows", "RLO_CHUNK_UNITS", IGNORED, false, NONE},
    {"cpu_gather_rows", "RLO_ROW_CHUNKS", IS_MANY, false, VALUES(0)},
    {"cpu_gather_rows", "RLO_GATHER_AHEAD", IGNORED, false, NONE},

    {"gpu_copy", "RLO_UNIT_BYTES", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"gpu_copy", "RLO_LOCAL", AS_IS, false, VALUES(128, 256)},
    {"gpu_copy", "RLO_WIDE_BYTES", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"gpu_copy", "RLO_PIECES", IGNORED, false, NONE},

    GRID_CONSTANTS("gpu_rows"), GUARD_CONSTANTS("gpu_rows"),
    GPU_CONSTANTS("gpu_rows"),
    {"gpu_rows", "RLO_GRID_AXES", AS_IS, false, VALUES(2, 3, 4, 6, 8, 16)},
    {"gpu_rows", "RLO_WIDE_UNITS", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"gpu_rows", "RLO_SHIFT", AS_IS, false, VALUES(0, 1)},
    {"gpu_rows", "RLO_FLAT", AS_IS, true, VALUES(0, 1)},
    {"gpu_rows", "RLO_PIECES", IGNORED, false, NONE},

    {"gpu_skinny", "RLO_UNIT_BYTES", AS_IS, false, VALUES(1, 2, 4, 8)},
    {"gpu_skinny", "RLO_GRID_RANK", AS_IS, false, VALUES(16)},
    {"gpu_skinny", "RLO_INDEX32", AS_IS, false, VALUES(1)},
    {"gpu_skinny", "RLO_PAD_GUARDS", AS_IS, false, VALUES(0, 1, 2, 3, 4, 6)},
    {"gpu_skinny", "RLO_SKIP_GUARDS", AS_IS, false, VALUES(0, 1, 2, 3, 4, 5, 6)},
    GPU_CONSTANTS("gpu_skinny"),
    {"gpu_skinny", "RLO_GRID_AXES", AS_IS, false, VALUES(2, 3, 4, 6, 8, 16)},
    {"gpu_skinny", "RLO_PIECE_BYTES", AS_IS, false, VALUES(4, 8, 16)},
    {"gpu_skinny", "RLO_RUN_BYTES", AS_IS, false, VALUES(4, 8, 16)},
    {"gpu_skinny", "RLO_SKINNY_SPLIT", AS_IS, false, VALUES(0, 1)},
    {"gpu_skinny", "RLO_SKINNY_N", AS_IS, false, VALUES(2, 3, 4, 5, 6, 7, 8)},

    GRID_CONSTANTS("gpu_tile"), GUARD_CONSTANTS("gpu_tile"),
    GPU_CONSTANTS("gpu_tile"),
    {"gpu_tile", "RLO_GRID_AXES", AS_IS, false, VALUES(2, 3, 4, 6, 8, 16)},
    {"gpu_tile", "RLO_TILE_A", AS_IS, false,
     VALUES(4, 8, 16, 32, 64, 128, 256, 512, 1024)},
    {"gpu_tile", "RLO_TILE_B", AS_IS, false,
     VALUES(4, 8, 16, 32, 64, 128, 256, 512, 1024)},
    {"gpu_tile", "RLO_A_AXIS", IGNORED, false, NONE},
    {"gpu_tile", "RLO_B_AXIS", IGNORED, false, NONE},
    {"gpu_tile", "RLO_DIAGONAL", AS_IS, false, VALUES(1)},
    {"gpu_tile", "RLO_SQUARE", AS_IS, false, VALUES(1, 2, 4)},
    {"gpu_tile", "RLO_WORDS", AS_IS, false, VALUES(0, 1)},
    {"gpu_tile", "RLO_READ_UNITS", AS_IS, false, VALUES(1, 2, 4)},
    {"gpu_tile", "RLO_WRITE_UNITS", AS_IS, false, VALUES(1, 2, 4)},

    /* More guards than these take more than the 1024 bytes of arguments that
     * every device has. */
    GRID_CONSTANTS("gpu_packed"),
    {"gpu_packed", "RLO_PAD_GUARDS", AS_IS, false, VALUES(0, 1, 2)},
    {"gpu_packed", "RLO_SKIP_GUARDS", AS_IS, false, VALUES(0, 1, 2)},
    GPU_CONSTANTS("gpu_packed"),
    {"gpu_packed", "RLO_GRID_AXES", AS_IS, false, VALUES(2, 3, 4, 6)},
    {"gpu_packed", "RLO_READ_RANK", IGNORED, false, NONE},
    {"gpu_packed", "RLO_WRITE_RANK", IGNORED, false, NONE},
    {"gpu_packed", "RLO_RUN_RANK", AS_IS, false, VALUES(1, 2, 3)},
    /* Pieces of a unit of 8 bytes only where local memory is short. */
    {"gpu_packed", "RLO_READ_BYTES", AS_IS, false, VALUES(1, 2, 4, 16)},
    {"gpu_packed", "RLO_STORE_BYTES", AS_IS, false, VALUES(1, 2, 4, 16)},
    {"gpu_packed", "RLO_WORD_UNITS", AS_IS, false, VALUES(1, 2, 4, 8, 16)},
    {"gpu_packed", "RLO_SHIFT", AS_IS, false, VALUES(0, 1)},
    {"gpu_packed", "RLO_CONTIGUOUS", AS_IS, false, VALUES(0, 1)},
    {"gpu_packed", "RLO_ONE_TURN", AS_IS, false, VALUES(0, 1)},
    {"gpu_packed", "RLO_REPEAT", AS_IS, false, VALUES(1, 2, 4)},
    {"gpu_packed", "RLO_PIECES", IGNORED, false, NONE},
    {"gpu_packed", "RLO_LOCAL_BYTES", IGNORED, false, NONE},
    {"gpu_packed", "RLO_ENDS", AS_IS, false, VALUES(0, 1, 2)},
};

// clang-format on

const int32_t test_num_constants = (int32_t)(sizeof test_constants / sizeof test_constants[0]);

// clang-format off
const test_pair test_variant_pairs[] = {
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
    /* The most guards that a kernel takes, of either kind. */
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
    {"?[3,3,3,3,7]{4,3,2,1,0:T(2,2,2,2,2)}", "?[3,3,3,3,7]", "", true},
    {"?[3,3,3,3,3,3]{5,4,3,2,1,0:T(2,2,2,2,2,2)}", "?[3,3,3,3,3,3]", "", true},
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

const int32_t test_num_variant_pairs =
    (int32_t)(sizeof test_variant_pairs / sizeof test_variant_pairs[0]);
