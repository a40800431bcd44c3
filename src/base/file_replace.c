/* SPDX-License-Identifier: Apache-2.0 */
/* statx is no part of POSIX 2008. */
#define _GNU_SOURCE
#include "base/file_replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/threshold.h"

enum {
  TEMP_NAME_TRIES = 100,
  TEMP_LIFE_SECONDS = 60,
  /* A process that was killed may hold its files for some time yet. */
  PART_TRIES = 50,
  PART_PAUSE_NANOS = 10 * 1000 * 1000,
  /* The limit of most file systems. */
  MAX_NAME_BYTES = 255,
  /* The limit of Linux. */
  MAX_LINKS = 40,
  PRIVATE_MODE = 0600
};

/** Length of the directory part of a path, with its slash; 0 if it has none. */
static int directory_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (int)(slash - path) + 1;
}

/** Replaces a link by what it names, whether that exists or not. */
static int follow_links(char path[PATH_MAX]) {
  char link[PATH_MAX];
  for (int n = 0; n < MAX_LINKS; ++n) {
    const ssize_t length = readlink(path, link, sizeof link);
    if (length < 0) {
      return errno == EINVAL || errno == ENOENT ? 0 : errno;
    }
    const int folder = link[0] == '/' ? 0 : directory_length(path);
    if (folder + length >= PATH_MAX) {
      return ENAMETOOLONG;
    }
    memcpy(path + folder, link, (size_t)length);
    path[folder + length] = '\0';
  }
  return ELOOP;
}

void rlo__folder_of(const char *path, char out_folder[PATH_MAX]) {
  const int length = directory_length(path);
  (void)snprintf(out_folder, PATH_MAX, "%.*s", length == 0 ? 1 : length, length == 0 ? "." : path);
}

