/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Energies to trust. The potentials of forces have the error of the forces' criterion, and its mean over the particles
 * stays in their sum. At the times of statistics the potentials of a sample of groups are computed again, with
 * quadrupole cells and a small opening angle; the mean difference in the sample, times the mass of all particles of its
 * type, is the correction of the potential energy (a control variate: the potentials of forces, of all particles, have
 * little scatter about the finer ones). Heavy particles have potentials by direct sums in double precision. */
#ifndef ENERGIES_H
#define ENERGIES_H
#include "step/sim.h"

/* Find out which particles are heavy: those of more than 100 times the mean mass of the others, at most the HEAVY_MAX
 * heaviest (fewer where masses are equal). `particles`: the particles of this rank, not yet on the device.
 * Collective. */
void energies_open(struct sim *sim, const struct particles *particles);
/* Set the potentials of heavy particles. After a walk with potentials. Collective. */
void energies_heavy(struct sim *sim);
/* Measure sim->energy: correction and noise of the sums sim->now. `every`: of the usual sample only every so many
 * groups, with more noise. At a synchronisation, after sim_measure of a force with potentials; forces and all that the
 * next soft step needs stay as they are. Collective. */
void energies_measure(struct sim *sim, int every);
/* sim->now with the correction. */
struct diagnostics energies_corrected(const struct sim *sim);
/* Its total energy, with what mergers of stars have taken out: that which is kept. */
double energies_total(const struct sim *sim);

/* The opening angle of the finer potentials of `count` particles; for few particles so small that all pairs are summed.
 * Pure. */
double energies_angle(double count);
/* Every how many groups one is in the sample. Pure. */
int32_t energies_stride(double count);
/* The largest `every` whose noise, by the last measurement, is small against the wanted error; at least 1. Local. */
int energies_coarsest(const struct sim *sim);
/* Whether statistics are due by rule, where their interval is not given: the interactions of soft steps since the last
 * ones, `spent`, are many times those of statistics, `cost` of energies with the usual sample and `beside`, and the
 * time since them, `passed`, is at least a few hundredths of a percent of the whole run's, `whole`. Where a tenth of
 * the run has passed, a coarser sample does, up to `coarsest`. Returns 0, or the `every` of energies_measure. Pure. */
int energies_due(double spent, double cost, double beside, double passed, double whole, int coarsest);
#endif
