/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "io/table_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "io/h5_file.h"

enum { ROWS_ALIGNMENT = 64, BUFFER_BYTES = 4 << 20 };

static size_t row_bytes(const struct table_set *set)
{
  return (size_t)set->components * (set->number == COLUMN_F32 ? 4 : 8);
}

static hid_t type_of(const struct table_set *set)
{
  return set->number == COLUMN_F64 ? H5T_IEEE_F64LE : set->number == COLUMN_F32 ? H5T_IEEE_F32LE : H5T_STD_U64LE;
}

/* GADGET-4's attributes of a dataset. */
static herr_t put_unit(hid_t set, const struct table_set *table_set, const struct units *units, int comoving)
{
  if ((!table_set->length && !table_set->mass && !table_set->velocity) || !(units->length_cm > 0)) return 0;
  herr_t status = h5_put_real(set, "a_scaling", comoving ? table_set->length + 0.5 * table_set->velocity : 0);
  status |= h5_put_real(set, "h_scaling", comoving ? -table_set->length - table_set->mass : 0);
  status |= h5_put_real(set, "length_scaling", table_set->length);
  status |= h5_put_real(set, "mass_scaling", table_set->mass);
  status |= h5_put_real(set, "velocity_scaling", table_set->velocity);
  status |= h5_put_real(set, "to_cgs",
                        pow(units->length_cm, table_set->length) * pow(units->mass_g, table_set->mass) *
                            pow(units->velocity_cm_s, table_set->velocity));
  return status;
}

/* `rows`: allocate the space for them. */
static herr_t create_set(hid_t group, struct table_set *table_set, const struct table_file *file, int rows)
{
  hsize_t extent[2] = {(hsize_t)table_set->total, (hsize_t)table_set->components};
  hid_t space = H5Screate_simple(table_set->components > 1 ? 2 : 1, extent, NULL),
        plist = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(plist, H5D_CONTIGUOUS);
  H5Pset_alloc_time(plist, rows ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE);
  H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(plist, 0);
  hid_t set = H5Dcreate2(group, table_set->name, type_of(table_set), space, H5P_DEFAULT, plist, H5P_DEFAULT);
  herr_t status = set < 0 ? -1 : put_unit(set, table_set, &file->units, file->comoving);
  if (set >= 0) {
    status |= h5_put(set, CHECKSUM_ATTRIBUTE, H5T_STD_U64LE, H5T_NATIVE_UINT64, 0, &table_set->sum);
    if (rows && table_set->total) table_set->offset = H5Dget_offset(set);
    status |= H5Dclose(set);
  }
  H5Pclose(plist);
  H5Sclose(space);
  return status;
}

/* Lay the file out in `image`: with space for the rows, behind `metadata_bytes` bytes of metadata, where
 * `metadata_bytes` is not 0. */
static int lay_out(struct h5_image *image, struct table_file *table_file, size_t metadata_bytes, char cause[256])
{
  hid_t file = h5_image_create(image, H5F_LIBVER_V18, metadata_bytes), group = -1;
  herr_t s = file < 0 ? -1 : table_file->attributes(file, table_file->of);
  for (int k = 0; k < table_file->sets && s >= 0; k++) {
    int fresh = k == 0 || strcmp(table_file->set[k].group, table_file->set[k - 1].group) != 0;
    if (fresh && group >= 0) s |= H5Gclose(group);
    if (fresh) group = h5_group(file, table_file->set[k].group);
    s |= group < 0 ? -1 : create_set(group, &table_file->set[k], table_file, metadata_bytes > 0);
  }
  if (s < 0) h5_cause(cause);
  if (group >= 0) H5Gclose(group);
  if (file >= 0 && h5_image_close(file, image) < 0 && s >= 0) {
    h5_cause(cause);
    s = -1;
  }
  return s < 0 ? -1 : 0;
}

/* Rank 0: the image of the file, and the file with space for the rows. The first image, without that space, gives the
 * size of the metadata, and in the second they fill the start of the file. */
static void create(struct table_file *file, const char *temporary, struct h5_image *image, struct fault *fault)
{
  char cause[256] = "HDF5 puts metadata behind the rows";
  double bytes = 0;
  int bad = lay_out(image, file, 0, cause) != 0;
  size_t metadata_bytes = ((size_t)image->length + ROWS_ALIGNMENT - 1) / ROWS_ALIGNMENT * ROWS_ALIGNMENT;
  h5_image_free(image);
  bad = bad || lay_out(image, file, metadata_bytes, cause) != 0;
  uint64_t first = (uint64_t)image->length;
  for (int k = 0; k < file->sets; k++) {
    bytes += (double)row_bytes(&file->set[k]) * (double)file->set[k].total;
    if (file->set[k].total && file->set[k].offset < first) first = file->set[k].offset;
  }
  if (bad || h5_image_end(image, first) != 0)
    fault_set(fault, "%s %s: laying it out failed: %s", file->what, file->path, cause);
  else if (h5_file_space(file->what, file->path, bytes + (double)metadata_bytes, fault) == 0)
    h5_file_create(file->what, temporary, image, fault);
}

static uint64_t sum_rows(const struct table_set *set, const char *rows, int64_t first, int64_t count)
{
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += row_checksum(rows + row_bytes(set) * (size_t)i, row_bytes(set), (uint64_t)(first + i));
  return sum;
}

