/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of snapshot_write: rank 0 lays out the file, all ranks write their rows, all read back. */
#ifndef IO_SNAPSHOT_PARTS_H
#define IO_SNAPSHOT_PARTS_H
#include "columns.h"
#include "snapshot.h"

enum { MOST_COLUMNS = 8 };

/* Rows of one rank: by type, in rank order and there in local order. */
struct slab {
  int64_t count[PARTICLE_TYPES], first[PARTICLE_TYPES];   /* first: the row in the dataset */
};

struct layout {
  struct slab mine;
  int64_t total[PARTICLE_TYPES];
  int64_t *order;                                  /* local particles sorted by type */
  uint64_t sums[PARTICLE_TYPES][MOST_COLUMNS];     /* checksums over all ranks */
  unsigned extras;
  int files;                                       /* of the whole snapshot, of which this may be one, */
  int64_t all[PARTICLE_TYPES];                     /* and its particles */
};

/* Where the rows of a file's virtual datasets lie: one after the other in the datasets of the same names of these files. */
struct pieces {
  int files;
  const int64_t (*count)[PARTICLE_TYPES];                    /* rows in each */
  const char *(*name)(const void *of, int k, char *text);    /* of file k, relative to the folder of the virtual one; fills `text` */
  const void *of;
};
enum { PIECE_NAME = 4096 };

/* Count, order, and checksums of what memory holds. Collective. */
void layout_open(struct layout *l, const struct comm *c, const struct particles *p, unsigned extras);
void layout_close(struct layout *l);
int layout_has(const struct layout *l, const struct column *k);

/* Create `path` with everything but the rows' values, whose places are allocated; or, with `pieces`, lie elsewhere. Local.
 * 0 or -1. */
int snapshot_create(const char *path, const struct layout *l, const struct snapshot_facts *facts, const struct pieces *pieces, struct fault *f);
/* Rank 0: may `path` be written, and is there room? 0 or -1. */
int snapshot_ask(const char *path, const struct layout *l, struct fault *f);
/* The folder of a file (of PIECE_NAME characters). */
void snapshot_folder(const char *path, char *folder);
/* A whole file under the name `temporary`, verified; `made` tells rank 0 whether it has been begun. `path` is its name to be, for
 * sentences. Collective; faults agree. 0 or -1. */
int snapshot_file(const struct comm *c, const char *path, const char *temporary, const struct layout *l, const struct particles *p,
                  const struct snapshot_facts *facts, int *made, struct fault *f);
/* Several files, their folder, and the virtual one. Collective; faults agree. 0 or -1. */
int snapshot_files(const struct comm *c, const char *path, const struct layout *l, const struct particles *p,
                   const struct snapshot_facts *facts, struct fault *f);
/* Rank 0: NAME.xmf beside NAME.hdf5, which describes it; on a fault there is none, nor an earlier one. 0 or -1. */
int snapshot_xdmf(const char *path, const struct layout *l, const struct snapshot_facts *facts, struct fault *f);
/* The number in a name that begins with BASE_NNN, as "%03d" writes it, and what is behind it; -1: there is none. */
long long snapshot_number(const char *name, const char *base, const char **rest);
/* Write this rank's rows. Local. Faults are set on the ranks that meet them. */
void snapshot_rows(const struct comm *c, const char *path, const struct layout *l, const struct particles *p, struct fault *f);
/* Read the neighbour's rows with plain POSIX calls and compare. Collective; faults are set on some ranks only. */
void snapshot_verify(const struct comm *c, const char *path, const struct layout *l, struct fault *f);
#endif
