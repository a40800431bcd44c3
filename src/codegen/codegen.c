/* SPDX-License-Identifier: Apache-2.0 */
#include "codegen/codegen.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/str.h"
#include "codegen/kernel_sources.h"

#define NAME_SEED UINT64_C(0x6b65726e656c0001)

/* " -DNAME=v0,v1" for each constant, in the order of the launch. */
static void append_defines(rlo__str *out, const rlo__launch *launch) {
  for (int32_t d = 0; d < launch->num_defines; ++d) {
    const rlo__define *define = &launch->defines[d];
    rlo__str_printf(out, " -D%s=", define->name);
    for (int32_t k = 0; k < define->count; ++k) {
      rlo__str_printf(out,
                      "%s%" PRId64,
                      k == 0 ? "" : ",",
                      launch->numbers[define->first + k]);
    }
  }
}

/* Distinct programs have distinct kernel names; the name itself takes no part
 * in its hash. */
static void name_kernel(const rlo__launch *launch,
                        const rlo__kernel_source *source,
                        const char *defines,
                        rlo__program_spec *spec) {
  rlo__hash hash = rlo__hash_init(NAME_SEED);
  rlo__hash_u64(&hash, source->hash);
  rlo__hash_string(&hash, defines);
  rlo__str name = rlo__str_over(spec->kernel_name, sizeof spec->kernel_name);
  rlo__str_printf(&name,
                  "rlo_%s_%016" PRIx64,
                  launch->kernel_file,
                  rlo__hash_finish_u64(&hash));
}

rlo_status rlo__codegen_program(const rlo__launch *launch,
                                rlo__program_spec *out_spec) {
  memset(out_spec, 0, sizeof *out_spec);
  const rlo__kernel_source *source =
      rlo__kernel_source_find(launch->kernel_file);
  if (source == NULL) {
    return RLO_FAIL(RLO_INTERNAL,
                    "the kernel file %s.cl is not part of this library",
                    launch->kernel_file == NULL ? "?" : launch->kernel_file);
  }
  rlo__str defines = rlo__str_growing();
  append_defines(&defines, launch);
  rlo_status status = rlo__str_status(&defines);
  if (status != RLO_OK) {
    rlo__str_deinit(&defines);
    return status;
  }
  rlo__program_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.source = source->text;
  spec.source_bytes = source->text_bytes;
  name_kernel(launch, source, rlo__str_text(&defines), &spec);
  rlo__str options = rlo__str_growing();
  rlo__str_printf(&options,
                  "-cl-std=CL1.2 -DRLO_KERNEL=%s%s",
                  spec.kernel_name,
                  rlo__str_text(&defines));
  rlo__str_deinit(&defines);
  RLO_TRY(rlo__str_take(&options, &spec.options));
  *out_spec = spec;
  return RLO_OK;
}

uint64_t rlo__codegen_hash(const rlo__program_spec *spec) {
  rlo__hash hash = rlo__hash_init(UINT64_C(0x70726f6772616d));
  rlo__hash_u64(&hash, spec->source_bytes);
  rlo__hash_string(&hash, spec->options);
  rlo__hash_string(&hash, spec->kernel_name);
  return rlo__hash_finish_u64(&hash);
}

void rlo__codegen_deinit(rlo__program_spec *spec) {
  if (spec == NULL) {
    return;
  }
  rlo__free(spec->options);
  memset(spec, 0, sizeof *spec);
}
