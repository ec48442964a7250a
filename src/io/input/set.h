/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of files with initial conditions, and the interface of a format's reader. Rows are numbered through the set,
 * file by file, in each file type by type. The structs are plain data, so that rank 0 can broadcast them as bytes.
 * Functions return 0, or -1 with a fault, unless stated otherwise. */
#ifndef IO_SET_H
#define IO_SET_H
#include <stdint.h>

#include "io/input/initial.h"

/* columns: positions, velocities, masses, ids; with checksums: potentials too */
enum { SET_PATH = 4096, SET_COLUMNS = 4, SET_SUMS };

/* A block of numbers in a binary file: the offset of its first byte, and the bytes per number (0: there is no such
 * block). */
struct set_block {
  int64_t offset;
  int width;
};

struct set_file {
  int64_t count[PARTICLE_TYPES];
  int64_t first;               /* row of its first particle in the set */
  double mass[PARTICLE_TYPES]; /* of every particle of the type; 0: each particle has its own */
  struct set_block block[SET_COLUMNS];
  int has_ids, swap, header_bytes;
  int has_potential; /* all its particle types have potentials that can be read */
  /* snapshots of this program have checksums by type and column: bit type * SET_SUMS + column */
  uint32_t has_sums;
  uint64_t sums[PARTICLE_TYPES][SET_SUMS];
};

struct set {
  enum ic_format format;
  char base[SET_PATH], suffix[8]; /* file k is named base, or base.k and the suffix if `numbered` */
  int numbered;
  int64_t total; /* particles in all files */
  int files;
  struct set_file *file; /* [files] */
  struct initial_facts facts;
  int has_sums;  /* some files have checksums */
  int potential; /* 1: potentials are read too, where the files have them */
};

/* What the header of one file states about the whole set. */
struct set_header {
  int64_t files;
  int has_total;
  int64_t total[PARTICLE_TYPES];
  struct initial_facts facts;
};

/* The reader of a format; both functions are local.
 * `inspect` reads one file's header and checks the sizes that it states against the file. It allocates no memory of a
 * size that a header states. Both structs are zero before.
 * `read` reads `count` rows of file `k` from row `first` on to the particles `at` and following of `p`: pos, vel, mass,
 * and id if the file has ids. The caller sets the types. */
struct set_format {
  int (*inspect)(const char *path, struct set_header *header, struct set_file *file, struct fault *fault);
  int (*read)(const struct set *set, int k, int64_t first, int64_t count, struct particles *particles, int64_t at,
              struct fault *fault);
};
extern const struct set_format format_gadget, format_hdf5, format_tipsy, format_ascii;

const struct set_format *set_format_of(const struct set *set);
/* The path of file `k`. */
void set_path(const struct set *set, int k, char path[SET_PATH]);
/* Particles of all types in a file. */
int64_t set_file_total(const struct set_file *file);
/* Find the files of the set that `path` belongs to and their format, and read all headers. Free with set_close.
 * Local. */
int set_open(struct set *set, const char *path, enum ic_format format, struct fault *fault);
void set_close(struct set *set);

/* Store a mass in single precision; a fault if it is out of range. `path` and `row`, the particle's row in its file
 * from 1, are for the message. Local. */
int set_mass(struct particles *particles, int64_t at, double mass, const char *path, int64_t row, struct fault *fault);

/* Note a particle's own mass of type `t`, for which the header gives the mass `table`, if they differ. Local. */
void set_doubt_mass(struct initial_doubts *doubts, int t, double table, double mass);

/* The format, from the first bytes of the file. FORMAT_AUTO if it is unknown; then `text` is the reason. Local. */
enum ic_format detect_format(const char *path, char text[128], struct fault *fault);

/* Check that all ids are unique. This rank's particles are the rows `first` and following of the set. Faults are set on
 * some ranks only; the caller makes them agree. Collective. */
void ids_check(const struct comm *comm, const struct particles *particles, int64_t first, const char *path,
               struct fault *fault);
#endif
