/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan in words, in lines as those of `run --check`. */
#ifndef PLAN_TEXT_H
#define PLAN_TEXT_H
#include "planning/seconds.h"
#include "planning/storage.h"

/* Print what is planned. `machine`: NULL: none is given. pilot[PILOTS]. */
void plan_text_begin(const struct planning *planning, const struct params *params, const struct machine *machine,
                     const struct particles *pilot);
/* Print memory and disk, `scheme`: for which steps. */
void plan_text_storage(const struct planning *planning, const struct storage *storage, const struct machine *machine,
                       const char *scheme);
/* Print the table of the schemes, planned[count], of which `best` is taken, and the laws. */
void plan_text_seconds(const struct planning *planning, const struct params *params, const struct machine *machine,
                       const struct seconds_planned *planned, int count, int best, const struct particles *pilot);
#endif
