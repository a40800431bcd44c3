/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi_case.h"

#include <string.h>

#include "relayout/text.h"
#include "relayout/xla/layout_util.h"
#include "relayout/xla/shape_util.h"
#include "support/random_shape.h"
#include "support/random_sharding.h"

/* ------------------------------------------------------------------- memory */

static unsigned char *make_memory(const rlo_sharding *sharding, const rlo_shape *shape,
                                  int64_t device, int64_t *out_bytes) {
  rlo_shape shard;
  CHECK_OK(rlo_sharding_get_shard_shape(sharding, shape, device, &shard));
  CHECK_OK(rlo_shape_array_size(&shard, out_bytes));
  unsigned char *memory = malloc((size_t)*out_bytes + 1);
  CHECK(memory != NULL, "%lld bytes", (long long)*out_bytes);
  memset(memory, 0xa5, (size_t)*out_bytes + 1);
  return memory;
}

/* Numbers of every magnitude, so that sums depend on their order; or any bits.
 * The same on all ranks. */
static void fill(unsigned char *memory, int64_t bytes, rlo_dtype dtype, int64_t device) {
  uint32_t state = (uint32_t)device;
  for (int64_t k = 0; k < bytes; ++k) {
    state = state * 1664525 + 1013904223;
    memory[k] = (unsigned char)(state >> 24);
  }
  for (int64_t k = 0; dtype == RLO_DTYPE_F32 && k + 4 <= bytes; k += 4) {
    float value = (float)(memory[k] + 1) * (memory[k + 1] % 2 ? 1e6F : 1e-3F);
    memcpy(memory + k, &value, 4);
  }
}

/* Moves the arrays of all devices in one process. */
static void move(mpi_case *c) {
  rlo_exchange_member members[MPI_CASE_MAX_DEVICES] = {{0}};
  rlo_exchange_memory memories[MPI_CASE_MAX_DEVICES] = {{0}};
  for (int64_t k = 0; k < c->num_devices; ++k) {
    members[k].device = k;
    memories[k].host_src = c->src[k];
    memories[k].host_dst = c->dst[k];
  }
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = c->plan;
  options.members = members;
  options.num_members = c->num_devices;
  rlo_exchange *exchange;
  CHECK_OK(rlo_exchange_create(&options, &exchange));
  CHECK_OK(rlo_exchange_run(exchange, memories));
  rlo_exchange_release(exchange);
}

static void begin(mpi_case *c, const rlo_redistribution_options *o) {
  char texts[2][128];
  char shardings[2][96];
  rlo_shape_format(o->from, texts[0], sizeof texts[0]);
  rlo_shape_format(o->to, texts[1], sizeof texts[1]);
  rlo_sharding_format(o->from_sharding, shardings[0], sizeof shardings[0]);
  rlo_sharding_format(o->to_sharding, shardings[1], sizeof shardings[1]);
  (void)snprintf(c->words, sizeof c->words, "%s %s -> %s %s on %d devices", texts[0], shardings[0],
                 texts[1], shardings[1], (int)o->num_devices);
  CHECK(rlo_redistribution_create(o, &c->plan) == RLO_OK, "%s: %s", c->words,
        rlo_error_last()->message);
  c->cost = (rlo_redistribution_cost)RLO_REDISTRIBUTION_COST_INIT;
  CHECK_OK(rlo_redistribution_measure(c->plan, &c->cost));
  c->num_devices = o->num_devices;
  for (int64_t k = 0; k < c->num_devices; ++k) {
    c->src[k] = make_memory(o->from_sharding, o->from, k, &c->src_bytes[k]);
    fill(c->src[k], c->src_bytes[k], o->from->dtype, k);
    c->dst[k] = make_memory(o->to_sharding, o->to, k, &c->dst_bytes[k]);
  }
  move(c);
}

/* -------------------------------------------------------------------- cases */

