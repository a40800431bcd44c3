/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that a simulator must find: a checker that finds nothing counts only
 * once it has found these. */

__kernel void store_behind(__global uint *out) {
  out[get_global_id(0) + 1] = 7;
}

__kernel void load_before(__global uint *out) {
  out[get_global_id(0)] = out[(long)get_global_id(0) - 1];
}

__kernel void race(__global uint *out) {
  out[0] = (uint)get_global_id(0);
}

__kernel void uninitialized(__global uint *out) {
  __local uint shared[64];
  if (get_local_id(0) != 5) {
    shared[get_local_id(0)] = 3;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = shared[63 - get_local_id(0)];
}

__kernel void nothing(__global uint *out) {
  out[get_global_id(0)] = 7;
}
