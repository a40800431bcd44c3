/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program_build.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "base/thread.h"
#include "relayout/version.h"
#include "runtime/cl_error.h"
#include "runtime/device.h"

enum {
  /** A context of more devices stores no binaries. */
  MAX_DEVICES = 64,
  NUM_WORDS = 256
};

/* -------------------------------------------------------------------- PoCL */

/** Held while a binary is being read. Guards num_contexts. */
static rlo__mutex asking = RLO__MUTEX_INIT;
static int32_t num_contexts;

/** One bit per hash of a program, modulo the number of bits. */
static atomic_uint_least64_t built[NUM_WORDS];

void rlo__pocl_binary_count_contexts(int32_t by) {
  rlo__mutex_lock(&asking);
  num_contexts += by;
  rlo__mutex_unlock(&asking);
}

bool rlo__pocl_binary_begin_asking(void) {
  rlo__mutex_lock(&asking);
  bool is_alone = num_contexts == 1;
  if (!is_alone) {
    rlo__mutex_unlock(&asking);
  }
  return is_alone;
}

void rlo__pocl_binary_end_asking(void) {
  rlo__mutex_unlock(&asking);
}

bool rlo__pocl_binary_note(const rlo__program_spec *spec) {
  uint64_t place = rlo__codegen_hash(spec);
  uint64_t bit = UINT64_C(1) << (place % 64);
  return (atomic_fetch_or(&built[place / 64 % NUM_WORDS], bit) & bit) == 0;
}

/* ----------------------------------------------------------------- identity */

