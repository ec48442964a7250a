/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friends-of-friends groups (Davis, Efstathiou, Frenk & White 1985, ApJ 292, 371): particles of the linking types are
 * in the same group where a chain of them connects them whose members are at most the linking length apart; a particle
 * of another type is in the group of the nearest linking particle within the linking length (of the smallest id among
 * equally near ones), if there is one. Open boundaries. The label of a group is the smallest id of its linking
 * particles. All results are the same for any number of ranks and any distribution of the particles, to the bit. */
#ifndef FOF_H
#define FOF_H
#include <stdint.h>

#include "base/fault.h"
#include "base/timer.h"
#include "gravity/units.h"
#include "mpi/comm.h"
#include "particles/particles.h"

#define FOF_NONE UINT64_MAX /* label of a particle of another type without a group; no particle may have this id */

struct fof_request {
  double length; /* linking length; 0: by the rule of fof_length */
  /* mean density of matter in the units of the particles, for that rule; 0: an isolated system */
  double density;
  /* the expansion factor a where the particles are those of a run in comoving coordinates: the catalogue has the
   * velocities v_pec / sqrt(a) of snapshots, and compares their potentials; 0: none */
  double expansion;
  int64_t min_size;           /* smallest number of particles of a group in the catalogue */
  unsigned linking;           /* bit t: particles of type t link */
  int potential;              /* 1: the potentials of the particles are known */
  double place[3], motion[3]; /* are added to positions and velocities */
};

struct fof_group {
  uint64_t label;
  int64_t count, type_count[PARTICLE_TYPES];
  double mass, type_mass[PARTICLE_TYPES];
  /* of the particle with the smallest potential (of the smallest id among several); without potentials as cm */
  double pos[3];
  double cm[3], vel[3]; /* centre of mass and its velocity; without mass: pos, and 0 */
};

struct fof_member {
  uint64_t group, id; /* group: its number in the catalogue, from 0 */
  int64_t type;
};

/* Groups in the order of their numbers: by falling number of particles, then by label; and their particles by group,
 * type and id. Each rank has some consecutive ones. Free with fof_close. */
struct fof_catalogue {
  double length; /* linking length in use */
  int64_t groups, first_group, group_count;
  struct fof_group *group; /* [group_count] */
  int64_t *offset;         /* [group_count] row of the group's first particle among all members */
  int64_t members, first_member, member_count;
  struct fof_member *member; /* [member_count] */
};

/* The linking length by rule. With request->density: 0.2 times the mean distance (M / (n density))^(1/3) of the n
 * linking particles in a universe, where M is the mass of all particles. GADGET-4 has the same, by the masses and the
 * density of the linking types. Else the mean distance (V / n)^(1/3) of the n linking particles, half of all, in the
 * sphere about the median of each coordinate that holds these. 0 without linking particles, and where half of them are
 * at one place. Collective. */
double fof_length(const struct comm *comm, const struct particles *particles, const struct fof_request *request);

/* Label all particles: label[particles->n]. `length` >= 0; 0 links particles at the same place. Masses, velocities and
 * potentials are not used. Collective. */
void fof_label(const struct comm *comm, const struct particles *particles, const struct fof_request *request,
               double length, uint64_t *label);

/* Find the groups of at least request->min_size particles. Collective. */
void fof_find(const struct comm *comm, const struct particles *particles, const struct fof_request *request,
              struct fof_catalogue *catalogue);
void fof_close(struct fof_catalogue *catalogue);

/* What the file of a catalogue states beside the groups. The same on all ranks. */
struct fof_facts {
  struct units units; /* of the particles; length_cm 0: not known */
  double time;
  const struct fof_request *request;
  /* expansion factor and cosmology of comoving coordinates; a = 0: they are not comoving */
  double a, omega0, omega_lambda, hubble;
};
/* Write the catalogue as GADGET-4 does (doc/file-formats.md); a file of this name is replaced. It gets its name when it
 * has been read back and its checksums agree; on a fault nothing changes. Collective. 0; -1 with a fault, the same on
 * all ranks. */
int fof_write(const struct comm *comm, const char *path, const struct fof_catalogue *catalogue,
              const struct fof_facts *facts, struct fault *fault);
/* Find the groups and write their catalogue; rank 0 prints what was found, and how long it took. `timer` (may be NULL)
 * gets the phases fof and output. Collective. 0; -1 with a fault, the same on all ranks. */
int fof_make(const struct comm *comm, const struct particles *particles, const char *path,
             const struct fof_facts *facts, struct timer *timer, struct fault *fault);
#endif
