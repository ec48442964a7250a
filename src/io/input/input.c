/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that is read at given offsets. */
#include <config.h>
#include "io/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"

int input_open(struct input *in, const char *path, struct fault *fault)
{
  struct stat st;
  in->path = path;
  in->fd = -1;
  if (stat(path, &st) != 0) return fault_set(fault, "%s: %s", path, strerror(errno));
  if (S_ISDIR(st.st_mode)) return fault_set(fault, "%s is a directory, not a file with initial conditions", path);
  if (!S_ISREG(st.st_mode)) return fault_set(fault, "%s is not a regular file", path);
  in->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (in->fd < 0) return fault_set(fault, "%s cannot be opened: %s", path, strerror(errno));
  in->size = st.st_size;
  return 0;
}

void input_close(struct input *in)
{
  if (in->fd >= 0) close(in->fd);
  in->fd = -1;
}

int input_bytes(const struct input *in, int64_t offset, void *to, int64_t bytes, struct fault *fault)
{
  int64_t got = read_all(in->fd, to, bytes, offset);
  if (got < 0)
    return fault_set(fault, "%s: reading from byte %lld on failed: %s", in->path, (long long)offset, strerror(errno));
  if (got < bytes)
    return fault_set(fault, "%s ends at byte %lld, but bytes %lld to %lld are needed: it is truncated", in->path,
                     (long long)(offset + got), (long long)offset, (long long)(offset + bytes - 1));
  return 0;
}

uint32_t bytes_u32(const void *at, int swap)
{
  uint32_t x;
  memcpy(&x, at, sizeof x);
  return swap ? __builtin_bswap32(x) : x;
}

uint64_t bytes_u64(const void *at, int swap)
{
  uint64_t x;
  memcpy(&x, at, sizeof x);
  return swap ? __builtin_bswap64(x) : x;
}

float bytes_f32(const void *at, int swap)
{
  uint32_t x = bytes_u32(at, swap);
  float y;
  memcpy(&y, &x, sizeof y);
  return y;
}

double bytes_f64(const void *at, int swap)
{
  uint64_t x = bytes_u64(at, swap);
  double y;
  memcpy(&y, &x, sizeof y);
  return y;
}

/* The raw numbers are read to the end of the target, so that conversion in place from front to back does not overwrite
 * them. */
static const char *read_raw(const struct input *in, int64_t offset, int width, int64_t count, void *to,
                            struct fault *fault)
{
  char *raw = (char *)to + (8 - width) * count;
  return input_bytes(in, offset, raw, width * count, fault) == 0 ? raw : NULL;
}

int input_reals(const struct input *in, int64_t offset, int width, int swap, int64_t count, double *to,
                struct fault *fault)
{
  if (count == 0) return 0;
  const char *raw = read_raw(in, offset, width, count, to, fault);
  if (!raw) return -1;
  if (width == 8 && !swap) return 0;
  for (int64_t i = 0; i < count; i++) {
    double x = width == 4 ? bytes_f32(raw + 4 * i, swap) : bytes_f64(raw + 8 * i, swap);
    memcpy(to + i, &x, sizeof x);
  }
  return 0;
}

int input_wholes(const struct input *in, int64_t offset, int width, int swap, int64_t count, uint64_t *to,
                 struct fault *fault)
{
  if (count == 0) return 0;
  const char *raw = read_raw(in, offset, width, count, to, fault);
  if (!raw) return -1;
  if (width == 8 && !swap) return 0;
  for (int64_t i = 0; i < count; i++) {
    uint64_t x = width == 4 ? bytes_u32(raw + 4 * i, swap) : bytes_u64(raw + 8 * i, swap);
    memcpy(to + i, &x, sizeof x);
  }
  return 0;
}
