/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libespalier: gravitational N-body simulations from a program of one's own (doc/library.md).
 *
 * A call returns ESPALIER_OK or another code of enum espalier_code; espalier_error() then is the sentence. The library
 * never ends the process for a mistake of the caller or of a file. It does so (MPI_Abort) for exhausted memory and for
 * errors of MPI and of a device.
 *
 * Except where a comment says "local", a call is collective: all ranks of the simulation's communicator make it, each
 * for its share of the particles, and get the same code; where ranks make different calls, they get a code.
 *
 * A simulation is for one thread at a time: a call beside another one's returns ESPALIER_BUSY. espalier_time, _steps,
 * _count and _total may be called from any thread, and return NAN or -1 for a simulation that is closed. Threads in
 * different simulations wait for each other; on several ranks let them call in the same order.
 *
 * Numbers in texts have a decimal point, whatever the locale of the process.
 *
 * Units are those of the parameters; with GravityConstantInternal = 1 they are any with G = 1. Positions and velocities
 * are in the caller's frame. Vectors are three numbers in sequence: component c of particle i is element 3 * i + c. */
#ifndef ESPALIER_H
#define ESPALIER_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ESPALIER_API __attribute__((visibility("default")))

enum espalier_code {
  ESPALIER_OK,
  ESPALIER_BAD_ARGUMENT, /* an argument of the call */
  /* a parameter is unknown or out of range, or this machine or number of ranks does not allow it */
  ESPALIER_BAD_PARAMETER,
  ESPALIER_BAD_PARTICLES, /* particles that no simulation can have: not finite, of negative mass, two with one id */
  ESPALIER_BAD_FILE,      /* a file cannot be read or written */
  ESPALIER_BAD_STEP,      /* soft steps cannot advance the time */
  /* the system has values that are not finite, or its momentum jumped, or the step of a close pair collapsed: it can
   * only be read and closed */
  ESPALIER_UNSOUND,
  ESPALIER_BAD_MPI, /* MPI was ended, or has no support of threads */
  ESPALIER_BUSY     /* another thread is in a call of this simulation */
};

/* A simulation. */
typedef struct espalier espalier;

/* Particles of the caller; arrays that may be NULL are said so. */
struct espalier_particles {
  int64_t count;          /* of this rank; 0 is allowed on some ranks */
  const double *position; /* [count][3] */
  const double *velocity; /* [count][3]; NULL: at rest */
  const double *mass;     /* [count]; kept in single precision. Particles of mass 0 are test particles */
  const uint64_t *id;     /* [count], each id once over all ranks; NULL: 1, 2, ... in rank order */
  const uint8_t *type;    /* [count], 0 to 5 as in GADGET; NULL: 1 */
  double time;
};

/* The version of the library, "0.1.0", and its revision. Local. */
ESPALIER_API const char *espalier_version(void);
/* The sentence of the last call of this thread that failed; "" where none has. Valid until the next failure. Local. */
ESPALIER_API const char *espalier_error(void);

/* --- open and close --------------------------------------------------------------------------------------------- */

/* Open a simulation of these particles, and compute their first forces.
 *   communicator  handle of Fortran (MPI_Comm_c2f), which is duplicated; NULL: MPI_COMM_WORLD. MPI is started where it
 *                 does not run yet
 *   parameters    text of a parameter file (doc/parameters.md); NULL or "": defaults
 *   settings      NULL, or a list that ends with NULL: "Name=value" or "Section:Name=value", which replace values of
 *                 the text
 * Parameters of files, times and outputs have no effect. *sim is NULL on failure. */
ESPALIER_API int espalier_open(espalier **sim, const int *communicator, const char *parameters,
                               const char *const *settings, const struct espalier_particles *particles);
/* The same from a file of any format that the program reads, snapshots of espalier_save among them. NULL: parameter
 * InitCondFile. */
ESPALIER_API int espalier_open_file(espalier **sim, const int *communicator, const char *parameters,
                                    const char *const *settings, const char *path);
/* Close a simulation; NULL is allowed. In a callback it closes when espalier_evolve returns. */
ESPALIER_API int espalier_close(espalier *sim);

/* --- steps ------------------------------------------------------------------------------------------------------- */

