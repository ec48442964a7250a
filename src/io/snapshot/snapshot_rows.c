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

/* Rank 0 has created contiguous datasets, and tells all ranks their offsets in the file. Each rank writes its rows
 * there by pwrite, as MPI-IO does internally for independent transfers, and reads others back by pread. MPI-IO is not
 * used because its failures are unsafe: with Open MPI 4.1 collective writes report success on a full disk with values
 * lost, a collective open hangs or ends with SIGBUS if the folder of its session files is full, and HDF5 crashes at
 * exit after a failed write or close. With pwrite every failure is an error on the rank where it occurs. */

int layout_has(const struct layout *layout, const struct column *column)
{
  return !column->extra || (layout->facts->extras & column->extra);
}

/* The factor from the run's velocities, potentials and accelerations to those of the file in comoving coordinates: u =
 * v / a^1.5, and potentials and accelerations of comoving positions. */
static double file_factor(const struct layout *layout, const struct column *column)
{
  double a = layout->facts->comoving;
  if (!(a > 0)) return 1;
  return column == &columns[1] ? 1 / (a * sqrt(a)) : column->velocity != 0 ? 1 / a : 1;
}

/* Row `i` as it is in the file; `converted`: for one that differs from the array in memory. */
static const void *file_row(const struct layout *layout, const struct column *column, const struct particles *particles,
                            int64_t i, double converted[3])
{
  static const double nothing[3] = {0, 0, 0};
  const void *row = columns_row(column, particles, i);
  const double *add = column == &columns[0]   ? layout->facts->place
                      : column == &columns[1] ? layout->facts->motion
                                              : nothing;
  double factor = file_factor(layout, column);
  if (factor == 1 && add[0] == 0 && add[1] == 0 && add[2] == 0) return row;
  for (int c = 0; c < column->components; c++) {
    if (column->number == COLUMN_F64) converted[c] = factor * (((const double *)row)[c] + add[c]);
    else ((float *)converted)[c] = (float)(factor * ((const float *)row)[c]);
  }
  return converted;
}

static void add_sums(struct layout *layout, const struct particles *particles)
{
  int64_t begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += layout->mine.count[t++])
    for (int k = 0; k < column_count; k++) {
      uint64_t sum = 0;
      double converted[3];
      if (!layout_has(layout, &columns[k])) continue;
      for (int64_t i = 0; i < layout->mine.count[t]; i++)
        sum += row_checksum(file_row(layout, &columns[k], particles, layout->order[begin + i], converted),
                            columns[k].bytes, (uint64_t)(layout->mine.first[t] + i));
      layout->sums[t][k] = sum;
    }
}

void layout_open(struct layout *layout, const struct comm *comm, const struct particles *particles,
                 const struct snapshot_facts *facts)
{
  memset(layout, 0, sizeof *layout);
  layout->facts = facts;
  for (int64_t i = 0; i < particles->n; i++) layout->mine.count[particles->type[i]]++;
  int64_t next[PARTICLE_TYPES], begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += layout->mine.count[t++]) {
    next[t] = begin;
    layout->total[t] = layout->mine.count[t];
    layout->mine.first[t] = comm_exscan_int64(comm, layout->mine.count[t]);
  }
  comm_sum_int64(comm, layout->total, PARTICLE_TYPES);
  memcpy(layout->all, layout->total, sizeof layout->all);
  layout->files = 1;
  layout->order = memory_alloc("snapshot", sizeof *layout->order * (size_t)particles->n);
  for (int64_t i = 0; i < particles->n; i++) layout->order[next[particles->type[i]]++] = i;
  add_sums(layout, particles);
  /* modulo 2^64 in signed and unsigned arithmetic alike */
  comm_sum_int64(comm, (int64_t *)layout->sums, PARTICLE_TYPES * COLUMNS_MAX);
}

void layout_close(struct layout *layout)
{
  memory_free(layout->order);
  h5_image_free(&layout->image);
}

/* Rows of a column that one transfer moves. */
static int64_t rows_per_transfer(const struct comm *comm, const struct column *column)
{
  size_t bytes = comm->largest_message < BUFFER_BYTES ? comm->largest_message : BUFFER_BYTES;
  return bytes > column->bytes ? (int64_t)(bytes / column->bytes) : 1;
}

static void write_column(int fd, uint64_t offset, int t, const struct column *column, const struct comm *comm,
                         const struct layout *layout, int64_t begin, const struct particles *particles, char *buffer,
                         const char *path, struct fault *fault)
{
  int64_t n = layout->mine.count[t], limit = rows_per_transfer(comm, column);
  for (int64_t done = 0; done < n; done += limit) {
    int64_t rows = n - done < limit ? n - done : limit;
    double converted[3];
    for (int64_t i = 0; i < rows; i++)
      memcpy(buffer + column->bytes * (size_t)i,
             file_row(layout, column, particles, layout->order[begin + done + i], converted), column->bytes);
    int64_t at = (int64_t)(offset + column->bytes * (uint64_t)(layout->mine.first[t] + done));
    if (write_all(fd, buffer, (int64_t)column->bytes * rows, at)) {
      fault_set(fault, "snapshot %s: writing /PartType%d/%s failed on rank %d: %s", path, t, column->name, comm->rank,
                strerror(errno));
      return;
    }
  }
}