static void write_rows(const struct comm *comm, const struct table_file *file, const char *temporary,
                       struct fault *fault)
{
  int fd = h5_file_open(file->what, temporary, O_WRONLY, comm->rank, fault);
  if (fd < 0) return;
  for (int k = 0; k < file->sets && !fault->text[0]; k++) {
    const struct table_set *s = &file->set[k];
    int64_t bytes = (int64_t)row_bytes(s);
    if (s->count && write_all(fd, s->rows, bytes * s->count, (int64_t)s->offset + bytes * s->first) != 0)
      fault_set(fault, "%s %s: writing /%s/%s failed on rank %d: %s", file->what, temporary, s->group, s->name,
                comm->rank, strerror(errno));
  }
  h5_file_flush(file->what, fd, temporary, fault);
  h5_file_close(file->what, fd, temporary, fault);
}

/* The checksum of rows of the file. */
static uint64_t read_rows(int fd, const struct table_file *file, const struct table_set *set, int64_t first,
                          int64_t count, struct fault *fault)
{
  int64_t limit = BUFFER_BYTES / (int64_t)row_bytes(set);
  uint64_t sum = 0;
  char *buffer = memory_alloc("snapshot", BUFFER_BYTES);
  for (int64_t done = 0; done < count && !fault->text[0]; done += limit) {
    int64_t rows = count - done < limit ? count - done : limit, bytes = (int64_t)row_bytes(set) * rows;
    int64_t got = read_all(fd, buffer, bytes, (int64_t)(set->offset + row_bytes(set) * (uint64_t)(first + done)));
    if (got != bytes)
      fault_set(fault, "%s %s: reading back /%s/%s failed: %s", file->what, file->path, set->group, set->name,
                got < 0 ? strerror(errno) : "the file ends too early");
    sum += sum_rows(set, buffer, first + done, rows);
  }
  memory_free(buffer);
  return sum;
}

/* Each rank reads what the next one wrote: its own rows may be in the cache of its node only. */
static void verify(const struct comm *comm, const struct table_file *file, const char *temporary,
                   const struct h5_image *image, struct fault *fault)
{
  size_t sets = (size_t)file->sets;
  int64_t *mine = memory_alloc("snapshot", 5 * sizeof *mine * sets), *next = mine + 2 * sets, *sum = next + 2 * sets;
  for (size_t k = 0; k < sets; k++) {
    mine[2 * k] = file->set[k].first;
    mine[2 * k + 1] = file->set[k].count;
  }
  comm_shift(comm, mine, (comm->rank + comm->size - 1) % comm->size, next, (comm->rank + 1) % comm->size,
             2 * sizeof *mine * sets);
  int fd = h5_file_open(file->what, temporary, O_RDWR, comm->rank, fault);
  if (fd >= 0) h5_file_flush(file->what, fd, temporary, fault);
  if (comm_agree(comm, fault) == 0) {
    for (size_t k = 0; k < sets; k++)
      sum[k] = (int64_t)read_rows(fd, file, &file->set[k], next[2 * k], next[2 * k + 1], fault);
    if (comm->rank == 0) h5_file_compare(file->what, fd, image, temporary, fault);
    comm_sum_int64(comm, sum, file->sets); /* modulo 2^64 in signed and unsigned arithmetic alike */
    for (size_t k = 0; k < sets; k++)
      if ((uint64_t)sum[k] != file->set[k].sum)
        fault_set(fault, "%s %s: /%s/%s read back is not what was written: the disk may be full or failing", file->what,
                  file->path, file->set[k].group, file->set[k].name);
  }
  h5_file_close(file->what, fd, temporary, fault);
  memory_free(mine);
}

/* Checksums of all sets, and with `offsets` where rank 0 has put them. */
static void share(const struct comm *comm, struct table_file *file, int offsets)
{
  int64_t *x = memory_alloc("snapshot", sizeof *x * (size_t)(file->sets + 1));
  for (int k = 0; k < file->sets; k++)
    x[k] = offsets ? (int64_t)file->set[k].offset
                   : (int64_t)sum_rows(&file->set[k], file->set[k].rows, file->set[k].first, file->set[k].count);
  if (offsets) comm_broadcast(comm, x, sizeof *x * (size_t)file->sets);
  else comm_sum_int64(comm, x, file->sets);
  for (int k = 0; k < file->sets; k++) *(offsets ? &file->set[k].offset : &file->set[k].sum) = (uint64_t)x[k];
  memory_free(x);
}

int table_write(const struct comm *comm, struct table_file *file, struct fault *fault)
{
  char temporary[H5_FILE_PATH];
  struct h5_image image = {NULL, 0, 0};
  snprintf(temporary, sizeof temporary, "%.*s.tmp", H5_FILE_PATH - H5_FILE_SUFFIX, file->path);
  h5_quiet();
  share(comm, file, 0);
  if (comm->rank == 0) create(file, temporary, &image, fault);
  int good = comm_verdict(comm, fault) == 0;
  if (good) {
    share(comm, file, 1);
    write_rows(comm, file, temporary, fault);
    good = comm_agree(comm, fault) == 0;
  }
  if (good) {
    verify(comm, file, temporary, &image, fault);
    good = comm_agree(comm, fault) == 0;
  }
  if (comm->rank == 0 && good) h5_file_publish(file->what, comm, file->path, temporary, fault);
  good = comm_verdict(comm, fault) == 0;
  if (comm->rank == 0 && !good) unlink(temporary);
  h5_image_free(&image);
  comm_barrier(comm); /* when any rank returns the temporary file no longer exists */
  return good ? 0 : -1;
}
