/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of a restart compared with those in the checkpoint's manifest. A parameter that the manifest does not have
 * counts as its default. What Accuracy sets (0) is compared as it is used. All functions are local. */
#ifndef PARAMS_CHANGED_H
#define PARAMS_CHANGED_H
#include "params/params.h"

/* Check which parameters differ. A change that a restart does not allow (units, softening, split) is a fault.
 * \param list  list the other changes on stdout
 * \return 0; -1 with a fault */
int params_changed(const char *manifest, const struct params *params, int list, struct fault *fault);
/* Complete the parameters of a restart: values that the run found at its start (EnergyError) and that *params does not
 * give are those of the manifest, of ErrTolForceAcc the smaller one, where the manifest has EnergyError. R1OverR0 by
 * Accuracy stays that of the manifest. */
void params_adopt_found(const char *manifest, struct params *params);
/* Check that parameters *asked of a restart agree with the scheme that the run has chosen, which *found has
 * (params_adopt_found). 0, or -1 with a fault. */
int params_check_found(const struct params *asked, const struct params *found, struct fault *fault);
/* Whether a run with these parameters writes the same snapshots from the checkpoint on as the run that wrote the
 * checkpoint: no parameter that influences snapshots differs. TimeMax is not compared: up to the smaller one the
 * snapshots are the same. */
int params_same_evolution(const char *manifest, const struct params *params);
/* Whether no parameter differs that limits the lengths of soft steps or of the steps of close pairs. */
int params_same_steps(const char *manifest, const struct params *params);
/* The value of a parameter in the manifest, as text; the default if it is missing. */
void params_before(const char *manifest, const struct param_entry *entry, char value[PARAM_TEXT]);
#endif
