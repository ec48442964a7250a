/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* fopencookie, memrchr */
#include <config.h>
#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/timer.h"

enum { CAPACITY_MIN = 4096, SPACING_MIN = 512, PIECE = 65536, COMMENT = -1 };

#define WARNING_SECONDS 60.0 /* between two warnings about one file */

/* --- checksums --------------------------------------------------------------------------------------------------- */

struct hasher {
  XXH64_state_t *state;
  long long bytes, spacing; /* so far; between marks */
  int marks;
  uint64_t mark[SPOOL_MARKS];
};

static void hasher_open(struct hasher *hasher)
{
  *hasher = (struct hasher){.state = XXH64_createState(), .spacing = SPACING_MIN};
  if (!hasher->state) fatal("no memory for a checksum");
  XXH64_reset(hasher->state, 0);
}

static void hasher_close(struct hasher *hasher) { XXH64_freeState(hasher->state); }

/* All bytes so far end at a mark: record it. Where there are too many marks every second one is dropped. */
static void add_mark(struct hasher *hasher)
{
  if (hasher->marks == SPOOL_MARKS) {
    hasher->marks /= 2;
    hasher->spacing *= 2;
    for (int k = 0; k < hasher->marks; k++) hasher->mark[k] = hasher->mark[2 * k + 1];
  }
  if (hasher->bytes % hasher->spacing == 0) hasher->mark[hasher->marks++] = XXH64_digest(hasher->state);
}

