/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_PLAN_LAUNCH_H
#define RLO_PLAN_LAUNCH_H

#include "relayout/plan.h"

/** The decision of a family: kernel file, constants, arguments, NDRange. Pure
 *  data: codegen makes build options of the constants, and the runtime passes
 *  the arguments to clSetKernelArg, in this order. */

#define RLO__LARGE_BUFFERS "RLO_LARGE_BUFFERS"

/** A constant compiled into the kernel: -DNAME=v or -DNAME=v0,v1,... */
typedef struct rlo__define {
  /** Static. */
  const char *name;
  /** Its values: launch->numbers[first .. first + count). */
  int32_t first, count;
} rlo__define;

typedef enum rlo__argument_kind {
  /** __global const uchar *: the source memory. */
  RLO__ARGUMENT_SRC,
  /** ulong: the caller's source offset + launch->src_base_bytes. */
  RLO__ARGUMENT_SRC_OFFSET,
  /** __global uchar *: the destination memory. */
  RLO__ARGUMENT_DST,
  /** ulong: the caller's destination offset + launch->dst_base_bytes. */
  RLO__ARGUMENT_DST_OFFSET,
  /** __global const uchar *: the indices' memory, and ulong: their offset. */
  RLO__ARGUMENT_INDEX,
  RLO__ARGUMENT_INDEX_OFFSET,
  /** The kinds from here on are constants. int, long (or ulong), int16 vector
     and long16 vector, from numbers. */
  RLO__ARGUMENT_INT,
  RLO__ARGUMENT_LONG,
  RLO__ARGUMENT_INT16,
  RLO__ARGUMENT_LONG16,
  /** long8 vector. */
  RLO__ARGUMENT_LONG8
} rlo__argument_kind;

typedef struct rlo__argument {
  rlo__argument_kind kind;
  /** First of its values in launch->numbers: rlo__argument_lanes of them. */
  int32_t first;
} rlo__argument;

enum {
  RLO__LAUNCH_MAX_DEFINES = 64,
  /** The arguments of 8 bytes that the least CL_DEVICE_MAX_PARAMETER_SIZE
   *  holds. Six axes and six guards take some 70. */
  RLO__LAUNCH_MAX_ARGUMENTS = 128,
  /** Enough for every form of the largest problem, compiled in. */
  RLO__LAUNCH_MAX_NUMBERS = 8192,
  /** Enough for most launches, which then need no memory of the heap. */
  RLO__LAUNCH_FEW_NUMBERS = 256
};

/** A launch begins as zeros or by rlo__launch_init, and may own memory:
 *  rlo__launch_deinit. It is not to be copied, since it points into itself; to
 *  keep it, rlo__launch_pack it. */
typedef struct rlo__launch {
  /** Stem of the kernel file in cl/, such as "cpu_tile". Static. */
  const char *kernel_file;
  int32_t num_defines;
  int32_t num_arguments;
  int32_t num_numbers;
  /** The arrays at the end, or, of numbers, on the heap; NULL in a launch of
   *  zeros. */
  rlo__define *defines;
  rlo__argument *arguments;
  int64_t *numbers;
  /** Position of the problem's origin relative to the caller's offsets, in
   *  bytes. */
  int64_t src_base_bytes;
  int64_t dst_base_bytes;
  int32_t work_dim;
  size_t global_size[3];
  size_t local_size[3];
  /** Description: "tile 64x64, units of 4 bytes, input order". */
  char parameters[160];
  /** Room for numbers: of few_numbers, or of the heap. */
  size_t max_numbers;
  int64_t few_numbers[RLO__LAUNCH_FEW_NUMBERS];
  rlo__define own_defines[RLO__LAUNCH_MAX_DEFINES];
  rlo__argument own_arguments[RLO__LAUNCH_MAX_ARGUMENTS];
} rlo__launch;

/** Initializes a launch in memory of any contents. */
void rlo__launch_init(rlo__launch *launch);

