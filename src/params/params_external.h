/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The texts of [External]: potentials as `nfw mass=100 scale=20 centre=0,0,0 orbit=FILE`, a tidal field as `omega=1
 * kappa=1.4`. Local. Faults say what was expected, without file, line or parameter. */
#ifndef PARAMS_EXTERNAL_H
#define PARAMS_EXTERNAL_H
#include "params/params.h"
#include "params/quantities.h"

/* In the order of the names in params_external.c. */
enum external_kind {
  EXTERNAL_POINT,          /* mass, softening */
  EXTERNAL_PLUMMER,        /* mass, scale */
  EXTERNAL_ISOCHRONE,      /* mass, scale */
  EXTERNAL_LOGARITHMIC,    /* velocity, core, q */
  EXTERNAL_NFW,            /* mass, scale, concentration (0: mass is 4 pi rho_0 scale^3) */
  EXTERNAL_HERNQUIST,      /* mass, scale */
  EXTERNAL_MIYAMOTO_NAGAI, /* mass, a, b */
  EXTERNAL_KINDS
};
enum { EXTERNAL_VALUES = 3, EXTERNAL_POTENTIALS = 8 };

struct external_potential {
  enum external_kind kind;
  double value[EXTERNAL_VALUES]; /* in the order above, units of the run */
  double centre[3];
  char orbit[PARAM_TEXT]; /* file with the orbit of the centre; empty: it is at rest */
};

struct external_tide {
  double omega, kappa, nu; /* angular velocity of the frame, epicyclic and vertical frequency */
};

/* A file from which the field is made, as checkpoints hold it: the rows of a table up to a time, or a whole file. */
enum { EXTERNAL_FILES = 24 };
struct external_file {
  char entry[32]; /* its name in a manifest: "file." and the parameter */
  char path[PARAM_TEXT];
  int table;           /* 1: an orbit, 0: another file */
  long long number[2]; /* rows of the table up to the time, or bytes of the file; their checksum (XXH64) */
};

/* The text of Potential1 ... Potential8: number 0 ... 7. */
const char *external_text(const struct params *params, int number);
/* 1: the parameters have an external field. */
int external_given(const struct params *params);
/* Read the text of a potential, of a tidal field. 0, or -1 with a fault. */
int external_read(const char *text, struct external_potential *potential, struct fault *fault);
int external_read_tide(const char *text, struct external_tide *tide, struct fault *fault);
/* 1: two texts of the parameter `name`, a potential or a tidal field, have the same numbers; 0 also for other
 * parameters. */
int params_same_field(const char *name, const char *one, const char *other);
/* Convert numbers with units, as `mass=1e10 Msun` or `centre=8,0,0 kpc`, in the text of the parameter `name` into units
 * of the run. Returns 1, 0 where there are none (the text is unchanged, and may be wrong in other ways), or -1 with a
 * fault. Texts of other parameters have none. */
int external_convert(const struct run_units *run, const char *name, char text[PARAM_TEXT], struct fault *fault);
#endif
