/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "display.h"
#include "progress.h"
#include "report.h"
#include "stream_inside.h"

/* The smaller one, of those that are not 0. */
static int64_t smaller(int64_t a, int64_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

void rlo__stream_add_info(const rlo_job_info *one, rlo_job_info *all) {
  all->num_passes = (int32_t)rlo__max(all->num_passes, one->num_passes);
  all->pieces_done += one->pieces_done;
  all->num_pieces += one->num_pieces;
  all->bytes_done += one->bytes_done;
  all->bytes_total += one->bytes_total;
  all->bytes_read += one->bytes_read;
  all->bytes_written += one->bytes_written;
  all->bytes_resumed += one->bytes_resumed;
  all->host_bytes_peak = rlo__max(all->host_bytes_peak, one->host_bytes_peak);
  all->device_bytes_peak =
      rlo__max(all->device_bytes_peak, one->device_bytes_peak);
  all->smallest_read = smaller(all->smallest_read, one->smallest_read);
  all->smallest_write = smaller(all->smallest_write, one->smallest_write);
  all->seconds += one->seconds;
  for (int stage = 0; stage < RLO_STAGE_COUNT; ++stage) {
    all->stage_seconds[stage] += one->stage_seconds[stage];
  }
}

static void add_estimate(rlo__report *r, const rlo_job_estimate *estimate) {
  rlo__bytes_text bytes;
  rlo__bytes_text run;
  rlo__report_line(r,
                   "passes",
                   "%d, of %" PRId64 " pieces together",
                   estimate->num_passes,
                   estimate->num_pieces);
  rlo__report_line(r,
                   "reads",
                   "%s, in runs of %s",
                   rlo__bytes_text_make(estimate->bytes_read, &bytes),
                   rlo__bytes_text_make(estimate->read_run_bytes, &run));
  rlo__report_line(r,
                   "writes",
                   "%s, in runs of %s",
                   rlo__bytes_text_make(estimate->bytes_written, &bytes),
                   rlo__bytes_text_make(estimate->write_run_bytes, &run));
  const bool is_on_device = estimate->device_bytes > 0;
  rlo__report_line(
      r,
      "memory",
      "%s%s%s%s",
      rlo__bytes_text_make(estimate->host_bytes, &bytes),
      is_on_device ? ", and " : "",
      is_on_device ? rlo__bytes_text_make(estimate->device_bytes, &run) : "",
      is_on_device ? " on each device" : "");
  rlo__report_line(
      r, "speed", "%.2f of a copy's expected", estimate->expected_fraction);
  RLO__REPORT(r,
              RLO__INT("num_passes", NULL, estimate->num_passes),
              RLO__INT("num_pieces", NULL, estimate->num_pieces),
              RLO__INT("bytes_read", NULL, estimate->bytes_read),
              RLO__INT("bytes_written", NULL, estimate->bytes_written),
              RLO__INT("read_run_bytes", NULL, estimate->read_run_bytes),
              RLO__INT("write_run_bytes", NULL, estimate->write_run_bytes),
              RLO__INT("host_bytes", NULL, estimate->host_bytes),
              RLO__INT("device_bytes", NULL, estimate->device_bytes),
              RLO__REAL("expected_fraction", estimate->expected_fraction));
}

static void report_info(rlo__report *r, const rlo_job_info *info) {
  RLO__REPORT(r,
              RLO__INT("num_passes", NULL, info->num_passes),
              RLO__INT("num_pieces", NULL, info->num_pieces),
              RLO__INT("bytes_read", NULL, info->bytes_read),
              RLO__INT("bytes_written", NULL, info->bytes_written),
              RLO__INT("bytes_resumed", NULL, info->bytes_resumed),
              RLO__INT("host_bytes_peak", NULL, info->host_bytes_peak),
              RLO__INT("device_bytes_peak", NULL, info->device_bytes_peak),
              RLO__INT("smallest_read", NULL, info->smallest_read),
              RLO__INT("smallest_write", NULL, info->smallest_write));
}

/* Begins an event, or without one the only report; "null" is a status that
 * there is none. */
static void begin(const rlo__stream *stream,
                  const char *event,
                  const char *status,
                  const rlo__stream_result *result,
                  rlo__report *r) {
  const bool has_status = stream->has_events && strcmp(event, "end") == 0;
  rlo__report_begin(r, stream->common->is_json, 7);
  RLO__REPORT(r,
              RLO__STRING(stream->has_events ? "event" : NULL, NULL, event),
              RLO__STRING(has_status ? "status" : NULL, NULL, status));
  stream->report(stream->payload, r, result);
}

void rlo__stream_print_plan(const rlo__stream *stream,
                            const rlo_job_estimate *estimate) {
  if (stream->has_events &&
      (stream->common->is_json || stream->options->is_dry_run)) {
    rlo__report r;
    begin(stream, "plan", NULL, NULL, &r);
    add_estimate(&r, estimate);
    rlo__report_end(&r);
    fflush(stdout);
  }
}

void rlo__stream_print_end(const rlo__stream *stream,
                           const rlo__stream_result *result,
                           bool is_done) {
  const bool has_status = is_done || result->status != RLO_OK;
  if (!is_done && !(stream->has_events && stream->common->is_json)) {
    return;
  }
  rlo__report r;
  begin(stream,
        "end",
        has_status ? rlo_status_name(result->status) : NULL,
        is_done ? result : NULL,
        &r);
  if (is_done && stream->has_events) {
    report_info(&r, &result->info);
  }
  rlo__report_end(&r);
}

void rlo__stream_progress_print(const rlo_job_info *info) {
  const bool is_known = info->seconds_left >= 0;
  rlo__report r;
  rlo__report_begin(&r, true, 0);
  RLO__REPORT(&r,
              RLO__STRING("event", NULL, "progress"),
              RLO__INT("pass", NULL, info->pass),
              RLO__INT("num_passes", NULL, info->num_passes),
              RLO__INT("bytes_done", NULL, info->bytes_done),
              RLO__INT("bytes_total", NULL, info->bytes_total),
              RLO__REAL("seconds", info->seconds),
              RLO__REAL("seconds_left",
                        is_known ? info->seconds_left : (double)INFINITY),
              RLO__STRING("waits_for", NULL, rlo__progress_bottleneck(info)));
  rlo__report_end(&r);
  fflush(stdout);
}
