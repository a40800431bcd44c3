/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_RUNTIME_CL_ERROR_H
#define RLO_RUNTIME_CL_ERROR_H

#include "base/status.h"
#include "relayout/opencl.h"

/** The name of an OpenCL error code, "CL_OUT_OF_RESOURCES"; "an unknown code"
 *  for any other number. Static. */
const char *rlo__cl_error_name(cl_int code);

/**
 * Converts the result of an OpenCL call into a status: RLO_OK for CL_SUCCESS;
 * RLO_OUT_OF_MEMORY for the three codes by which drivers report, at any call
 * and often late, that memory ran out; RLO_NOT_FOUND where there is no OpenCL;
 * RLO_DEVICE for every other code.
 * @param cl_call  static.
 */
RLO_NODISCARD rlo_status rlo__cl_error_check(const char *cl_call, cl_int code);

/** Calls a function that returns a cl_int: RLO_TRY(RLO_CL(clFlush, queue)); */
#define RLO_CL(function, ...) rlo__cl_error_check(#function, function(__VA_ARGS__))

#endif
