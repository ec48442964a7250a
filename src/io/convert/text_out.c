/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text with seven columns; positions and velocities have all their digits. Ranks write one after the other. */
#include <config.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gravity/units.h"
#include "io/convert/convert.h"

static void put_head(FILE *out, double time, const struct convert_report *report, char between)
{
  fprintf(out, "# time %.17g\n", time);
  if (report->has_units) units_describe(&report->params, out);
  fprintf(out, "# x%cy%cz%cvx%cvy%cvz%cm\n", between, between, between, between, between, between);
}

static void put_rows(FILE *out, const struct particles *particles, char between)
{
  for (int64_t i = 0; i < particles->n; i++) {
    for (int c = 0; c < 3; c++) fprintf(out, "%.17g%c", particles->pos[3 * i + c], between);
    for (int c = 0; c < 3; c++) fprintf(out, "%.17g%c", particles->vel[3 * i + c], between);
    fprintf(out, "%.9g\n", (double)particles->mass[i]);
  }
}

int text_out(const struct comm *comm, const char *path, const struct particles *particles, double time,
             const struct convert_report *report, int commas, struct fault *fault)
{
  char between = commas ? ',' : ' ';
  for (int rank = 0; rank < comm->size; rank++) {
    if (rank == comm->rank) {
      FILE *f = fopen(path, rank == 0 ? "w" : "a");
      if (f && rank == 0) put_head(f, time, report, between);
      if (f) put_rows(f, particles, between);
      if (!f || ferror(f) || fflush(f)) fault_set(fault, "%s: %s", path, strerror(errno));
      if (f && fclose(f) && !fault->text[0]) fault_set(fault, "%s: %s", path, strerror(errno));
    }
    if (comm_agree(comm, fault)) return -1;
  }
  return 0;
}
