/* SPDX-License-Identifier: Apache-2.0 */
/* The default device in place of the fake driver: no call fails, and kernels
 * run as they are. */
#include "fake_driver.h"

#include <stdlib.h>

void fake_driver_set_kernel(fake_kernel_fn run) {
  (void)run;
}

void fake_driver_set_tag(void *tag) {
  (void)tag;
}

cl_device_id fake_driver_device(int32_t number) {
  (void)number;
  cl_platform_id platform = NULL;
  cl_device_id device = NULL;
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
    abort();
  }
  return device;
}

void fake_driver_fail(int32_t calls, cl_int code, bool is_sticky) {
  (void)calls;
  (void)code;
  (void)is_sticky;
}

const char *fake_driver_end_failure(void) {
  return NULL;
}

bool fake_driver_fail_next_command(cl_int code) {
  (void)code;
  return false;
}

void fake_driver_limit_groups(size_t items) {
  (void)items;
}

unsigned char *fake_driver_memory(cl_mem buffer) {
  (void)buffer;
  return NULL;
}

int64_t fake_driver_live(void) {
  return 0;
}

int64_t fake_driver_num_commands(void) {
  return -1;
}
