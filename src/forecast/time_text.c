/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/time_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Seconds below this are those of work for which a machine file gives no rate. */
#define SECONDS_MIN 1e-9

void time_text_begin(struct time_text *text, const struct study_facts *facts, const struct machine *machine, int weak)
{
  text->scheme[text->schemes++] = facts->scheme;
  text->rows = 0;
  text->ranks_per_node = machine->network.ranks_per_node;
  text->weak = weak;
  printf("%s: %s %.0f particles, scheme %s, soft step %.4g (code units)\n", machine->name,
         weak ? "weak scaling, counts of" : "strong scaling of", facts->particles, facts->scheme, facts->soft_step);
  printf("\nPredicted seconds of a soft step and of a unit of simulated time on P ranks%s\n",
         machine->device == DEVICE_gpu ? ", each with a GPU" : "");
  printf("%8s %8s %10s %6s %11s %11s %11s %10s %11s\n", "P", "nodes", "N/P", "by", "soft step", "unit time",
         "efficiency", "node h", "mean busy");
  fflush(stdout);
}

void time_text_row(struct time_text *text, const struct study_facts *facts, const struct time_row *row)
{
  double all = event_total(row->times.critical), busy = event_total(row->times.mean) - row->times.mean[EVENT_wait];
  text->row[text->rows++] = *row;
  double unit = all / facts->soft_step, nodes = ceil(row->ranks / text->ranks_per_node),
         first = event_total(text->row[0].times.critical) / facts->soft_step;
  double efficiency = first / unit * (text->weak ? 1 : text->row[0].ranks / row->ranks);
  printf("%8.0f %8.0f %10.1f %6s %11.4g %11.4g %11.3f %10.3g %11.4g\n", row->ranks, nodes, row->per_rank, row->by, all,
         unit, efficiency, nodes * unit / 3600, busy);
  fflush(stdout);
  text->unit[text->schemes - 1][row->which] = unit;
  text->by[text->schemes - 1][row->which] = row->by;
}

void time_text_laws(const struct laws *laws)
{
  printf("# laws: seconds of a part = floor + A (N/P)^b%s, fitted to P = %.0f to %.0f, N/P = %.6g to %.6g; fitted soft "
         "steps\n"
         "#   differ from counted ones by at most %.0f %%; collectives are computed for every P; law*: P or N/P is "
         "beyond these\n",
         laws->separate ? " P^c" : "", laws->smallest[0], laws->largest[0], laws->smallest[1], laws->largest[1],
         100 * laws->worst);
}

/* The efficiencies of the rows whose messages were counted. */
static void print_efficiencies(const struct time_text *text)
{
  printf("\nPOP's efficiencies of the soft step; communication = serialisation x transfer\n");
  printf("%8s %13s %13s %13s %13s %13s\n", "P", "parallel", "load balance", "communication", "serialisation",
         "transfer");
  for (int i = 0; i < text->rows; i++) {
    struct efficiency e = event_efficiency(&text->row[i].times);
    if (strcmp(text->row[i].by, "count") == 0)
      printf("%8.0f %13.3f %13.3f %13.3f %13.3f %13.3f\n", text->row[i].ranks, e.parallel, e.load_balance,
             e.communication, e.serialisation, e.transfer);
    else printf("%8.0f %13s %13s %13s %13s %13s\n", text->row[i].ranks, "-", "-", "-", "-", "-");
  }
}

void time_text_end(struct time_text *text)
{
  print_efficiencies(text);
  printf("\nParts of the soft step in seconds, of the ranks that come last to its collectives; their sum is the soft "
         "step\n");
  printf("%8s", "P");
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) printf(" %10s", event_phase_names[p]);
  printf("\n");
  for (int i = 0; i < text->rows; i++) {
    printf("%8.0f", text->row[i].ranks);
    for (int p = 0; p < EVENT_PHASES_COUNT; p++) {
      double seconds = text->row[i].times.critical[p];
      printf(" %10.3g", seconds < SECONDS_MIN ? 0 : seconds);
    }
    printf("\n");
  }
  printf("\n");
  fflush(stdout);
}

/* The schemes with a prediction for a number of ranks, the fastest first. Returns their number. */
static int in_order(const struct time_text *text, int which, int order[STUDY_SCHEMES])
{
  int n = 0;
  for (int k = 0; k < text->schemes; k++) {
    int at = n;
    if (!(text->unit[k][which] > 0)) continue;
    for (; at > 0 && text->unit[order[at - 1]][which] > text->unit[k][which]; at--) order[at] = order[at - 1];
    order[at] = k;
    n++;
  }
  return n;
}

void time_text_finish(const struct time_text *text, const int *ranks, int count)
{
  static const char *const meanings[EVENT_PHASES_COUNT] = {
#define X(name, meaning) meaning,
      EVENT_PHASES(X)
#undef X
  };
  printf("Columns:\n" TIME_TEXT_COLUMNS TIME_TEXT_PARTS);
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) printf("  %-10s  %s\n", event_phase_names[p], meanings[p]);
  if (text->schemes > 1) printf("Fastest scheme on P ranks, by seconds of a unit of simulated time:\n");
  for (int k = 0; text->schemes > 1 && k < count; k++) {
    int order[STUDY_SCHEMES], n = in_order(text, k, order);
    printf("  P = %d:", ranks[k]);
    for (int i = 0; i < n; i++) {
      const char *by = text->by[order[i]][k];
      printf("%s %s %.4g s", i == 0 ? "" : i == 1 ? "; then" : ",", text->scheme[order[i]], text->unit[order[i]][k]);
      if (strcmp(by, "count") != 0) printf(" (%s)", by);
    }
    printf("\n");
  }
  fflush(stdout);
}