void snapshot_rows(const struct comm *comm, const char *path, struct layout *layout, const struct particles *particles,
                   struct fault *fault)
{
  comm_broadcast(comm, layout->offset, sizeof layout->offset);
  int fd = particles->n ? h5_file_open("snapshot", path, O_WRONLY, comm->rank, fault) : -1;
  if (fd < 0) return;
  char *buffer = memory_alloc("snapshot", BUFFER_BYTES + sizeof(double) * 3);
  int64_t begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += layout->mine.count[t++])
    for (int k = 0; k < column_count && layout->mine.count[t] && !fault->text[0]; k++)
      if (layout_has(layout, &columns[k]))
        write_column(fd, layout->offset[t][k], t, &columns[k], comm, layout, begin, particles, buffer, path, fault);
  memory_free(buffer);
  if (flush_all(fd)) fault_set(fault, "snapshot %s: flushing failed on rank %d: %s", path, comm->rank, strerror(errno));
  if (close(fd)) fault_set(fault, "snapshot %s: closing failed on rank %d: %s", path, comm->rank, strerror(errno));
}

/* The rows that the next rank wrote. Reading these instead of this rank's own detects rows that are only in the cache
 * of the node that wrote them. */
static struct slab neighbour_slab(const struct comm *comm, const struct slab *mine)
{
  struct slab next;
  int up = (comm->rank + 1) % comm->size, down = (comm->rank + comm->size - 1) % comm->size;
  comm_shift(comm, mine, down, &next, up, sizeof next);
  return next;
}

static uint64_t read_column(int fd, int t, int column, const struct comm *comm, const struct layout *layout,
                            const struct slab *slab, char *buffer, const char *path, struct fault *fault)
{
  const struct column *k = &columns[column];
  uint64_t sum = 0;
  int64_t n = slab->count[t], limit = rows_per_transfer(comm, k);
  for (int64_t done = 0; done < n; done += limit) {
    int64_t rows = n - done < limit ? n - done : limit, first = slab->first[t] + done, bytes = (int64_t)k->bytes * rows;
    int64_t got = read_all(fd, buffer, bytes, (int64_t)(layout->offset[t][column] + k->bytes * (uint64_t)first));
    if (got != bytes) {
      fault_set(fault, "snapshot %s: reading back /PartType%d/%s failed on rank %d: %s", path, t, k->name, comm->rank,
                got < 0 ? strerror(errno) : "the file ends too early");
      break;
    }
    for (int64_t i = 0; i < rows; i++)
      sum += row_checksum(buffer + k->bytes * (size_t)i, k->bytes, (uint64_t)(first + i));
  }
  return sum;
}

int snapshot_verify_metadata(const char *path, const struct layout *layout, struct fault *fault)
{
  int fd = h5_file_open("snapshot", path, O_RDWR, 0, fault);
  if (fd >= 0) h5_file_flush("snapshot", fd, path, fault);
  if (fd >= 0) h5_file_compare("snapshot", fd, &layout->image, path, fault);
  h5_file_close("snapshot", fd, path, fault);
  return fault->text[0] ? -1 : 0;
}

void snapshot_verify(const struct comm *comm, const char *path, const struct layout *layout, struct fault *fault)
{
  uint64_t sums[PARTICLE_TYPES][COLUMNS_MAX] = {{0}};
  struct slab slab = neighbour_slab(comm, &layout->mine);
  int fd = h5_file_open("snapshot", path, O_RDWR, comm->rank, fault);
  if (fd >= 0) h5_file_flush("snapshot", fd, path, fault);
  if (comm_agree(comm, fault) != 0) {
    h5_file_close("snapshot", fd, path, fault);
    return;
  }
  char *buffer = memory_alloc("snapshot", BUFFER_BYTES + sizeof(double) * 3);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count && slab.count[t] && !fault->text[0]; k++)
      if (layout_has(layout, &columns[k])) sums[t][k] = read_column(fd, t, k, comm, layout, &slab, buffer, path, fault);
  memory_free(buffer);
  if (comm->rank == 0) h5_file_compare("snapshot", fd, &layout->image, path, fault);
  h5_file_close("snapshot", fd, path, fault);
  comm_sum_int64(comm, (int64_t *)sums, PARTICLE_TYPES * COLUMNS_MAX);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count; k++)
      if (sums[t][k] != layout->sums[t][k])
        fault_set(fault,
                  "snapshot %s: /PartType%d/%s read back is not what was written: the disk may be full or failing",
                  path, t, columns[k].name);
}
