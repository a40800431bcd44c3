/* SPDX-License-Identifier: Apache-2.0 */
#include "relayout/opencl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/directory.h"
#include "base/options.h"
#include "base/status.h"
#include "runtime/disk_cache.h"

/** Copies text, truncated to fit. */
static void copy_cut(char *out_text, size_t capacity, const char *text) {
  (void)snprintf(out_text, capacity, "%s", text);
}

/** Opens the directory at `path`, or the default one. @return also
 * RLO_NOT_FOUND if it does not exist. */
static rlo_status open_directory(const char *path,
                                 rlo_cache_info *info,
                                 rlo__directory *out_directory) {
  char *default_path = NULL;
  if (path == NULL) {
    RLO_TRY(rlo__disk_cache_default_path(&default_path));
  }
  const char *used_path = path != NULL ? path : default_path;
  rlo_status status = RLO_OK;
  if (used_path == NULL || used_path[0] == '\0') {
    status = RLO_FAIL(RLO_NOT_FOUND,
                      "there is no cache directory%s",
                      path != NULL ? ""
                                   : ": neither XDG_CACHE_HOME nor HOME is an "
                                     "absolute path");
  } else if (used_path[0] != '/') {
    status =
        RLO_FAIL(RLO_UNSUPPORTED, "\"%s\" is not an absolute path", used_path);
  } else {
    status = rlo__directory_open(
        used_path, geteuid(), RLO__DIRECTORY_OPEN, out_directory);
  }
  copy_cut(info->path, sizeof info->path, used_path != NULL ? used_path : "");
  rlo__free(default_path);
  return status;
}

/** Counts the entries, and deletes them if `is_clearing`. */
static rlo_status visit_entries(const rlo__directory *directory,
                                bool is_clearing,
                                rlo_cache_info *info) {
  rlo__directory_file *files = NULL;
  size_t num_files = 0;
  rlo_status status = rlo__directory_list(directory, &files, &num_files);
  for (size_t i = 0; i < num_files && status == RLO_OK; ++i) {
    bool is_entry = rlo__disk_cache_is_entry_name(files[i].name);
    if (is_clearing &&
        (is_entry || rlo__disk_cache_is_temp_name(files[i].name))) {
      status = rlo__directory_remove(directory, files[i].name);
    }
    if (is_entry && status == RLO_OK) {
      info->num_entries += 1;
      info->bytes += files[i].bytes;
    }
  }
  rlo__free(files);
  return status == RLO_OK
             ? status
             : rlo__status_prefix(status, "cache \"%s\": ", info->path);
}

static rlo_status check_size(const rlo_cache_info *info) {
  return rlo__options_check_size(
      "cache info", "RLO_CACHE_INFO_INIT", info, sizeof *info);
}

static rlo_status write_info(const rlo_cache_info *info,
                             rlo_cache_info *out_info) {
  return rlo__report_write(
      "cache info", "RLO_CACHE_INFO_INIT", info, out_info, sizeof *info);
}

rlo_status rlo_cache_inspect(const char *path, rlo_cache_info *out_info) {
  RLO_REQUIRE(out_info);
  RLO_TRY(check_size(out_info));
  rlo_cache_info info = RLO_CACHE_INFO_INIT;
  rlo__directory directory;
  rlo_status status = open_directory(path, &info, &directory);
  if (status == RLO_OUT_OF_MEMORY) {
    return status;
  }
  /* A directory that does not exist will be created. */
  info.is_usable =
      status == RLO_OK || (status == RLO_NOT_FOUND && info.path[0] != '\0');
  if (!info.is_usable) {
    copy_cut(info.reason, sizeof info.reason, rlo_error_last()->message);
  }
  if (status == RLO_OK) {
    status = visit_entries(&directory, false, &info);
    rlo__directory_close(&directory);
    RLO_TRY(status);
  }
  return write_info(&info, out_info);
}

rlo_status rlo_cache_clear(const char *path, rlo_cache_info *out_info) {
  if (out_info != NULL) {
    RLO_TRY(check_size(out_info));
  }
  rlo_cache_info info = RLO_CACHE_INFO_INIT;
  rlo__directory directory;
  rlo_status status = open_directory(path, &info, &directory);
  if (status == RLO_OK) {
    status = visit_entries(&directory, true, &info);
    rlo__directory_close(&directory);
    info.is_usable = true;
  } else if (status == RLO_NOT_FOUND) {
    status = RLO_OK;
  }
  RLO_TRY(status);
  return out_info != NULL ? write_info(&info, out_info) : RLO_OK;
}
