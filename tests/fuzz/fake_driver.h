/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_FUZZ_FAKE_DRIVER_H
#define RLO_TESTS_FUZZ_FAKE_DRIVER_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * A driver that executes nothing slow. A program that is linked with
 * fake_driver.c, fake_objects.c and fake_queue.c calls their functions in place
 * of the loader's: one platform with a device of either class; compiling takes
 * any text; a command is kept until its queue is finished or flushed, or its
 * event is waited for, and then a kernel is a call of the program's. So an
 * object that is released too early, a stale argument or a command enqueued
 * twice is seen.
 *
 * It stops the program, loudly, where a caller breaks a rule of OpenCL that
 * drivers leave undefined: a handle of another kind, or one released.
 * Threads: one at a time.
 */

enum { FAKE_NUM_DEVICES = 2, FAKE_MAX_ALLOCATION_BYTES = 1 << 20 };

/** Runs a kernel: `memories` are its arguments that are buffers. */
typedef void (*fake_kernel_fn)(void *tag, const cl_mem *memories, int32_t num_memories);

/** Sets the function that runs kernels. */
void fake_driver_set_kernel(fake_kernel_fn run);

/** Sets the tag of the kernels that are enqueued from now on. */
void fake_driver_set_tag(void *tag);

/** Returns the device of a class: 0 for the CPU, 1 for the GPU. */
cl_device_id fake_driver_device(int32_t number);

/** Fails the call after `calls` others, and all that follow if `is_sticky`, but
 *  those that release; code 0: none. */
void fake_driver_fail(int32_t calls, cl_int code, bool is_sticky);

/** Returns the function that failed since fake_driver_fail, or NULL. Ends the
 *  failure. */
const char *fake_driver_end_failure(void);

/** Accepts the next command that is enqueued, and ends it with this code; 0: as
 *  it should. @return true if it will fail. */
bool fake_driver_fail_next_command(cl_int code);

/** Limits the work-items in a group, for kernels of programs that are built
 *  from now on; 0: as many as the device. */
void fake_driver_limit_groups(size_t items);

/** The contents of a buffer. */
unsigned char *fake_driver_memory(cl_mem buffer);

/** References to objects that are held by callers, and commands enqueued since
 *  the program began; -1: not known. */
int64_t fake_driver_live(void);
int64_t fake_driver_num_commands(void);

#endif
