/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PARAMS_CHANGED_H
#define PARAMS_CHANGED_H
#include "params.h"

/* Compare the parameters with those of a checkpoint's manifest. A change that a run cannot take on its way (units, the force
 * itself) is a fault with a sentence; others are named on stdout where `say` is set. What the manifest does not know counts as
 * its default. Local. 0 or -1. */
int params_changed(const char *manifest, const struct params *p, int say, struct fault *f);
/* Whether a run with these parameters makes, from the checkpoint on, the same snapshots as the run that wrote it would have made: whatever
 * shapes them is as it was. (TimeMax does not count: they are the same up to the smaller one.) Local. */
int params_same_course(const char *manifest, const struct params *p);
/* What the manifest says of a parameter; the default where it says nothing. Local. */
void params_before(const char *manifest, const struct param_entry *e, char value[PARAM_TEXT]);
#endif
