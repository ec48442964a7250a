/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters: one table (params.def) feeds parsing, range checks, help, the example file and snapshot attributes. */
#ifndef PARAMS_H
#define PARAMS_H
#include <stddef.h>
#include <stdio.h>

#include "fault.h"

enum { PARAM_TEXT = 512 };   /* longest string value, with its end */

/* Choices; the order is that of the names in params.def. */
enum ic_format { FORMAT_AUTO, FORMAT_GADGET1, FORMAT_GADGET2, FORMAT_HDF5, FORMAT_TIPSY, FORMAT_ASCII };
enum opening { OPENING_ACCELERATION, OPENING_MULTIPOLE, OPENING_ANGLE };
enum split_mode { MODE_HYBRID, MODE_TREE, MODE_AUTO };
enum split_kernel { KERNEL_QUINTIC, KERNEL_DLL };
enum step_scheme { SCHEME_BLOCK, SCHEME_SHARED };
enum step_criterion { CRITERION_MIN_AV, CRITERION_A };
enum balance { BALANCE_COUNT, BALANCE_WORK };
enum backend_choice { BACKEND_AUTO, BACKEND_CPU, BACKEND_CUDA };

/* A member of struct params is named exactly like the parameter (SnapshotFileBase, ErrTolForceAcc, xs, ...): double for
 * reals, int for whole numbers and choices, char[PARAM_TEXT] for strings. */
struct params {
#define PARAM_REAL(section, name, ...) double name;
#define PARAM_WHOLE(section, name, ...) int name;
#define PARAM_CHOICE(section, name, ...) int name;
#define PARAM_STRING(section, name, ...) char name[PARAM_TEXT];
#include "params.def"
#undef PARAM_REAL
#undef PARAM_WHOLE
#undef PARAM_CHOICE
#undef PARAM_STRING
};

enum param_kind { KIND_REAL, KIND_WHOLE, KIND_CHOICE, KIND_STRING };
struct param_entry {
  const char *section, *name;
  enum param_kind kind;
  size_t offset;              /* in struct params */
  const char *initial;        /* default, as it would stand in a file */
  double least, most;         /* range of numbers, both ends allowed */
  int least_excluded;         /* the lower end itself is not allowed (Softening > 0) */
  const char *const *choices; /* NULL-terminated names of a choice */
  const char *unit, *meaning;
};
extern const struct param_entry param_table[];
extern const int param_count;

/* All defaults. */
void params_defaults(struct params *p);
/* Read `file`, then apply `overrides` ("Section:Name=value"), check every range and the rules between parameters.
 * Faults name file, line, key, what was expected and the nearest known name. Local. Returns 0 or -1. */
int params_read(struct params *p, const char *file, const char *const *overrides, int override_count, struct fault *f);
/* The value as it would stand in a file. */
void params_format(const struct params *p, const struct param_entry *e, char *text, size_t size);
/* A whole parameter file with comments (`p` NULL: the defaults), and the table for the documentation. */
void params_write_ini(FILE *out, const struct params *p);
void params_write_markdown(FILE *out);
#endif