void mpi_case_init(mpi_case *c, const char *from, const char *from_sharding, const char *to,
                   const char *to_sharding, const int32_t *permutation, int64_t num_devices) {
  *c = (mpi_case){0};
  rlo_shape shapes[2];
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  CHECK_OK(rlo_shape_parse(from, strlen(from), &shapes[0]));
  CHECK_OK(rlo_shape_parse(to, strlen(to), &shapes[1]));
  CHECK_OK(rlo_sharding_parse(from_sharding, strlen(from_sharding), &o.from_sharding));
  CHECK_OK(rlo_sharding_parse(to_sharding, strlen(to_sharding), &o.to_sharding));
  o.from = &shapes[0];
  o.to = &shapes[1];
  o.permutation = permutation;
  o.num_devices = num_devices;
  begin(c, &o);
  rlo_sharding_release(o.from_sharding);
  rlo_sharding_release(o.to_sharding);
}

static int64_t below(test_random *random, int64_t limit) {
  return test_random_in(random, 0, limit - 1);
}

/* Any order of the dimensions, with tiles or padding now and then. */
static rlo_shape draw_shape(test_random *random, rlo_dtype dtype, const int64_t *dims) {
  rlo_layout layout = rlo_layout_row_major(MPI_CASE_RANK);
  rlo_shape shape;
  test_random_permutation(random, MPI_CASE_RANK, layout.minor_to_major);
  layout.fill = below(random, 2) == 0 ? RLO_FILL_ONE : RLO_FILL_UNKNOWN;
  int64_t kind = below(random, 4);
  if (kind == 0) {
    layout.num_tiles = 1;
    layout.tiles[0].rank = 2;
    layout.tiles[0].dims[0] = 1 + below(random, 4);
    layout.tiles[0].dims[1] = 1 + below(random, 8);
  }
  for (int32_t d = 0; kind == 1 && d < MPI_CASE_RANK; ++d) {
    layout.has_padded_dimensions = true;
    layout.padded_dimensions[d] = dims[d] + below(random, 4);
  }
  CHECK_OK(rlo_shape_make_with_layout(dtype, dims, MPI_CASE_RANK, &layout, &shape));
  return shape;
}

/* How a part of a padded dimension is padded is not defined for boxes. */
static void drop_padding(const rlo_sharding *sharding, rlo_shape *shape) {
  if (rlo_sharding_get_kind(sharding) == RLO_SHARDING_BOXES) {
    shape->layout.has_padded_dimensions = false;
    memset(shape->layout.padded_dimensions, 0, sizeof shape->layout.padded_dimensions);
  }
}

void mpi_case_draw(mpi_case *c, test_random *random, int64_t num_devices) {
  static const rlo_dtype dtypes[] = {RLO_DTYPE_U8, RLO_DTYPE_BF16, RLO_DTYPE_F32, RLO_DTYPE_F64,
                                     RLO_DTYPE_C128};
  *c = (mpi_case){0};
  int64_t dims[2][MPI_CASE_RANK];
  int32_t permutation[MPI_CASE_RANK];
  test_random_permutation(random, MPI_CASE_RANK, permutation);
  for (int32_t d = 0; d < MPI_CASE_RANK; ++d) {
    dims[0][d] = below(random, 20) == 0 ? 0 : 1 + below(random, 20);
  }
  rlo_permutation_apply(permutation, MPI_CASE_RANK, dims[0], dims[1]);
  bool may_be_unreduced = test_random_once_in(random, 2);
  rlo_dtype dtype = may_be_unreduced ? RLO_DTYPE_F32 : dtypes[below(random, 5)];
  rlo_shape shapes[2];
  for (int k = 0; k < 2; ++k) {
    shapes[k] = draw_shape(random, dtype, dims[k]);
  }
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  o.from = &shapes[0];
  o.to = &shapes[1];
  o.permutation = permutation;
  o.num_devices = num_devices;
  CHECK_OK(test_random_sharding(random, o.from, num_devices, may_be_unreduced, &o.from_sharding));
  CHECK_OK(test_random_sharding(random, o.to, num_devices, false, &o.to_sharding));
  drop_padding(o.from_sharding, &shapes[0]);
  drop_padding(o.to_sharding, &shapes[1]);
  begin(c, &o);
  rlo_sharding_release(o.from_sharding);
  rlo_sharding_release(o.to_sharding);
}

void mpi_case_deinit(mpi_case *c) {
  rlo_redistribution_release(c->plan);
  for (int64_t k = 0; k < c->num_devices; ++k) {
    free(c->src[k]);
    free(c->dst[k]);
  }
}