/* Make one soft step, shortened where it would pass the time `until` (HUGE_VAL: none). Nothing is done at or after
 * `until`. */
ESPALIER_API int espalier_step(espalier *sim, double until);
/* One soft step of espalier_evolve: the same bits, for loops of the caller. */
ESPALIER_API int espalier_advance(espalier *sim, double until);
/* Called after each soft step, before which it may have changed particles. A value other than 0, on any rank, ends
 * espalier_evolve with ESPALIER_OK on all, as closing of the simulation does. */
typedef int espalier_callback(espalier *sim, void *data);
/* Make soft steps to exactly the time `until`. `after`: NULL, or called with `data`. */
ESPALIER_API int espalier_evolve(espalier *sim, double until, espalier_callback *after, void *data);
/* The present time, in the units of the parameters. Local. */
ESPALIER_API double espalier_time(const espalier *sim);
/* Soft steps since the simulation was opened. Local. */
ESPALIER_API int64_t espalier_steps(const espalier *sim);

/* --- particles --------------------------------------------------------------------------------------------------- */

/* Numbers per particle: in memory of the caller, double [3] for vectors. */
enum espalier_field {
  ESPALIER_POSITION,     /* double [3] */
  ESPALIER_VELOCITY,     /* double [3] */
  ESPALIER_MASS,         /* double */
  ESPALIER_ID,           /* uint64_t */
  ESPALIER_TYPE,         /* uint8_t */
  ESPALIER_ACCELERATION, /* double [3]; by the particles, with G, without external potentials */
  ESPALIER_POTENTIAL     /* double; the same, per unit mass, without self energy */
};
/* Particles that this rank has now: soft steps move particles between ranks. Local. */
ESPALIER_API int64_t espalier_count(const espalier *sim);
/* Particles of all ranks. Local. */
ESPALIER_API int64_t espalier_total(const espalier *sim);
/* Copy a field of this rank's particles to out[espalier_count], in ascending order of their ids: on one rank, with ids
 * from NULL, this is the order in which they were given. */
ESPALIER_API int espalier_get(espalier *sim, enum espalier_field field, void *out);
/* Replace a field (position, velocity, mass or type) of this rank's particles by in[espalier_count], in the same
 * order. Forces are computed again, except for velocities on a host. On failure the simulation is as before. */
ESPALIER_API int espalier_set(espalier *sim, enum espalier_field field, const void *in);
/* Replace all particles: others, more or fewer. On failure the simulation is as before. */
ESPALIER_API int espalier_put(espalier *sim, const struct espalier_particles *particles);

/* Changes of particles between soft steps, as by the evolution of stars. */
struct espalier_changes {
  int64_t count;      /* of this rank, which may name particles of any rank; 0 is allowed */
  const uint64_t *id; /* [count], each id once over all ranks */
  const double *mass; /* [count], the new ones, 0 or more; NULL: they stay */
  const double *kick; /* [count][3], added to velocities; NULL: none */
};
/* Change masses and velocities. Places, orbits and forces on stars near by follow at once, forces from afar (the soft
 * ones of neighbour lists) with the next soft step where all changes since the last one are less than 1e-4 of the mass;
 * else, and without neighbour lists, forces are computed again. The energy that changes put in is added to `changes` of
 * espalier_measure. An id that no particle has, one that is named twice, a mass or a kick that is not finite, and a
 * negative mass: ESPALIER_BAD_PARTICLES, and nothing is changed. */
ESPALIER_API int espalier_change(espalier *sim, const struct espalier_changes *changes);

/* The particles of this rank in the memory of the library, in its own order. */
struct espalier_view {
  int64_t count;
  const double *position, *velocity; /* [count][3]; in the run's frame: add place and motion for the caller's */
  const float *mass;                 /* [count] */
  const uint64_t *id;                /* [count] */
  const uint8_t *type;               /* [count] */
  /* [count][3]; with neighbour lists (Integrator = hermite, Criterion = pairs) its soft part */
  const float *acceleration;
  const float *potential; /* [count]; of the last time at which potentials were asked for */
  double place[3], motion[3];
};
/* Fill *view. On a host nothing is copied. The pointers are valid until the next call other than local ones; nothing
 * may be written to them. Local. */
