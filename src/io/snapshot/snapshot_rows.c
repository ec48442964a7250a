/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a file: their layout, writing and verification. */
#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "io/h5_file.h"
#include "io/snapshot/snapshot_file.h"

enum { BUFFER_BYTES = 16 << 20 };

/* Rank 0 has created contiguous datasets, and tells all ranks their offsets in the file. Each rank writes its rows there by pwrite, as
 * MPI-IO does internally for independent transfers, and reads others back by pread. MPI-IO is not used because its failures are unsafe: with Open MPI 4.1
 * collective writes report success on a full disk with values lost, a collective open hangs or ends with SIGBUS if the folder of
 * its session files is full, and HDF5 crashes at exit after a failed write or close. With pwrite every failure is an error on the rank
 * where it occurs. */

int layout_has(const struct layout *l, const struct column *k) { return !k->extra || (l->facts->extras & k->extra); }

/* The factor from the run's velocities, potentials and accelerations to those of the file in comoving coordinates: u = v / a^1.5, and
 * potentials and accelerations of comoving positions. */
static double file_factor(const struct layout *l, const struct column *k)
{
  double a = l->facts->comoving;
  if (!(a > 0)) return 1;
  return k == &columns[1] ? 1 / (a * sqrt(a)) : k->velocity != 0 ? 1 / a : 1;
}

/* Row `i` as it is in the file; `room`: for one that differs from the array in memory. */
static const void *file_row(const struct layout *l, const struct column *k, const struct particles *p, int64_t i, double room[3])
{
  static const double nothing[3] = {0, 0, 0};
  const void *row = columns_row(k, p, i);
  const double *add = k == &columns[0] ? l->facts->place : k == &columns[1] ? l->facts->motion : nothing;
  double factor = file_factor(l, k);
  if (factor == 1 && add[0] == 0 && add[1] == 0 && add[2] == 0) return row;
  for (int c = 0; c < k->components; c++) {
    if (k->number == COLUMN_F64) room[c] = factor * (((const double *)row)[c] + add[c]);
    else ((float *)room)[c] = (float)(factor * ((const float *)row)[c]);
  }
  return room;
}

static void add_sums(struct layout *l, const struct particles *p)
{
  int64_t begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += l->mine.count[t++])
    for (int k = 0; k < column_count; k++) {
      uint64_t sum = 0;
      double room[3];
      if (!layout_has(l, &columns[k])) continue;
      for (int64_t i = 0; i < l->mine.count[t]; i++)
        sum += row_checksum(file_row(l, &columns[k], p, l->order[begin + i], room), columns[k].bytes, (uint64_t)(l->mine.first[t] + i));
      l->sums[t][k] = sum;
    }
}

void layout_open(struct layout *l, const struct comm *c, const struct particles *p, const struct snapshot_facts *facts)
{
  memset(l, 0, sizeof *l);
  l->facts = facts;
  for (int64_t i = 0; i < p->n; i++) l->mine.count[p->type[i]]++;
  int64_t next[PARTICLE_TYPES], begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += l->mine.count[t++]) {
    next[t] = begin;
    l->total[t] = l->mine.count[t];
    l->mine.first[t] = comm_exscan_int64(c, l->mine.count[t]);
  }
  comm_sum_int64(c, l->total, PARTICLE_TYPES);
  memcpy(l->all, l->total, sizeof l->all);
  l->files = 1;
  l->order = memory_alloc("snapshot", sizeof *l->order * (size_t)p->n);
  for (int64_t i = 0; i < p->n; i++) l->order[next[p->type[i]]++] = i;
  add_sums(l, p);
  comm_sum_int64(c, (int64_t *)l->sums, PARTICLE_TYPES * COLUMNS_MAX);   /* modulo 2^64 in signed and unsigned arithmetic alike */
}

void layout_close(struct layout *l)
{
  memory_free(l->order);
  h5_image_free(&l->image);
}

/* Rows of a column that one transfer moves. */
static int64_t rows_per_transfer(const struct comm *c, const struct column *k)
{
  size_t bytes = c->largest_message < BUFFER_BYTES ? c->largest_message : BUFFER_BYTES;
  return bytes > k->bytes ? (int64_t)(bytes / k->bytes) : 1;
}

static void write_column(int fd, uint64_t offset, int t, const struct column *k, const struct comm *c, const struct layout *l, int64_t begin,
                         const struct particles *p, char *buffer, const char *path, struct fault *f)
{
  int64_t n = l->mine.count[t], limit = rows_per_transfer(c, k);
  for (int64_t done = 0; done < n; done += limit) {
    int64_t rows = n - done < limit ? n - done : limit;
    double room[3];
    for (int64_t i = 0; i < rows; i++) memcpy(buffer + k->bytes * (size_t)i, file_row(l, k, p, l->order[begin + done + i], room), k->bytes);
    int64_t at = (int64_t)(offset + k->bytes * (uint64_t)(l->mine.first[t] + done));
    if (write_all(fd, buffer, (int64_t)k->bytes * rows, at)) {
      fault_set(f, "snapshot %s: writing /PartType%d/%s failed on rank %d: %s", path, t, k->name, c->rank, strerror(errno));
      return;
    }
  }
}

