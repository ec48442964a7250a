/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GADGET formats 1 and 2, little endian: header, positions, velocities, ids, masses; in format 2 a record with a label
 * precedes each. Particles are sorted by type; each rank writes its rows of all blocks. */
#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory.h"
#include "io/convert/convert.h"

enum { HEADER_BYTES = 256, LABEL_RECORD = 16, BLOCKS = 4 };
enum { POS, VEL, ID, MASS };
#define RECORD_LIMIT 4294967295.0 /* bytes: lengths have 32 bits */

static const char *const labels[BLOCKS] = {"POS ", "VEL ", "ID  ", "MASS"};

struct out {
  const char *path;
  int fd, labelled;
  int real_width, id_width;
  int64_t count[PARTICLE_TYPES], before[PARTICLE_TYPES]; /* of all ranks; of the ranks before this one */
  int64_t total;
  double time;
};

static void little(unsigned char *to, uint64_t x, int width)
{
  for (int i = 0; i < width; i++) to[i] = (unsigned char)(x >> 8 * i);
}

static void little_real(unsigned char *to, double x, int width)
{
  uint64_t wide;
  uint32_t narrow;
  float single = (float)x;
  memcpy(&wide, &x, sizeof wide);
  memcpy(&narrow, &single, sizeof narrow);
  little(to, width == 8 ? wide : narrow, width);
}

static int put(const struct out *out, int64_t at, const void *from, int64_t bytes, struct fault *fault)
{
  for (const char *p = from; bytes > 0;) {
    ssize_t done = pwrite(out->fd, p, (size_t)bytes, at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return fault_set(fault, "%s: %s", out->path, strerror(done < 0 ? errno : ENOSPC));
    p += done;
    at += done;
    bytes -= done;
  }
  return 0;
}

static int components(int block) { return block == POS || block == VEL ? 3 : 1; }
static int width_of(const struct out *out, int block) { return block == ID ? out->id_width : out->real_width; }
static int64_t bytes_of(const struct out *out, int block)
{
  return out->total * components(block) * width_of(out, block);
}

/* The offset of the first number of a block; with BLOCKS that of the end of the file plus the length of a marker. */
static int64_t offset_of(const struct out *out, int block)
{
  int64_t label = out->labelled ? LABEL_RECORD : 0, at = label + 4 + HEADER_BYTES + 4;
  for (int k = 0; k < block; k++) at += label + 4 + bytes_of(out, k) + 4;
  return at + label + 4;
}

/* The markers around a record of `bytes` bytes from offset `at` on, and its label. */
static int put_frame(const struct out *out, const char *label, int64_t at, int64_t bytes, struct fault *fault)
{
  unsigned char raw[LABEL_RECORD + 4] = {0};
  little(raw, 8, 4);
  memcpy(raw + 4, label, 4);
  little(raw + 8, (uint64_t)bytes + 8, 4);
  little(raw + 12, 8, 4);
  little(raw + LABEL_RECORD, (uint64_t)bytes, 4);
  int64_t front = out->labelled ? LABEL_RECORD + 4 : 4;
  if (put(out, at - front, raw + sizeof raw - front, front, fault)) return -1;
  return put(out, at + bytes, raw + LABEL_RECORD, 4, fault);
}

static int put_header(const struct out *out, struct fault *fault)
{
  unsigned char raw[HEADER_BYTES] = {0};
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    little(raw + 4 * t, (uint64_t)out->count[t], 4);
    little(raw + 96 + 4 * t, (uint64_t)out->count[t], 4);
  }
  little_real(raw + 72, out->time, 8);
  little(raw + 124, 1, 4); /* files; masses, redshift, flags, box and cosmology are 0 */
  little_real(raw + 152, 1, 8);
  int64_t at = 4 + (out->labelled ? LABEL_RECORD : 0);
  if (put(out, at, raw, sizeof raw, fault)) return -1;
  return put_frame(out, "HEAD", at, HEADER_BYTES, fault);
}

static void put_number(const struct out *out, int block, const struct particles *particles, int64_t i,
                       unsigned char *to)
{
  int width = width_of(out, block);
  if (block == ID) little(to, particles->id[i], width);
  else if (block == MASS) little_real(to, particles->mass[i], width);
  else
    for (int c = 0; c < 3; c++)
      little_real(to + c * width, (block == POS ? particles->pos : particles->vel)[3 * i + c], width);
}

/* This rank's rows of a block, type by type. */
static int put_block(const struct out *out, int block, const struct particles *particles, unsigned char *buffer,
                     struct fault *fault)
{
  int64_t row_bytes = components(block) * width_of(out, block), begins = 0;
  for (int t = 0; t < PARTICLE_TYPES; begins += out->count[t++]) {
    int64_t n = 0;
    for (int64_t i = 0; i < particles->n; i++)
      if (particles->type[i] == t) put_number(out, block, particles, i, buffer + row_bytes * n++);
    if (put(out, offset_of(out, block) + row_bytes * (begins + out->before[t]), buffer, row_bytes * n, fault))
      return -1;
  }
  return 0;
}

/* Counts of types on all ranks, and the width of ids. */
static void count(const struct comm *comm, struct out *out, const struct particles *particles)
{
  uint64_t all = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    out->count[particles->type[i]]++;
    all |= particles->id[i];
  }
  for (int t = 0; t < PARTICLE_TYPES; t++) out->before[t] = comm_exscan_int64(comm, out->count[t]);
  comm_sum_int64(comm, out->count, PARTICLE_TYPES);
  for (int t = 0; t < PARTICLE_TYPES; t++) out->total += out->count[t];
  out->id_width = comm_max_int64(comm, all >> 32 != 0) ? 8 : 4;
}

static int put_all(const struct comm *comm, const struct out *out, const struct particles *particles,
                   struct fault *fault)
{
  unsigned char *buffer = memory_alloc("file buffer", (size_t)(particles->n > 0 ? particles->n : 1) * 3 * 8);
  int bad = comm->rank == 0 && put_header(out, fault);
  for (int block = 0; block < BLOCKS && !bad; block++)
    bad = put_block(out, block, particles, buffer, fault) ||
          (comm->rank == 0 && put_frame(out, labels[block], offset_of(out, block), bytes_of(out, block), fault));
  memory_free(buffer);
  return bad ? -1 : 0;
}

int gadget_out(const struct comm *comm, const char *path, const struct particles *particles, double time,
               const struct convert_order *order, struct fault *fault)
{
  struct out out = {
      .path = path, .labelled = order->write_as == FORMAT_GADGET2, .time = time, .real_width = order->wide ? 8 : 4};
  count(comm, &out, particles);
  if ((double)out.total * 3 * out.real_width > RECORD_LIMIT)
    return fault_set(fault,
                     "%s: %lld particles do not fit a record of GADGET, whose length has 32 bits: write HDF5 instead",
                     order->to, (long long)out.total);
  if (comm->rank == 0) {
    out.fd = file_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (out.fd < 0) fault_set(fault, "%s: %s", path, file_reason(errno));
    else close(out.fd);
  }
  if (comm_verdict(comm, fault)) return -1;
  out.fd = file_open(path, O_WRONLY);
  if (out.fd < 0) fault_set(fault, "%s: %s", path, file_reason(errno));
  else if (put_all(comm, &out, particles, fault) == 0 && fsync(out.fd) != 0)
    fault_set(fault, "%s: %s", path, strerror(errno));
  if (out.fd >= 0 && close(out.fd) != 0) fault_set(fault, "%s: %s", path, strerror(errno));
  return comm_agree(comm, fault);
}
