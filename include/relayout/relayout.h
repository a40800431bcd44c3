/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RELAYOUT_RELAYOUT_H
#define RELAYOUT_RELAYOUT_H

/*
 * relayout moves tensors between memory layouts on OpenCL devices.
 *
 * The way of the data: a text or a struct makes an rlo_shape (shape.h, text.h);
 * an operation lowers two shapes to an rlo_problem (ops.h, problem.h); a device
 * plans the problem (plan.h) and runs it (opencl.h, which is not included here
 * because it needs OpenCL's headers). rlo_problem_run_host runs it without any
 * device. An engine (engine.h) does all of that for tensors, with kernels that
 * can be added and replaced; what of it needs OpenCL is in engine_opencl.h.
 *
 * Statuses: every function that can fail returns an rlo_status; the sentence
 * that goes with a failure is rlo_error_last()->message.
 */

#include "relayout/arithmetic.h"
#include "relayout/attributes.h"
#include "relayout/backend.h"
#include "relayout/bitcast.h"
#include "relayout/cache.h"
#include "relayout/chain.h"
#include "relayout/cost.h"
#include "relayout/dlpack.h"
#include "relayout/dtype.h"
#include "relayout/engine.h"
#include "relayout/engine_ops.h"
#include "relayout/equality.h"
#include "relayout/export.h"
#include "relayout/gradient.h"
#include "relayout/index.h"
#include "relayout/index_map.h"
#include "relayout/indexed.h"
#include "relayout/kernel.h"
#include "relayout/layout.h"
#include "relayout/layout_edit.h"
#include "relayout/npy.h"
#include "relayout/ops.h"
#include "relayout/ops_block.h"
#include "relayout/ops_combine.h"
#include "relayout/permutation.h"
#include "relayout/pjrt.h"
#include "relayout/plan.h"
#include "relayout/problem.h"
#include "relayout/program_shape.h"
#include "relayout/reshape.h"
#include "relayout/shape.h"
#include "relayout/shape_convert.h"
#include "relayout/shape_edit.h"
#include "relayout/shape_query.h"
#include "relayout/shape_tree.h"
#include "relayout/status.h"
#include "relayout/strides.h"
#include "relayout/tape.h"
#include "relayout/tensor.h"
#include "relayout/text.h"
#include "relayout/wisdom.h"

#endif
