/* SPDX-License-Identifier: Apache-2.0 */
#include "model_case.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t source_salt = UINT64_C(0x736f757263650000);
static const uint64_t prefill_salt = UINT64_C(0x70726566696c6c00);

static uint64_t mix(uint64_t n) {
  n += UINT64_C(0x9e3779b97f4a7c15);
  n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
  return n ^ (n >> 31);
}

static uint8_t pattern_byte(uint64_t word, size_t byte) {
  return (uint8_t)(word >> (8 * (byte % 8)));
}

static void fill_pattern(uint64_t salt, uint8_t *bytes, size_t num_bytes) {
  uint64_t word = 0;
  for (size_t k = 0; k < num_bytes; ++k) {
    if (k % 8 == 0) {
      word = mix(salt + k / 8);
    }
    bytes[k] = pattern_byte(word, k);
  }
}

void model_fill_source(uint8_t *bytes, size_t num_bytes) {
  fill_pattern(source_salt, bytes, num_bytes);
}

void model_fill_prefill(uint8_t *bytes, size_t num_bytes) {
  fill_pattern(prefill_salt, bytes, num_bytes);
}

void model_fill_indices(uint8_t *bytes,
                        size_t num_bytes,
                        size_t index_bytes,
                        int64_t limit) {
  for (size_t k = 0; (k + 1) * index_bytes <= num_bytes; ++k) {
    uint64_t number = mix(UINT64_C(0x696e646963657300) + k);
    int64_t wide = (int64_t)(number % ((uint64_t)limit + 3)) - 1;
    if (wide == limit + 1) {
      wide = index_bytes == 8 ? (INT64_C(1) << 32) + 1 : INT32_MIN;
    }
    int32_t narrow = (int32_t)wide;
    memcpy(bytes + k * index_bytes,
           index_bytes == 8 ? (const void *)&wide : (const void *)&narrow,
           index_bytes);
  }
}

bool model_is_source(const uint8_t *bytes, size_t num_bytes) {
  uint64_t word = 0;
  for (size_t k = 0; k < num_bytes; ++k) {
    if (k % 8 == 0) {
      word = mix(source_salt + k / 8);
    }
    if (bytes[k] != pattern_byte(word, k)) {
      return false;
    }
  }
  return true;
}

uint64_t model_hash(uint64_t hash, const uint8_t *bytes, size_t num_bytes) {
  for (size_t k = 0; k < num_bytes; ++k) {
    hash = (hash ^ bytes[k]) * UINT64_C(0x100000001b3);
  }
  return hash;
}

bool model_file_open(model_file *file, const char *path) {
  *file = (model_file){0};
  file->stream = fopen(path, "r");
  if (file->stream == NULL) {
    fprintf(stderr, "%s: cannot be read\n", path);
    return false;
  }
  if (getline(&file->shown, &file->shown_capacity_bytes, file->stream) < 0 ||
      sscanf(file->shown,
             "# seed %" SCNd64 " lines %" SCNd64,
             &file->seed,
             &file->num_lines) != 2) {
    fprintf(stderr, "%s: no head line with seed and number of lines\n", path);
    model_file_close(file);
    return false;
  }
  return true;
}

void model_file_close(model_file *file) {
  if (file->stream != NULL) {
    (void)fclose(file->stream);
  }
  free(file->line);
  free(file->shown);
  *file = (model_file){0};
}

/* A copy of the line that is shown. */
static bool copy_line(model_file *file) {
  size_t bytes = strlen(file->shown) + 1;
  if (bytes > file->line_capacity_bytes) {
    free(file->line);
    file->line = malloc(bytes);
    file->line_capacity_bytes = file->line != NULL ? bytes : 0;
  }
  if (file->line == NULL) {
    fprintf(stderr, "out of memory\n");
    return false;
  }
  memcpy(file->line, file->shown, bytes);
  return true;
}

int model_file_next(model_file *file, char *fields[MODEL_MAX_FIELDS]) {
  if (getline(&file->shown, &file->shown_capacity_bytes, file->stream) < 0) {
    if (file->num_read != file->num_lines) {
      fprintf(stderr,
              "the file ends after %" PRId64 " of %" PRId64 " lines\n",
              file->num_read,
              file->num_lines);
      return -1;
    }
    return 0;
  }
  ++file->num_read;
  size_t length = strlen(file->shown);
  if (length == 0 || file->shown[length - 1] != '\n') {
    fprintf(stderr, "line %" PRId64 " is cut off\n", file->num_read);
    return -1;
  }
  file->shown[length - 1] = '\0';
  if (!copy_line(file)) {
    return -1;
  }
  int num_fields = 0;
  for (char *at = file->line; at != NULL; ++num_fields) {
    if (num_fields == MODEL_MAX_FIELDS) {
      fprintf(stderr, "line %" PRId64 " has too many fields\n", file->num_read);
      return -1;
    }
    fields[num_fields] = at;
    at = strchr(at, '\t');
    if (at != NULL) {
      *at++ = '\0';
    }
  }
  return num_fields;
}

static bool read_permutation(const char *text, model_case *c) {
  c->rank = 0;
  if (strcmp(text, "-") == 0) {
    return true;
  }
  for (;;) {
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || value < 0 || value >= RLO_MAX_RANK ||
        c->rank == RLO_MAX_RANK) {
      return false;
    }
    c->permutation[c->rank++] = (int32_t)value;
    if (*end == '\0') {
      return true;
    }
    if (*end != ',') {
      return false;
    }
    text = end + 1;
  }
}

int model_case_next(model_file *file, model_case *out_case) {
  char *fields[MODEL_MAX_FIELDS] = {NULL};
  int num_fields = model_file_next(file, fields);
  if (num_fields <= 0) {
    return num_fields;
  }
  *out_case = (model_case){0};
  if (num_fields != 8 || !read_permutation(fields[2], out_case)) {
    fprintf(stderr, "not a case: %s\n", file->shown);
    return -1;
  }
  out_case->id = fields[0];
  out_case->group = fields[1];
  out_case->src_text = fields[3];
  out_case->dst_text = fields[4];
  out_case->src_bytes = (size_t)strtoull(fields[5], NULL, 10);
  out_case->dst_bytes = (size_t)strtoull(fields[6], NULL, 10);
  out_case->dst_hash = strtoull(fields[7], NULL, 16);
  return 1;
}
