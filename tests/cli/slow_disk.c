/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the command: a disk with faults, so that a test can interrupt
 * just then, or see them found. A file never reaches it, but new journals and
 * the first $SLOW_DISK_FILES do. Each write at a position takes $SLOW_DISK_WRITE_US
 * microseconds, and of these the one numbered, from 1, $SLOW_DISK_FLIP turns
 * its middle byte around. Where $SLOW_DISK_HOLD names a file, all but the first
 * $SLOW_DISK_FREE of them wait until it is removed: the job goes on when the
 * test has done what it does meanwhile, however slow the machine is. Those of a
 * journal are not counted there and do not wait. Into the file $SLOW_DISK_COUNT, if it is given,
 * goes how many bytes were written at positions: a number of 8 bytes, whoever is killed. For all
 * threads but the first of a process, the time passes $SLOW_DISK_CLOCK times as fast: what jobs do
 * every some seconds they do soon. It has $SLOW_DISK_ROOM bytes left, if that is given. With
 * $SLOW_DISK_ORPHAN the parent of a process ends before the process asks to die with it.
 *
 * $SLOW_DISK_FAIL is CALL:NUMBER:ERRNO. Of the calls of this name (the names
 * below) that the command and its library make, not the driver or libc, and
 * not for the standard streams, the one numbered, from 1, fails with the error,
 * and with NUMBER+ all that follow; a transfer with the error 0 is short. The
 * file $SLOW_DISK_CALLS has a number of 8 bytes for each name, in their order:
 * how many calls there were, in all processes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NAMES(row)                                                                            \
  row(open) row(read) row(pread) row(write) row(pwrite) row(fsync) row(rename) row(ftruncate) \
      row(fallocate) row(mkdir) row(mmap) row(close) row(malloc) row(thread)

#define NUMBER_OF(name) CALL_##name,
#define TEXT_OF(name)   #name,

enum { NAMES(NUMBER_OF) NUM_CALLS };

/* The size of a journal's header, and the least of a part. */
enum { JOURNAL_BYTES = 88, PART_BYTES = 1 << 16 };

static const char *const call_names[] = {NAMES(TEXT_OF)};

enum { MAX_OBJECTS = 8 };

static struct {
  int call;
  long nth;
  bool is_sticky;
  int error;
} fault = {.call = -1};

/* Where the command and its libraries are. */
static struct { uintptr_t begin, end; } objects[MAX_OBJECTS];

static int num_objects;
static _Atomic(long) *calls;
static _Atomic(long) *bytes_written;

static int number(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? 0 : atoi(value);
}

static int note_object(struct dl_phdr_info *object, size_t bytes, void *none) {
  (void)bytes;
  (void)none;
  if (object->dlpi_name[0] != '\0' && strstr(object->dlpi_name, "librelayout") == NULL) {
    return 0;
  }
  for (int k = 0; k < object->dlpi_phnum && num_objects < MAX_OBJECTS; ++k) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[k];
    if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
      objects[num_objects].begin = object->dlpi_addr + part->p_vaddr;
      objects[num_objects++].end = object->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
  }
  return 0;
}

/* A file of numbers that all processes share; NULL if it is not given. */
static void *share(const char *name, size_t bytes) {
  const char *path = getenv(name);
  long descriptor = path == NULL ? -1 : syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    return NULL;
  }
  void *memory =
      (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0L);
  syscall(SYS_close, descriptor);
  return memory == MAP_FAILED ? NULL : memory;
}

__attribute__((constructor)) static void begin(void) {
  const char *wanted = getenv("SLOW_DISK_FAIL");
  bytes_written = share("SLOW_DISK_COUNT", sizeof *bytes_written);
  _Atomic(long) *counts = share("SLOW_DISK_CALLS", NUM_CALLS * sizeof *calls);
  dl_iterate_phdr(note_object, NULL);
  if (wanted != NULL) {
    size_t length = strcspn(wanted, ":");
    char *end = NULL;
    for (int k = 0; k < NUM_CALLS; ++k) {
      if (strlen(call_names[k]) == length && strncmp(call_names[k], wanted, length) == 0) {
        fault.call = k;
      }
    }
    fault.nth = strtol(wanted + length + 1, &end, 10);
    fault.is_sticky = *end == '+';
    fault.error = atoi(end + (fault.is_sticky ? 2 : 1));
    if (counts == NULL) {
      counts = (_Atomic(long) *)syscall(SYS_mmap, NULL, 4096L, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1L, 0L);
    }
  }
  calls = counts;
}

