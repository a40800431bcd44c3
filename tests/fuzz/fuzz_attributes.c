/* SPDX-License-Identifier: Apache-2.0 */
/* memfd_create is no part of POSIX 2008. */
#define _GNU_SOURCE
#include "memory_file.h"
#include "message.h"
#include "op.h"
#include "relayout/engine.h"
#include "relayout/kernel.h"
#include "relayout/text.h"

enum { MAX_INPUTS = 4, MAX_OUTPUTS = 8, MAX_TEXTS = 20, LINE_BYTES = 4096 };

/* Takes a line, terminated and cut to fit. */
static void take_line(fuzz_reader *reader, char line[LINE_BYTES]) {
  const uint8_t *end = reader->size > 0 ? memchr(reader->data, '\n', reader->size) : NULL;
  size_t whole = end != NULL ? (size_t)(end - reader->data) : reader->size;
  size_t length = whole < LINE_BYTES - 1 ? whole : LINE_BYTES - 1;
  if (length > 0) {
    memcpy(line, reader->data, length);
  }
  line[length] = '\0';
  whole += end != NULL;
  reader->data += whole;
  reader->size -= whole;
}

/* Shapes of the inputs, between blanks. */
static int32_t take_inputs(char *line, rlo_shape inputs[MAX_INPUTS]) {
  int32_t count = 0;
  char *rest = NULL;
  for (char *word = strtok_r(line, " ", &rest); word != NULL && count < MAX_INPUTS;
       word = strtok_r(NULL, " ", &rest)) {
    count += rlo_shape_parse(word, strlen(word), &inputs[count]) == RLO_OK;
  }
  return count;
}

/* The results of an operation have shapes that are right. */
static void check_operation(rlo_engine *engine, const char *name, const rlo__op_attributes *given,
                            const rlo_shape *inputs, int32_t num_inputs) {
  const rlo_shape *pointers[MAX_INPUTS] = {0};
  static rlo_shape outputs[MAX_OUTPUTS];
  int32_t count = 0;
  for (int32_t n = 0; n < num_inputs; ++n) {
    pointers[n] = &inputs[n];
  }
  if (rlo_infer_kernel(engine, name, pointers, num_inputs, &given->list, outputs, MAX_OUTPUTS,
                       &count) == RLO_OK) {
    for (int32_t n = 0; n < count && n < MAX_OUTPUTS; ++n) {
      fuzz_check_shape(&outputs[n]);
    }
  }
}

/*
 * An operation as `relayout op` takes it: its name, the shapes of its inputs
 * and its attributes, a line each; of the attributes "NAME=VALUE" lines, or
 * JSON from a '{' on.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char messages[1 << 16];
  static char line[LINE_BYTES];
  static rlo_shape inputs[MAX_INPUTS];
  static rlo_engine *engine;
  messages[0] = '\0';
  rlo__message_hold(messages, sizeof(messages));
  FUZZ_CHECK(engine != NULL || rlo_engine_create(NULL, &engine) == RLO_OK);
  fuzz_reader reader = {data, size};
  rlo_kernel_config kernel;
  take_line(&reader, line);
  if (rlo__op_catalog_find(engine, line, &kernel) != RLO__EXIT_OK) {
    return 0;
  }
  take_line(&reader, line);
  int32_t num_inputs = take_inputs(line, inputs);
  rlo__op_attributes attributes;
  int code = RLO__EXIT_OK;
  if (reader.size > 0 && reader.data[0] == '{') {
    memory_file file = memory_file_make(reader.data, reader.size);
    const rlo__text_list none = {0};
    code = rlo__op_attributes_read(&kernel, file.path, &none, &attributes);
    memory_file_close(&file);
  } else {
    static char lines[MAX_TEXTS][LINE_BYTES];
    const char *texts[MAX_TEXTS];
    rlo__text_list list = {.texts = texts};
    while (reader.size > 0 && list.count < MAX_TEXTS) {
      take_line(&reader, lines[list.count]);
      texts[list.count] = lines[list.count];
      ++list.count;
    }
    code = rlo__op_attributes_read(&kernel, NULL, &list, &attributes);
  }
  FUZZ_CHECK(code == RLO__EXIT_OK || messages[0] != '\0');
  if (code == RLO__EXIT_OK) {
    for (int32_t n = 0; n < attributes.list.count; ++n) {
      FUZZ_CHECK(attributes.items[n].name != NULL);
    }
    check_operation(engine, kernel.kernel_name, &attributes, inputs, num_inputs);
  }
  rlo__op_attributes_deinit(&attributes);
  return 0;
}
