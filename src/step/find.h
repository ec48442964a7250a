/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The finder in a run (EnergyError): measures the system at the start, and makes what tuning/finder.h finds the run's parameters. */
#ifndef FIND_H
#define FIND_H
#include "step/sim.h"

/* 1: a run with these parameters finds some of R1, R2, SoftStep, Eta and ErrTolForceAcc at its start. Local. */
int find_asked(const struct params *p);
/* Find them from s->now, which holds the sums of a first force, and the neighbours of sampled particles. From then on s->par is s->own, a
 * copy of the parameters with the values found, so snapshots and checkpoints name them, and the run is the same as one with these values in
 * its parameter file. Nothing is found for particles without distances or with numbers that are not finite. Collective. */
void find_parameters(struct sim *s);
/* Print what was found, with reasons. Rank 0. */
void find_print(const struct sim *s, FILE *out);
/* Add what a soft step took, in `seconds` in which this rank computed. Local. */
void find_measure(struct sim *s, double seconds);
/* Print the measured costs of this rank: SoftForceCost for later runs. Nothing where no soft step had a hard part. Local. */
void find_print_measured(const struct sim *s, FILE *out);
#endif
