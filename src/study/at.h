/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accelerations and potentials at points (espalier force --at). */
#ifndef AT_H
#define AT_H
#include "study/force.h"

/* Compute the acceleration and the potential of the initial state's particles at the points of options->at, and write them to
 * options->output (HDF5 where its name ends in .hdf5 or .h5, else CSV) or, without a name, to stdout. The points are particles without mass,
 * so they have the forces of a run. Collective. Returns the exit status (0 or 1). */
int force_at(const struct comm *c, const struct params *par, const struct force_options *options);
#endif
