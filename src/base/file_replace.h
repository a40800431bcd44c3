/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_BASE_FILE_REPLACE_H
#define RLO_BASE_FILE_REPLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/**
 * Replaces a file atomically: the new contents go to a temporary file beside
 * the target, are synced to the disk, and take the target's name by a rename.
 * Until then the target is unchanged.
 *
 *     rlo__file_replace f;
 *     int error = rlo__file_replace_begin(&f, path, RLO__FILE_TEMP);
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
  /** Why the target cannot be replaced and is written directly, as the end of a
   *  sentence: "is ..."; NULL: it is replaced, or there is none. */
  const char *in_place;
  /** The temporary file is a part. */
  bool is_part;
  /** The target exists; else it is new. */
  bool is_old;
  struct stat old;
  /** The permissions of the complete file: until then nobody else opens it. */
  mode_t mode;
  /** The target, with symbolic links resolved; "": a descriptor alone. */
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

/** The folder of a path, with its slash; "." for a bare name. */
void rlo__folder_of(const char *path, char out_folder[PATH_MAX]);

/** Makes the names in the folder of a path survive a stop of the machine.
 *  @return 0 or an errno. */
int rlo__folder_sync(int directory_fd, const char *path);

/** Tells if a name is that of a regular file of this user, that no other may
 *  write to and that has no other name: what others may have put there is not
 *  believed. A symbolic link is none. For signal handlers too. */
bool rlo__file_is_own(int directory_fd, const char *name);

/** Suffixes of the names of parts and of their journals:
 *  ".NAME.relayout-part", ".NAME.relayout-journal". */
#define RLO__FILE_PART_SUFFIX    ".relayout-part"
#define RLO__FILE_JOURNAL_SUFFIX ".relayout-journal"

/** How a replacement begins. */
typedef enum rlo__file_way {
  /** With a temporary file of a name of its own. */
  RLO__FILE_TEMP,
  /** With a new part. */
  RLO__FILE_NEW_PART,
  /** With the part that is there and has a journal, both this user's own: its
   *  contents stay. ENOENT, with nothing touched, if there is no such part. */
  RLO__FILE_OLD_PART,
  /** Sets the paths of the target, its part and its journal, and in_place, even
   *  if it fails; touches nothing. */
  RLO__FILE_NAMES
} rlo__file_way;

/**
 * Opens the temporary file, with mode 0600. A symbolic link is followed, also
 * to a file that does not exist. The complete file gets the permissions of the
 * one that it replaces, its group and its owner where the user may give them
 * (without the group its rights are those of others), else 0666 without the
 * umask. An existing target that cannot be replaced (a pipe, a mount) is written
 * directly, and EINVAL for a part. `path` is copied.
 *
 * A *part* is for contents that take long to make. Its name tells which file it
 * will be, and it is locked (flock) until its last descriptor, those of forks
 * included, is closed. So parts that nobody holds are known to be left by
 * processes that died. `fd` may be read and written at any position.
 *
 * Beside a part there may be a *journal* that somebody keeps of it, locked too
 * while it is in use, and further ones with "-2", "-3" behind its name, each
 * begun when the one before it was complete: then RLO__FILE_OLD_PART can open
 * the part again. A new part replaces the target's part that nobody holds, with
 * its journals. Each begin removes what nobody holds in the target's
 * directory: parts without a journal, journals without a part, temporary files.
 *
 * Where another user has the name of the part or its journal, or what is no
 * file, a new part gets the name of a temporary file and no journal.
 *
 * EBUSY if a process of this user holds, or on a file system without locks has
 * left, the part of this target; then temp_path still names it.
 */
int rlo__file_replace_begin(rlo__file_replace *f, const char *path, rlo__file_way way);

/** Tells if RLO__FILE_OLD_PART would find a part. `f` has the names. */
bool rlo__file_replace_can_resume(const rlo__file_replace *f);

/** Removes the part of a target, if nobody holds it, and its journal: for who
 *  is going to replace the target in another way. */
void rlo__file_replace_remove_part(const char *path);

/** Opens a temporary file in an open directory, to replace the file `name`
 *  there with one of permissions `mode` without the umask. A symbolic link is
 *  replaced. `directory_fd` is borrowed until the file is committed or
 *  abandoned. */
int rlo__file_replace_begin_at(rlo__file_replace *f, int directory_fd, const char *name,
                               mode_t mode);

/** Appends bytes, all of them: short and interrupted writes are continued. */
int rlo__file_replace_write(rlo__file_replace *f, const void *data, size_t bytes);

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
