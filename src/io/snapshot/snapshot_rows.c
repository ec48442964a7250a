/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a file: their layout, writing and verification. */
#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "io/h5.h"
#include "io/snapshot/snapshot_file.h"

enum { BUFFER_BYTES = 16 << 20 };

/* Rank 0 has created contiguous datasets. Each rank asks HDF5 for their offsets in the file and writes its rows there by pwrite, as
 * MPI-IO does internally for independent transfers. MPI-IO is not used because its failures are unsafe: with Open MPI 4.1
 * collective writes report success on a full disk with values lost, a collective open hangs or ends with SIGBUS if the folder of
 * its session files is full, and HDF5 crashes at exit after a failed write. With pwrite every failure is an error on the rank where
 * it occurs. */

int layout_has(const struct layout *l, const struct column *k) { return !k->extra || (l->extras & k->extra); }

static void add_sums(struct layout *l, const struct particles *p)
{
  int64_t begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += l->mine.count[t++])
    for (int k = 0; k < column_count; k++) {
      uint64_t sum = 0;
      if (!layout_has(l, &columns[k])) continue;
      for (int64_t i = 0; i < l->mine.count[t]; i++)
        sum += row_checksum(columns_row(&columns[k], p, l->order[begin + i]), columns[k].bytes, (uint64_t)(l->mine.first[t] + i));
      l->sums[t][k] = sum;
    }
}

void layout_open(struct layout *l, const struct comm *c, const struct particles *p, unsigned extras)
{
  memset(l, 0, sizeof *l);
  l->extras = extras;
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

void layout_close(struct layout *l) { memory_free(l->order); }

/* Rows of a column that one transfer moves. */
static int64_t rows_per_transfer(const struct comm *c, const struct column *k)
{
  size_t bytes = c->largest_message < BUFFER_BYTES ? c->largest_message : BUFFER_BYTES;
  return bytes > k->bytes ? (int64_t)(bytes / k->bytes) : 1;
}

/* Read `count` rows from row `first` of the dataset. */
static herr_t read_rows(hid_t set, const struct column *k, int64_t first, int64_t count, void *buffer, char cause[256])
{
  int rank = k->components > 1 ? 2 : 1;
  hsize_t start[2] = {(hsize_t)first, 0}, extent[2] = {(hsize_t)count, (hsize_t)k->components};
  hid_t file = H5Dget_space(set), memory = H5Screate_simple(rank, extent, NULL);
  herr_t s = -1;
  if (file >= 0 && memory >= 0 && H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0)
    s = H5Dread(set, columns_type(k), memory, file, H5P_DEFAULT, buffer);
  if (s < 0) h5_cause(cause);
  if (file >= 0) H5Sclose(file);
  if (memory >= 0) H5Sclose(memory);
  return s;
}

static hid_t open_dataset(hid_t file, int t, const struct column *k, char name[64])
{
  snprintf(name, 64, "/PartType%d/%s", t, k->name);
  return H5Dopen2(file, name, H5P_DEFAULT);
}

/* Byte offsets of the datasets in the file, by type and column. */
typedef haddr_t dataset_offsets[PARTICLE_TYPES][COLUMNS_MAX];

static void find_offsets(const char *path, const struct comm *c, const struct layout *l, dataset_offsets offset, struct fault *f)
{
  char name[64], cause[256];
  hid_t file = h5_open_read(path, cause);
  if (file < 0) {
    fault_set(f, "snapshot %s: HDF5 cannot open it on rank %d: %s", path, c->rank, cause);
    return;
  }
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count && l->mine.count[t] && !f->text[0]; k++) {
      if (!layout_has(l, &columns[k])) continue;
      hid_t set = open_dataset(file, t, &columns[k], name);
      offset[t][k] = set < 0 ? HADDR_UNDEF : H5Dget_offset(set);
      if (offset[t][k] == HADDR_UNDEF) fault_set(f, "snapshot %s: %s has no offset in the file", path, name);
      if (set >= 0) H5Dclose(set);
    }
  H5Fclose(file);
}

static void write_column(int fd, haddr_t offset, int t, const struct column *k, const struct comm *c, const struct layout *l, int64_t begin,
                         const struct particles *p, char *buffer, const char *path, struct fault *f)
{
  int64_t n = l->mine.count[t], limit = rows_per_transfer(c, k);
  for (int64_t done = 0; done < n; done += limit) {
    int64_t rows = n - done < limit ? n - done : limit;
    for (int64_t i = 0; i < rows; i++) memcpy(buffer + k->bytes * (size_t)i, columns_row(k, p, l->order[begin + done + i]), k->bytes);
    int64_t at = (int64_t)(offset + k->bytes * (haddr_t)(l->mine.first[t] + done));
    if (write_all(fd, buffer, (int64_t)k->bytes * rows, at)) {
      fault_set(f, "snapshot %s: writing /PartType%d/%s failed on rank %d: %s", path, t, k->name, c->rank, strerror(errno));
      return;
    }
  }
}