/** Empties an initialized launch and keeps its room. */
void rlo__launch_clear(rlo__launch *launch);

/** Copies what there is of a launch to memory of its size, which is only to be
 *  read, and is released with rlo__free. NULL without memory. */
rlo__launch *rlo__launch_pack(const rlo__launch *launch);

/** Frees what a launch owns. It is then initialized and empty. */
void rlo__launch_deinit(rlo__launch *launch);

/** Numbers that an argument of a kind takes from launch->numbers: 0 for the
 *  memory arguments, 1 for scalars, 8 or 16 for vectors. */
int32_t rlo__argument_lanes(rlo__argument_kind kind);

/** Size of an argument of a kind for clSetKernelArg, in bytes. */
int64_t rlo__argument_bytes(rlo__argument_kind kind);

/** The first arguments of a launch, beside the two memories and their offsets.
 */
typedef enum rlo__launch_head {
  /** The offsets include the position of the problem's origin. Kernels that
   *  have the problem compiled in add it themselves. */
  RLO__LAUNCH_ORIGIN = 1,
  /** The fill follows, in two arguments. */
  RLO__LAUNCH_FILL = 2
} rlo__launch_head;

/**
 * Begins a launch: sets the kernel file and adds the source, its offset, the
 * destination, its offset and the fill.
 *
 * @param kernel_file  static.
 * @param head         of rlo__launch_head, or-ed.
 * @return RLO_OK; RLO_OVERFLOW for an origin beyond 64 bits in bytes;
 *         RLO_INTERNAL.
 */
RLO_NODISCARD rlo_status rlo__launch_begin(const rlo_problem *problem, const char *kernel_file,
                                           uint32_t head, rlo__launch *launch);

/** A constant to add. A list of them ends with a name that is NULL. */
typedef struct rlo__constant {
  /** Static. */
  const char *name;
  int64_t value;
} rlo__constant;

/** Adds constants. @return RLO_OK; RLO_INTERNAL beyond the limits above;
 *  RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__launch_define_all(rlo__launch *launch,
                                                const rlo__constant *constants);
RLO_NODISCARD rlo_status rlo__launch_define(rlo__launch *launch, const char *name, int64_t value);
RLO_NODISCARD rlo_status rlo__launch_define_list(rlo__launch *launch, const char *name,
                                                 const int64_t *values, int32_t count);

/** Adds the constant RLO__LARGE_BUFFERS, of which codegen makes a build option
 *  (rlo_device_info.has_large_buffer_option), where the device has it and
 *  buffers of more than 4 GiB, or the problem needs one. */
RLO_NODISCARD rlo_status rlo__launch_define_reach(const rlo_problem *problem,
                                                  const rlo_device_info *device,
                                                  rlo__launch *launch);

/** Adds an argument. Scalars take one value; vectors take `count` values, at
 *  most one for each lane, and zeros after them; the memory arguments take
 *  none. @return RLO_OK; RLO_OVERFLOW for a value that an int argument cannot
 *  hold; RLO_INTERNAL beyond the limits above; RLO_OUT_OF_MEMORY. */
RLO_NODISCARD rlo_status rlo__launch_argument(rlo__launch *launch, rlo__argument_kind kind,
                                              const int64_t *values, int32_t count);

/** Adds an argument of 8 bytes for each of `count` values.
 *  @return as rlo__launch_argument. */
RLO_NODISCARD rlo_status rlo__launch_longs(rlo__launch *launch, const int64_t *values,
                                           int32_t count);

/** Sets the NDRange: groups of so many work-items. */
void rlo__launch_set_groups(rlo__launch *launch, size_t num_groups, int64_t local_items);

/** Appends to the description. */
RLO_PRINTF(2, 3)
void rlo__launch_describe(rlo__launch *launch, const char *format, ...);

/** Tells if two launches run the same kernel with the same numbers and sizes.
 *  Their descriptions are not compared. */
bool rlo__launch_equal(const rlo__launch *a, const rlo__launch *b);

#endif
