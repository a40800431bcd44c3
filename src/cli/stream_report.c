/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "display.h"
#include "progress.h"

void rlo__stream_estimate_keys(rlo__json *json,
                               const rlo_job_estimate *estimate) {
  rlo__json_int(json, "num_passes", estimate->num_passes);
  rlo__json_int(json, "num_pieces", estimate->num_pieces);
  rlo__json_int(json, "bytes_read", estimate->bytes_read);
  rlo__json_int(json, "bytes_written", estimate->bytes_written);
  rlo__json_int(json, "read_run_bytes", estimate->read_run_bytes);
  rlo__json_int(json, "write_run_bytes", estimate->write_run_bytes);
  rlo__json_int(json, "host_bytes", estimate->host_bytes);
  rlo__json_int(json, "device_bytes", estimate->device_bytes);
  rlo__json_double(json, "expected_fraction", estimate->expected_fraction);
}

void rlo__stream_estimate_print(const rlo_job_estimate *estimate) {
  rlo__bytes_text bytes;
  rlo__bytes_text run;
  printf("passes  %d, of %" PRId64 " pieces together\n",
         estimate->num_passes,
         estimate->num_pieces);
  printf("reads   %s, in runs of %s\n",
         rlo__bytes_text_make(estimate->bytes_read, &bytes),
         rlo__bytes_text_make(estimate->read_run_bytes, &run));
  printf("writes  %s, in runs of %s\n",
         rlo__bytes_text_make(estimate->bytes_written, &bytes),
         rlo__bytes_text_make(estimate->write_run_bytes, &run));
  printf("memory  %s", rlo__bytes_text_make(estimate->host_bytes, &bytes));
  if (estimate->device_bytes > 0) {
    printf(", and %s on each device",
           rlo__bytes_text_make(estimate->device_bytes, &bytes));
  }
  printf("\nspeed   %.2f of a copy's expected\n", estimate->expected_fraction);
}

void rlo__stream_info_keys(rlo__json *json, const rlo_job_info *info) {
  rlo__json_int(json, "num_passes", info->num_passes);
  rlo__json_int(json, "num_pieces", info->num_pieces);
  rlo__json_int(json, "bytes_read", info->bytes_read);
  rlo__json_int(json, "bytes_written", info->bytes_written);
  rlo__json_int(json, "bytes_resumed", info->bytes_resumed);
  rlo__json_int(json, "host_bytes_peak", info->host_bytes_peak);
  rlo__json_int(json, "device_bytes_peak", info->device_bytes_peak);
  rlo__json_int(json, "smallest_read", info->smallest_read);
  rlo__json_int(json, "smallest_write", info->smallest_write);
}

void rlo__stream_progress_print(const rlo_job_info *info) {
  rlo__json json = {0};
  rlo__json_begin_object(&json, NULL);
  rlo__json_string(&json, "event", "progress");
  rlo__json_int(&json, "pass", info->pass);
  rlo__json_int(&json, "num_passes", info->num_passes);
  rlo__json_int(&json, "bytes_done", info->bytes_done);
  rlo__json_int(&json, "bytes_total", info->bytes_total);
  rlo__json_double(&json, "seconds", info->seconds);
  if (info->seconds_left >= 0) {
    rlo__json_double(&json, "seconds_left", info->seconds_left);
  } else {
    rlo__json_string(&json, "seconds_left", NULL);
  }
  rlo__json_string(&json, "waits_for", rlo__progress_bottleneck(info));
  rlo__json_end_object(&json);
  fflush(stdout);
}
