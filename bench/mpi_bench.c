/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redistributions by two ranks in host memory, against what else does the same:
 *
 *     mpirun -n 2 relayout-mpi-bench [ROUNDS [MESSAGE_BYTES]]
 *
 * MPI_Alltoallw with derived datatypes, and where they are found FFTW's
 * transposition and ScaLAPACK's pdgemr2d and pdtran. All run in turns in one
 * process; a round's time is that of the slower rank, and what is printed is
 * the median. Every result is compared with ours. *copy* is a memcpy of each
 * rank's part, by both ranks at once: what moving each byte once costs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relayout/mpi.h"
#include "relayout/text.h"

#ifdef BENCH_HAS_FFTW_MPI
#include <fftw3-mpi.h>
#endif

enum { MAX_ROUNDS = 101, MAX_CONTESTANTS = 8, NUM_RANKS = 2, MAX_LOCAL = 4 };

static int rank;
static int64_t message_bytes = 256 * 1024;

#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) {                                                  \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, \
              rlo_error_last()->message);                                \
      MPI_Abort(MPI_COMM_WORLD, 1);                                      \
    }                                                                    \
  } while (0)

/* A redistribution. Devices of a rank lie one after the other in its memory. */
typedef struct job {
  const char *name;
  /* A matrix of n by n; 0: the three dimensions of openxla/xla#15207, each
   * `size` long, of 8 devices. */
  int64_t n;
  bool is_transposed;
  const char *dtype;
  int64_t element_bytes;
  int64_t size;
  int64_t num_devices;
  rlo_redistribution *plan;
  int64_t local_bytes;
  unsigned char *src, *dst, *wanted;
} job;

/* The ways to do a job. */
typedef struct contestant {
  const char *name;
  /* false: not this job. */
  bool (*begin)(const job *j, void **out_state);
  void (*run)(const job *j, void *state);
  void (*end)(void *state);
  void *state;
  double seconds[MAX_ROUNDS];
  bool is_in;
} contestant;

/* --------------------------------------------------------------------- ours */

typedef struct ours {
  rlo_mpi_link *link;
  rlo_exchange *exchange;
  rlo_exchange_memory memories[MAX_LOCAL];
} ours;

static bool ours_begin(const job *j, void **out_state) {
  ours *o = calloc(1, sizeof *o);
  CHECK(o != NULL);
  const int64_t per_rank = j->num_devices / NUM_RANKS;
  const int64_t bytes = j->local_bytes / per_rank;
  rlo_mpi_link_options ranks = RLO_MPI_LINK_OPTIONS_INIT;
  ranks.devices_per_rank = per_rank;
  CHECK(rlo_mpi_link_create(MPI_COMM_WORLD, &ranks, &o->link) == RLO_OK);
  rlo_exchange_member members[MAX_LOCAL] = {{0}};
  for (int64_t k = 0; k < per_rank; ++k) {
    members[k].device = rank * per_rank + k;
    o->memories[k].host_src = j->src + k * bytes;
    o->memories[k].host_dst = j->dst + k * bytes;
  }
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = j->plan;
  options.link = rlo_mpi_link_get(o->link);
  options.members = members;
  options.num_members = per_rank;
  options.message_bytes = message_bytes;
  CHECK(rlo_exchange_create(&options, &o->exchange) == RLO_OK);
  *out_state = o;
  return true;
}

static void ours_run(const job *j, void *state) {
  (void)j;
  ours *o = state;
  CHECK(rlo_exchange_run(o->exchange, o->memories) == RLO_OK);
}

static void ours_end(void *state) {
  ours *o = state;
  rlo_exchange_release(o->exchange);
  rlo_mpi_link_release(o->link);
  free(o);
}

/* --------------------------------------------------------------------- copy */

static bool copy_begin(const job *j, void **out_state) {
  (void)j;
  *out_state = NULL;
  return true;
}

static void copy_run(const job *j, void *state) {
  (void)state;
  memcpy(j->dst, j->src, (size_t)j->local_bytes);
}

static void copy_end(void *state) {
  (void)state;
}

/* ---------------------------------------------------------------- alltoallw */

typedef struct alltoallw {
  MPI_Datatype types[2][NUM_RANKS];
} alltoallw;

