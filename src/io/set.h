/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of files with initial conditions: what every format's reader gives and gets. Rows are numbered through the set,
 * file by file, in each file type by type. Plain data, so that rank 0's set can be sent to the other ranks as bytes. */
#ifndef IO_SET_H
#define IO_SET_H
#include <stdint.h>

#include "initial.h"

enum { SET_PATH = 4096, SET_COLUMNS = 4 };   /* columns: positions, velocities, masses, ids */

/* A block of numbers in a binary file: its first byte, and the bytes of one number (0: the block is not there). */
struct set_block {
  int64_t offset;
  int width;
};

struct set_file {
  int64_t count[PARTICLE_TYPES];
  int64_t first;                 /* row of its first particle in the set */
  double mass[PARTICLE_TYPES];   /* shared by a type's particles; 0: they have their own */
  struct set_block block[SET_COLUMNS];
  int has_ids, swap, header_bytes;
  uint32_t has_sums;   /* one's own snapshot: checksums by type and column; bit type * SET_COLUMNS + column */
  uint64_t sums[PARTICLE_TYPES][SET_COLUMNS];
};

struct set {
  enum ic_format format;
  char base[SET_PATH], suffix[8];   /* file k is base, or base.k and the suffix when numbered */
  int numbered;
  int64_t total;
  int files;
  struct set_file *file;
  struct initial_facts facts;
  int has_sums;   /* some files have checksums */
};

/* What the header of one file says about the whole set. */
struct set_header {
  int64_t files;
  int has_total;
  int64_t total[PARTICLE_TYPES];
  struct initial_facts facts;
};

/* A format: `inspect` looks at one file's header and at the sizes of what it describes, and allocates nothing that a
 * header asks for; `read` reads `count` rows from row `first` of file `k` to places from `at` of `p` (pos, vel, mass, and
 * ids where the file has them; types are the caller's). Both local; 0 or -1. Both structs are zeroed before. */
struct set_format {
  int (*inspect)(const char *path, struct set_header *h, struct set_file *file, struct fault *f);
  int (*read)(const struct set *s, int k, int64_t first, int64_t count, struct particles *p, int64_t at, struct fault *f);
};
extern const struct set_format format_gadget, format_hdf5, format_tipsy, format_ascii;

const struct set_format *set_format_of(const struct set *s);
/* The name of file `k`. */
void set_path(const struct set *s, int k, char path[SET_PATH]);
int64_t set_file_total(const struct set_file *file);
/* Open: find the file or the set it belongs to, its format, and look at all headers. Local. 0 or -1. */
int set_open(struct set *s, const char *path, enum ic_format format, struct fault *f);
void set_close(struct set *s);

/* Keep a mass in single precision; a fault where it cannot be held (`path` and the particle's row in its file from 1 are
 * for the sentence). */
int set_mass(struct particles *p, int64_t at, double mass, const char *path, int64_t row, struct fault *f);

/* The format by the first bytes; FORMAT_AUTO when it is none that is known. `text` is a name for people, or a reason. */
enum ic_format detect_format(const char *path, char text[128], struct fault *f);

/* Each id once over all ranks? Rank r's particles are rows first.. of the set. Faults are set on some ranks only (the
 * caller agrees). Collective. */
void ids_check(const struct comm *c, const struct particles *p, int64_t first, const char *path, struct fault *f);
#endif