/** Why an existing target is written in place; `f` has its path and status. */
static const char *find_why_in_place(const rlo__file_replace *f) {
  char folder[PATH_MAX];
  struct stat around;
  const uid_t user = geteuid();
  if (!S_ISREG(f->old.st_mode)) {
    return "is not a regular file";
  }
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx found;
  if (statx(f->directory_fd, f->path, 0, STATX_TYPE, &found) == 0 &&
      (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
    return "is a mount of its own";
  }
#endif
  rlo__folder_of(f->path, folder);
  if (faccessat(f->directory_fd, folder, W_OK | X_OK, AT_EACCESS) != 0) {
    return "is in a folder that may not be written to";
  }
  return user != 0 && f->old.st_uid != user && stat(folder, &around) == 0 &&
                 (around.st_mode & S_ISVTX) != 0 && around.st_uid != user
             ? "is another user's in a folder where only they may replace it"
             : NULL;
}

/* -------------------------------------------------------------------- parts */

bool rlo__file_is_own(int directory_fd, const char *name) {
  struct stat st;
  return fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
         st.st_uid == geteuid() && st.st_nlink == 1 && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/** Tells if a name is another user's, or not that of a file. */
static bool is_taken(int directory_fd, const char *name) {
  struct stat st;
  return fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         (!S_ISREG(st.st_mode) || st.st_uid != geteuid());
}

/** 0; EWOULDBLOCK if a process holds it; else there are no locks here. It does
 *  not wait, so that no signal interrupts it. */
static int lock_fd(int fd) {
  return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

/** Tells if a name is still that of an open file. */
static bool is_name_of(int fd, int directory_fd, const char *name) {
  struct stat opened;
  struct stat named;
  return fstat(fd, &opened) == 0 && fstatat(directory_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int rlo__open_at(int directory_fd, const char *name, int flags) {
  int fd;
  do {
    fd = openat(directory_fd, name, flags | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/** Opens and locks a file of ours that nobody holds; -1 if there is none. */
static int open_stale(int directory_fd, const char *name, int mode) {
  /* O_NONBLOCK: it could be a pipe. */
  int fd = rlo__open_at(directory_fd, name, mode | O_NOFOLLOW | O_NONBLOCK);
  struct stat st;
  /* The name may have gone to a newer file, or to nobody, before the lock was
   * taken. */
  if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
                  lock_fd(fd) != 0 || !is_name_of(fd, directory_fd, name))) {
    (void)close(fd);
    fd = -1;
  }
  return fd;
}

/** The name of journal `number` of those that begin with `journal`, from 1. */
static void name_journal(const char *journal, int number, char out_name[PATH_MAX + 16]) {
  (void)snprintf(out_name, PATH_MAX + 16, number == 1 ? "%s" : "%s-%d", journal, number);
}

static bool exists(int directory_fd, const char *name) {
  return faccessat(directory_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void remove_if_stale(int directory_fd, const char *part, const char *journal);

/** Removes a journal and those numbered after it: the last one first, since
 *  each says that those before it are complete. */
static void remove_journals(int directory_fd, const char *journal) {
  char name[PATH_MAX + 16];
  int count = 1;
  do {
    name_journal(journal, ++count, name);
  } while (exists(directory_fd, name));
  while (--count > 0) {
    name_journal(journal, count, name);
    remove_if_stale(directory_fd, name, NULL);
  }
}

/** Removes the journals of a part and the part, if nobody holds it: a job that
 *  reads it does, too. `part` may be the journal itself; NULL: no journals. */
static void remove_if_stale(int directory_fd, const char *part, const char *journal) {
  int fd = open_stale(directory_fd, part, O_RDONLY);
  if (fd >= 0) {
    if (journal != NULL) {
      /* They say what a part has that is not there any more. */
      remove_journals(directory_fd, journal);
    }
    (void)unlinkat(directory_fd, part, 0);
    (void)close(fd);
  }
}

/** Tells if a name has a suffix, and then writes the name with the other one.
 */
static bool swap_suffix(const char *name, const char *suffix, const char *other_suffix,
                        char out_other[PATH_MAX]) {
  size_t length = strlen(name);
  size_t suffix_length = strlen(suffix);
  if (name[0] != '.' || length <= suffix_length ||
      strcmp(name + length - suffix_length, suffix) != 0) {
    return false;
  }
  (void)snprintf(out_other, PATH_MAX, "%.*s%s", (int)(length - suffix_length), name, other_suffix);
  return true;
}

/** Tells if the process of a temporary file has ended. A file that is being
 * written is locked, but one that waits for its rename is not: processes of
 * other machines, which are not known here, have a while for that. */
static bool is_temp_of_nobody(int directory_fd, const char *name) {
  const size_t prefix_length = sizeof RLO__FILE_TEMP_PREFIX - 1;
  struct timespec now = {0};
  struct stat st;
  if (strncmp(name, RLO__FILE_TEMP_PREFIX, prefix_length) != 0) {
    return false;
  }
  const long process = strtol(name + prefix_length, NULL, 10);
  (void)clock_gettime(CLOCK_REALTIME, &now);
  return process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH &&
         fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         st.st_mtim.tv_sec < now.tv_sec - TEMP_LIFE_SECONDS;
}

/** Removes a part without a journal, journals without a part, or a temporary
 *  file. */
static void sweep(int directory_fd, const char *name) {
  char other[PATH_MAX];
  if (is_temp_of_nobody(directory_fd, name)) {
    remove_if_stale(directory_fd, name, name);
    return;
  }
  bool is_part = swap_suffix(name, RLO__FILE_PART_SUFFIX, RLO__FILE_JOURNAL_SUFFIX, other);
  if ((is_part || swap_suffix(name, RLO__FILE_JOURNAL_SUFFIX, RLO__FILE_PART_SUFFIX, other)) &&
      !rlo__file_is_own(directory_fd, other)) {
    remove_if_stale(directory_fd, name, is_part ? other : name);
  }
}

/** The folder of a path; -1 if it cannot be read. */
static int open_folder(int directory_fd, const char *path) {
  char folder[PATH_MAX];
  rlo__folder_of(path, folder);
  return rlo__open_at(directory_fd, folder, O_RDONLY | O_DIRECTORY);
}

/** Sweeps the target's directory. */
static void sweep_directory(const rlo__file_replace *f) {
  int fd = open_folder(f->directory_fd, f->path);
  DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
  const struct dirent *entry;
  while (directory != NULL && (entry = readdir(directory)) != NULL) {
    sweep(fd, entry->d_name);
  }
  if (directory != NULL) {
    (void)closedir(directory);
  } else if (fd >= 0) {
    (void)close(fd);
  }
}

/** Locks a file that was made. False, and closes it, if it is gone: before it
 *  was locked it looked stale, and may have been removed. Or another user has
 *  opened and locked it, before that was forbidden. */
static bool hold_new(rlo__file_replace *f) {
  const bool is_held = lock_fd(f->fd) == EWOULDBLOCK;
  if (is_name_of(f->fd, f->directory_fd, f->temp_path)) {
    if (!is_held) {
      return true;
    }
    (void)unlinkat(f->directory_fd, f->temp_path, 0);
  }
  (void)close(f->fd);
  f->fd = -1;
  return false;
}

/** Creates and locks the temporary file. 0; EEXIST: its name is taken, or was
 *  for a moment. */
static int create(rlo__file_replace *f) {
  /* O_EXCL refuses existing names, symbolic links included. The kernel applies
   * the umask, which a thread cannot read without changing it. */
  f->fd = openat(f->directory_fd, f->temp_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                 f->is_old ? PRIVATE_MODE : f->mode);
  if (f->fd < 0) {
    return errno == EINTR ? EEXIST : errno;
  }
  struct stat st;
  if (!f->is_old && fstat(f->fd, &st) == 0) {
    f->mode = st.st_mode & (mode_t)0777;
    /* Fails on file systems without rights, which is harmless. */
    (void)fchmod(f->fd, PRIVATE_MODE);
  }
  return hold_new(f) ? 0 : EEXIST;
}

static int open_temp(rlo__file_replace *f) {
  int error = EEXIST;
  for (int attempt = 0; error == EEXIST && attempt < TEMP_NAME_TRIES; ++attempt) {
    /* Two threads may read the same time: the later one tries again. */
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int length = snprintf(f->temp_path, sizeof f->temp_path,
                          "%.*s" RLO__FILE_TEMP_PREFIX "%ld-%lld-%ld", directory_length(f->path),
                          f->path, (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
    error = length < 0 || (size_t)length >= sizeof f->temp_path ? ENAMETOOLONG : create(f);
  }
  if (error != 0) {
    f->temp_path[0] = '\0';
  }
  return error;
}

/** The path of the part or the journal. 0 or ENAMETOOLONG. */
static int name_beside(const rlo__file_replace *f, const char *suffix, char out_path[PATH_MAX]) {
  /* The suffix of a journal with its number is the longest. */
  const int longest = (int)strlen(RLO__FILE_JOURNAL_SUFFIX "-1000000");
  int length = snprintf(out_path, PATH_MAX, "%.*s.%.*s%s", directory_length(f->path), f->path,
                        MAX_NAME_BYTES - 1 - longest, f->path + directory_length(f->path), suffix);
  if (length < 0 || length >= PATH_MAX) {
    out_path[0] = '\0';
    return ENAMETOOLONG;
  }
  return 0;
}

static int name_part(rlo__file_replace *f) {
  f->is_part = true;
  int error = name_beside(f, RLO__FILE_PART_SUFFIX, f->temp_path);
  return error != 0 ? error : name_beside(f, RLO__FILE_JOURNAL_SUFFIX, f->journal_path);
}

/** Removes what a process that died has left beside the target. */
static void remove_old_part(const rlo__file_replace *f) {
  remove_if_stale(f->directory_fd, f->temp_path, f->journal_path);
  if (!exists(f->directory_fd, f->temp_path)) {
    remove_if_stale(f->directory_fd, f->journal_path, f->journal_path);
  }
}

/** 0; EEXIST: somebody holds the part. */
static int try_new_part(rlo__file_replace *f) {
  remove_old_part(f);
  if (is_taken(f->directory_fd, f->temp_path) || is_taken(f->directory_fd, f->journal_path)) {
    f->is_part = false;
    f->journal_path[0] = '\0';
    return open_temp(f);
  }
  return create(f);
}

bool rlo__file_replace_can_resume(const rlo__file_replace *f) {
  return rlo__file_is_own(f->directory_fd, f->journal_path) &&
         rlo__file_is_own(f->directory_fd, f->temp_path);
}

/** 0; EEXIST: somebody holds the part; ENOENT. */
static int try_old_part(rlo__file_replace *f) {
  if (!rlo__file_replace_can_resume(f)) {
    return ENOENT;
  }
  f->fd = open_stale(f->directory_fd, f->temp_path, O_RDWR);
  if (f->fd < 0) {
    return EEXIST;
  }
  /* Only a file that is made here shows which rights a new one gets. */
  rlo__file_replace made = *f;
  made.is_part = false;
  if (!f->is_old && open_temp(&made) == 0) {
    f->mode = made.mode;
    rlo__file_replace_abandon(&made);
  }
  return 0;
}

/** Opens the part, for which others have some time to go. On EBUSY temp_path
 *  remains. */
static int open_part(rlo__file_replace *f, int (*try_part)(rlo__file_replace *f)) {
  int error = name_part(f);
  if (error != 0) {
    return error;
  }
  for (int attempt = 0; attempt < PART_TRIES; ++attempt) {
    error = try_part(f);
    if (error != EEXIST) {
      return error;
    }
    const struct timespec pause = {0, attempt == 0 ? 0 : PART_PAUSE_NANOS};
    (void)nanosleep(&pause, NULL);
  }
  return EBUSY;
}

/* ------------------------------------------------------------------ opening */

/** 0 or ENAMETOOLONG. */
static int init(rlo__file_replace *f, int directory_fd, const char *path, mode_t mode) {
  f->fd = -1;
  f->directory_fd = directory_fd;
  f->mode = mode;
  f->is_old = f->is_part = false;
  f->in_place = NULL;
  f->temp_path[0] = f->journal_path[0] = '\0';
  int length = snprintf(f->path, PATH_MAX, "%s", path);
  return length >= 0 && length < PATH_MAX ? 0 : ENAMETOOLONG;
}

/** Opens what lies beside the target. */
static int open_beside(rlo__file_replace *f, rlo__file_way way) {
  int error = way == RLO__FILE_TEMP       ? open_temp(f)
              : way == RLO__FILE_NEW_PART ? open_part(f, try_new_part)
                                          : open_part(f, try_old_part);
  if (error == 0) {
    sweep_directory(f);
  } else if (error != EBUSY) {
    f->temp_path[0] = '\0';
  }
  return error;
}

int rlo__file_replace_begin(rlo__file_replace *f, const char *path, rlo__file_way way) {
  int error = init(f, AT_FDCWD, path, (mode_t)0666);
  if (error != 0) {
    return error;
  }
  f->is_old = stat(path, &f->old) == 0;
  if (!f->is_old && errno != ENOENT) {
    return errno;
  }
  /* A rename replaces a symbolic link, not the file that it points to. */
  error = follow_links(f->path);
  if (error != 0) {
    return error;
  }
  if (f->is_old) {
    f->mode = f->old.st_mode & (mode_t)0777;
    f->in_place = find_why_in_place(f);
  }
  if (f->in_place != NULL && way == RLO__FILE_TEMP) {
    f->fd = rlo__open_at(AT_FDCWD, path, O_WRONLY);
    return f->fd >= 0 ? 0 : errno;
  }
  return f->in_place != NULL ? EINVAL : way == RLO__FILE_NAMES ? name_part(f) : open_beside(f, way);
}

void rlo__file_replace_remove_part(const char *path) {
  rlo__file_replace f;
  if (rlo__file_replace_begin(&f, path, RLO__FILE_NAMES) == 0) {
    remove_old_part(&f);
  }
}

int rlo__file_replace_begin_at(rlo__file_replace *f, int directory_fd, const char *name,
                               mode_t mode) {
  int error = init(f, directory_fd, name, mode);
  return error != 0 ? error : open_temp(f);
}

int rlo__file_replace_write(rlo__file_replace *f, const void *data, size_t bytes) {
  const char *next = data;
  while (bytes > 0) {
    const size_t most = (size_t)rlo__thresholds.base_call_bytes;
    ssize_t count = write(f->fd, next, bytes < most ? bytes : most);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return count < 0 ? errno : ENOSPC;
    }
    next += count;
    bytes -= (size_t)count;
  }
  return 0;
}

/** Devices and pipes cannot be synced: they fail with EINVAL or EROFS, which is
 *  no error here. */
static int sync_fd(int fd) {
  int result;
  do {
    result = fsync(fd);
  } while (result != 0 && errno == EINTR);
  return result == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

static int close_written(rlo__file_replace *f, int error) {
  /* After EINTR the descriptor is closed, and the contents are synced. */
  if (close(f->fd) != 0 && errno != EINTR && error == 0) {
    error = errno;
  }
  f->fd = -1;
  return error;
}

/** Only root gives a file to another owner, and a group to who is not in it. */
static void set_rights(rlo__file_replace *f) {
  if (f->is_old && fchown(f->fd, f->old.st_uid, f->old.st_gid) != 0 &&
      fchown(f->fd, (uid_t)-1, f->old.st_gid) != 0) {
    /* The new group must not get the rights of the old one. */
    f->mode = (f->mode & ~(mode_t)S_IRWXG) | (f->mode & S_IRWXO) << 3;
  }
  (void)fchmod(f->fd, f->mode);
}

/** Removes what an older, longer file has behind what was written in place. */
static int cut_off(const rlo__file_replace *f) {
  struct stat st;
  const off_t end = lseek(f->fd, 0, SEEK_CUR);
  return fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(f->fd, end) != 0 ? errno : 0;
}

int rlo__file_replace_finish(rlo__file_replace *f) {
  if (f->fd < 0) {
    return 0;
  }
  int error = f->in_place != NULL && f->path[0] != '\0' ? cut_off(f) : 0;
  if (f->in_place == NULL && !f->is_part) {
    set_rights(f);
  }
  error = error != 0 ? error : sync_fd(f->fd);
  return f->is_part ? error : close_written(f, error);
}

int rlo__file_replace_rename(rlo__file_replace *f) {
  int error = rlo__file_replace_finish(f);
  if (error != 0 || f->temp_path[0] == '\0') {
    return error;
  }
  if (f->is_part) {
    /* The rights are set last: until now the part might have stayed, to be resumed. */
    set_rights(f);
  }
  if (renameat(f->directory_fd, f->temp_path, f->directory_fd, f->path) != 0) {
    return errno;
  }
  f->temp_path[0] = '\0';
  if (f->is_part) {
    /* Synced: nothing can be lost any more. */
    (void)close_written(f, 0);
  }
  return 0;
}

int rlo__folder_sync(int directory_fd, const char *path) {
  int fd = open_folder(directory_fd, path);
  int error = fd >= 0 ? sync_fd(fd) : errno;
  if (fd >= 0) {
    (void)close(fd);
  }
  /* A directory may be writable and not readable; the system syncs it later. */
  return error == EACCES ? 0 : error;
}

int rlo__file_replace_commit(rlo__file_replace *f) {
  int error = rlo__file_replace_rename(f);
  if (error != 0 || f->in_place != NULL) {
    return error;
  }
  /* A rename is on the disk when the directory is. */
  error = rlo__folder_sync(f->directory_fd, f->path);
  if (f->is_part) {
    /* Another process may have begun with the same target since the rename. */
    remove_if_stale(f->directory_fd, f->journal_path, f->journal_path);
  }
  return error;
}

void rlo__file_replace_abandon(rlo__file_replace *f) {
  /* A part that is another process's is not open here. It is unlinked before it
   * is closed, since then it is nobody's. */
  if (f->temp_path[0] != '\0' && !(f->is_part && f->fd < 0)) {
    if (f->is_part) {
      remove_journals(f->directory_fd, f->journal_path);
    }
    (void)unlinkat(f->directory_fd, f->temp_path, 0);
  }
  rlo__file_replace_leave(f);
}

void rlo__file_replace_leave(rlo__file_replace *f) {
  f->temp_path[0] = '\0';
  if (f->fd >= 0) {
    (void)close(f->fd);
    f->fd = -1;
  }
}