ESPALIER_API int espalier_look(espalier *sim, struct espalier_view *view);

/* --- fields and sums ---------------------------------------------------------------------------------------------- */

/* Accelerations and potentials of the particles, without external potentials, at points[count][3] of this rank; points
 * pull on nothing.
 *   exact          0: by the tree, as for a particle there; 1: by direct sums in double precision, over all particles
 *                  for each point
 *   acceleration   [count][3], or NULL
 *   potential      [count], or NULL */
ESPALIER_API int espalier_field_at(espalier *sim, int64_t count, const double *points, int exact, double *acceleration,
                                   double *potential);

/* Sums over all particles, in the caller's frame. */
struct espalier_sums {
  double time;
  int64_t steps;    /* soft steps since the simulation was opened */
  double soft_step; /* length of the last one */
  double count, mass;
  double kinetic, potential, total; /* energies; with the potential of external fields */
  /* standard error of the total energy, from the sampled correction of the potentials of the tree */
  double noise;
  double momentum[3], angular_momentum[3];
  double centre[3], motion[3]; /* of mass, and its velocity */
  double split_radius;         /* R2 of the split of forces; 0: not split */
  double interactions;         /* of the last soft step, all ranks: particle and cell interactions */
  /* energy that espalier_change has put in since the simulation was opened, or by the file that it was opened from;
   * total - changes is what integration keeps */
  double changes;
};
/* Compute the sums; where the last step had no potentials, forces are computed once more with them. */
ESPALIER_API int espalier_measure(espalier *sim, struct espalier_sums *sums);

/* Judge the system against its parameters, as `espalier run` does at a start, after its first forces. Where a run would
 * surely be worthless: ESPALIER_BAD_PARAMETER; the simulation can be used all the same. Warnings, a line each, become
 * text[size] of rank 0, "" elsewhere. */
ESPALIER_API int espalier_judge(espalier *sim, char *text, size_t size);
/* Agree over the ranks of a simulation, or with sim = NULL of a communicator as in espalier_open: where a rank has a
 * sentence, all get ESPALIER_BAD_ARGUMENT with that of the lowest one. *value becomes the largest over ranks. Both may
 * be NULL. Other calls of a rank before it fail while another rank waits here. */
ESPALIER_API int espalier_agree(espalier *sim, const int *communicator, const char *sentence, int *value);
/* The value in use of a parameter, as text[size]. Local. */
ESPALIER_API int espalier_parameter(const espalier *sim, const char *name, char *text, size_t size);

/* --- files and models --------------------------------------------------------------------------------------------- */

/* Write a snapshot in the layout of GADGET-4's HDF5 files (doc/file-formats.md), NAME.hdf5; an existing one is
 * replaced. */
ESPALIER_API int espalier_save(espalier *sim, const char *path);

/* Particles that the library has made. */
struct espalier_data {
  int64_t count; /* of this rank */
  double time;
  double *position, *velocity, *mass;
  uint64_t *id;
  uint8_t *type;
  double unit_length, unit_mass, unit_velocity; /* cm, g, cm/s, where the source states them; else 0 */
  double gravity; /* the gravitational constant in these units, where the source states it; else 0 */
};
/* Read a file of any format that the program reads; each rank gets an equal share. Free with espalier_free. */
ESPALIER_API int espalier_read(struct espalier_data **data, const int *communicator, const char *path);
/* Make a model of `espalier ic`: plummer, hernquist, king, uniform or merger, in units with G = 1 and a total mass of
 * 1; or galaxy, whose option file=MODEL.ini names a model file. `settings`: NULL, or a list that ends with NULL:
 * "name=value", the long options of the command ("w0=7", "mass-function=kroupa"). `count`: particles of all ranks
 * (galaxy: 0 takes the numbers of the file). Free with espalier_free. */
ESPALIER_API int espalier_model(struct espalier_data **data, const int *communicator, const char *model, int64_t count,
                                uint64_t seed, const char *const *settings);
/* Free what espalier_read or espalier_model made; NULL is allowed. Local. */
ESPALIER_API void espalier_free(struct espalier_data *data);

#ifdef __cplusplus
}
#endif
#endif