static void hasher_add(struct hasher *hasher, const char *from, size_t bytes)
{
  while (bytes > 0) {
    long long left = hasher->spacing - hasher->bytes % hasher->spacing;
    size_t part = (long long)bytes < left ? bytes : (size_t)left;
    XXH64_update(hasher->state, from, part);
    hasher->bytes += (long long)part;
    from += part;
    bytes -= part;
    if ((long long)part == left) add_mark(hasher);
  }
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

struct spool {
  int fd, error;         /* error: errno of the last write, or 0 */
  struct hasher written; /* the bytes in the file */
  char *pending;         /* [count] bytes that are not yet in the file */
  size_t count, capacity;
  char *path;       /* for messages */
  double warned;    /* clock of the last warning that bytes cannot be written; 0: none */
  int most, column; /* columns of a row that are written, 0: all; of the present line so far, 0: it begins */
  int lags, unsafe; /* 1: warned that bytes cannot be written; that flushing failed */
};

/* Write as many pending bytes as the disk takes. */
static void write_pending(struct spool *spool)
{
  size_t done = 0;
  spool->error = 0;
  if (spool->count == 0) return;
  while (done < spool->count && !spool->error) {
    ssize_t n = write(spool->fd, spool->pending + done, spool->count - done);
    if (n > 0) done += (size_t)n;
    else if (n == 0 || errno != EINTR) spool->error = n == 0 ? ENOSPC : errno;
  }
  hasher_add(&spool->written, spool->pending, done);
  spool->count -= done;
  memmove(spool->pending, spool->pending + done, spool->count);
}

/* Copy text without the columns that are not wanted. Returns the number of bytes. */
static size_t copy_columns(struct spool *spool, char *to, const char *from, size_t bytes)
{
  size_t n = 0;
  if (spool->most == 0) return memcpy(to, from, bytes), bytes;
  for (size_t k = 0; k < bytes; k++) {
    if (spool->column == 0) spool->column = from[k] == '#' ? COMMENT : 1; /* a line begins */
    if (from[k] == ',' && spool->column != COMMENT) spool->column++;
    if (spool->column <= spool->most || from[k] == '\n') to[n++] = from[k];
    if (from[k] == '\n') spool->column = 0;
  }
  return n;
}

static ssize_t cookie_write(void *cookie, const char *from, size_t bytes)
{
  struct spool *s = cookie;
  if (s->count + bytes > s->capacity) {
    s->capacity = 2 * (s->count + bytes) + CAPACITY_MIN;
    s->pending = memory_resize("tables", s->pending, s->capacity);
  }
  s->count += copy_columns(s, s->pending + s->count, from, bytes);
  write_pending(s);
  return (ssize_t)bytes;
}

/* Supports ftello only. */
static int cookie_seek(void *cookie, off64_t *offset, int whence)
{
  const struct spool *s = cookie;
  if (whence != SEEK_CUR || *offset != 0) return -1;
  *offset = (off64_t)(s->written.bytes + (long long)s->count);
  return 0;
}

static int cookie_close(void *cookie)
{
  struct spool *s = cookie;
  write_pending(s);
  int error = s->error;
  if (close(s->fd) && !error) error = errno;
  hasher_close(&s->written);
  memory_free(s->pending);
  memory_free(s->path);
  memory_free(s);
  errno = error;
  return error ? -1 : 0;
}

/* Open a regular file. Returns the descriptor, or -1 with a fault. */
static int open_table(const char *path, int flags, struct fault *fault)
{
  int fd = file_open(path, flags);
  if (fd >= 0) return fd;
  if (errno == FILE_NOT_REGULAR) return fault_set(fault, "%s is not a regular file; move it away", path);
  return fault_set(fault, "%s cannot be opened: %s", path, strerror(errno));
}

/* Cut the file to `at` bytes, of which the checksums are computed, and go to its end. 0, or -1 with errno. */
static int cut(struct spool *spool, long long at)
{
  char buffer[PIECE];
  if (ftruncate(spool->fd, (off_t)at) || lseek(spool->fd, 0, SEEK_END) < 0) return -1;
  while (spool->written.bytes < at) {
    int64_t n = read_all(spool->fd, buffer, at - spool->written.bytes < PIECE ? at - spool->written.bytes : PIECE,
                         spool->written.bytes);
    if (n <= 0) return -1;
    hasher_add(&spool->written, buffer, (size_t)n);
  }
  return 0;
}

FILE *spool_open(const char *path, long long at, struct spool **out, struct fault *fault)
{
  static const cookie_io_functions_t functions = {NULL, cookie_write, cookie_seek, cookie_close};
  int fd = open_table(path, at < 0 ? O_RDWR | O_CREAT : O_RDWR, fault);
  if (fd < 0) return NULL;
  struct spool *s = memory_alloc("tables", sizeof *s);
  s->fd = fd;
  s->path = memory_alloc("tables", strlen(path) + 1);
  strcpy(s->path, path);
  hasher_open(&s->written);
  if (cut(s, at < 0 ? 0 : at)) {
    fault_set(fault, "%s cannot be cut to its first %lld bytes: %s", path, at < 0 ? 0 : at, strerror(errno));
    cookie_close(s);
    return NULL;
  }
  if (out) *out = s;
  return fopencookie(s, "w", functions);
}

void spool_columns(struct spool *spool, int columns)
{
  spool->most = columns;
  spool->column = 0;
}

void spool_sums(const struct spool *spool, struct spool_sums *sums)
{
  *sums = (struct spool_sums){.bytes = spool->written.bytes, .all = XXH64_digest(spool->written.state)};
  memcpy(sums->mark, spool->written.mark, sizeof *sums->mark * (size_t)spool->written.marks);
}

size_t spool_pending(const struct spool *spool, const char **bytes)
{
  *bytes = spool->pending;
  return spool->count;
}

/* --- errors of the disk ------------------------------------------------------------------------------------------ */

/* Copy the first `bytes` bytes of an open file. 0, or -1 with errno. */
static int copy(int from, int to, int64_t bytes)
{
  char buffer[PIECE];
  for (int64_t at = 0, n; at < bytes; at += n) {
    n = read_all(from, buffer, bytes - at < PIECE ? bytes - at : PIECE, at);
    if (n <= 0 || write_all(to, buffer, n, at)) return -1;
  }
  return lseek(to, (off_t)bytes, SEEK_SET) < 0 ? -1 : 0;
}

/* The file was removed, but is still open: write it again. */
static void restore(struct spool *spool)
{
  struct stat st;
  if (fstat(spool->fd, &st) || st.st_nlink > 0) return;
  int fd = open(spool->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return; /* another file has this name, or the folder is gone, too */
  int bad = copy(spool->fd, fd, spool->written.bytes) || dup3(fd, spool->fd, O_CLOEXEC) < 0;
  close(fd);
  if (bad) unlink(spool->path);
  else
    fprintf(stderr, "espalier: warning: %s was removed while the run goes on; it has been written again\n",
            spool->path);
}

void spool_sync(struct spool *spool)
{
  restore(spool);
  int bad = fsync(spool->fd) && errno != EINVAL && errno != EROFS; /* some file systems have no flush */
  if (bad && !spool->unsafe)
    fprintf(stderr, "espalier: warning: flushing %s to the disk failed: %s; a restart compares it with its checksum\n",
            spool->path, strerror(errno));
  spool->unsafe = bad;
}

size_t spool_report(struct spool *spool)
{
  if (spool->count && !spool->lags && (spool->warned == 0 || timer_clock() - spool->warned > WARNING_SECONDS)) {
    fprintf(stderr,
            "espalier: warning: %s cannot be written: %s; its rows are kept in memory and in checkpoints, and written "
            "later\n",
            spool->path, strerror(spool->error));
    spool->lags = 1;
    spool->warned = timer_clock();
  }
  if (!spool->count && spool->lags) {
    printf("%s: all rows so far have been written\n", spool->path);
    spool->lags = 0;
  }
  return spool->count;
}

/* --- comparing --------------------------------------------------------------------------------------------------- */

/* The spacing of the marks of a text. */
static long long spacing_of(long long bytes)
{
  long long spacing = SPACING_MIN;
  while (bytes / spacing > SPOOL_MARKS) spacing *= 2;
  return spacing;
}

/* The first bytes of which the file, whose first bytes are in `hasher`, and the text `was` agree. A shorter text has as
 * many marks, or more. */
static long long agreeing(const struct hasher *hasher, const struct spool_sums *was)
{
  long long spacing = spacing_of(was->bytes);
  if (hasher->bytes == was->bytes && XXH64_digest(hasher->state) == was->all) return was->bytes;
  for (long long k = was->bytes / spacing; k > 0; k--)
    if (k * spacing <= hasher->bytes && hasher->mark[k * spacing / hasher->spacing - 1] == was->mark[k - 1])
      return k * spacing;
  return 0;
}

int spool_check(const char *path, const struct spool_sums *was, struct spool_check *found, struct fault *fault)
{
  char buffer[PIECE];
  struct hasher h;
  struct stat st;
  int zeros = 0, fd = -1;
  *found = (struct spool_check){.size = -1};
  if (stat(path, &st) && errno == ENOENT) return 0;
  if ((fd = open_table(path, O_RDONLY, fault)) < 0) return -1;
  if (fstat(fd, &st)) fault_set(fault, "%s: %s", path, strerror(errno));
  found->size = (long long)st.st_size;
  hasher_open(&h);
  while (h.bytes < was->bytes && !fault->text[0]) {
    int64_t n = read_all(fd, buffer, was->bytes - h.bytes < PIECE ? was->bytes - h.bytes : PIECE, h.bytes);
    if (n < 0) fault_set(fault, "reading %s failed: %s", path, strerror(errno));
    if (n <= 0) break;
    const char *zero = memchr(buffer, 0, (size_t)n);
    const char *line = zeros ? NULL : memrchr(buffer, '\n', zero ? (size_t)(zero - buffer) : (size_t)n);
    if (line) found->keep = h.bytes + (line - buffer) + 1;
    zeros |= zero != NULL;
    hasher_add(&h, buffer, (size_t)n);
  }
  found->agree = agreeing(&h, was);
  if (found->agree == was->bytes) found->keep = was->bytes;
  hasher_close(&h);
  close(fd);
  return fault->text[0] ? -1 : 0;
}
