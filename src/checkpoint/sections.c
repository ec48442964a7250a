/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of one rank is written, verified and read. */
#include <config.h>
#include "checkpoint/sections.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/memory.h"

/* The file starts with a head and one entry per section. */
struct head {
  char magic[16];
  uint32_t version, order; /* ORDER in the byte order of the writer */
  uint64_t count, unused[4];
};
struct entry {
  char name[SECTION_NAME];
  uint64_t offset, bytes, unused[2];
};
_Static_assert(sizeof(struct head) == 64 && sizeof(struct entry) == 64, "the layout of the file");

#define MAGIC "ESPALIER RANK\n\0"
enum { FILE_VERSION = 1, ALIGNED = 64, PIECE = 16 << 20 };
#define ORDER 0x01020304u

static uint64_t aligned(uint64_t bytes) { return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED; }

uint64_t sections_bytes(const struct section *section, int count)
{
  uint64_t sum = sizeof(struct head) + sizeof(struct entry) * (uint64_t)count;
  for (int k = 0; k < count; k++) sum += aligned(section[k].bytes);
  return sum;
}

/* A file that is written sequentially, and the checksum of what has been written. */
struct stream {
  int fd;
  const char *path;
  XXH64_state_t *hash;
};

static int put_piece(struct stream *stream, const char *from, size_t bytes, struct fault *fault)
{
  XXH64_update(stream->hash, from, bytes);
  return write_all(stream->fd, from, (int64_t)bytes, -1)
             ? fault_set(fault, "writing %s failed: %s", stream->path, strerror(errno))
             : 0;
}

static int put(struct stream *stream, const void *from, uint64_t bytes, struct fault *fault)
{
  for (uint64_t done = 0; done < bytes; done += PIECE) {
    uint64_t piece = bytes - done < PIECE ? bytes - done : PIECE;
    if (put_piece(stream, (const char *)from + done, (size_t)piece, fault)) return -1;
  }
  return 0;
}

static int put_all(struct stream *stream, const struct section *section, int count, struct fault *fault)
{
  static const char zeros[ALIGNED];
  struct head head = {.magic = MAGIC, .version = FILE_VERSION, .order = ORDER, .count = (uint64_t)count};
  uint64_t offset = sizeof head + sizeof(struct entry) * (uint64_t)count;
  if (put(stream, &head, sizeof head, fault)) return -1;
  for (int k = 0; k < count; k++) {
    struct entry e = {.offset = offset, .bytes = section[k].bytes};
    snprintf(e.name, sizeof e.name, "%s", section[k].name);
    if (put(stream, &e, sizeof e, fault)) return -1;
    offset += aligned(section[k].bytes);
  }
  for (int k = 0; k < count; k++)
    if (put(stream, section[k].data, section[k].bytes, fault) ||
        put(stream, zeros, aligned(section[k].bytes) - section[k].bytes, fault))
      return -1;
  return 0;
}

int sections_write(const char *path, const struct section *section, int count, uint64_t *sum, struct fault *fault)
{
  struct stream o = {.path = path, .fd = file_open(path, O_WRONLY | O_CREAT | O_TRUNC)};
  if (o.fd < 0) return fault_set(fault, "%s cannot be created: %s", path, file_reason(errno));
  o.hash = XXH64_createState();
  XXH64_reset(o.hash, 0);
  put_all(&o, section, count, fault);
  *sum = XXH64_digest(o.hash);
  XXH64_freeState(o.hash);
  if (!fault->text[0] && fsync(o.fd)) fault_set(fault, "flushing %s to the disk failed: %s", path, strerror(errno));
  posix_fadvise(o.fd, 0, 0, POSIX_FADV_DONTNEED); /* so that the file is read back from the disk */
  if (close(o.fd) && !fault->text[0]) fault_set(fault, "closing %s failed: %s", path, strerror(errno));
  return fault->text[0] ? -1 : 0;
}

