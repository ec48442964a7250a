/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "h5.h"
#include "memory.h"
#include "snapshot_parts.h"

enum { BUFFER_BYTES = 16 << 20 };

/* Each rank opens the file for itself (MPI_COMM_SELF) and writes its rows by independent transfers. Open MPI's collective
 * writes were seen to report success on a full disk with values lost, and its collective open hangs when one rank fails in
 * it (a full /tmp on its node is enough); here all that goes wrong is an error on the rank that meets it. */

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
  l->order = memory_alloc("snapshot", sizeof *l->order * (size_t)p->n);
  for (int64_t i = 0; i < p->n; i++) l->order[next[p->type[i]]++] = i;
  add_sums(l, p);
  comm_sum_int64(c, (int64_t *)l->sums, PARTICLE_TYPES * MOST_COLUMNS);   /* modulo 2^64 either way */
}

void layout_close(struct layout *l) { memory_free(l->order); }

static int64_t rows_at_once(const struct comm *c, const struct column *k)
{
  size_t bytes = c->largest_message < BUFFER_BYTES ? c->largest_message : BUFFER_BYTES;
  return bytes > k->bytes ? (int64_t)(bytes / k->bytes) : 1;
}

typedef herr_t transfer(hid_t set, hid_t type, hid_t memory, hid_t file, void *buffer);

static herr_t put(hid_t set, hid_t type, hid_t memory, hid_t file, void *buffer)
{
  return H5Dwrite(set, type, memory, file, H5P_DEFAULT, buffer);
}

static herr_t get(hid_t set, hid_t type, hid_t memory, hid_t file, void *buffer)
{
  return H5Dread(set, type, memory, file, H5P_DEFAULT, buffer);
}

/* Move `count` rows from row `first` between the dataset and a buffer. */
static herr_t move(hid_t set, const struct column *k, transfer *how, int64_t first, int64_t count, void *buffer, char cause[256])
{
  int rank = k->components > 1 ? 2 : 1;
  hsize_t start[2] = {(hsize_t)first, 0}, extent[2] = {(hsize_t)count, (hsize_t)k->components};
  hid_t file = H5Dget_space(set), memory = H5Screate_simple(rank, extent, NULL);
  herr_t s = -1;
  if (file >= 0 && memory >= 0 && H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0)
    s = how(set, columns_type(k), memory, file, buffer);
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

static void write_column(hid_t file, int t, const struct column *k, const struct comm *c, const struct layout *l, int64_t begin,
                         const struct particles *p, void *buffer, const char *path, struct fault *f)
{
  char name[64], cause[256];
  int64_t n = l->mine.count[t], most = rows_at_once(c, k);
  hid_t set = open_dataset(file, t, k, name);
  herr_t s = set < 0 ? -1 : 0;
  if (s < 0) h5_cause(cause);
  for (int64_t done = 0; done < n && s >= 0; done += most) {
    int64_t piece = n - done < most ? n - done : most;
    for (int64_t i = 0; i < piece; i++)
      memcpy((char *)buffer + k->bytes * (size_t)i, columns_row(k, p, l->order[begin + done + i]), k->bytes);
    s = move(set, k, put, l->mine.first[t] + done, piece, buffer, cause);
  }
  if (set >= 0 && H5Dclose(set) < 0 && s >= 0) {
    s = -1;
    h5_cause(cause);
  }
  if (s < 0) fault_set(f, "snapshot %s: writing %s failed on rank %d: %s", path, name, c->rank, cause);
}

void snapshot_rows(const struct comm *c, const char *path, const struct layout *l, const struct particles *p, struct fault *f)
{
  char cause[256];
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_SELF, MPI_INFO_NULL);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
  hid_t file = p->n > 0 ? H5Fopen(path, H5F_ACC_RDWR, access) : H5I_INVALID_HID;
  if (file < 0 && p->n > 0)
    fault_set(f, "snapshot %s: parallel HDF5 cannot open it on rank %d: %s", path, c->rank, h5_cause(cause));
  H5Pclose(access);
  if (file < 0) return;
  void *buffer = memory_alloc("snapshot", BUFFER_BYTES + sizeof(double) * 3);
  int64_t begin = 0;
  for (int t = 0; t < PARTICLE_TYPES; begin += l->mine.count[t++])
    for (int k = 0; k < column_count && l->mine.count[t] && !f->text[0]; k++)
      if (layout_has(l, &columns[k])) write_column(file, t, &columns[k], c, l, begin, p, buffer, path, f);
  memory_free(buffer);
  if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
    fault_set(f, "snapshot %s: flushing failed on rank %d: %s", path, c->rank, h5_cause(cause));
  if (H5Fclose(file) < 0) fault_set(f, "snapshot %s: closing failed on rank %d: %s", path, c->rank, h5_cause(cause));
}