/* The piece of a matrix that a rank sends to, or receives from, another. */
static MPI_Datatype matrix_type(const job *j, bool is_sent, int peer) {
  const int n = (int)j->n;
  const int half = n / NUM_RANKS;
  const MPI_Aint e = (MPI_Aint)j->element_bytes;
  MPI_Datatype element;
  MPI_Datatype type;
  MPI_Type_contiguous((int)e, MPI_BYTE, &element);
  if (is_sent) {
    MPI_Type_create_subarray(2, (const int[]){half, n}, (const int[]){half, half},
                             (const int[]){0, peer * half}, MPI_ORDER_C, element, &type);
  } else if (!j->is_transposed) {
    MPI_Type_create_subarray(2, (const int[]){n, half}, (const int[]){half, half},
                             (const int[]){peer * half, 0}, MPI_ORDER_C, element, &type);
  } else {
    /* Element (i,k) of the piece goes to row k, column i of the result. */
    MPI_Datatype column;
    MPI_Datatype columns;
    MPI_Type_create_hvector(half, 1, n * e, element, &column);
    MPI_Type_create_hvector(half, 1, e, column, &columns);
    MPI_Type_create_hindexed(1, (const int[]){1}, (const MPI_Aint[]){peer * half * e}, columns,
                             &type);
    MPI_Type_free(&column);
    MPI_Type_free(&columns);
  }
  MPI_Type_commit(&type);
  MPI_Type_free(&element);
  return type;
}

/* The pieces of all pairs of devices of two ranks, of f32[s,s,s]: device k
 * holds tile (k/4, k%4 in dimension 2) in steps that the iota transposes, and
 * then slab k of dimension 1. */
static MPI_Datatype cube_type(const job *j, bool is_sent, int peer) {
  const int s = (int)j->size;
  const int counts[3] = {s / 2, s / 8, s / 4};
  MPI_Datatype parts[16];
  int lengths[16];
  MPI_Aint places[16];
  int num = 0;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      const int from = 4 * (is_sent ? rank : peer) + a;
      const int to = 4 * (is_sent ? peer : rank) + b;
      /* arange(8).reshape(4,2).T lists the devices of the tiles. */
      const int tile0 = from % 2;
      const int tile2 = from / 2;
      const int sizes[2][3] = {{s / 2, s, s / 4}, {s, s / 8, s}};
      const int starts[2][3] = {{0, to * (s / 8), 0}, {tile0 * (s / 2), 0, tile2 * (s / 4)}};
      MPI_Type_create_subarray(3, sizes[is_sent ? 0 : 1], counts, starts[is_sent ? 0 : 1],
                               MPI_ORDER_C, MPI_FLOAT, &parts[num]);
      lengths[num] = 1;
      places[num] = (MPI_Aint)(j->local_bytes / 4 * (is_sent ? a : b));
      ++num;
    }
  }
  MPI_Datatype type;
  MPI_Type_create_struct(num, lengths, places, parts, &type);
  MPI_Type_commit(&type);
  for (int k = 0; k < num; ++k) {
    MPI_Type_free(&parts[k]);
  }
  return type;
}

static bool alltoallw_begin(const job *j, void **out_state) {
  alltoallw *w = calloc(1, sizeof *w);
  CHECK(w != NULL);
  for (int side = 0; side < 2; ++side) {
    for (int peer = 0; peer < NUM_RANKS; ++peer) {
      w->types[side][peer] =
          j->n > 0 ? matrix_type(j, side == 0, peer) : cube_type(j, side == 0, peer);
    }
  }
  *out_state = w;
  return true;
}

static void alltoallw_run(const job *j, void *state) {
  const alltoallw *w = state;
  static const int counts[NUM_RANKS] = {1, 1};
  static const int places[NUM_RANKS] = {0, 0};
  MPI_Alltoallw(j->src, counts, places, w->types[0], j->dst, counts, places, w->types[1],
                MPI_COMM_WORLD);
}

static void alltoallw_end(void *state) {
  alltoallw *w = state;
  for (int side = 0; side < 2; ++side) {
    for (int peer = 0; peer < NUM_RANKS; ++peer) {
      MPI_Type_free(&w->types[side][peer]);
    }
  }
  free(w);
}

/* --------------------------------------------------------------------- fftw */

#ifdef BENCH_HAS_FFTW_MPI
/* Planning by measuring overwrites both memories, which are filled later. */
static bool fftw_begin(const job *j, void **out_state) {
  if (j->n == 0 || j->element_bytes != 8) {
    return false;
  }
  *out_state = fftw_mpi_plan_many_transpose(
      j->n, j->n, 1, j->n / NUM_RANKS, j->n / NUM_RANKS, (double *)(void *)j->src,
      (double *)(void *)j->dst, MPI_COMM_WORLD,
      FFTW_MEASURE | (j->is_transposed ? 0U : FFTW_MPI_TRANSPOSED_OUT));
  return *out_state != NULL;
}

static void fftw_run(const job *j, void *state) {
  (void)j;
  fftw_execute((fftw_plan)state);
}

static void fftw_end(void *state) {
  fftw_destroy_plan((fftw_plan)state);
}
#endif

/* ---------------------------------------------------------------- scalapack */

