/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binaries within a run ([Binaries] Interval): the tables binaries.csv and events.csv, and what the run remembers of
 * the last time for the events of the next one. */
#ifndef BINARIES_H
#define BINARIES_H
#include <stdint.h>
#include <stdio.h>

#include "analysis/escapes.h"
#include "mpi/comm.h"
#include "params/params.h"
#include "particles/particles.h"

/* Of the last time, on rank 0. Zero-initialise. */
struct binaries {
  int known; /* 0: there was none yet */
  double time;
  int32_t pairs;
  struct star_pair *pair; /* [pairs] as multiples_pairs returns them */
  struct escaped escaped;
};

/* The synchronisation that is looked at. */
struct binaries_facts {
  const struct params *params;
  double time;
  double place[3], motion[3]; /* added to positions and velocities for the user's frame */
};

/* Whether binaries are looked for in a run of so many particles. */
int binaries_wanted(const struct params *params, double particles);
/* Headers of the tables. */
void binaries_header(FILE *out);
void binaries_events_header(FILE *out);
/* Gather the particles at a synchronisation on rank 0, find systems, and write rows to `table` and `events` (rank 0;
 * NULL: none): no events at the first time. Numbers are physical also in comoving coordinates. Particles without mass
 * do not count. Collective. */
void binaries_scan(struct binaries *binaries, const struct comm *comm, const struct particles *particles,
                   const struct binaries_facts *facts, FILE *table, FILE *events);
/* What a checkpoint holds of them: words of 8 bytes, *bytes bytes. Owner: caller (memory_free). */
void *binaries_pack(const struct binaries *binaries, uint64_t *bytes);
/* The same again. 0; -1 where the text is damaged, with `binaries` unchanged. */
int binaries_unpack(struct binaries *binaries, const void *text, uint64_t bytes);
void binaries_close(struct binaries *binaries);
#endif
