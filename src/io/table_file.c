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

static size_t row_bytes(const struct table_set *s) { return (size_t)s->components * (s->number == COLUMN_F32 ? 4 : 8); }

static hid_t type_of(const struct table_set *s)
{
  return s->number == COLUMN_F64 ? H5T_IEEE_F64LE : s->number == COLUMN_F32 ? H5T_IEEE_F32LE : H5T_STD_U64LE;
}

hid_t table_group(hid_t file, const char *name)
{
  hid_t plist = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(plist, 0);
  hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, plist, H5P_DEFAULT);
  H5Pclose(plist);
  return group;
}

/* GADGET-4's attributes of a dataset. */
static herr_t put_unit(hid_t set, const struct table_set *s, const struct units *u, int comoving)
{
  if ((!s->length && !s->mass && !s->velocity) || !(u->length_cm > 0)) return 0;
  herr_t status = h5_put_real(set, "a_scaling", comoving ? s->length + 0.5 * s->velocity : 0);
  status |= h5_put_real(set, "h_scaling", comoving ? -s->length - s->mass : 0);
  status |= h5_put_real(set, "length_scaling", s->length);
  status |= h5_put_real(set, "mass_scaling", s->mass);
  status |= h5_put_real(set, "velocity_scaling", s->velocity);
  status |= h5_put_real(set, "to_cgs", pow(u->length_cm, s->length) * pow(u->mass_g, s->mass) * pow(u->velocity_cm_s, s->velocity));
  return status;
}

/* `rows`: allocate the space for them. */
static herr_t create_set(hid_t group, struct table_set *s, const struct table_file *t, int rows)
{
  hsize_t extent[2] = {(hsize_t)s->total, (hsize_t)s->components};
  hid_t space = H5Screate_simple(s->components > 1 ? 2 : 1, extent, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(plist, H5D_CONTIGUOUS);
  H5Pset_alloc_time(plist, rows ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE);
  H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(plist, 0);
  hid_t set = H5Dcreate2(group, s->name, type_of(s), space, H5P_DEFAULT, plist, H5P_DEFAULT);
  herr_t status = set < 0 ? -1 : put_unit(set, s, &t->units, t->comoving);
  if (set >= 0) {
    status |= h5_put(set, CHECKSUM_ATTRIBUTE, H5T_STD_U64LE, H5T_NATIVE_UINT64, 0, &s->sum);
    if (rows && s->total) s->offset = H5Dget_offset(set);
    status |= H5Dclose(set);
  }
  H5Pclose(plist);
  H5Sclose(space);
  return status;
}

/* Lay the file out in `image`: with space for the rows, behind `room` bytes of metadata, where `room` is not 0. */
static int lay_out(struct h5_image *image, struct table_file *t, size_t room, char cause[256])
{
  hid_t file = h5_image_create(image, H5F_LIBVER_V18, room), group = -1;
  herr_t s = file < 0 ? -1 : t->attributes(file, t->of);
  for (int k = 0; k < t->sets && s >= 0; k++) {
    int fresh = k == 0 || strcmp(t->set[k].group, t->set[k - 1].group) != 0;
    if (fresh && group >= 0) s |= H5Gclose(group);
    if (fresh) group = table_group(file, t->set[k].group);
    s |= group < 0 ? -1 : create_set(group, &t->set[k], t, room > 0);
  }
  if (s < 0) h5_cause(cause);
  if (group >= 0) H5Gclose(group);
  if (file >= 0 && h5_image_close(file, image) < 0 && s >= 0) {
    h5_cause(cause);
    s = -1;
  }
  return s < 0 ? -1 : 0;
}

/* Rank 0: the image of the file, and the file with space for the rows. The first image, without that space, gives the size of the metadata,
 * and in the second they fill the start of the file. */
static void create(struct table_file *t, const char *temporary, struct h5_image *image, struct fault *f)
{
  char cause[256] = "HDF5 puts metadata behind the rows";
  double bytes = 0;
  int bad = lay_out(image, t, 0, cause) != 0;
  size_t room = ((size_t)image->length + ROWS_ALIGNMENT - 1) / ROWS_ALIGNMENT * ROWS_ALIGNMENT;
  h5_image_free(image);
  bad = bad || lay_out(image, t, room, cause) != 0;
  uint64_t first = (uint64_t)image->length;
  for (int k = 0; k < t->sets; k++) {
    bytes += (double)row_bytes(&t->set[k]) * (double)t->set[k].total;
    if (t->set[k].total && t->set[k].offset < first) first = t->set[k].offset;
  }
  if (bad || h5_image_end(image, first) != 0) fault_set(f, "%s %s: laying it out failed: %s", t->what, t->path, cause);
  else if (h5_file_space(t->what, t->path, bytes + (double)room, f) == 0) h5_file_create(t->what, temporary, image, f);
}

static uint64_t sum_rows(const struct table_set *s, const char *rows, int64_t first, int64_t count)
{
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; i++) sum += row_checksum(rows + row_bytes(s) * (size_t)i, row_bytes(s), (uint64_t)(first + i));
  return sum;
}

