/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_CLI_STREAM_VERIFY_H
#define RLO_CLI_STREAM_VERIFY_H

#include "stream_jobs.h"

/**
 * Runs the jobs of an output once more, on the host and into a storage that
 * compares what is written with the output. Prints the first byte that differs.
 * @param fd, offset_bytes  where the output's array begins in its part.
 * @param memory  the array, of an output without a part; else NULL.
 * @return RLO__EXIT_OK; RLO__EXIT_FAILURE after the message.
 */
int rlo__stream_verify(const rlo__stream *stream,
                       int32_t output,
                       int fd,
                       int64_t offset_bytes,
                       const void *memory);

#endif