/* What the next rank wrote; so no rank sees only what its own node keeps in memory. */
static struct slab neighbour_slab(const struct comm *c, const struct slab *mine)
{
  struct slab next;
  int up = (c->rank + 1) % c->size, down = (c->rank + c->size - 1) % c->size;
  MPI_Sendrecv(mine, sizeof *mine, MPI_BYTE, down, 0, &next, sizeof next, MPI_BYTE, up, 0, c->mpi, MPI_STATUS_IGNORE);
  return next;
}

static uint64_t read_column(hid_t file, int t, const struct column *k, const struct comm *c, const struct slab *slab,
                            void *buffer, const char *path, struct fault *f)
{
  char name[64], cause[256];
  uint64_t sum = 0;
  int64_t n = slab->count[t], most = rows_at_once(c, k);
  hid_t set = open_dataset(file, t, k, name);
  herr_t s = set < 0 ? -1 : 0;
  if (s < 0) h5_cause(cause);
  for (int64_t done = 0; done < n && s >= 0; done += most) {
    int64_t piece = n - done < most ? n - done : most;
    s = move(set, k, get, slab->first[t] + done, piece, buffer, cause);
    for (int64_t i = 0; i < piece && s >= 0; i++)
      sum += row_checksum((char *)buffer + k->bytes * (size_t)i, k->bytes, (uint64_t)(slab->first[t] + done + i));
  }
  if (s < 0) fault_set(f, "snapshot %s: reading back %s failed on rank %d: %s", path, name, c->rank, cause);
  if (set >= 0) H5Dclose(set);
  return sum;
}

/* Out to the disk, and out of this node's memory as far as the system obliges. */
static void flush_to_disk(const char *path, struct fault *f)
{
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0 || fsync(fd) != 0) fault_set(f, "snapshot %s: flushing to the disk failed: %s", path, strerror(errno));
  if (fd < 0) return;
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  if (close(fd) != 0) fault_set(f, "snapshot %s: closing failed: %s", path, strerror(errno));
}

/* Rank 0: the checksums that the file states. */
static void check_stated(hid_t file, const struct layout *l, const char *path, struct fault *f)
{
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count; k++) {
      char name[64];
      uint64_t stated = 0;
      if (l->total[t] == 0 || !layout_has(l, &columns[k])) continue;
      hid_t set = open_dataset(file, t, &columns[k], name);
      if (set < 0 || h5_numbers(set, CHECKSUM_ATTRIBUTE, H5T_NATIVE_UINT64, 1, &stated) != 1 || stated != l->sums[t][k])
        fault_set(f, "snapshot %s: the checksum of %s was not stored as written", path, name);
      if (set >= 0) H5Dclose(set);
    }
}

void snapshot_verify(const struct comm *c, const char *path, const struct layout *l, struct fault *f)
{
  char cause[256];
  uint64_t sums[PARTICLE_TYPES][MOST_COLUMNS] = {{0}};
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
  if (c->rank == 0 && file >= 0) check_stated(file, l, path, f);
  if (file >= 0) H5Fclose(file);
  comm_sum_int64(c, (int64_t *)sums, PARTICLE_TYPES * MOST_COLUMNS);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int k = 0; k < column_count; k++)
      if (sums[t][k] != l->sums[t][k])
        fault_set(f, "snapshot %s: /PartType%d/%s read back is not what was written: the disk may be full or failing", path, t,
                  columns[k].name);
}
