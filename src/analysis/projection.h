/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps of surface density, by particle type and of all particles, along the axes of a run:
 * OutputDir/projections/projection_NNNN.hdf5. */
#ifndef PROJECTION_H
#define PROJECTION_H
#include "analysis/map_file.h"
#include "analysis/subset.h"

#define PROJECTION_FOLDER "projections"

/* Write the maps of the particles of all ranks at `facts->time` to projection `number` in `folder`, which is made where
 * it does not exist. The sums of pixels are sums of whole numbers: the file is the same, byte by byte, for any
 * distribution of the particles over ranks. \param facts  par, time, gravity and step are given; `half` too, or 0: it
 * becomes the radius about the centre that holds 90 % of the mass
 *               or, where that is smaller, of the mass of all types but 1 (dark matter), if these have mass in 100
 *               particles; 1 where that is 0. It does so also where nothing can be written. `centre` is set.
 * \param place  is added to positions for the user's frame (sim_shift)
 * Collective. 0, or -1 with a fault. */
int projection_write(const struct comm *comm, const char *folder, int number, const struct particles *particles,
                     struct map_facts *facts, const double place[3], struct fault *fault);
/* Whether there are projections in `folder`. Local. */
int projection_exists(const char *folder);
/* Remove the projections with `first` and later numbers in `folder`, and files that were not completed. Local. */
void projection_remove(const char *folder, int first);
#endif