void snapshot_rows(const struct comm *c, const char *path, struct layout *l, const struct particles *p, struct fault *f)
{
  comm_broadcast(c, l->offset, sizeof l->offset);
  int fd = p->n ? h5_file_open("snapshot", path, O_WRONLY, c->rank, f) : -1;
  if (fd < 0) return;
  char *buffer = memory_alloc("snapshot", BUFFER_BYTES + sizeof(double) * 3);
  int64_t begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += l->mine.count[t++])
    for (int k = 0; k < column_count && l->mine.count[t] && !f->text[0]; k++)
      if (layout_has(l, &columns[k])) write_column(fd, l->offset[t][k], t, &columns[k], c, l, begin, p, buffer, path, f);
  memory_free(buffer);
  if (flush_all(fd)) fault_set(f, "snapshot %s: flushing failed on rank %d: %s", path, c->rank, strerror(errno));
  if (close(fd)) fault_set(f, "snapshot %s: closing failed on rank %d: %s", path, c->rank, strerror(errno));
}

/* The rows that the next rank wrote. Reading these instead of this rank's own detects rows that are only in the cache of the node that
 * wrote them. */
static struct slab neighbour_slab(const struct comm *c, const struct slab *mine)
{
  struct slab next;
  int up = (c->rank + 1) % c->size, down = (c->rank + c->size - 1) % c->size;
  comm_shift(c, mine, down, &next, up, sizeof next);
  return next;
}

static uint64_t read_column(int fd, int t, int column, const struct comm *c, const struct layout *l, const struct slab *slab,
                            char *buffer, const char *path, struct fault *f)
{
  const struct column *k = &columns[column];
  uint64_t sum = 0;
  int64_t n = slab->count[t], limit = rows_per_transfer(c, k);
  for (int64_t done = 0; done < n; done += limit) {
    int64_t rows = n - done < limit ? n - done : limit, first = slab->first[t] + done, bytes = (int64_t)k->bytes * rows;
    int64_t got = read_all(fd, buffer, bytes, (int64_t)(l->offset[t][column] + k->bytes * (uint64_t)first));
    if (got != bytes) {
      fault_set(f, "snapshot %s: reading back /PartType%d/%s failed on rank %d: %s", path, t, k->name, c->rank,
                got < 0 ? strerror(errno) : "the file ends too early");
      break;
    }
    for (int64_t i = 0; i < rows; i++) sum += row_checksum(buffer + k->bytes * (size_t)i, k->bytes, (uint64_t)(first + i));
  }
  return sum;
}

int snapshot_verify_metadata(const char *path, const struct layout *l, struct fault *f)
{
  int fd = h5_file_open("snapshot", path, O_RDWR, 0, f);
  if (fd >= 0) h5_file_flush("snapshot", fd, path, f);
  if (fd >= 0) h5_file_compare("snapshot", fd, &l->image, path, f);
  h5_file_close("snapshot", fd, path, f);
  return f->text[0] ? -1 : 0;
}

void snapshot_verify(const struct comm *c, const char *path, const struct layout *l, struct fault *f)
{
  uint64_t sums[PARTICLE_TYPES][COLUMNS_MAX] = {{0}};
  struct slab slab = neighbour_slab(c, &l->mine);
  int fd = h5_file_open("snapshot", path, O_RDWR, c->rank, f);
  if (fd >= 0) h5_file_flush("snapshot", fd, path, f);
  if (comm_agree(c, f) != 0) {
    h5_file_close("snapshot", fd, path, f);
    return;
  }
  char *buffer = memory_alloc("snapshot", BUFFER_BYTES + sizeof(double) * 3);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count && slab.count[t] && !f->text[0]; k++)
      if (layout_has(l, &columns[k])) sums[t][k] = read_column(fd, t, k, c, l, &slab, buffer, path, f);
  memory_free(buffer);
  if (c->rank == 0) h5_file_compare("snapshot", fd, &l->image, path, f);
  h5_file_close("snapshot", fd, path, f);
  comm_sum_int64(c, (int64_t *)sums, PARTICLE_TYPES * COLUMNS_MAX);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count; k++)
      if (sums[t][k] != l->sums[t][k])
        fault_set(f, "snapshot %s: /PartType%d/%s read back is not what was written: the disk may be full or failing", path, t,
                  columns[k].name);
}