#ifdef BENCH_HAS_SCALAPACK
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int m, int n, double *a, int ia, int ja, int *desca, double *b, int ib, int jb,
               int *descb, int context);
void pdtran_(const int *m, const int *n, const double *alpha, const double *a, const int *ia,
             const int *ja, const int *desca, const double *beta, double *c, const int *ic,
             const int *jc, const int *descc);

/* Column-major: what C has by rows is by columns here. */
typedef struct scalapack {
  int contexts[2];
  int from[9], to[9];
} scalapack;

static void describe(int *d, int context, int n, int rows, int columns) {
  const int description[9] = {1, context, n, n, rows, columns, 0, 0, rows};
  memcpy(d, description, sizeof description);
}

static bool scalapack_begin(const job *j, void **out_state) {
  if (j->n == 0 || j->element_bytes != 8) {
    return false;
  }
  scalapack *s = calloc(1, sizeof *s);
  CHECK(s != NULL);
  const int n = (int)j->n;
  Cblacs_get(-1, 0, &s->contexts[0]);
  s->contexts[1] = s->contexts[0];
  Cblacs_gridinit(&s->contexts[0], "R", 1, NUM_RANKS);
  Cblacs_gridinit(&s->contexts[1], "R", NUM_RANKS, 1);
  describe(s->from, s->contexts[0], n, n, n / NUM_RANKS);
  if (j->is_transposed) {
    describe(s->to, s->contexts[0], n, n, n / NUM_RANKS);
  } else {
    describe(s->to, s->contexts[1], n, n / NUM_RANKS, n);
  }
  *out_state = s;
  return true;
}

static void scalapack_run(const job *j, void *state) {
  scalapack *s = state;
  const int n = (int)j->n;
  double *src = (double *)(void *)j->src;
  double *dst = (double *)(void *)j->dst;
  if (j->is_transposed) {
    const int one = 1;
    const double alpha = 1;
    const double beta = 0;
    pdtran_(&n, &n, &alpha, src, &one, &one, s->from, &beta, dst, &one, &one, s->to);
  } else {
    Cpdgemr2d(n, n, src, 1, 1, s->from, dst, 1, 1, s->to, s->contexts[0]);
  }
}

static void scalapack_end(void *state) {
  scalapack *s = state;
  Cblacs_gridexit(s->contexts[0]);
  Cblacs_gridexit(s->contexts[1]);
  free(s);
}
#endif

/* --------------------------------------------------------------------- jobs */

static void begin_job(job *j) {
  char from[64];
  char to[64];
  const bool is_cube = j->n == 0;
  if (is_cube) {
    (void)snprintf(from, sizeof from, "%s[%d,%d,%d]", j->dtype, (int)j->size, (int)j->size,
                   (int)j->size);
  } else {
    (void)snprintf(from, sizeof from, "%s[%d,%d]", j->dtype, (int)j->n, (int)j->n);
  }
  (void)snprintf(to, sizeof to, "%s", from);
  const char *from_sharding = is_cube ? "{devices=[2,1,4]<=[4,2]T(1,0)}" : "{devices=[2,1]<=[2]}";
  const char *to_sharding = is_cube            ? "{devices=[1,8,1]<=[8]}"
                            : j->is_transposed ? "{devices=[2,1]<=[2]}"
                                               : "{devices=[1,2]<=[2]}";
  rlo_shape shapes[2];
  rlo_redistribution_options o = RLO_REDISTRIBUTION_OPTIONS_INIT;
  CHECK(rlo_shape_parse(from, strlen(from), &shapes[0]) == RLO_OK);
  CHECK(rlo_shape_parse(to, strlen(to), &shapes[1]) == RLO_OK);
  CHECK(rlo_sharding_parse(from_sharding, strlen(from_sharding), &o.from_sharding) == RLO_OK);
  CHECK(rlo_sharding_parse(to_sharding, strlen(to_sharding), &o.to_sharding) == RLO_OK);
  o.from = &shapes[0];
  o.to = &shapes[1];
  o.permutation = j->is_transposed ? (const int32_t[]){1, 0} : NULL;
  CHECK(rlo_redistribution_create(&o, &j->plan) == RLO_OK);
  rlo_sharding_release(o.from_sharding);
  rlo_sharding_release(o.to_sharding);
  j->num_devices = is_cube ? 8 : NUM_RANKS;
  j->local_bytes =
      (is_cube ? j->size * j->size * j->size : j->n * j->n) * j->element_bytes / NUM_RANKS;
  j->src = aligned_alloc(4096, (size_t)j->local_bytes);
  j->dst = aligned_alloc(4096, (size_t)j->local_bytes);
  j->wanted = malloc((size_t)j->local_bytes);
  CHECK(j->src != NULL && j->dst != NULL && j->wanted != NULL);
}

