/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of OpenCL C that the kernels for GPUs call, for a target whose
 * driver brings them: clang has none for NVIDIA's. */

#define RLO_BUILTIN __attribute__((overloadable, always_inline))

RLO_BUILTIN size_t get_group_id(uint d) {
  return d == 0 ? (uint)__nvvm_read_ptx_sreg_ctaid_x() : 0;
}

RLO_BUILTIN size_t get_num_groups(uint d) {
  return d == 0 ? (uint)__nvvm_read_ptx_sreg_nctaid_x() : 1;
}

RLO_BUILTIN size_t get_local_id(uint d) {
  return d == 0 ? (uint)__nvvm_read_ptx_sreg_tid_x() : 0;
}

RLO_BUILTIN size_t get_local_size(uint d) {
  return d == 0 ? (uint)__nvvm_read_ptx_sreg_ntid_x() : 1;
}

RLO_BUILTIN size_t get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d);
}

RLO_BUILTIN size_t get_global_size(uint d) {
  return get_num_groups(d) * get_local_size(d);
}

RLO_BUILTIN void barrier(cl_mem_fence_flags flags) {
  (void)flags;
  __nvvm_bar_sync(0);
}

#define RLO_MIN_MAX(type)                \
  RLO_BUILTIN type min(type a, type b) { \
    return a < b ? a : b;                \
  }                                      \
  RLO_BUILTIN type max(type a, type b) { \
    return a > b ? a : b;                \
  }
RLO_MIN_MAX(int)
RLO_MIN_MAX(uint)
RLO_MIN_MAX(long)
RLO_MIN_MAX(ulong)

RLO_BUILTIN uint mul_hi(uint a, uint b) {
  return __nvvm_mulhi_ui(a, b);
}

RLO_BUILTIN ulong mul_hi(ulong a, ulong b) {
  return __nvvm_mulhi_ull(a, b);
}

RLO_BUILTIN uint clz(uint a) {
  return a == 0 ? 32 : (uint)__builtin_clz(a);
}

RLO_BUILTIN ulong clz(ulong a) {
  return a == 0 ? 64 : (ulong)__builtin_clzl(a);
}

RLO_BUILTIN uint rotate(uint a, uint n) {
  return a << (n & 31) | a >> (-n & 31);
}
