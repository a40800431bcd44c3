/* SPDX-License-Identifier: Apache-2.0 */
/* Stable: changes only with the major version. */
#ifndef RELAYOUT_RELAYOUT_H
#define RELAYOUT_RELAYOUT_H

/*
 * relayout moves tensors between memory layouts on OpenCL devices.
 *
 * This header includes the stable part of the interface but for opencl.h, which
 * needs OpenCL's headers. The data flow: a text or a struct makes an rlo_shape
 * (shape.h, text.h); an operation or a chain of operations lowers shapes to an
 * rlo_problem (ops.h, chain.h, problem.h); a device plans the problem (plan.h)
 * and runs it (opencl.h). rlo_run_host runs it without a device.
 *
 * The other headers are experimental and are included by name: file formats and
 * interchange (npy.h, dlpack.h), strides, permutations and comparisons (strides.h,
 * permutation.h, compare.h), digests of arrays (digest.h), jobs on arrays
 * larger than memory (service.h, storage.h), the engine for tensors, kernels and
 * gradients (engine.h and what it includes), and XLA's tools for shapes, layouts,
 * trees of them and their messages (xla/).
 *
 * Statuses: every function that can fail returns an rlo_status;
 * rlo_error_last()->message holds the sentence that belongs to a failure.
 */

#include "relayout/cache.h"
#include "relayout/chain.h"
#include "relayout/context.h"
#include "relayout/dtype.h"
#include "relayout/export.h"
#include "relayout/index.h"
#include "relayout/layout.h"
#include "relayout/ops.h"
#include "relayout/plan.h"
#include "relayout/problem.h"
#include "relayout/shape.h"
#include "relayout/status.h"
#include "relayout/text.h"
#include "relayout/version.h"

#endif
