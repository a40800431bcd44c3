/* SPDX-License-Identifier: Apache-2.0 */
/* XLA's protocol buffers of shapes in files. */
#include "describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "relayout/xla/proto.h"

#include "files.h"
#include "message.h"

/* The fields of the two messages differ in form, so that bytes of one are none
 * of the other, but for no bytes at all. */
static int parse(const char *path,
                 const void *bytes,
                 size_t size_bytes,
                 rlo__proto_contents *out) {
  rlo_status status = rlo_proto_parse_tree(bytes, size_bytes, &out->tree, NULL);
  if (status == RLO_OK) {
    return RLO__EXIT_OK;
  }
  out->tree = NULL;
  char why[512];
  snprintf(why, sizeof(why), "%s", rlo_error_last()->message);
  if (rlo_proto_parse_program(bytes, size_bytes, &out->program, NULL) ==
      RLO_OK) {
    return RLO__EXIT_OK;
  }
  out->program = NULL;
  return rlo__fail("%s holds no ShapeProto: %s; and no ProgramShapeProto: %s",
                   path,
                   why,
                   rlo_error_last()->message);
}

int rlo__proto_load(const char *path, rlo__proto_contents *out_contents) {
  *out_contents = (rlo__proto_contents){NULL, NULL};
  rlo__input_file file;
  int code = rlo__input_file_open(path, &file);
  if (code != RLO__EXIT_OK) {
    return code;
  }
  if (file.size_bytes > RLO_PROTO_MAX_BYTES) {
    code = rlo__fail("%s has %" PRId64 " bytes; a message has at most %d",
                     path,
                     file.size_bytes,
                     RLO_PROTO_MAX_BYTES);
  }
  size_t bytes = (size_t)file.size_bytes;
  void *memory = code == RLO__EXIT_OK ? malloc(bytes + 1) : NULL;
  if (code == RLO__EXIT_OK && memory == NULL) {
    code = rlo__fail("cannot get %zu bytes of memory for %s", bytes, path);
  }
  if (code == RLO__EXIT_OK) {
    code = rlo__input_file_read(&file, 0, memory, bytes);
  }
  rlo__input_file_close(&file);
  if (code == RLO__EXIT_OK) {
    code = parse(path, memory, bytes, out_contents);
  }
  free(memory);
  return code;
}

int rlo__proto_save(const char *path, const rlo__proto_contents *contents) {
  rlo_proto_options options = RLO_PROTO_OPTIONS_INIT;
  /* Without them a padded array could not be written. */
  options.has_padding_fields = true;
  size_t bytes = 0;
  void *memory = malloc(RLO_PROTO_MAX_BYTES);
  if (memory == NULL) {
    return rlo__fail("cannot get %d bytes of memory", RLO_PROTO_MAX_BYTES);
  }
  rlo_status status =
      contents->tree != NULL
          ? rlo_proto_format_tree(
                contents->tree, &options, memory, RLO_PROTO_MAX_BYTES, &bytes)
          : rlo_proto_format_program(contents->program,
                                     &options,
                                     memory,
                                     RLO_PROTO_MAX_BYTES,
                                     &bytes);
  const rlo__output output = {path, memory, bytes, NULL, 0};
  int code =
      status == RLO_OK ? rlo__outputs_write(&output, 1) : rlo__fail_last();
  free(memory);
  return code;
}
