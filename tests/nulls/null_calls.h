/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_NULLS_NULL_CALLS_H
#define RLO_TESTS_NULLS_NULL_CALLS_H

#include "relayout/backend.h"
#include "relayout/batch_opencl.h"
#include "relayout/digest.h"
#include "relayout/dlpack.h"
#include "relayout/engine.h"
#include "relayout/engine_opencl.h"
#include "relayout/engine_ops.h"
#include "relayout/exchange.h"
#include "relayout/gradient.h"
#include "relayout/index.h"
#include "relayout/kernel.h"
#include "relayout/launch.h"
#include "relayout/npy.h"
#include "relayout/profile.h"
#include "relayout/quantize.h"
#include "relayout/recipe.h"
#include "relayout/redistribution.h"
#include "relayout/relayout.h"
#include "relayout/safetensors.h"
#include "relayout/scope.h"
#include "relayout/service.h"
#include "relayout/storage_opencl.h"
#include "relayout/xla/bitcast.h"
#include "relayout/xla/pjrt.h"
#include "relayout/xla/proto.h"
#include "relayout/xla/shape_util.h"
#include "relayout/xla/text.h"

enum { ROOMS = 9, ROOM_BYTES = 32768 };

/** Arguments of a call: f32[2,3] and what belongs to it, and zeros. */
typedef struct objects {
  rlo_shape shape, ids_shape;
  rlo_problem problem;
  rlo_address_map map;
  rlo_chain *chain;
  rlo_problem_list *problems;
  rlo_segment_sum *segment_sum;
  rlo_sharding *sharding;
  rlo_redistribution *redistribution;
  rlo_exchange *exchange;
  rlo_engine *engine;
  rlo_tensor *tensor, *tensors[2];
  rlo_tape *tape;
  void *pointers[4];
  _Alignas(64) unsigned char zeros[ROOM_BYTES];
  _Alignas(64) unsigned char rooms[ROOMS][ROOM_BYTES];
} objects;

/** Room for the result that parameter `place` points to: zeros. */
void *room(objects *o, int place);

/** Stands for a function of the caller's. */
void not_called(void);
/** Returns its first tensor. */
rlo_status take_first(rlo_engine *engine, rlo_tensor *const *xs, int32_t count, rlo_tensor **out_y,
                      void *payload);

/** The result of a call: a status, or another value. */
typedef struct answer {
  rlo_status status;
  int64_t value;
} answer;

/** A pointer that is NULL in a call; "xs[0]" is the entry of a list. */
typedef struct null_case {
  const char *name;
  /** The status of a function that returns one, with a part of its message;
   *  RLO_OK: NULL is legal, and no failure has that part. */
  rlo_status status;
  const char *sentence;
  /** The value of another function, unless any will do. */
  bool is_any;
  int64_t value;
} null_case;

typedef struct null_function {
  const char *name;
  /** Calls it with case number `null` NULL. */
  void (*call)(objects *o, int null, answer *a);
  const null_case *cases;
  int num_cases;
  bool has_status;
} null_function;

extern const null_function null_functions[];
extern const int null_num_functions;

#endif
