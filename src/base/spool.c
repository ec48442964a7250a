/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE   /* fopencookie, memrchr */
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

#define WARNING_SECONDS 60.0   /* between two warnings about one file */

/* --- checksums --------------------------------------------------------------------------------------------------- */

struct hasher {
  XXH64_state_t *state;
  long long bytes, spacing;   /* so far; between marks */
  int marks;
  uint64_t mark[SPOOL_MARKS];
};

static void hasher_open(struct hasher *h)
{
  *h = (struct hasher){.state = XXH64_createState(), .spacing = SPACING_MIN};
  if (!h->state) fatal("no memory for a checksum");
  XXH64_reset(h->state, 0);
}

static void hasher_close(struct hasher *h) { XXH64_freeState(h->state); }

/* All bytes so far end at a mark: record it. Where there are too many marks every second one is dropped. */
static void add_mark(struct hasher *h)
{
  if (h->marks == SPOOL_MARKS) {
    h->marks /= 2;
    h->spacing *= 2;
    for (int k = 0; k < h->marks; k++) h->mark[k] = h->mark[2 * k + 1];
  }
  if (h->bytes % h->spacing == 0) h->mark[h->marks++] = XXH64_digest(h->state);
}

static void hasher_add(struct hasher *h, const char *from, size_t bytes)
{
  while (bytes > 0) {
    long long left = h->spacing - h->bytes % h->spacing;
    size_t part = (long long)bytes < left ? bytes : (size_t)left;
    XXH64_update(h->state, from, part);
    h->bytes += (long long)part;
    from += part;
    bytes -= part;
    if ((long long)part == left) add_mark(h);
  }
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

struct spool {
  int fd, error;            /* error: errno of the last write, or 0 */
  struct hasher written;    /* the bytes in the file */
  char *pending;            /* [count] bytes that are not yet in the file */
  size_t count, capacity;
  char *path;               /* for messages */
  double warned;            /* clock of the last warning that bytes cannot be written; 0: none */
  int most, column;         /* columns of a row that are written, 0: all; of the present line so far, 0: it begins */
  int lags, unsafe;         /* 1: warned that bytes cannot be written; that flushing failed */
};

/* Write as many pending bytes as the disk takes. */
static void write_pending(struct spool *s)
{
  size_t done = 0;
  s->error = 0;
  if (s->count == 0) return;
  while (done < s->count && !s->error) {
    ssize_t n = write(s->fd, s->pending + done, s->count - done);
    if (n > 0) done += (size_t)n;
    else if (n == 0 || errno != EINTR) s->error = n == 0 ? ENOSPC : errno;
  }
  hasher_add(&s->written, s->pending, done);
  s->count -= done;
  memmove(s->pending, s->pending + done, s->count);
}

/* Copy text without the columns that are not wanted. Returns the number of bytes. */
static size_t copy_columns(struct spool *s, char *to, const char *from, size_t bytes)
{
  size_t n = 0;
  if (s->most == 0) return memcpy(to, from, bytes), bytes;
  for (size_t k = 0; k < bytes; k++) {
    if (s->column == 0) s->column = from[k] == '#' ? COMMENT : 1;   /* a line begins */
    if (from[k] == ',' && s->column != COMMENT) s->column++;
    if (s->column <= s->most || from[k] == '\n') to[n++] = from[k];
    if (from[k] == '\n') s->column = 0;
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
static int open_table(const char *path, int flags, struct fault *f)
{
  int fd = file_open(path, flags);
  if (fd >= 0) return fd;
  if (errno == FILE_NOT_REGULAR) return fault_set(f, "%s is not a regular file; move it away", path);
  return fault_set(f, "%s cannot be opened: %s", path, strerror(errno));
}

/* Cut the file to `at` bytes, of which the checksums are computed, and go to its end. 0, or -1 with errno. */
static int cut(struct spool *s, long long at)
{
  char buffer[PIECE];
  if (ftruncate(s->fd, (off_t)at) || lseek(s->fd, 0, SEEK_END) < 0) return -1;
  while (s->written.bytes < at) {
    int64_t n = read_all(s->fd, buffer, at - s->written.bytes < PIECE ? at - s->written.bytes : PIECE, s->written.bytes);
    if (n <= 0) return -1;
    hasher_add(&s->written, buffer, (size_t)n);
  }
  return 0;
}

FILE *spool_open(const char *path, long long at, struct spool **out, struct fault *f)
{
  static const cookie_io_functions_t functions = {NULL, cookie_write, cookie_seek, cookie_close};
  int fd = open_table(path, at < 0 ? O_RDWR | O_CREAT : O_RDWR, f);
  if (fd < 0) return NULL;
  struct spool *s = memory_alloc("tables", sizeof *s);
  s->fd = fd;
  s->path = memory_alloc("tables", strlen(path) + 1);
  strcpy(s->path, path);
  hasher_open(&s->written);
  if (cut(s, at < 0 ? 0 : at)) {
    fault_set(f, "%s cannot be cut to its first %lld bytes: %s", path, at < 0 ? 0 : at, strerror(errno));
    cookie_close(s);
    return NULL;
  }
  if (out) *out = s;
  return fopencookie(s, "w", functions);
}

void spool_columns(struct spool *s, int columns)
{
  s->most = columns;
  s->column = 0;
}

void spool_sums(const struct spool *s, struct spool_sums *sums)
{
  *sums = (struct spool_sums){.bytes = s->written.bytes, .all = XXH64_digest(s->written.state)};
  memcpy(sums->mark, s->written.mark, sizeof *sums->mark * (size_t)s->written.marks);
}

size_t spool_pending(const struct spool *s, const char **bytes)
{
  *bytes = s->pending;
  return s->count;
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
static void restore(struct spool *s)
{
  struct stat st;
  if (fstat(s->fd, &st) || st.st_nlink > 0) return;
  int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return;   /* another file has this name, or the folder is gone, too */
  int bad = copy(s->fd, fd, s->written.bytes) || dup3(fd, s->fd, O_CLOEXEC) < 0;
  close(fd);
  if (bad) unlink(s->path);
  else fprintf(stderr, "espalier: warning: %s was removed while the run goes on; it has been written again\n", s->path);
}

void spool_sync(struct spool *s)
{
  restore(s);
  int bad = fsync(s->fd) && errno != EINVAL && errno != EROFS;   /* some file systems have no flush */
  if (bad && !s->unsafe)
    fprintf(stderr, "espalier: warning: flushing %s to the disk failed: %s; a restart compares it with its checksum\n", s->path,
            strerror(errno));
  s->unsafe = bad;
}

size_t spool_report(struct spool *s)
{
  if (s->count && !s->lags && (s->warned == 0 || timer_clock() - s->warned > WARNING_SECONDS)) {
    fprintf(stderr, "espalier: warning: %s cannot be written: %s; its rows are kept in memory and in checkpoints, and written later\n",
            s->path, strerror(s->error));
    s->lags = 1;
    s->warned = timer_clock();
  }
  if (!s->count && s->lags) {
    printf("%s: all rows so far have been written\n", s->path);
    s->lags = 0;
  }
  return s->count;
}

/* --- comparing --------------------------------------------------------------------------------------------------- */

/* The spacing of the marks of a text. */
static long long spacing_of(long long bytes)
{
  long long spacing = SPACING_MIN;
  while (bytes / spacing > SPOOL_MARKS) spacing *= 2;
  return spacing;
}

/* The first bytes of which the file, whose first bytes are in `h`, and the text `was` agree. A shorter text has as many marks, or more. */
static long long agreeing(const struct hasher *h, const struct spool_sums *was)
{
  long long spacing = spacing_of(was->bytes);
  if (h->bytes == was->bytes && XXH64_digest(h->state) == was->all) return was->bytes;
  for (long long k = was->bytes / spacing; k > 0; k--)
    if (k * spacing <= h->bytes && h->mark[k * spacing / h->spacing - 1] == was->mark[k - 1]) return k * spacing;
  return 0;
}

int spool_check(const char *path, const struct spool_sums *was, struct spool_check *found, struct fault *f)
{
  char buffer[PIECE];
  struct hasher h;
  struct stat st;
  int zeros = 0, fd = -1;
  *found = (struct spool_check){.size = -1};
  if (stat(path, &st) && errno == ENOENT) return 0;
  if ((fd = open_table(path, O_RDONLY, f)) < 0) return -1;
  if (fstat(fd, &st)) fault_set(f, "%s: %s", path, strerror(errno));
  found->size = (long long)st.st_size;
  hasher_open(&h);
  while (h.bytes < was->bytes && !f->text[0]) {
    int64_t n = read_all(fd, buffer, was->bytes - h.bytes < PIECE ? was->bytes - h.bytes : PIECE, h.bytes);
    if (n < 0) fault_set(f, "reading %s failed: %s", path, strerror(errno));
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
  return f->text[0] ? -1 : 0;
}
