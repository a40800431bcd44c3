/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array that eight devices hold by one sharding is brought to another one:
 * the case of openxla/xla#15207, which XLA replicates. The ranks of MPI share
 * the devices; each has an OpenCL device, in which its parts of the array are.
 *
 *     mpicc redistribute_mpi.c $(pkg-config --cflags --libs relayout-mpi OpenCL)
 *     mpirun -n 4 ./a.out
 */
#include <relayout/mpi.h>
#include <relayout/relayout.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_DEVICES = 8, SIZE = 16 };

static const char text[] = "f32[16,16,16]";
static const char from_text[] = "{devices=[2,1,4]<=[4,2]T(1,0)}";
static const char to_text[] = "{devices=[1,8,1]<=[8]}";

static void check(rlo_status status) {
  if (status != RLO_OK) {
    fprintf(stderr, "%s: %s\n", rlo_status_name(status), rlo_error_last()->message);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
}

static void check_cl(cl_int code) {
  if (code != CL_SUCCESS) {
    fprintf(stderr, "OpenCL: %d\n", (int)code);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
}

/* The part of a device: element (i,j,k) of the array is its number. */
static int32_t fill(const rlo_box *box, float *out_values) {
  int32_t count = 0;
  for (int64_t i = box->start[0]; i < box->limit[0]; ++i) {
    for (int64_t j = box->start[1]; j < box->limit[1]; ++j) {
      for (int64_t k = box->start[2]; k < box->limit[2]; ++k) {
        out_values[count++] = (float)((i * SIZE + j) * SIZE + k);
      }
    }
  }
  return count;
}

static float values[SIZE * SIZE * SIZE];
static float wanted[SIZE * SIZE * SIZE];

/* Tells if a device holds its part by a sharding. */
static int is_right(cl_command_queue queue, cl_mem buffer, const rlo_sharding *sharding,
                    const rlo_shape *shape, int64_t device) {
  rlo_box box;
  check(rlo_sharding_get_box(sharding, shape, device, &box));
  size_t bytes = (size_t)fill(&box, wanted) * sizeof(float);
  check_cl(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, values, 0, NULL, NULL));
  return memcmp(values, wanted, bytes) == 0;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int num_ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  rlo_context *context;
  check(rlo_context_create_default(-1, NULL, &context));
  cl_int code;
  cl_command_queue queue = clCreateCommandQueue(rlo_context_cl_context(context),
                                                rlo_context_cl_device(context), 0, &code);
  check_cl(code);

  // [snippet redistribute_mpi]
  /* The plan is the same on all ranks, which need not talk about it. */
  rlo_shape shape;
  rlo_sharding *from;
  rlo_sharding *to;
  check(rlo_shape_parse(text, strlen(text), &shape));
  check(rlo_sharding_parse(from_text, strlen(from_text), &from));
  check(rlo_sharding_parse(to_text, strlen(to_text), &to));
  rlo_redistribution_options what = RLO_REDISTRIBUTION_OPTIONS_INIT;
  what.from = &shape;
  what.to = &shape;
  what.from_sharding = from;
  what.to_sharding = to;
  rlo_redistribution *plan;
  check(rlo_redistribution_create(&what, &plan));

  rlo_mpi_link_options ranks = RLO_MPI_LINK_OPTIONS_INIT;
  ranks.devices_per_rank = (NUM_DEVICES - 1) / num_ranks + 1;
  rlo_mpi_link *link;
  check(rlo_mpi_link_create(MPI_COMM_WORLD, &ranks, &link));

  /* This rank's devices, and their parts of the array. */
  rlo_exchange_member members[NUM_DEVICES];
  rlo_exchange_memory memories[NUM_DEVICES] = {{0}};
  int64_t num_members = 0;
  for (int64_t device = rank * ranks.devices_per_rank;
       device < (rank + 1) * ranks.devices_per_rank && device < NUM_DEVICES; ++device) {
    rlo_exchange_memory *memory = &memories[num_members];
    members[num_members++] = (rlo_exchange_member){device, context, queue};
    rlo_box box;
    check(rlo_sharding_get_box(from, &shape, device, &box));
    int64_t bytes = fill(&box, values) * (int64_t)sizeof(float);
    check(rlo_buffer_create(context, bytes, &memory->src));
    check(rlo_buffer_create(context, bytes, &memory->dst));
    check_cl(
        clEnqueueWriteBuffer(queue, memory->src, CL_TRUE, 0, (size_t)bytes, values, 0, NULL, NULL));
  }

  /* Made once, run as often as the array changes. */
  rlo_exchange_options options = RLO_EXCHANGE_OPTIONS_INIT;
  options.plan = plan;
  options.link = rlo_mpi_link_get(link);
  options.members = members;
  options.num_members = num_members;
  rlo_exchange *exchange;
  check(rlo_exchange_create(&options, &exchange));
  check(rlo_exchange_run(exchange, memories));
  // [/snippet]

  rlo_exchange_info info = RLO_EXCHANGE_INFO_INIT;
  check(rlo_exchange_get_info(exchange, &info));
  rlo_redistribution_cost cost = RLO_REDISTRIBUTION_COST_INIT;
  check(rlo_redistribution_measure(plan, &cost));
  int64_t mine[3] = {info.messages_sent, info.bytes_sent, 0};
  int64_t all[3];
  for (int64_t k = 0; k < num_members; ++k) {
    int64_t device = members[k].device;
    mine[2] += is_right(queue, memories[k].dst, to, &shape, device);
    rlo_buffer_release(context, memories[k].src);
    rlo_buffer_release(context, memories[k].dst);
  }
  MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  int is_good =
      all[0] == cost.num_messages && all[1] == cost.least_bytes_sent && all[2] == NUM_DEVICES;
  if (rank == 0) {
    printf("%s from %s\n  to %s\n", text, from_text, to_text);
    printf("%d devices on %d ranks\n", NUM_DEVICES, num_ranks);
    printf("messages       %4lld\n", (long long)all[0]);
    printf("bytes sent    %5lld, the least is %lld; replicating sends %lld\n", (long long)all[1],
           (long long)cost.least_bytes_sent, (long long)cost.replicate_bytes_sent);
    printf("right devices  %4lld\n%s\n", (long long)all[2], is_good ? "ok" : "FAILED");
  }
  rlo_exchange_release(exchange);
  rlo_mpi_link_release(link);
  rlo_redistribution_release(plan);
  rlo_sharding_release(from);
  rlo_sharding_release(to);
  clReleaseCommandQueue(queue);
  rlo_context_release(context);
  MPI_Finalize();
  return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