int sections_verify(const char *path, uint64_t bytes, uint64_t sum, struct fault *fault)
{
  struct stat st;
  int fd = file_open(path, O_RDONLY);
  if (fd < 0) return fault_set(fault, "%s cannot be opened: %s", path, file_reason(errno));
  if (fstat(fd, &st)) fault_set(fault, "%s: %s", path, strerror(errno));
  else if ((uint64_t)st.st_size != bytes)
    fault_set(fault, "%s has %lld bytes, but %lld were written", path, (long long)st.st_size, (long long)bytes);
  size_t size = bytes < PIECE ? (size_t)bytes + 1 : PIECE;
  char *buffer = memory_alloc("checkpoint", size);
  XXH64_state_t *hash = XXH64_createState();
  XXH64_reset(hash, 0);
  while (!fault->text[0]) {
    ssize_t n = read(fd, buffer, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fault_set(fault, "reading %s failed: %s", path, strerror(errno));
    if (n <= 0) break;
    XXH64_update(hash, buffer, (size_t)n);
  }
  if (!fault->text[0] && XXH64_digest(hash) != sum)
    fault_set(fault, "%s differs from what was written (checksum)", path);
  XXH64_freeState(hash);
  memory_free(buffer);
  close(fd);
  return fault->text[0] ? -1 : 0;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static int get(const struct sections *in, uint64_t offset, void *to, uint64_t bytes, struct fault *fault)
{
  int64_t n = read_all(in->fd, to, (int64_t)bytes, (int64_t)offset);
  if (n < 0) return fault_set(fault, "reading %s failed: %s", in->path, strerror(errno));
  if (n < (int64_t)bytes)
    return fault_set(fault, "%s ends at byte %lld: it is truncated", in->path, (long long)offset + n);
  return 0;
}

static int get_table(struct sections *in, struct fault *fault)
{
  struct head head;
  struct stat st;
  if (fstat(in->fd, &st)) return fault_set(fault, "%s: %s", in->path, strerror(errno));
  if (get(in, 0, &head, sizeof head, fault)) return -1;
  if (memcmp(head.magic, MAGIC, sizeof head.magic))
    return fault_set(fault, "%s is not a file of a checkpoint", in->path);
  if (head.version != FILE_VERSION || head.order != ORDER || head.count > SECTIONS_MAX)
    return fault_set(
        fault, "%s was written by another version of this program, or on a computer with another byte order", in->path);
  in->count = (int)head.count;
  for (int k = 0; k < in->count; k++) {
    struct entry e;
    if (get(in, sizeof head + sizeof e * (uint64_t)k, &e, sizeof e, fault)) return -1;
    if (e.offset > (uint64_t)st.st_size || e.bytes > (uint64_t)st.st_size - e.offset)
      return fault_set(fault, "%s: section %d extends beyond the end of the file", in->path, k);
    memcpy(in->at[k].name, e.name, SECTION_NAME);
    in->at[k].name[SECTION_NAME - 1] = 0;
    in->at[k].offset = e.offset;
    in->at[k].bytes = e.bytes;
  }
  return 0;
}

int sections_open(struct sections *in, const char *path, struct fault *fault)
{
  in->count = 0;
  snprintf(in->path, sizeof in->path, "%s", path);
  in->fd = file_open(path, O_RDONLY);
  if (in->fd < 0) return fault_set(fault, "%s cannot be opened: %s", path, file_reason(errno));
  if (get_table(in, fault) == 0) return 0;
  sections_close(in);
  return -1;
}

void sections_close(struct sections *in)
{
  if (in->fd >= 0) close(in->fd);
  in->fd = -1;
}

int sections_find(const struct sections *in, const char *name)
{
  for (int k = 0; k < in->count; k++)
    if (strcmp(in->at[k].name, name) == 0) return k;
  return -1;
}

int sections_read(const struct sections *in, int k, uint64_t from, void *to, uint64_t bytes, struct fault *fault)
{
  if (from > in->at[k].bytes || bytes > in->at[k].bytes - from)
    return fault_set(fault, "%s: section %s has %lld bytes, %lld were expected", in->path, in->at[k].name,
                     (long long)in->at[k].bytes, (long long)(from + bytes));
  return get(in, in->at[k].offset + from, to, bytes, fault);
}