static rlo_status append_identity(rlo__str *out, cl_device_id device) {
  static const cl_platform_info of_platform[] = {CL_PLATFORM_NAME, CL_PLATFORM_VERSION};
  static const cl_device_info of_device[] = {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION,
                                             CL_DRIVER_VERSION};
  char text[1024] = "";
  cl_platform_id platform = NULL;
  cl_uint address_bits = 0;
  RLO_TRY(RLO_CL(clGetDeviceInfo, device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
  RLO_TRY(RLO_CL(clGetDeviceInfo, device, CL_DEVICE_ADDRESS_BITS, sizeof address_bits,
                 &address_bits, NULL));
  rlo__str_printf(out, "relayout " RLO_VERSION_STRING ", %u bits\n", (unsigned)address_bits);
  for (size_t n = 0; n < sizeof of_platform / sizeof of_platform[0]; ++n) {
    RLO_TRY(RLO_CL(clGetPlatformInfo, platform, of_platform[n], sizeof text - 1, text, NULL));
    rlo__str_printf(out, "%s\n", text);
  }
  for (size_t n = 0; n < sizeof of_device / sizeof of_device[0]; ++n) {
    RLO_TRY(RLO_CL(clGetDeviceInfo, device, of_device[n], sizeof text - 1, text, NULL));
    rlo__str_printf(out, "%s\n", text);
  }
  return RLO_OK;
}

rlo_status rlo__program_builder_init(rlo__program_builder *builder) {
  rlo__str identity = rlo__str_growing();
  rlo_status status = append_identity(&identity, builder->device);
  if (status != RLO_OK) {
    rlo__str_deinit(&identity);
    return status;
  }
  RLO_TRY(rlo__str_take(&identity, &builder->identity));
  builder->is_pocl = strstr(builder->identity, "Portable Computing Language") != NULL;
  builder->is_pocl_3_1 = builder->is_pocl && strstr(builder->identity, "PoCL 3.1") != NULL;
  if (builder->is_pocl) {
    rlo__pocl_binary_count_contexts(1);
  }
  return RLO_OK;
}

void rlo__program_builder_deinit(rlo__program_builder *builder) {
  if (builder->is_pocl) {
    rlo__pocl_binary_count_contexts(-1);
  }
  rlo__free(builder->identity);
}

static rlo_status make_key(const rlo__program_builder *builder, const rlo__program_spec *spec,
                           rlo__cache_key *out_key) {
  char source[RLO__DISK_CACHE_NAME_CHARS + 1];
  rlo__cache_key_print_hash(spec->source, spec->source_bytes, source);
  const char *const strings[] = {builder->identity, source, spec->options, spec->kernel_name};
  return rlo__cache_key_init(strings, sizeof strings / sizeof strings[0], out_key);
}

/* -------------------------------------------------------------- from source */

/** Sets the error of a failed build: the message quotes the first line of the
 *  log, the record holds all of it that fits. */
static rlo_status fail_build(const rlo__program_builder *builder, const rlo__program_spec *spec,
                             cl_program program, cl_int code) {
  size_t log_bytes = 0;
  (void)clGetProgramBuildInfo(program, builder->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &log_bytes);
  /* Zeros, should the second call fail. */
  char *log = rlo__alloc(log_bytes + 1);
  if (log != NULL) {
    (void)clGetProgramBuildInfo(program, builder->device, CL_PROGRAM_BUILD_LOG, log_bytes, log,
                                NULL);
  }
  const char *text = log != NULL ? log : "";
  text += strspn(text, " \t\r\n");
  char device_name[128];
  rlo__device_get_string(builder->device, CL_DEVICE_NAME, device_name, sizeof device_name);
  rlo_status status = rlo__status_fail_cl(
      RLO_BUILD_FAILED, "clBuildProgram", code, "kernel %s does not compile for %s (%s): %.*s",
      spec->kernel_name, device_name, rlo__cl_error_name(code), (int)strcspn(text, "\r\n"), text);
  if (log_bytes > 0 && log != NULL) {
    rlo__status_set_build_log(log, strlen(log));
  }
  rlo__free(log);
  return status;
}

static rlo_status compile_text(const rlo__program_builder *builder, const rlo__program_spec *spec,
                               const char *source, const char *options, cl_program *out_program) {
  cl_int code = CL_SUCCESS;
  *out_program = clCreateProgramWithSource(builder->context, 1, &source, NULL, &code);
  RLO_TRY(rlo__cl_error_check("clCreateProgramWithSource", code));
  code = clBuildProgram(*out_program, 1, &builder->device, options, NULL, NULL);
  if (code == CL_BUILD_PROGRAM_FAILURE || code == CL_COMPILE_PROGRAM_FAILURE ||
      code == CL_LINK_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS ||
      code == CL_COMPILER_NOT_AVAILABLE) {
    return fail_build(builder, spec, *out_program, code);
  }
  return rlo__cl_error_check("clBuildProgram", code);
}

/** Compiles a program. @param is_brief  with the declarations of cl/builtins.cl alone: clang's
 *  opencl-c.h, which PoCL includes, takes itself for included. */
static rlo_status compile(const rlo__program_builder *builder, const rlo__program_spec *spec,
                          bool is_brief, cl_program *out_program) {
  rlo__str options = rlo__str_growing();
  rlo__str source = rlo__str_growing();
  rlo__str_append(&options, spec->options);
  if (is_brief) {
    rlo__str_append(&options, " -D_OPENCL_H_ -DRLO_BUILTINS=1");
    rlo__str_append(&options, builder->is_pocl_3_1 ? " -DRLO_COMPILE_ONCE=1" : "");
    rlo__kernel_source_append(rlo__kernel_source_find("builtins"), &source);
  }
  if (spec->kernel != NULL) {
    rlo__kernel_source_append(spec->kernel, &source);
  }
  rlo__str_append_bytes(&source, spec->source, spec->source_bytes);
  rlo_status status = RLO_OK;
  RLO_TRY_GOTO(rlo__str_status(&options));
  RLO_TRY_GOTO(rlo__str_status(&source));
  status =
      compile_text(builder, spec, rlo__str_text(&source), rlo__str_text(&options), out_program);
fail:
  rlo__str_deinit(&source);
  rlo__str_deinit(&options);
  return status;
}

static rlo_status build_source(const rlo__program_builder *builder, const rlo__program_spec *spec,
                               cl_program *out_program) {
  if (builder->is_pocl && spec->kernel != NULL) {
    rlo_status status = compile(builder, spec, true, out_program);
    if (status != RLO_BUILD_FAILED) {
      return status;
    }
    /* Another PoCL's headers may differ. */
    rlo__log(builder->log, RLO__LOG_INFO, "all of OpenCL C is declared to kernel %s: %s",
             spec->kernel_name, rlo_error_last()->message);
    clReleaseProgram(*out_program);
  }
  return compile(builder, spec, false, out_program);
}

/* ---------------------------------------------------------------- from disk */

/** Builds a program from a binary and checks that it has the kernel. */
static rlo_status build_binary(const rlo__program_builder *builder, const char *kernel_name,
                               const rlo__disk_cache_found *found, cl_program *out_program) {
  cl_int code = CL_SUCCESS;
  cl_int binary_code = CL_SUCCESS;
  const unsigned char *payload = found->payload;
  *out_program = clCreateProgramWithBinary(builder->context, 1, &builder->device,
                                           &found->payload_bytes, &payload, &binary_code, &code);
  RLO_TRY(rlo__cl_error_check("clCreateProgramWithBinary", code));
  RLO_TRY(rlo__cl_error_check("clCreateProgramWithBinary", binary_code));
  RLO_TRY(RLO_CL(clBuildProgram, *out_program, 1, &builder->device, NULL, NULL, NULL));
  cl_kernel kernel = clCreateKernel(*out_program, kernel_name, &code);
  RLO_TRY(rlo__cl_error_check("clCreateKernel", code));
  clReleaseKernel(kernel);
  return RLO_OK;
}

/** Loads a program from the disk cache; NULL if there is none or the driver
 *  rejects it. */
static cl_program load(const rlo__program_builder *builder, const char *kernel_name,
                       const rlo__cache_key *key) {
  cl_program program = NULL;
  rlo__disk_cache_found found;
  if (rlo__disk_cache_load(builder->disk, key, &found) &&
      build_binary(builder, kernel_name, &found, &program) != RLO_OK) {
    rlo__disk_cache_reject(builder->disk, key, rlo_error_last()->message);
    if (program != NULL) {
      clReleaseProgram(program);
      program = NULL;
    }
  }
  rlo__free(found.data);
  return program;
}

/* ------------------------------------------------------------------ to disk */

/** Reads the binary for one device of several; the others have none.
 *  @param out_data  released with rlo__free. */
static rlo_status get_binary(const rlo__program_builder *builder, cl_program program,
                             uint8_t **out_data, size_t *out_bytes) {
  cl_device_id devices[MAX_DEVICES];
  size_t sizes[MAX_DEVICES] = {0};
  unsigned char *places[MAX_DEVICES] = {NULL};
  size_t list_bytes = 0;
  RLO_TRY(
      RLO_CL(clGetProgramInfo, program, CL_PROGRAM_DEVICES, sizeof devices, devices, &list_bytes));
  const size_t count = list_bytes / sizeof devices[0];
  size_t index = 0;
  while (index < count && devices[index] != builder->device) {
    ++index;
  }
  RLO_FAIL_IF(index == count, RLO_INTERNAL, "the program belongs to another device");
  RLO_TRY(RLO_CL(clGetProgramInfo, program, CL_PROGRAM_BINARY_SIZES, count * sizeof sizes[0], sizes,
                 NULL));
  RLO_FAIL_IF(sizes[index] == 0, RLO_UNSUPPORTED, "the driver returns no binary");
  uint8_t *data = rlo__alloc(sizes[index]);
  RLO_TRY_MEMORY(data);
  places[index] = data;
  rlo_status status = RLO_CL(clGetProgramInfo, program, CL_PROGRAM_BINARIES,
                             count * sizeof places[0], places, NULL);
  if (status != RLO_OK) {
    rlo__free(data);
    return status;
  }
  *out_data = data;
  *out_bytes = sizes[index];
  return RLO_OK;
}

static rlo_status store(const rlo__program_builder *builder, const rlo__cache_key *key,
                        cl_program program) {
  uint8_t *data = NULL;
  size_t bytes = 0;
  if (builder->is_pocl && !rlo__pocl_binary_begin_asking()) {
    return RLO_OK;
  }
  rlo_status status = get_binary(builder, program, &data, &bytes);
  if (builder->is_pocl) {
    rlo__pocl_binary_end_asking();
  }
  RLO_TRY(status);
  rlo__disk_cache_store(builder->disk, key, data, bytes);
  rlo__free(data);
  return RLO_OK;
}

/** Returns whether to store a program that was just built from source; `is_new`
 *  if no equal one was built before in this process. */
static bool is_to_be_stored(const rlo__program_builder *builder, rlo__build_priority priority,
                            bool is_new) {
  /* PoCL takes as long for the binary as for a first launch, and must not be
   * asked for the binary of a program that may be in flight. */
  return (!builder->is_pocl || (priority == RLO__BUILD_BACKGROUND && is_new)) &&
         rlo__disk_cache_is_usable(builder->disk);
}

rlo_status rlo__program_build(const rlo__program_builder *builder, const rlo__program_spec *spec,
                              rlo__build_priority priority, cl_program *out_program,
                              bool *out_is_from_disk) {
  const double begun = rlo__clock_seconds();
  const bool is_new = !builder->is_pocl || rlo__pocl_binary_note(spec);
  rlo__cache_key key = {0};
  *out_program = NULL;
  if (rlo__disk_cache_is_on(builder->disk)) {
    RLO_TRY(make_key(builder, spec, &key));
    *out_program = load(builder, spec->kernel_name, &key);
  }
  *out_is_from_disk = *out_program != NULL;
  rlo_status status = *out_is_from_disk ? RLO_OK : build_source(builder, spec, out_program);
  if (status == RLO_OK) {
    rlo__log(builder->log, RLO__LOG_DEBUG, "%s %s in %.1f ms: %s",
             *out_is_from_disk ? "loaded" : "built", spec->kernel_name,
             (rlo__clock_seconds() - begun) * 1e3, spec->options);
    if (!*out_is_from_disk && is_to_be_stored(builder, priority, is_new) &&
        store(builder, &key, *out_program) != RLO_OK) {
      rlo__log(builder->log, RLO__LOG_WARNING, "kernel %s is not stored on disk: %s",
               spec->kernel_name, rlo_error_last()->message);
    }
  }
  rlo__cache_key_deinit(&key);
  return status;
}
