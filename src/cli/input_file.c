/* SPDX-License-Identifier: Apache-2.0 */
#include "input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

/* A call reads no more than this, so that a signal does not wait for long. */
#define CHUNK_BYTES ((size_t)8 << 20)

int rlo__input_file_open(const char *path, rlo__input_file *out_file) {
  /* Not blocking: the open of a pipe without a writer would not return. */
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return rlo__fail("cannot open %s: %s", path, strerror(errno));
  }
  struct stat information;
  if (fstat(descriptor, &information) != 0) {
    int code = rlo__fail("cannot look at %s: %s", path, strerror(errno));
    close(descriptor);
    return code;
  }
  if (!S_ISREG(information.st_mode)) {
    close(descriptor);
    return rlo__fail("%s is not a regular file", path);
  }
  *out_file = (rlo__input_file){
      .descriptor = descriptor,
      .size_bytes = information.st_size,
      .path = path,
  };
  return RLO__EXIT_OK;
}

int rlo__input_file_read(const rlo__input_file *file,
                         int64_t offset_bytes,
                         void *buffer,
                         size_t bytes) {
  char *to = buffer;
  size_t done = 0;
  while (done < bytes) {
    size_t wanted = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
    ssize_t got = pread(
        file->descriptor, to + done, wanted, (off_t)offset_bytes + (off_t)done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return rlo__fail("cannot read %s: %s", file->path, strerror(errno));
    }
    if (got == 0) {
      return rlo__fail("%s ends at byte %" PRId64
                       ", %zu bytes too early; did it change meanwhile?",
                       file->path,
                       offset_bytes + (int64_t)done,
                       bytes - done);
    }
    done += (size_t)got;
  }
  return RLO__EXIT_OK;
}

void rlo__input_file_close(const rlo__input_file *file) {
  close(file->descriptor);
}