static void write_rows(const struct comm *c, const struct table_file *t, const char *temporary, struct fault *f)
{
  int fd = h5_file_open(t->what, temporary, O_WRONLY, c->rank, f);
  if (fd < 0) return;
  for (int k = 0; k < t->sets && !f->text[0]; k++) {
    const struct table_set *s = &t->set[k];
    int64_t bytes = (int64_t)row_bytes(s);
    if (s->count && write_all(fd, s->rows, bytes * s->count, (int64_t)s->offset + bytes * s->first) != 0)
      fault_set(f, "%s %s: writing /%s/%s failed on rank %d: %s", t->what, temporary, s->group, s->name, c->rank, strerror(errno));
  }
  h5_file_flush(t->what, fd, temporary, f);
  h5_file_close(t->what, fd, temporary, f);
}

/* The checksum of rows of the file. */
static uint64_t read_rows(int fd, const struct table_file *t, const struct table_set *s, int64_t first, int64_t count, struct fault *f)
{
  int64_t limit = BUFFER_BYTES / (int64_t)row_bytes(s);
  uint64_t sum = 0;
  char *buffer = memory_alloc("snapshot", BUFFER_BYTES);
  for (int64_t done = 0; done < count && !f->text[0]; done += limit) {
    int64_t rows = count - done < limit ? count - done : limit, bytes = (int64_t)row_bytes(s) * rows;
    int64_t got = read_all(fd, buffer, bytes, (int64_t)(s->offset + row_bytes(s) * (uint64_t)(first + done)));
    if (got != bytes)
      fault_set(f, "%s %s: reading back /%s/%s failed: %s", t->what, t->path, s->group, s->name,
                got < 0 ? strerror(errno) : "the file ends too early");
    sum += sum_rows(s, buffer, first + done, rows);
  }
  memory_free(buffer);
  return sum;
}

/* Each rank reads what the next one wrote: its own rows may be in the cache of its node only. */
static void verify(const struct comm *c, const struct table_file *t, const char *temporary, const struct h5_image *image, struct fault *f)
{
  size_t sets = (size_t)t->sets;
  int64_t *mine = memory_alloc("snapshot", 5 * sizeof *mine * sets), *next = mine + 2 * sets, *sum = next + 2 * sets;
  for (size_t k = 0; k < sets; k++) mine[2 * k] = t->set[k].first, mine[2 * k + 1] = t->set[k].count;
  comm_shift(c, mine, (c->rank + c->size - 1) % c->size, next, (c->rank + 1) % c->size, 2 * sizeof *mine * sets);
  int fd = h5_file_open(t->what, temporary, O_RDWR, c->rank, f);
  if (fd >= 0) h5_file_flush(t->what, fd, temporary, f);
  if (comm_agree(c, f) == 0) {
    for (size_t k = 0; k < sets; k++) sum[k] = (int64_t)read_rows(fd, t, &t->set[k], next[2 * k], next[2 * k + 1], f);
    if (c->rank == 0) h5_file_compare(t->what, fd, image, temporary, f);
    comm_sum_int64(c, sum, t->sets);   /* modulo 2^64 in signed and unsigned arithmetic alike */
    for (size_t k = 0; k < sets; k++)
      if ((uint64_t)sum[k] != t->set[k].sum)
        fault_set(f, "%s %s: /%s/%s read back is not what was written: the disk may be full or failing", t->what, t->path,
                  t->set[k].group, t->set[k].name);
  }
  h5_file_close(t->what, fd, temporary, f);
  memory_free(mine);
}

/* Checksums of all sets, and with `offsets` where rank 0 has put them. */
static void share(const struct comm *c, struct table_file *t, int offsets)
{
  int64_t *x = memory_alloc("snapshot", sizeof *x * (size_t)(t->sets + 1));
  for (int k = 0; k < t->sets; k++) x[k] = offsets ? (int64_t)t->set[k].offset : (int64_t)sum_rows(&t->set[k], t->set[k].rows, t->set[k].first, t->set[k].count);
  if (offsets) comm_broadcast(c, x, sizeof *x * (size_t)t->sets);
  else comm_sum_int64(c, x, t->sets);
  for (int k = 0; k < t->sets; k++) *(offsets ? &t->set[k].offset : &t->set[k].sum) = (uint64_t)x[k];
  memory_free(x);
}

int table_write(const struct comm *c, struct table_file *t, struct fault *f)
{
  char temporary[H5_FILE_PATH];
  struct h5_image image = {NULL, 0, 0};
  snprintf(temporary, sizeof temporary, "%.*s.tmp", H5_FILE_PATH - H5_FILE_SUFFIX, t->path);
  h5_quiet();
  share(c, t, 0);
  if (c->rank == 0) create(t, temporary, &image, f);
  int good = comm_verdict(c, f) == 0;
  if (good) {
    share(c, t, 1);
    write_rows(c, t, temporary, f);
    good = comm_agree(c, f) == 0;
  }
  if (good) {
    verify(c, t, temporary, &image, f);
    good = comm_agree(c, f) == 0;
  }
  if (c->rank == 0 && good) h5_file_publish(t->what, c, t->path, temporary, f);
  good = comm_verdict(c, f) == 0;
  if (c->rank == 0 && !good) unlink(temporary);
  h5_image_free(&image);
  comm_barrier(c);   /* when any rank returns the temporary file no longer exists */
  return good ? 0 : -1;
}
