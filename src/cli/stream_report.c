/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "display.h"
#include "progress.h"

void rlo__stream_estimate_report(rlo__report *r,
                                 const rlo_job_estimate *estimate) {
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

void rlo__stream_info_report(rlo__report *r, const rlo_job_info *info) {
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
