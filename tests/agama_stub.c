/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library with the C interface of Agama that knows a Plummer potential alone: "type=Plummer, mass=M, scaleRadius=b",
 * or "file=NAME" of a file with such a line. external.sh builds it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plummer {
  double mass, scale;
};

static char error[300];
const char *agama_getError(void);
void *agama_createPotential(const char *parameters);
void agama_deletePotential(void *potential);
double agama_evalPotential(const void *potential, const double x[3], double time, double gradient[3], double second[6]);

const char *agama_getError(void) { return error; }

void *agama_createPotential(const char *parameters)
{
  struct plummer p, *made;
  char text[300] = "";
  if (strncmp(parameters, "file=", 5) == 0) {
    FILE *in = fopen(parameters + 5, "r");
    if (in && !fgets(text, sizeof text, in)) text[0] = 0;
    if (in) fclose(in);
  } else {
    snprintf(text, sizeof text, "%s", parameters);
  }
  if (sscanf(text, "type=Plummer, mass=%lf, scaleRadius=%lf", &p.mass, &p.scale) != 2) {
    snprintf(error, sizeof error, "the stub knows no '%.200s'", text);
    return NULL;
  }
  made = malloc(sizeof *made);
  if (made) *made = p;
  return made;
}

void agama_deletePotential(void *potential) { free(potential); }

double agama_evalPotential(const void *potential, const double x[3], double time, double gradient[3], double second[6])
{
  const struct plummer *p = potential;
  double s2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + p->scale * p->scale, s3 = s2 * sqrt(s2);
  (void)time;
  for (int c = 0; c < 3; c++) {
    gradient[c] = p->mass * x[c] / s3;
    second[c] = p->mass * (1 / s3 - 3 * x[c] * x[c] / (s3 * s2));
    second[3 + c] = -3 * p->mass * x[c] * x[(c + 1) % 3] / (s3 * s2);
  }
  return -p->mass / sqrt(s2);
}
