/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the kernels that move planes: cells one by one, for
 * cpu_tile.cl and cpu_skinny.cl.
 */
#ifndef RLO_CPU_PLANE_CL
#define RLO_CPU_PLANE_CL

#include "cpu_join.cl"

/* Arguments 10 to 15. */
#define RLO_PLANE_PARAMS                                                \
  int a_axis, int b_axis, rlo_index na, rlo_index nb, rlo_index src_ld, \
      rlo_index dst_ld

#if RLO_GUARDS > 0
/* Moves the cells of a plane's tile one by one and tests every guard for each:
 * for tiles through which a guard slants. */
RLO_INLINE void rlo_move_cells(__global uchar *to,
                               __global const uchar *from,
                               long dst_ld_bytes,
                               long src_ld_bytes,
                               rlo_box tile,
                               long tile_units,
                               bool is_first,
                               bool is_last,
                               __private const rlo_guard *guards,
                               rlo_join join,
                               rlo_unit fill) {
  for (long i = tile.x0; i < tile.x1; ++i) {
    const rlo_row row =
        rlo_own_row(to + i * dst_ld_bytes, tile, tile_units, is_first, is_last);
    for (long j = rlo_div_down(row.from_byte, RLO_UNIT_BYTES);
         j * RLO_UNIT_BYTES < row.to_byte;
         ++j) {
      if (rlo_inside(guards + RLO_PAD_GUARDS, RLO_SKIP_GUARDS, i, j)) {
        rlo_unit unit = fill;
        if (rlo_inside(guards, RLO_PAD_GUARDS, i, j)) {
          unit =
              rlo_read_unit(from + i * RLO_UNIT_BYTES + j * src_ld_bytes, join);
        }
        *(__global rlo_unit_any *)(row.to + j * RLO_UNIT_BYTES) = unit;
      }
    }
  }
}
#endif

#endif