/* True if this call, from an address of a caller, fails. */
static bool fails(int call, const void *caller) {
  bool is_ours = false;
  for (int k = 0; k < num_objects; ++k) {
    is_ours =
        is_ours || ((uintptr_t)caller >= objects[k].begin && (uintptr_t)caller < objects[k].end);
  }
  if (calls == NULL || !is_ours) {
    return false;
  }
  long n = atomic_fetch_add(&calls[call], 1) + 1;
  return call == fault.call && (n == fault.nth || (fault.is_sticky && n > fault.nth));
}

/* True if a call fails with an error. */
#define FAILS(name)                                                       \
  (fails(CALL_##name, __builtin_return_address(0)) && fault.error != 0 && \
   (errno = fault.error, true))

/* The same of a transfer, of which the error 0 leaves one byte of two. */
static bool transfer_fails(int call, const void *caller, int descriptor, size_t *bytes) {
  if (descriptor <= STDERR_FILENO || !fails(call, caller)) {
    return false;
  }
  if (fault.error != 0) {
    errno = fault.error;
    return true;
  }
  *bytes = *bytes > 1 ? *bytes / 2 : *bytes;
  return false;
}

#define TRANSFER_FAILS(name, descriptor, bytes) \
  transfer_fails(CALL_##name, __builtin_return_address(0), (descriptor), &(bytes))

/* ------------------------------------------------------------------- files */

static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return FAILS(open) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return FAILS(open) ? -1 : (int)syscall(SYS_openat, directory, path, flags, mode);
}

int close(int descriptor) {
  bool has_failed = FAILS(close);
  int error = errno;
  int result = (int)syscall(SYS_close, descriptor);
  if (has_failed) {
    errno = error;
  }
  return has_failed ? -1 : result;
}

ssize_t read(int descriptor, void *data, size_t bytes) {
  return TRANSFER_FAILS(read, descriptor, bytes) ? -1 : syscall(SYS_read, descriptor, data, bytes);
}

ssize_t pread64(int descriptor, void *data, size_t bytes, off64_t at) {
  return TRANSFER_FAILS(pread, descriptor, bytes)
             ? -1
             : syscall(SYS_pread64, descriptor, data, bytes, at);
}

ssize_t preadv64(int descriptor, const struct iovec *parts, int count, off64_t at) {
  size_t bytes = 2;
  if (TRANSFER_FAILS(pread, descriptor, bytes)) {
    return -1;
  }
  return bytes == 2
             ? syscall(SYS_preadv, descriptor, parts, count, at, 0L)
             : syscall(SYS_pread64, descriptor, parts[0].iov_base, (parts[0].iov_len + 1) / 2, at);
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
  return TRANSFER_FAILS(write, descriptor, bytes) ? -1
                                                  : syscall(SYS_write, descriptor, data, bytes);
}

/* A journal is small; a part has its size before it is written. */
static bool is_journal(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && status.st_size < PART_BYTES;
}

/* Waits while the test holds all writes but the first, and those that note them. */
static void wait_for_test(int descriptor) {
  static atomic_int num_begun;
  static const struct timespec pause_time = {.tv_nsec = 1000000};
  const char *hold = getenv("SLOW_DISK_HOLD");
  if (hold == NULL || is_journal(descriptor) ||
      atomic_fetch_add(&num_begun, 1) < number("SLOW_DISK_FREE")) {
    return;
  }
  while (access(hold, F_OK) == 0) {
    nanosleep(&pause_time, NULL);
  }
}

ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t at) {
  static atomic_int num_writes;
  struct timespec pause_time = {0, number("SLOW_DISK_WRITE_US") * 1000L};
  if (TRANSFER_FAILS(pwrite, descriptor, bytes)) {
    return -1;
  }
  nanosleep(&pause_time, NULL);
  wait_for_test(descriptor);
  int n = atomic_fetch_add(&num_writes, 1) + 1;
  ssize_t written = syscall(SYS_pwrite64, descriptor, data, bytes, at);
  if (bytes_written != NULL && written > 0) {
    atomic_fetch_add(bytes_written, written);
  }
  if (n == number("SLOW_DISK_FLIP")) {
    const size_t middle = bytes / 2;
    unsigned char flipped = (unsigned char)~((const unsigned char *)data)[middle];
    (void)!syscall(SYS_pwrite64, descriptor, &flipped, 1L, at + (off64_t)middle);
  }
  return written;
}

