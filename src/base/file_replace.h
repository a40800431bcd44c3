/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_FILE_REPLACE_H
#define RLO_BASE_FILE_REPLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * Replaces a file atomically: the new contents go to a temporary file beside
 * the target, are synced to the disk, and take the target's name by a rename.
 * Until then the target is unchanged.
 *
 *     rlo__file_replace f;
 *     int error = rlo__file_replace_begin(&f, path);
 *     if (error == 0) error = rlo__file_replace_write(&f, data, bytes);
 *     if (error == 0) error = rlo__file_replace_commit(&f);
 *     rlo__file_replace_abandon(&f);
 *
 * Functions return 0 or the errno of the call that failed; after a failure only
 * rlo__file_replace_abandon is allowed. They allocate no memory but what
 * opendir does. Threads: safe for different structs.
 */
typedef struct rlo__file_replace {
  /** -1 when closed. */
  int fd;
  /** The folder of relative paths; AT_FDCWD for the working directory. */
  int directory_fd;
  /** The target is not a regular file and is written directly. */
  bool is_in_place;
  /** The temporary file is a part: of rlo__file_replace_begin_part. */
  bool is_part;
  /** The target, with symbolic links resolved. */
  char path[PATH_MAX];
  /** "" while there is no temporary file. */
  char temp_path[PATH_MAX];
  /** The place of the journal of a part. */
  char journal_path[PATH_MAX];
} rlo__file_replace;

/** Prefix of the names of temporary files. One that remains belongs to a
 *  process that was killed, and goes with a file that is replaced in the
 *  directory more than a minute later. */
#define RLO__FILE_TEMP_PREFIX ".relayout-tmp-"

/** Calls openat for a file that exists, with O_CLOEXEC, and again if a signal
 *  interrupts it. @return a descriptor; -1 and errno. */
int rlo__open_at(int directory_fd, const char *name, int flags);

/**
 * Opens the temporary file. A symbolic link is followed. The new file gets the
 * permissions of the one that it replaces, else 0666 without the umask. An
 * existing target that is not a regular file (a pipe, /dev/null) is written
 * directly. `path` is copied.
 */
int rlo__file_replace_begin(rlo__file_replace *f, const char *path);

/** Suffixes of the names of parts and of their journals:
 *  ".NAME.relayout-part", ".NAME.relayout-journal". */
#define RLO__FILE_PART_SUFFIX    ".relayout-part"
#define RLO__FILE_JOURNAL_SUFFIX ".relayout-journal"

/**
 * Like rlo__file_replace_begin, for contents that take long to make. The
 * temporary file is a *part*: its name tells which file it will be, and it is
 * locked (flock) until its last descriptor, those of forks included, is closed.
 * So parts that nobody holds are known to be left by processes that died. `fd`
 * may be read and written at any position.
 *
 * Beside a part there may be a *journal* that somebody keeps of it, locked too
 * while it is in use, and further ones with "-2", "-3" behind its name, each
 * begun when the one before it was complete: then rlo__file_replace_resume_part
 * can open the part again. Parts in the target's directory that nobody holds
 * are removed first: the target's with its journal, others if they have none.
 * So are journals without a part.
 *
 * Fails with EBUSY if a process holds, or on a file system without locks has
 * left, the part of this target; then temp_path still names it. A target that
 * is not a regular file is EINVAL.
 */
int rlo__file_replace_begin_part(rlo__file_replace *f, const char *path);

/**
 * Like rlo__file_replace_begin_part, but opens the part that is there and has a
 * journal, and keeps its contents. ENOENT, with nothing touched, if there is no
 * such part.
 */
int rlo__file_replace_resume_part(rlo__file_replace *f, const char *path);

/** Removes the part of a target, if nobody holds it, and its journal: for who
 *  is going to replace the target in another way. */
void rlo__file_replace_remove_part(const char *path);

/** Sets the paths of the target, its part and its journal, and touches nothing.
 *  Fails as rlo__file_replace_begin_part does for such a target. */
int rlo__file_replace_name_part(rlo__file_replace *f, const char *path);

/** Opens a temporary file in an open directory, to replace the file `name`
 *  there with one of permissions `mode` without the umask. A symbolic link is
 *  replaced. `directory_fd` is borrowed until the file is committed or
 *  abandoned. */
int rlo__file_replace_begin_at(rlo__file_replace *f,
                               int directory_fd,
                               const char *name,
                               mode_t mode);

/** Appends bytes, all of them: short and interrupted writes are continued. */
int rlo__file_replace_write(rlo__file_replace *f,
                            const void *data,
                            size_t bytes);

/** Syncs the contents to the disk and closes the file, if it is open. A part
 *  stays open, so that it is locked until it has its name. */
int rlo__file_replace_finish(rlo__file_replace *f);

/** Finishes, and gives the file its name. */
int rlo__file_replace_rename(rlo__file_replace *f);

/** Finishes, renames, if that has not been done, and syncs the directory: only
 *  a failure of this last step leaves the target replaced. Then removes the
 *  journal of a part. */
int rlo__file_replace_commit(rlo__file_replace *f);

/** Closes the file and unlinks the temporary one, and its journal; without
 *  effect after a commit. May be repeated. */
void rlo__file_replace_abandon(rlo__file_replace *f);

/** Closes a part, which stays, with its journal, to be resumed. */
void rlo__file_replace_leave(rlo__file_replace *f);

#endif
