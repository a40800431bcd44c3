/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/context.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/status.h"
#include "codegen/codegen.h"

enum {
  /** A larger file is not wisdom, which has some hundred bytes per problem. */
  MAX_FILE_BYTES = 64 << 20
};

rlo_status rlo_context_import_wisdom(rlo_context *context, const char *text, size_t num_bytes,
                                     int32_t *out_taken, int32_t *out_ignored) {
  RLO_REQUIRE(context);
  RLO_REQUIRE_LIST(text, num_bytes);
  rlo__wisdom_count count = {0};
  rlo__rwlock_lock_write(&context->wisdom_lock);
  rlo_status status = rlo__wisdom_import(&context->wisdom, text, num_bytes, &count);
  rlo__rwlock_unlock(&context->wisdom_lock);
  rlo__plan_memo_clear(&context->memo);
  RLO_TRY(status);
  rlo__log(&context->log, RLO__LOG_INFO,
           "wisdom: %d records taken, %d of another device, driver or table ignored",
           (int)count.num_taken, (int)count.num_ignored);
  if (out_taken != NULL) {
    *out_taken = count.num_taken;
  }
  if (out_ignored != NULL) {
    *out_ignored = count.num_ignored;
  }
  return RLO_OK;
}

/** The lock is not part of the state that const protects. */
static rlo__rwlock *lock_of(const rlo_context *context) {
  return (rlo__rwlock *)(uintptr_t)&context->wisdom_lock;
}

size_t rlo_context_export_wisdom(const rlo_context *context, char *buffer, size_t capacity) {
  rlo__str text = rlo__str_over(buffer, capacity);
  rlo_status status = RLO_OK;
  if (context != NULL) {
    rlo__rwlock_lock_read(lock_of(context));
    status = rlo__wisdom_export(&context->wisdom, NULL, 0, &text);
    rlo__rwlock_unlock(lock_of(context));
  }
  return status == RLO_OK ? text.length : 0;
}

rlo_status rlo_context_load_wisdom(rlo_context *context, const char *path, int32_t *out_taken,
                                   int32_t *out_ignored) {
  RLO_REQUIRE(context, path);
  char *text = NULL;
  size_t num_bytes = 0;
  RLO_TRY(rlo__file_read(path, MAX_FILE_BYTES, &text, &num_bytes));
  rlo_status status = rlo_context_import_wisdom(context, text, num_bytes, out_taken, out_ignored);
  rlo__free(text);
  return status == RLO_PARSE ? rlo__status_prefix(status, "%s: ", path) : status;
}

rlo_status rlo_context_save_wisdom(rlo_context *context, const char *path) {
  RLO_REQUIRE(context, path);
  char *old = NULL;
  size_t old_bytes = 0;
  rlo_status status = rlo__file_read(path, MAX_FILE_BYTES, &old, &old_bytes);
  if (status != RLO_OK && status != RLO_NOT_FOUND) {
    return status;
  }
  rlo__str text = rlo__str_growing();
  rlo__rwlock_lock_read(&context->wisdom_lock);
  status = rlo__wisdom_export(&context->wisdom, old, old_bytes, &text);
  rlo__rwlock_unlock(&context->wisdom_lock);
  if (status == RLO_OK) {
    status = rlo__str_status(&text);
  } else if (status == RLO_PARSE) {
    status = rlo__status_prefix(status, "%s is not touched: ", path);
  }
  if (status == RLO_OK) {
    status = rlo__file_write(path, rlo__str_text(&text), text.length);
  }
  rlo__str_deinit(&text);
  rlo__free(old);
  return status;
}

void rlo_context_clear_wisdom(rlo_context *context) {
  if (context != NULL) {
    rlo__rwlock_lock_write(&context->wisdom_lock);
    rlo__wisdom_deinit(&context->wisdom);
    rlo__rwlock_unlock(&context->wisdom_lock);
    rlo__plan_memo_clear(&context->memo);
  }
}

rlo_status rlo_context_explain(rlo_context *context, const rlo_problem *problem,
                               const rlo_plan_options *options, int64_t src_alignment_bytes,
                               int64_t dst_alignment_bytes, rlo_plan_report **out_report) {
  RLO_REQUIRE(context, problem, out_report);
  rlo__rwlock_lock_read(&context->wisdom_lock);
  const rlo__plan_request request = {.device = &context->device_info,
                                     .options = options,
                                     .src_alignment_bytes = src_alignment_bytes,
                                     .dst_alignment_bytes = dst_alignment_bytes,
                                     .wisdom = &context->wisdom};
  rlo_status status = rlo__plan_report_create(problem, &request, out_report);
  rlo__rwlock_unlock(&context->wisdom_lock);
  return status;
}
