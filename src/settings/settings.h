/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings of a run: the parameters in use, with the scheme (Mode, Scheme, R1OverR0) and its accuracy (R1, R2,
 * SoftStep, Eta, ErrTolForceAcc) where the given parameters leave them open. This folder alone makes them, from the
 * first forces and after soft steps; all else reads them through sim->par.
 *
 * The scheme (Mode = auto, Scheme = auto; choice.h): the first choice is by a model of costs alone. Unless Repeatable
 * is on, the first soft steps are then made with each promising candidate in turn; they meet the same error, so nothing
 * is taken back. Later the system is measured again from time to time. choice.csv has all candidates at each
 * measurement, and each trial. With Repeatable on, a run repeats the choices that the file in OutputDir has, from an
 * earlier run: then bits repeat although clocks decided.
 *
 * The radii and steps of neighbour lists (EnergyError): found once, at the start (tuning/finder.h), so that the run is
 * the same as one with these values in its parameter file. */
#ifndef SETTINGS_H
#define SETTINGS_H
#include "settings/choice.h"
#include "step/sim.h"
#include "tuning/finder.h"

/* What was found for EnergyError. */
struct found_radii {
  int done; /* 1: request and result are set */
  struct finder_request request;
  struct finder_result result;
};

/* Why a scheme is used: the model alone chose it; it is tried; trials chose it; the system was measured again; choices
 * of an earlier run. */
enum chose { CHOSE_NOTHING, CHOSE_MODEL, CHOSE_TRIAL, CHOSE_MEASURED, CHOSE_LOOK, CHOSE_AGAIN };
enum { CHOOSE_AGAIN_MAX = 256 };

/* The choice of a scheme. The same on all ranks. */
struct scheme_choice {
  int made;                  /* 1: a choice has been made */
  int now;                   /* enum choice_scheme in use */
  struct choice_table table; /* of the last measurement */
  /* candidates to be tried, and the one that is; 0 trials: none */
  int trials, trial, trial_steps, order[CHOICES_COUNT];
  double measured[CHOICES_COUNT]; /* seconds per unit of time; 0: not measured */
  long long looked;               /* soft step of the last decision or look */
  double seconds, time;           /* of the last soft steps, with weights that fall */
  /* seconds that choosing has taken so far, and the trials more than the same time with the scheme chosen */
  double choosing;
  double tried_seconds, tried_time; /* of the trials of this round */
  int why;                          /* enum chose, of the last rows */
  int interval;                     /* soft steps from `looked` to the next look */
  struct { /* choices of an earlier run that are made again; from `next` on: still to be made */
    int count, next;
    long long step[CHOOSE_AGAIN_MAX];
    int scheme[CHOOSE_AGAIN_MAX], why[CHOOSE_AGAIN_MAX];
  } again;
};

struct settings {
  struct params asked;  /* the parameters as given */
  struct params in_use; /* the same with what was chosen and found; sim->par leads here */
  struct found_radii found;
  struct scheme_choice choice;
};

/* Compute the first forces of a system: once by opening angle if the criterion needs a_old, then by the criterion.
 * Measures R2 unless it is given, and makes the settings. Collective. */
void settings_first_force(struct sim *sim);
/* Make the settings of a system from a checkpoint, whose parameters sim->par have the scheme in use; the state of the
 * choice follows from the checkpoint. `asked`: the parameters as given. Then, with that state and the split,
 * settings_resumed. Local. */
void settings_resume(struct sim *sim, const struct params *asked);
void settings_resumed(struct sim *sim);
/* Forget what trials have measured, and look at the system after the next soft step: other parameters of steps hold
 * now. Local. */
void settings_forget_trials(struct sim *sim);
/* With Repeatable on: read the choices that choice.csv in OutputDir has, from a run that this one replaces, and make
 * them again; without such a file nothing happens. Before the first force. Collective. 0 or -1. */
int settings_read_choices(struct sim *sim, struct fault *fault);
/* What is to be written about the choice of a scheme: nothing; rows of choice.csv; these, and words on the terminal. */
enum choice_report { CHOICE_UNCHANGED, CHOICE_ROWS, CHOICE_ROWS_AND_LINE };
/* After a soft step: the next trial, the decision after the last one, or another look. Collective. */
enum choice_report settings_after_step(struct sim *sim);
/* The folders of a run are others from now on: OutputDir and CheckpointDir of `params`. Local. */
void settings_use_folders(struct sim *sim, const struct params *params);
/* The run ends at `end` instead of TimeMax. Local. */
void settings_extend(struct sim *sim, double end);

/* 1: there was a scheme to choose in this run. Local. */
int settings_have_choice(const struct sim *sim);
/* The parameters as given where a scheme was to choose, else those in use. Local. */
const struct params *settings_given(const struct sim *sim);
/* After a soft step: its seconds correct the predictions of all candidates, for `run --check`. Returns the predicted
 * seconds per unit of time of the scheme in use; 0: not known. Collective. */
double settings_corrected_cost(struct sim *sim);

/* What runs print. Local. */
/* The choice, and in a line or two what the others would cost. */
void settings_print_choice(const struct sim *sim, FILE *out);
/* "Scheme at this start: NAME". */
void settings_name_choice(const struct sim *sim, FILE *out);
/* The candidates, for `run --check`. bytes[2]: memory of a rank without and with the split. */
void settings_report_choice(const struct sim *sim, const double bytes[2], FILE *out);
/* The errors that are predicted, and a warning where they are above the wanted ones, for `run --check`. */
void settings_report_errors(const struct sim *sim, const struct plan *plan, FILE *out);
/* choice.csv: the line of column names; a row for each candidate of the last measurement, or one for a trial. */
void settings_choice_header(FILE *out);
void settings_choice_rows(const struct sim *sim, FILE *out);
/* What was found for EnergyError, with reasons; rank 0. Then the measured costs of this rank, SoftForceCost for later
 * runs: nothing where no soft step had a hard part by neighbour lists. */
void settings_print_found(const struct sim *sim, FILE *out);
void settings_print_costs(const struct sim *sim, FILE *out);
#endif
