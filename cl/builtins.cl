/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations of the built-in functions that kernels use. PoCL parses those of
 * all of OpenCL C, 15,000 of them, with every program, which takes longer than
 * the program itself. So src/runtime/program_build.c defines the macro of a
 * header that was parsed already, and puts this text before the kernel's. A
 * kernel that uses a function which is not here is compiled with all
 * declarations after all: it is slower to build, and tests/kernels fails.
 */
#ifndef RLO_BUILTINS_CL
#define RLO_BUILTINS_CL

/* 1: the driver has declared nothing. */
#ifndef RLO_BUILTINS
#define RLO_BUILTINS 0
#endif

#if RLO_BUILTINS

#define RLO_PURE    __attribute__((overloadable, const))
#define RLO_LOADING __attribute__((overloadable, pure))

size_t RLO_PURE get_global_id(uint);
size_t RLO_PURE get_global_size(uint);
size_t RLO_PURE get_group_id(uint);
size_t RLO_PURE get_local_id(uint);
size_t RLO_PURE get_num_groups(uint);

void __attribute__((overloadable, convergent)) barrier(cl_mem_fence_flags);

/* For every scalar type: a call never takes the function of a wider one. */
#define RLO_OF_INTEGER(type, utype)      \
  type RLO_PURE min(type, type);         \
  type RLO_PURE max(type, type);         \
  type RLO_PURE clamp(type, type, type); \
  utype RLO_PURE abs(type);              \
  type RLO_PURE clz(type);               \
  type RLO_PURE mul_hi(type, type);      \
  type RLO_PURE rotate(type, type);
RLO_OF_INTEGER(char, uchar)
RLO_OF_INTEGER(uchar, uchar)
RLO_OF_INTEGER(short, ushort)
RLO_OF_INTEGER(ushort, ushort)
RLO_OF_INTEGER(int, uint)
RLO_OF_INTEGER(uint, uint)
RLO_OF_INTEGER(long, ulong)
RLO_OF_INTEGER(ulong, ulong)
uint16 RLO_PURE abs(int16);
ulong16 RLO_PURE abs(long16);

#define RLO_OF_FLOAT(type)  \
  type RLO_PURE exp(type);  \
  type RLO_PURE rint(type); \
  type RLO_PURE tanh(type);
RLO_OF_FLOAT(float)
RLO_OF_FLOAT(float16)
#ifdef cl_khr_fp64
RLO_OF_FLOAT(double)
RLO_OF_FLOAT(double16)
#endif

uchar8 RLO_LOADING vload8(size_t, __global const uchar *);
long8 RLO_LOADING vload8(size_t, __global const long *);
long16 RLO_LOADING vload16(size_t, __global const long *);
int16 RLO_PURE convert_int16(long16);
void __attribute__((overloadable)) vstore8(uchar8, size_t, __global uchar *);

#endif
#endif
