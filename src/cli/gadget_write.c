/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <math.h>
#include <string.h>

#include "cli/gadget.h"

void gadget_write(const struct gadget_run *run, const char *from, FILE *out)
{
  const char *section = "";
  char value[PARAM_TEXT];
  fprintf(out,
          "; made by 'espalier convert' from %s\n; G follows from the units with 6.6743e-8 cm^3/g/s^2 (GADGET-2: "
          "6.672e-8) where GravityConstantInternal is 0.\n",
          from);
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *e = &param_table[i];
    if (run->origin.line[i] == ORIGIN_DEFAULT) continue;
    if (strcmp(section, e->section) != 0) fprintf(out, "\n[%s]\n", e->section);
    section = e->section;
    params_format(&run->par, e, value, sizeof value);
    fprintf(out, "%s = %s%s%s\n", e->name, value, run->note[i][0] ? "   ; " : "", run->note[i]);
  }
}

int gadget_times(const struct gadget_run *run, FILE *out)
{
  int count = 0;
  if (!(run->factor > 0 || run->interval > 0)) return 0;
  for (int k = 0;; k++) {
    double t = run->factor > 0 ? run->first * pow(run->factor, k) : run->first + k * run->interval;
    if (!(t <= run->par.TimeMax * (1 + 1e-12 * (run->par.TimeMax > 0 ? 1 : -1)))) return count;
    if (t < run->par.TimeBegin) continue;
    if (out) fprintf(out, "%.12g\n", fmin(t, run->par.TimeMax));
    count++;
  }
}
