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

/* Volatile: what nobody wrote is whatever the optimiser likes. */
__kernel void uninitialized_private(__global uint *out) {
  volatile uint own[8];
  for (uint k = 0; k < 7; ++k) {
    own[k] = 3;
  }
  out[get_global_id(0)] = own[get_local_id(0) & 7];
}

__kernel void nothing(__global uint *out) {
  out[get_global_id(0)] = 7;
}
