/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the choice of a scheme says on the terminal, by run --check and in choice.csv. */
#include <config.h>
#include "settings/parts.h"
#include "step/scheme.h"

#include <string.h>

/* Seconds per unit of time with the expected soft step, measured or predicted. */
static double seconds_of(const struct scheme_choice *choice, int k)
{
  return choice->measured[k] > 0 ? choice->measured[k] * choice_cost_growth(&choice->table.candidate[k])
                                 : choice_predicted_here(&choice->table, k, choice->now);
}

static int is_candidate(const struct scheme_choice *choice, int k)
{
  return (choice->table.allowed & 1u << k) && choice->table.candidate[k].step > 0;
}

/* The predicted error of a candidate that was not chosen for it; "" for one that has the wanted error. */
static const char *reason_of(const struct scheme_choice *choice, int k, char text[64])
{
  text[0] = 0;
  if (!choice_has_wanted_error(&choice->table, k) && choice_has_wanted_error(&choice->table, choice->now))
    snprintf(text, 64, " (|dE/E| %.1e > %.1e)", choice->table.candidate[k].error, choice->table.wanted);
  return text;
}

/* A line with the seconds of the other candidates that were measured, or that were not. */
static void print_others(const struct settings *settings, int measured, FILE *out)
{
  const struct scheme_choice *choice = &settings->choice;
  char name[64], reason[64];
  const char *before = measured ? "        measured: " : "        predicted: ";
  for (int k = 0; k < CHOICES_COUNT; k++) {
    if (!is_candidate(choice, k) || k == choice->now || (choice->measured[k] > 0) != measured) continue;
    fprintf(out, "%s%s: %.3g%s", before, choice_name(k, &settings->asked, name), seconds_of(choice, k),
            reason_of(choice, k, reason));
    before = ", ";
  }
  if (*before == ',') fputc('\n', out);
}

void settings_name_choice(const struct sim *sim, FILE *out)
{
  char name[64];
  fprintf(out, "Scheme at this start: %s", choice_name(sim->settings->choice.now, &sim->settings->asked, name));
}

/* A warning where the steps of the choice do not have the wanted error. */
static void warn(const struct scheme_choice *choice, FILE *out)
{
  if (choice_has_wanted_error(&choice->table, choice->now)) return;
  fprintf(out,
          "warning: %s the wanted accuracy: |dE/E| of %.1e is predicted for ten dynamical times,\n"
          "         and steps may have %.1e\n",
          choice->why == CHOSE_AGAIN ? "the scheme of choice.csv does not have" : "no scheme has",
          choice->table.candidate[choice->now].error, choice->table.wanted);
}

void settings_print_choice(const struct sim *sim, FILE *out)
{
  const struct scheme_choice *choice = &sim->settings->choice;
  char name[64];
  if (!settings_have_choice(sim)) return;
  if (choice->why == CHOSE_AGAIN || !is_candidate(choice, choice->now)) {
    if (is_candidate(choice, choice->now)) warn(choice, out);
    fprintf(out, "scheme: %s, that of %s\n", choice_name(choice->now, &sim->settings->asked, name),
            choice->why == CHOSE_AGAIN ? "choice.csv of the earlier run" : "the checkpoint");
    return;
  }
  warn(choice, out);
  fprintf(out, "scheme: %s, %.3g s per unit of time (%s)", choice_name(choice->now, &sim->settings->asked, name),
          seconds_of(choice, choice->now), choice->measured[choice->now] > 0 ? "measured" : "predicted");
  if (choice->trials > 0) fprintf(out, "; the first soft steps try %d schemes", choice->trials);
  fputc('\n', out);
  print_others(sim->settings, 1, out);
  print_others(sim->settings, 0, out);
}

void settings_report_choice(const struct sim *sim, const double bytes[2], FILE *out)
{
  const struct scheme_choice *choice = &sim->settings->choice;
  char name[64];
  if (!settings_have_choice(sim)) return;
  fprintf(out, "schemes, predicted                        soft step  |dE/E| in 10  s per unit  MB per\n"
               "                                                     dyn. times     of time    rank\n");
  for (int k = 0; k < CHOICES_COUNT; k++) {
    const struct choice_candidate *one = &choice->table.candidate[k];
    if (!is_candidate(choice, k)) continue;
    fprintf(out, "  %-25s %-11s  %10.3g %13.1e %11.3g %7.4g\n", choice_name(k, &sim->settings->asked, name),
            k == choice->now ? "(chosen)" : "", one->step, one->error, seconds_of(choice, k), bytes[one->r2 > 0] / 1e6);
  }
}

