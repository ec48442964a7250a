/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of named datasets whose rows are divided among ranks, written with the procedure of snapshots: laid out in
 * memory, rows by each rank, read back by the next rank and compared by checksums, flushed, renamed. */
#ifndef IO_TABLE_FILE_H
#define IO_TABLE_FILE_H
#include "io/columns.h"
#include "io/h5.h"
#include "mpi/comm.h"

struct table_set {
  const char *group, *name; /* /GROUP/NAME */
  enum column_number number;
  int components;
  int length, mass, velocity;  /* exponents of its unit; all 0: none */
  const void *rows;            /* [count] of this rank, components one after the other */
  int64_t first, count, total; /* its first row, its rows, those of all ranks */
  /* Set by table_write: */
  uint64_t offset, sum; /* of the dataset in the file; checksum over all rows */
};

struct table_file {
  const char *what, *path; /* "catalogue" or the like, for messages; name of the file */
  struct table_set *set;   /* [sets] those of a group one after the other */
  int sets;
  struct units units; /* length_cm 0: not known */
  int comoving;       /* lengths are comoving, with factors of 1/h, as masses; velocities are v_pec / sqrt(a) */
  /* Write the groups with attributes. < 0 on failure. Called twice, on rank 0. */
  herr_t (*attributes)(hid_t file, const void *of);
  const void *of;
};

/* Write the file; one of this name is replaced when the new one is complete, and unchanged on a fault. Collective. 0;
 * -1 with a fault, the same on all ranks. */
int table_write(const struct comm *comm, struct table_file *file, struct fault *fault);
#endif
