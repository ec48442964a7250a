/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One file of a snapshot: rank 0 creates it without rows, all ranks write their rows, all ranks verify. For this folder
 * only. */
#ifndef IO_SNAPSHOT_FILE_H
#define IO_SNAPSHOT_FILE_H
#include "io/columns.h"
#include "io/h5.h"
#include "io/snapshot/snapshot.h"

enum { SNAPSHOT_PATH = 4096, COLUMNS_MAX = 8 };

/* Rows of one rank by particle type. A dataset has the rows of rank 0 first, each rank's in local order. */
struct slab {
  int64_t count[PARTICLE_TYPES];
  int64_t first[PARTICLE_TYPES]; /* row in the dataset, from 0 */
};

/* Byte offsets of the datasets in the file, by type and column. */
typedef uint64_t dataset_offsets[PARTICLE_TYPES][COLUMNS_MAX];

/* Rows of a file. Free with layout_close. */
struct layout {
  struct slab mine;
  int64_t total[PARTICLE_TYPES];              /* rows in the file */
  int64_t *order;                             /* [particles of this rank] local indices, sorted by type */
  uint64_t sums[PARTICLE_TYPES][COLUMNS_MAX]; /* checksums over all rows of the file, by type and column */
  int files;                                  /* files of the snapshot that this file belongs to */
  int64_t all[PARTICLE_TYPES];                /* particles of the whole snapshot */
  const struct snapshot_facts *facts;
  /* After snapshot_create, on rank 0: */
  struct h5_image image;  /* the file but for its rows, which follow it */
  dataset_offsets offset; /* after snapshot_rows on all ranks */
};

/* The files that the virtual datasets of another file refer to. Their rows follow each other in the order of the
 * files. */
struct virtual_sources {
  int files;
  const int64_t (*count)[PARTICLE_TYPES]; /* [files] rows in each file */
  /* The name of file k relative to the folder of the virtual file, as H5Pset_virtual expects it; written to
   * text[SNAPSHOT_PATH]. */
  const char *(*name)(const void *of, int k, char *text);
  const void *of;
};

/* Count and order the particles by type, and compute the checksums of their rows. `facts` must live as long as the
 * layout. Collective. */
void layout_open(struct layout *layout, const struct comm *comm, const struct particles *particles,
                 const struct snapshot_facts *facts);
void layout_close(struct layout *layout);
/* Whether the file has this column. */
int layout_has(const struct layout *layout, const struct column *column);

/* Lay out all groups, attributes and datasets in memory and write them to a new file `path`; what had this name is
 * removed, unless it is a folder. With `sources` NULL the space for the rows is allocated; otherwise the datasets are
 * virtual and refer to `sources`. Local, rank 0. 0; -1 with a fault. */
int snapshot_create(const char *path, struct layout *layout, const struct snapshot_facts *facts,
                    const struct virtual_sources *sources, struct fault *fault);
/* Write the rows of each rank. Collective; a fault is set only on the ranks where it occurs. */
void snapshot_rows(const struct comm *comm, const char *path, struct layout *layout, const struct particles *particles,
                   struct fault *fault);
/* Flush the file to the disk. Read back everything but the rows, and compare it with what snapshot_create laid out.
 * Local, rank 0. 0; -1 with a fault. */
int snapshot_verify_metadata(const char *path, const struct layout *layout, struct fault *fault);
/* The same for a file with rows: each rank reads back the rows of the next rank, and all checksums are compared with
 * `layout`. Collective; faults may be set on some ranks only. */
void snapshot_verify(const struct comm *comm, const char *path, const struct layout *layout, struct fault *fault);
#endif
