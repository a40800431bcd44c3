/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cl_error.h"

#include <CL/cl_ext.h>

// clang-format off
/* The codes of OpenCL 1.2 and later, and those of the loader. By number,
 * because the 1.2 headers do not name the later ones. */
#define CL_ERROR_TABLE(row)                      \
  row(0, CL_SUCCESS)                             \
  row(-1, CL_DEVICE_NOT_FOUND)                   \
  row(-2, CL_DEVICE_NOT_AVAILABLE)               \
  row(-3, CL_COMPILER_NOT_AVAILABLE)             \
  row(-4, CL_MEM_OBJECT_ALLOCATION_FAILURE)      \
  row(-5, CL_OUT_OF_RESOURCES)                   \
  row(-6, CL_OUT_OF_HOST_MEMORY)                 \
  row(-7, CL_PROFILING_INFO_NOT_AVAILABLE)       \
  row(-8, CL_MEM_COPY_OVERLAP)                   \
  row(-9, CL_IMAGE_FORMAT_MISMATCH)              \
  row(-10, CL_IMAGE_FORMAT_NOT_SUPPORTED)        \
  row(-11, CL_BUILD_PROGRAM_FAILURE)             \
  row(-12, CL_MAP_FAILURE)                       \
  row(-13, CL_MISALIGNED_SUB_BUFFER_OFFSET)      \
  row(-14, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) \
  row(-15, CL_COMPILE_PROGRAM_FAILURE)           \
  row(-16, CL_LINKER_NOT_AVAILABLE)              \
  row(-17, CL_LINK_PROGRAM_FAILURE)              \
  row(-18, CL_DEVICE_PARTITION_FAILED)           \
  row(-19, CL_KERNEL_ARG_INFO_NOT_AVAILABLE)     \
  row(-30, CL_INVALID_VALUE)                     \
  row(-31, CL_INVALID_DEVICE_TYPE)               \
  row(-32, CL_INVALID_PLATFORM)                  \
  row(-33, CL_INVALID_DEVICE)                    \
  row(-34, CL_INVALID_CONTEXT)                   \
  row(-35, CL_INVALID_QUEUE_PROPERTIES)          \
  row(-36, CL_INVALID_COMMAND_QUEUE)             \
  row(-37, CL_INVALID_HOST_PTR)                  \
  row(-38, CL_INVALID_MEM_OBJECT)                \
  row(-39, CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)   \
  row(-40, CL_INVALID_IMAGE_SIZE)                \
  row(-41, CL_INVALID_SAMPLER)                   \
  row(-42, CL_INVALID_BINARY)                    \
  row(-43, CL_INVALID_BUILD_OPTIONS)             \
  row(-44, CL_INVALID_PROGRAM)                   \
  row(-45, CL_INVALID_PROGRAM_EXECUTABLE)        \
  row(-46, CL_INVALID_KERNEL_NAME)               \
  row(-47, CL_INVALID_KERNEL_DEFINITION)         \
  row(-48, CL_INVALID_KERNEL)                    \
  row(-49, CL_INVALID_ARG_INDEX)                 \
  row(-50, CL_INVALID_ARG_VALUE)                 \
  row(-51, CL_INVALID_ARG_SIZE)                  \
  row(-52, CL_INVALID_KERNEL_ARGS)               \
  row(-53, CL_INVALID_WORK_DIMENSION)            \
  row(-54, CL_INVALID_WORK_GROUP_SIZE)           \
  row(-55, CL_INVALID_WORK_ITEM_SIZE)            \
  row(-56, CL_INVALID_GLOBAL_OFFSET)             \
  row(-57, CL_INVALID_EVENT_WAIT_LIST)           \
  row(-58, CL_INVALID_EVENT)                     \
  row(-59, CL_INVALID_OPERATION)                 \
  row(-60, CL_INVALID_GL_OBJECT)                 \
  row(-61, CL_INVALID_BUFFER_SIZE)               \
  row(-62, CL_INVALID_MIP_LEVEL)                 \
  row(-63, CL_INVALID_GLOBAL_WORK_SIZE)          \
  row(-64, CL_INVALID_PROPERTY)                  \
  row(-65, CL_INVALID_IMAGE_DESCRIPTOR)          \
  row(-66, CL_INVALID_COMPILER_OPTIONS)          \
  row(-67, CL_INVALID_LINKER_OPTIONS)            \
  row(-68, CL_INVALID_DEVICE_PARTITION_COUNT)    \
  row(-69, CL_INVALID_PIPE_SIZE)                 \
  row(-70, CL_INVALID_DEVICE_QUEUE)              \
  row(-71, CL_INVALID_SPEC_ID)                   \
  row(-72, CL_MAX_SIZE_RESTRICTION_EXCEEDED)     \
  row(-1001, CL_PLATFORM_NOT_FOUND_KHR)

// clang-format on

const char *rlo__cl_error_name(cl_int code) {
  switch (code) {
#define CL_ERROR_CASE(number, name) \
  case number:                      \
    return #name;
    CL_ERROR_TABLE(CL_ERROR_CASE)
#undef CL_ERROR_CASE
    default:
      return "an unknown code";
  }
}

rlo_status rlo__cl_error_check(const char *cl_call, cl_int code) {
  if (code == CL_SUCCESS) {
    return RLO_OK;
  }
  if (code == CL_PLATFORM_NOT_FOUND_KHR) {
    RLO_TRY(rlo_opencl_load(NULL, NULL));
  }
  bool is_memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                   code == CL_OUT_OF_HOST_MEMORY;
  return rlo__status_fail_cl(is_memory ? RLO_OUT_OF_MEMORY : RLO_DEVICE, cl_call, code,
                             "%s failed with %s (%d)", cl_call, rlo__cl_error_name(code),
                             (int)code);
}
