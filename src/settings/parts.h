/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this folder use of each other. */
#ifndef SETTINGS_PARTS_H
#define SETTINGS_PARTS_H
#include "settings/settings.h"

/* settings.c */
/* Make sim->settings of the parameters in use so far, and lead sim->par there; where they are made already, only
 * `asked` changes: the parameters as given. Local. */
void settings_make(struct sim *sim, const struct params *asked);

/* scheme_choice.c */
/* Where the given parameters allow one scheme only, make it the one in use. Before the first force. Local. */
void choice_take_only(struct sim *sim);
/* 1: the parameters allow several schemes. Local. */
int choice_is_open(const struct sim *sim);
/* Note the candidate that sim->par have, of those that the given parameters allow. Local. */
void choice_resume(struct sim *sim);
/* Make the first choice, from the sums of a first force (sim->now, sim->system). Collective. */
void choice_first(struct sim *sim);
/* Note the seconds of the first full forces, from which words about seconds follow. Collective. */
void choice_note_forces(struct sim *sim, double seconds);
/* What the models predict of |dE/E| within ten dynamical times, of the scheme in use with the soft step of `plan`: by
 * steps, and by forces. Zeros where they say nothing: in comoving coordinates, with neighbour lists, other criteria or
 * one step by Eta. `wanted`: of both, by Accuracy. Local. */
struct choice_errors {
  double steps, forces, wanted;
};
struct choice_errors choice_errors(const struct sim *sim, const struct plan *plan);

/* scheme_choice_words.c */
/* The candidate with this name and R1OverR0 in choice.csv; -1: none, or it is not allowed. Local. */
int choice_candidate(const struct params *asked, const char *name, const char *ratio);

/* Make the choices of an earlier run instead: that of the soft step `step` (0: the first one) is `scheme`; `why`: enum
 * chose. Call before the first force, for growing steps. Returns 0, or -1 where there are too many (CHOOSE_AGAIN_MAX).
 * Local. */
int choice_repeat(struct sim *sim, long long step, int scheme, int why);

/* radii.c */
/* 1: a run with these parameters finds some of R1, R2, SoftStep, Eta and ErrTolForceAcc at its start. Local. */
int radii_are_open(const struct params *params);
/* Find them from sim->now, which holds the sums of a first force, and the neighbours of sampled particles. Nothing is
 * found for particles without distances or with numbers that are not finite. Collective. */
void radii_find(struct sim *sim);
#endif
