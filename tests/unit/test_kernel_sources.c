/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "codegen/kernel_sources.h"
#include "support/suite.h"

enum { MAX_FILES = 256, MAX_FILE_BYTES = 1 << 24, MAX_INCLUDES = 16 };

/** Read a file of cl/; the result goes to rlo__free. */
static char *read_kernel(const char *file_name) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/%s", RELAYOUT_TEST_CL_DIR, file_name);
  char *text = NULL;
  size_t bytes = 0;
  ck_assert_int_eq(rlo__file_read(path, MAX_FILE_BYTES, &text, &bytes), RLO_OK);
  ck_assert_uint_eq(strlen(text), bytes);
  return text;
}

/** The included file of an include line of ours, or NULL. Writes its name. */
static const char *included_name(const char *line, char *name, size_t bytes) {
  static const char start[] = "#include \"";
  if (strncmp(line, start, strlen(start)) != 0) {
    return NULL;
  }
  const char *from = line + strlen(start);
  const char *end = strchr(from, '"');
  ck_assert(end != NULL && (size_t)(end - from) < bytes);
  memcpy(name, from, (size_t)(end - from));
  name[end - from] = '\0';
  return name;
}

/** How far an embedded text was compared, and the files found in it. */
typedef struct comparison {
  const char *rest;
  char names[MAX_INCLUDES][256];
  int num_names;
} comparison;

static bool is_there(const comparison *c, const char *name) {
  for (int i = 0; i < c->num_names; ++i) {
    if (strcmp(c->names[i], name) == 0) {
      return true;
    }
  }
  return false;
}

/** Compare with the text of a file, and with the files that it includes where
 *  each is included first. */
static void match_file(const char *file_name, comparison *c) {
  char *text = read_kernel(file_name);
  for (const char *line = text; *line != '\0';) {
    const char *end = strchr(line, '\n');
    end = end == NULL ? line + strlen(line) : end + 1;
    size_t bytes = (size_t)(end - line);
    char name[256];
    if (included_name(line, name, sizeof name) != NULL) {
      if (!is_there(c, name)) {
        ck_assert_int_lt(c->num_names, MAX_INCLUDES);
        memcpy(c->names[c->num_names++], name, sizeof name);
        match_file(name, c);
      }
      ck_assert_int_eq(*c->rest, '\n');
      c->rest += 1;
    } else {
      ck_assert_msg(strncmp(line, c->rest, bytes) == 0, "%s differs at: %.*s", file_name,
                    (int)bytes, line);
      c->rest += bytes;
    }
    line = end;
  }
  rlo__free(text);
}

RLO_TEST(test_kernel_sources__every_file_is_embedded_whole) {
  DIR *dir = opendir(RELAYOUT_TEST_CL_DIR);
  ck_assert_ptr_nonnull(dir);
  uint64_t hashes[MAX_FILES];
  int count = 0;
  const struct dirent *entry;
  while ((entry = readdir(dir)) != NULL) {
    const char *dot = strrchr(entry->d_name, '.');
    if (dot == NULL || strcmp(dot, ".cl") != 0) {
      continue;
    }
    char stem[256];
    (void)snprintf(stem, sizeof stem, "%.*s", (int)(dot - entry->d_name), entry->d_name);
    const rlo__kernel_source *source = rlo__kernel_source_find(stem);
    ck_assert_msg(source != NULL, "%s is not embedded", entry->d_name);
    ck_assert_str_eq(source->name, stem);
    rlo__str text = rlo__str_growing();
    rlo__kernel_source_append(source, &text);
    ck_assert_int_eq(rlo__str_status(&text), RLO_OK);
    comparison c = {.rest = rlo__str_text(&text)};
    match_file(entry->d_name, &c);
    ck_assert_str_eq(c.rest, "");
    ck_assert_int_eq(source->has_batch, is_there(&c, "batch.cl") || strcmp(stem, "batch") == 0);
    rlo__str_deinit(&text);
    for (int i = 0; i < count; ++i) {
      ck_assert(hashes[i] != source->hash);
    }
    ck_assert_int_lt(count, MAX_FILES);
    hashes[count++] = source->hash;
  }
  ck_assert_int_eq(closedir(dir), 0);
  ck_assert_int_gt(count, 0);
}

RLO_TEST(test_kernel_sources__a_stranger_is_null) {
  ck_assert_ptr_null(rlo__kernel_source_find(NULL));
  ck_assert_ptr_null(rlo__kernel_source_find(""));
  ck_assert_ptr_null(rlo__kernel_source_find("commo"));
  ck_assert_ptr_null(rlo__kernel_source_find("cpu_common.cl"));
}
