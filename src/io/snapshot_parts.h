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
};

/* Count, order, and checksums of what memory holds. Collective. */
void layout_open(struct layout *l, const struct comm *c, const struct particles *p, unsigned extras);
void layout_close(struct layout *l);
int layout_has(const struct layout *l, const struct column *k);

/* Create `path` with everything but the rows' values, whose places are allocated. Local. 0 or -1. */
int snapshot_create(const char *path, const struct layout *l, const struct snapshot_facts *facts, struct fault *f);
/* Write this rank's rows. Local. Faults are set on the ranks that meet them. */
void snapshot_rows(const struct comm *c, const char *path, const struct layout *l, const struct particles *p, struct fault *f);
/* Read the neighbour's rows with plain POSIX calls and compare. Collective; faults are set on some ranks only. */
void snapshot_verify(const struct comm *c, const char *path, const struct layout *l, struct fault *f);
#endif
