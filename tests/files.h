/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers for tests of files: a temporary folder, particles, and results over all ranks. */
#ifndef TEST_FILES_H
#define TEST_FILES_H
#include <dirent.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "params/params.h"
#include "ranks.h"

/* Create a temporary folder; all ranks get its name. */
static inline void folder_make(const struct comm *comm, char name[256])
{
  const char *top = getenv("TMPDIR");
  snprintf(name, 256, "%.200s/espalier-test-XXXXXX", top ? top : "/tmp");
  if (comm->rank == 0 && !mkdtemp(name)) MPI_Abort(comm->mpi, 99);
  MPI_Bcast(name, 256, MPI_CHAR, 0, comm->mpi);
}

static inline int folder_files(const char *name)
{
  int n = 0;
  DIR *d = opendir(name);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) n += e->d_name[0] != '.';
  if (d) closedir(d);
  return n;
}

/* Remove the folder and the files in it. */
static inline void folder_remove(const struct comm *comm, const char *name)
{
  MPI_Barrier(comm->mpi);
  if (comm->rank != 0) return;
  DIR *d = opendir(name);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    char path[1024];
    snprintf(path, sizeof path, "%.500s/%.255s", name, e->d_name);
    unlink(path);
  }
  if (d) closedir(d);
  rmdir(name);
}

/* Numbers that look arbitrary and are exact in every precision. */
static inline double value(int64_t row, int k) { return (double)((row * 7919 + k * 104729) % 20011 - 10005) / 64; }

/* `total` particles of mixed types; rank r holds those with row % size == r, but every third rank holds none. */
static inline void particles_make(struct particles *particles, const struct comm *comm, int64_t total, int types)
{
  int holders = comm->size > 2 ? comm->size - 1 : comm->size;
  particles_init(particles);
  particles_reserve(particles, total);
  if (comm->rank >= holders) return;
  for (int64_t row = comm->rank; row < total; row += holders) {
    int64_t i = particles->n++;
    for (int k = 0; k < 3; k++) {
      particles->pos[3 * i + k] = value(row, k) + 1e-9 * value(row, 5);
      particles->vel[3 * i + k] = value(row, 3 + k) / 3;
      particles->acc[3 * i + k] = (float)value(row, 6 + k);
      particles->acc_hard[3 * i + k] = (float)value(row, 9 + k);
    }
    particles->mass[i] = 1.0f / (float)(1 + row % 13);
    particles->pot[i] = (float)value(row, 12);
    particles->id[i] = (uint64_t)(row * 3 + 1);
    particles->type[i] = (uint8_t)(row % types == 0 ? 0 : row % types);
  }
}

/* Number of open HDF5 handles. */
static inline int handles_left(void)
{
  static const H5I_type_t kinds[] = {H5I_FILE, H5I_GROUP, H5I_DATASPACE, H5I_DATASET, H5I_ATTR};
  hsize_t n = 0, all = 0;
  for (int i = 0; i < 5; i++)
    if (H5Inmembers(kinds[i], &n) >= 0) all += n;
  return (int)all;
}
#endif
