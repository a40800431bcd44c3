/* SPDX-License-Identifier: Apache-2.0 */
#include "wisdom_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "relayout/opencl.h"

#include "message.h"

/* False if the environment names no home, or one too long to be one. */
static bool find_path(rlo__wisdom_path *out_path) {
  const char *base = getenv("XDG_DATA_HOME");
  const char *below = "";
  /* A relative one is to be ignored, as its specification says. */
  if (base == NULL || base[0] != '/') {
    base = getenv("HOME");
    below = "/.local/share";
  }
  if (base == NULL || base[0] != '/') {
    out_path->text[0] = '\0';
    return false;
  }
  int length = snprintf(out_path->text,
                        sizeof(out_path->text),
                        "%s%s/relayout/wisdom",
                        base,
                        below);
  return length > 0 && (size_t)length < sizeof(out_path->text);
}

int rlo__wisdom_path_find(rlo__wisdom_path *out_path) {
  if (!find_path(out_path)) {
    return rlo__fail(
        "there is no home to keep wisdom in: neither XDG_DATA_HOME nor HOME is "
        "an absolute path");
  }
  return RLO__EXIT_OK;
}

void rlo__wisdom_file_load(rlo_context *context, rlo__wisdom_known *out_known) {
  *out_known = (rlo__wisdom_known){0};
  rlo__wisdom_path path;
  if (!find_path(&path)) {
    return;
  }
  rlo_status status = rlo_context_load_wisdom(
      context, path.text, &out_known->num_taken, &out_known->num_ignored);
  if (status != RLO_OK && status != RLO_NOT_FOUND) {
    rlo__fail("planning without wisdom: %s", rlo_error_last()->message);
  }
}

/* Make the folders above the file. */
static int make_folders(const rlo__wisdom_path *path) {
  rlo__wisdom_path folder = *path;
  for (char *slash = strchr(folder.text + 1, '/'); slash != NULL;
       slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(folder.text, 0777) != 0 && errno != EEXIST) {
      return rlo__fail(
          "cannot make the folder %s: %s", folder.text, strerror(errno));
    }
    *slash = '/';
  }
  return RLO__EXIT_OK;
}

int rlo__wisdom_file_save(rlo_context *context, const rlo__wisdom_path *path) {
  int code = make_folders(path);
  if (code == RLO__EXIT_OK &&
      rlo_context_save_wisdom(context, path->text) != RLO_OK) {
    code = rlo__fail_last();
  }
  return code;
}