void snapshot_rows(const struct comm *c, const char *path, const struct layout *l, const struct particles *p, struct fault *f)
{
  dataset_offsets offset;
  if (p->n == 0) return;
  find_offsets(path, c, l, offset, f);
  if (f->text[0]) return;
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    fault_set(f, "snapshot %s: rank %d cannot open it: %s", path, c->rank, strerror(errno));
    return;
  }
  char *buffer = memory_alloc("snapshot", BUFFER_BYTES + sizeof(double) * 3);
  int64_t begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += l->mine.count[t++])
    for (int k = 0; k < column_count && l->mine.count[t] && !f->text[0]; k++)
      if (layout_has(l, &columns[k])) write_column(fd, offset[t][k], t, &columns[k], c, l, begin, p, buffer, path, f);
  memory_free(buffer);
  if (fsync(fd) && !f->text[0]) fault_set(f, "snapshot %s: flushing failed on rank %d: %s", path, c->rank, strerror(errno));
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

static uint64_t read_column(hid_t file, int t, const struct column *k, const struct comm *c, const struct slab *slab,
                            void *buffer, const char *path, struct fault *f)
{
  char name[64], cause[256];
  uint64_t sum = 0;
  int64_t n = slab->count[t], limit = rows_per_transfer(c, k);
  hid_t set = open_dataset(file, t, k, name);
  herr_t s = set < 0 ? -1 : 0;
  if (s < 0) h5_cause(cause);
  for (int64_t done = 0; done < n && s >= 0; done += limit) {
    int64_t rows = n - done < limit ? n - done : limit;
    s = read_rows(set, k, slab->first[t] + done, rows, buffer, cause);
    for (int64_t i = 0; i < rows && s >= 0; i++)
      sum += row_checksum((char *)buffer + k->bytes * (size_t)i, k->bytes, (uint64_t)(slab->first[t] + done + i));
  }
  if (s < 0) fault_set(f, "snapshot %s: reading back %s failed on rank %d: %s", path, name, c->rank, cause);
  if (set >= 0) H5Dclose(set);
  return sum;
}

/* Flush the file to the disk and drop its pages from the cache of this node as far as the system allows. */
static void flush_to_disk(const char *path, struct fault *f)
{
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0 || fsync(fd) != 0) fault_set(f, "snapshot %s: flushing to the disk failed: %s", path, strerror(errno));
  if (fd < 0) return;
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  if (close(fd) != 0) fault_set(f, "snapshot %s: closing failed: %s", path, strerror(errno));
}

/* Rank 0: compare the checksums in the file. */
static void check_stored(hid_t file, const struct layout *l, const char *path, struct fault *f)
{
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count; k++) {
      char name[64];
      uint64_t stored = 0;
      if (l->total[t] == 0 || !layout_has(l, &columns[k])) continue;
      hid_t set = open_dataset(file, t, &columns[k], name);
      if (set < 0 || h5_numbers(set, CHECKSUM_ATTRIBUTE, H5T_NATIVE_UINT64, 1, &stored) != 1 || stored != l->sums[t][k])
        fault_set(f, "snapshot %s: the checksum of %s was not stored as written", path, name);
      if (set >= 0) H5Dclose(set);
    }
}

void snapshot_verify(const struct comm *c, const char *path, const struct layout *l, struct fault *f)
{
  char cause[256];
  uint64_t sums[PARTICLE_TYPES][COLUMNS_MAX] = {{0}};
  struct slab slab = neighbour_slab(c, &l->mine);
  flush_to_disk(path, f);
  if (comm_agree(c, f) != 0) return;
  hid_t file = h5_open_read(path, cause);
  if (file < 0) fault_set(f, "snapshot %s: reading back failed on rank %d: %s", path, c->rank, cause);
  void *buffer = memory_alloc("snapshot", BUFFER_BYTES + sizeof(double) * 3);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count && slab.count[t] && !f->text[0]; k++)
      if (layout_has(l, &columns[k])) sums[t][k] = read_column(file, t, &columns[k], c, &slab, buffer, path, f);
  memory_free(buffer);
  if (c->rank == 0 && file >= 0) check_stored(file, l, path, f);
  if (file >= 0) H5Fclose(file);
  comm_sum_int64(c, (int64_t *)sums, PARTICLE_TYPES * COLUMNS_MAX);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count; k++)
      if (sums[t][k] != l->sums[t][k])
        fault_set(f, "snapshot %s: /PartType%d/%s read back is not what was written: the disk may be full or failing", path, t,
                  columns[k].name);
}