static void fill(job *j) {
  uint32_t state = (uint32_t)rank + 1;
  for (int64_t k = 0; k < j->local_bytes; ++k) {
    state = state * 1664525 + 1013904223;
    /* No NaN of f64: pdtran computes. */
    j->src[k] = (unsigned char)(state >> 26);
  }
  memset(j->dst, 0, (size_t)j->local_bytes);
}

static int compare_doubles(const void *a, const void *b) {
  const double *left = a;
  const double *right = b;
  return (*left > *right) - (*left < *right);
}

static double run_once(const job *j, contestant *c) {
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime();
  c->run(j, c->state);
  seconds = MPI_Wtime() - seconds;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

static void run_job(job *j, contestant *all, int count, int rounds) {
  begin_job(j);
  for (int n = 0; n < count; ++n) {
    all[n].is_in = all[n].begin(j, &all[n].state);
  }
  fill(j);
  /* Once for each, to warm up and to compare. */
  for (int n = 0; n < count; ++n) {
    if (all[n].is_in) {
      memset(j->dst, 0, (size_t)j->local_bytes);
      (void)run_once(j, &all[n]);
      if (n == 0) {
        memcpy(j->wanted, j->dst, (size_t)j->local_bytes);
      }
      if (n != 1 && memcmp(j->wanted, j->dst, (size_t)j->local_bytes) != 0) {
        fprintf(stderr, "%s: %s differs\n", j->name, all[n].name);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  for (int round = 0; round < rounds; ++round) {
    for (int n = 0; n < count; ++n) {
      if (all[n].is_in) {
        all[n].seconds[round] = run_once(j, &all[n]);
      }
    }
  }
  double first = 0;
  for (int n = 0; n < count; ++n) {
    if (!all[n].is_in) {
      continue;
    }
    qsort(all[n].seconds, (size_t)rounds, sizeof all[n].seconds[0], compare_doubles);
    const double seconds = all[n].seconds[rounds / 2];
    first = n == 0 ? seconds : first;
    if (rank == 0) {
      printf("%-34s %-12s %9.3f ms %6.2f\n", n == 0 ? j->name : "", all[n].name, 1e3 * seconds,
             seconds / first);
    }
    all[n].end(all[n].state);
  }
  free(j->src);
  free(j->dst);
  free(j->wanted);
  rlo_redistribution_release(j->plan);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int num_ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  int rounds = argc > 1 ? atoi(argv[1]) : 15;
  message_bytes = argc > 2 ? atoll(argv[2]) : message_bytes;
  if (num_ranks != NUM_RANKS || rounds < 1 || rounds > MAX_ROUNDS) {
    if (rank == 0) {
      fprintf(stderr,
              "usage: mpirun -n %d relayout-mpi-bench [ROUNDS [MESSAGE_BYTES]], "
              "at most %d rounds\n",
              NUM_RANKS, MAX_ROUNDS);
    }
    MPI_Finalize();
    return 2;
  }
  static contestant all[MAX_CONTESTANTS] = {
      {.name = "relayout", ours_begin, ours_run, ours_end},
      {.name = "copy", copy_begin, copy_run, copy_end},
      {.name = "Alltoallw", alltoallw_begin, alltoallw_run, alltoallw_end},
#ifdef BENCH_HAS_FFTW_MPI
      {.name = "FFTW-MPI", fftw_begin, fftw_run, fftw_end},
#endif
#ifdef BENCH_HAS_SCALAPACK
      {.name = "ScaLAPACK", scalapack_begin, scalapack_run, scalapack_end},
#endif
  };
  int count = 0;
  while (count < MAX_CONTESTANTS && all[count].name != NULL) {
    ++count;
  }
#ifdef BENCH_HAS_FFTW_MPI
  fftw_mpi_init();
#endif
  static job jobs[] = {
      {.name = "f64 2048^2, rows to columns", 2048, false, "f64", 8},
      {.name = "f64 2048^2, transposed", 2048, true, "f64", 8},
      {.name = "f64 4096^2, rows to columns", 4096, false, "f64", 8},
      {.name = "f64 4096^2, transposed", 4096, true, "f64", 8},
      {.name = "bf16 4096^2, rows to columns", 4096, false, "bf16", 2},
      {.name = "bf16 4096^2, transposed", 4096, true, "bf16", 2},
      {.name = "f32 256^3, xla#15207, 8 devices", 0, false, "f32", 4, 256},
  };
  for (size_t n = 0; n < sizeof jobs / sizeof jobs[0]; ++n) {
    run_job(&jobs[n], all, count, rounds);
  }
  MPI_Finalize();
  return 0;
}