void settings_report_errors(const struct sim *sim, const struct plan *plan, FILE *out)
{
  const struct scheme_choice *choice = &sim->settings->choice;
  struct choice_errors e = choice_errors(sim, plan);
  int one = settings_have_choice(sim) && is_candidate(choice, choice->now);
  if (one) e.steps = choice->table.candidate[choice->now].error;
  if (!(e.forces > 0)) {
    if (sim->scheme->unpredicted)
      fprintf(out, "energy error        not predicted for %s: see the line energy, the change by the first soft step\n",
              sim->scheme->unpredicted);
    return;
  }
  fprintf(out, "energy error        |dE/E| within ten dynamical times, predicted: ");
  if (e.steps > 0) fprintf(out, "%.1e by time steps,\n                    ", e.steps);
  fprintf(out, "at most %.1e by forces, in equilibrium a tenth of that\n", e.forces);
  if (one) warn(choice, out);
  else if (e.steps > e.wanted)
    fprintf(out,
            "warning: the steps that are given change the energy by %.1e within ten dynamical times, as predicted,\n"
            "         and Accuracy = %.40s wants at most %.1e\n",
            e.steps, sim->par->Accuracy, e.wanted);
  if (sim->par->ErrTolForceAcc > 0 && e.forces > e.wanted)
    fprintf(out,
            "warning: forces with ErrTolForceAcc = %g may change the energy by %.1e within ten dynamical times,\n"
            "         and Accuracy = %.40s wants at most %.1e\n",
            sim->par->ErrTolForceAcc, e.forces, sim->par->Accuracy, e.wanted);
}

/* The reasons of rows in choice.csv, by enum chose. */
static const char *const reasons[] = {"", "model", "trial", "measured", "look", "again"};
static const char *const names[CHOICES_COUNT] = {"shared", "block", "hybrid", "hybrid"};

void settings_choice_header(FILE *out)
{
  fprintf(out, "step,time,candidate,R1OverR0,error,dt_soft,eta,seconds_predicted,seconds_measured,chosen,reason,"
               "seconds_choosing\n");
}

/* R1OverR0 of a candidate as in choice.csv; "" where it has none. */
static const char *ratio_of(const struct params *asked, int k, char text[32])
{
  struct params p = *asked;
  choice_set(&p, k);
  text[0] = 0;
  if (p.Mode == MODE_HYBRID && p.R1 == 0) snprintf(text, 32, "%g", params_r1_over_r0(&p));
  return text;
}

void settings_choice_rows(const struct sim *sim, FILE *out)
{
  const struct scheme_choice *choice = &sim->settings->choice;
  int trial = choice->why == CHOSE_TRIAL;
  for (int k = 0; k < CHOICES_COUNT; k++) {
    const struct choice_candidate *one = &choice->table.candidate[k];
    char ratio[32], measured[32] = "", choosing[32] = "";
    if (!(choice->table.allowed & 1u << k) || (trial && k != choice->now)) continue;
    if (choice->measured[k] > 0 && !trial) snprintf(measured, sizeof measured, "%.6g", choice->measured[k]);
    /* a clock, which does not repeat */
    if (sim->settings->asked.Repeatable == REPEATABLE_OFF)
      snprintf(choosing, sizeof choosing, "%.4g", choice->choosing);
    fprintf(out, "%lld,%.15g,%s,%s,%.3g,%.9g,%.6g,%.6g,%s,%d,%s,%s\n", sim->step, sim->time, names[k],
            ratio_of(&sim->settings->asked, k, ratio), one->error, one->step, one->eta,
            choice_predicted(&choice->table, k, choice->now), measured, k == choice->now, reasons[choice->why],
            choosing);
  }
}

int choice_candidate(const struct params *asked, const char *name, const char *ratio)
{
  char text[32];
  unsigned allowed = choice_allowed(asked);
  for (int k = 0; k < CHOICES_COUNT; k++)
    if ((allowed & 1u << k) && strcmp(name, names[k]) == 0 && strcmp(ratio, ratio_of(asked, k, text)) == 0) return k;
  return -1;
}
