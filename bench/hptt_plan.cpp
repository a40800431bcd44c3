/* SPDX-License-Identifier: Apache-2.0 */
#include "hptt_plan.h"

#include <hptt.h>

#include <exception>
#include <memory>

namespace {

struct Plan {
  std::shared_ptr<hptt::Transpose<float>> f32;
  std::shared_ptr<hptt::Transpose<double>> f64;
};

}  // namespace

void *bench_hptt_plan_create(const int *permutation,
                             int rank,
                             const int *dims,
                             int element_bytes,
                             const void *src,
                             void *dst,
                             int num_threads,
                             int is_measured) {
  const hptt::SelectionMethod method =
      is_measured != 0 ? hptt::MEASURE : hptt::ESTIMATE;
  try {
    std::unique_ptr<Plan> plan(new Plan);
    if (element_bytes == 4) {
      plan->f32 = hptt::create_plan(permutation,
                                    rank,
                                    1.0f,
                                    static_cast<const float *>(src),
                                    dims,
                                    nullptr,
                                    0.0f,
                                    static_cast<float *>(dst),
                                    nullptr,
                                    method,
                                    num_threads,
                                    nullptr,
                                    true);
    } else {
      plan->f64 = hptt::create_plan(permutation,
                                    rank,
                                    1.0,
                                    static_cast<const double *>(src),
                                    dims,
                                    nullptr,
                                    0.0,
                                    static_cast<double *>(dst),
                                    nullptr,
                                    method,
                                    num_threads,
                                    nullptr,
                                    true);
    }
    return plan.release();
  } catch (const std::exception &) {
    return nullptr;
  }
}

void bench_hptt_plan_execute(void *plan) {
  Plan *hptt_plan = static_cast<Plan *>(plan);
  if (hptt_plan->f32) {
    hptt_plan->f32->execute();
  } else {
    hptt_plan->f64->execute();
  }
}

void bench_hptt_plan_release(void *plan) {
  delete static_cast<Plan *>(plan);
}