/* The one that programs with offsets of 64 bits call is the other. */
ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t at) {
  return pwrite64(descriptor, data, bytes, at);
}

int fsync(int descriptor) {
  static int num_files;
  struct stat status;
  if (FAILS(fsync)) {
    return -1;
  }
  if ((fstat(descriptor, &status) == 0 &&
       (S_ISDIR(status.st_mode) || status.st_size == JOURNAL_BYTES)) ||
      num_files++ < number("SLOW_DISK_FILES")) {
    return 0;
  }
  for (;;) {
    pause();
  }
}

int statvfs64(const char *path, struct statvfs64 *out) {
  (void)path;
  const char *room = getenv("SLOW_DISK_ROOM");
  if (room == NULL) {
    errno = ENOSYS;
    return -1;
  }
  *out = (struct statvfs64){.f_frsize = 1, .f_bavail = (unsigned long)atol(room)};
  return 0;
}

int fdatasync(int descriptor) {
  return FAILS(fsync) ? -1 : (int)syscall(SYS_fdatasync, descriptor);
}

int renameat(int from, const char *old, int to, const char *new) {
  return FAILS(rename) ? -1 : (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int ftruncate64(int descriptor, off64_t bytes) {
  return FAILS(ftruncate) ? -1 : (int)syscall(SYS_ftruncate, descriptor, bytes);
}

int fallocate64(int descriptor, int mode, off64_t at, off64_t bytes) {
  return FAILS(fallocate) ? -1 : (int)syscall(SYS_fallocate, descriptor, mode, at, bytes);
}

int mkdir(const char *path, mode_t mode) {
  return FAILS(mkdir) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

void *mmap64(void *at, size_t bytes, int prot, int flags, int descriptor, off64_t from) {
  return FAILS(mmap) ? MAP_FAILED
                     : (void *)syscall(SYS_mmap, at, bytes, prot, flags, descriptor, from);
}

/* ----------------------------------------------------------------- threads */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *payload) {
  static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (next == NULL) {
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
  }
  return FAILS(thread) ? fault.error : next(thread, attributes, run, payload);
}

/* ------------------------------------------------------------------ memory */

/* A sanitizer has its own. */
#ifdef SLOW_DISK_HAS_MEMORY
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

void *malloc(size_t bytes) {
  return FAILS(malloc) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  return FAILS(malloc) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
  return FAILS(malloc) ? NULL : __libc_realloc(memory, bytes);
}

char *strdup(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = FAILS(malloc) ? NULL : __libc_malloc(bytes);
  return copy == NULL ? NULL : memcpy(copy, text, bytes);
}
#endif

/* ------------------------------------------------------------------- clock */

int prctl(int option, ...) {
  va_list arguments;
  va_start(arguments, option);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  const pid_t parent = getppid();
  if (option == PR_SET_PDEATHSIG && number("SLOW_DISK_ORPHAN") != 0) {
    (void)kill(parent, SIGKILL);
    while (getppid() == parent) {
    }
  }
  return (int)syscall(SYS_prctl, option, argument, 0L, 0L, 0L);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  static atomic_long start;
  long result = syscall(SYS_clock_gettime, clock, out);
  int factor = number("SLOW_DISK_CLOCK");
  if (result != 0 || clock != CLOCK_MONOTONIC || factor <= 1 || gettid() == getpid()) {
    return (int)result;
  }
  long nanos = out->tv_sec * 1000000000L + out->tv_nsec;
  long none = 0;
  atomic_compare_exchange_strong(&start, &none, nanos);
  nanos = start + (nanos - start) * factor;
  out->tv_sec = nanos / 1000000000L;
  out->tv_nsec = nanos % 1000000000L;
  return 0;
}
