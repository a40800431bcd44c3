/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "message.h"

/* Returns false if the environment names no home directory or the path is too
 * long. */
static bool find_path(rlo__wisdom_path *out_path) {
  const char *base = getenv("XDG_DATA_HOME");
  const char *below = "";
  /* The XDG specification requires relative paths to be ignored. */
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
        "there is no directory for wisdom: neither XDG_DATA_HOME nor HOME is "
        "an "
        "absolute path");
  }
  return RLO__EXIT_OK;
}

/* A missing file is not an error; an invalid one is reported and ignored. */
static void load_wisdom(rlo_context *context, rlo__wisdom_known *out_known) {
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

static bool is_directory(const char *path) {
  struct stat information;
  return stat(path, &information) == 0 && S_ISDIR(information.st_mode);
}

/* Creates the directories above the file. One that is there may be refused for
 * another reason: it need not be made. */
static int make_directories(const rlo__wisdom_path *path) {
  rlo__wisdom_path parent = *path;
  for (char *slash = strchr(parent.text + 1, '/'); slash != NULL;
       slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(parent.text, 0777) != 0) {
      const int why = errno;
      if (why != EEXIST && !is_directory(parent.text)) {
        return rlo__fail(
            "cannot make the directory %s: %s", parent.text, strerror(why));
      }
    }
    *slash = '/';
  }
  return RLO__EXIT_OK;
}

int rlo__wisdom_file_save(rlo_context *context, const rlo__wisdom_path *path) {
  int code = make_directories(path);
  if (code == RLO__EXIT_OK &&
      rlo_context_save_wisdom(context, path->text) != RLO_OK) {
    code = rlo__fail_last();
  }
  return code;
}

const char *rlo__cache_dir(void) {
  return getenv("RELAYOUT_CACHE_DIR");
}

int rlo__session_init(const rlo__device_ref *device_ref,
                      rlo__session *out_session) {
  *out_session = (rlo__session){0};
  int32_t device_number = device_ref->index;
  if (device_ref->name[0] != '\0' &&
      rlo_device_find(device_ref->name, &device_number) != RLO_OK) {
    return rlo__fail_last();
  }
  rlo_context_options options = RLO_CONTEXT_OPTIONS_INIT;
  options.cache_dir = rlo__cache_dir();
  RLO__EXIT_TRY(rlo__check(rlo_context_create_default(
      device_number, &options, &out_session->context)));
  load_wisdom(out_session->context, &out_session->wisdom);
  if (clGetDeviceInfo(rlo_context_cl_device(out_session->context),
                      CL_DEVICE_NAME,
                      sizeof(out_session->device_name),
                      out_session->device_name,
                      NULL) != CL_SUCCESS) {
    /* The name is too long. It is printed only. */
    snprintf(out_session->device_name,
             sizeof(out_session->device_name),
             "%s",
             "device with a long name");
  }
  return RLO__EXIT_OK;
}

void rlo__session_deinit(rlo__session *session) {
  rlo_context_release(session->context);
  *session = (rlo__session){0};
}
