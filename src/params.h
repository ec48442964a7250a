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
/* WalkMethod: enum walk_method of backend.h */
enum split_mode { MODE_HYBRID, MODE_TREE, MODE_AUTO };
enum split_kernel { KERNEL_QUINTIC, KERNEL_DLL };
enum step_scheme { SCHEME_BLOCK, SCHEME_SHARED };
enum step_criterion { CRITERION_MIN_AV, CRITERION_A };
enum balance { BALANCE_COUNT, BALANCE_HARD, BALANCE_WORK, BALANCE_TIME };
enum comm_log { COMM_LOG_OFF, COMM_LOG_PHASES, COMM_LOG_PEERS };
enum substep_log_choice { SUBSTEP_LOG_OFF, SUBSTEP_LOG_ON };
enum tuning_choice { TUNING_AUTO, TUNING_ON, TUNING_FROZEN };
enum backend_choice { BACKEND_AUTO, BACKEND_CPU, BACKEND_CUDA };
enum transport_choice { TRANSPORT_AUTO, TRANSPORT_STAGED, TRANSPORT_CUDA_MPI, TRANSPORT_NCCL };

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

/* Where each value came from, for messages: a line of the parameter file, or one of these. */
enum { PARAM_LIMIT = 96, ORIGIN_DEFAULT = 0, ORIGIN_OPTION = -1 };
struct param_origin {
  const char *file;       /* NULL: no file */
  int line[PARAM_LIMIT];  /* by index in param_table */
};

/* Whether nobody gave a value to this parameter; where the origin is not known (NULL) somebody did. */
int param_is_default(const struct param_origin *origin, const char *name);
/* The entry's index in param_table, or -1; `section` NULL: in any section. */
int param_find(const char *section, const char *name);
/* The name of a choice's value as it stands in a file: params_choice("WalkMethod", METHOD_DIRECT) is "direct". */
const char *params_choice(const char *name, int value);
/* All defaults. */
void params_defaults(struct params *p);
/* Set one value from its text. The fault says what was expected ("expected a number above 0 (length), found 'x'"), not
 * where. 0 or -1. */
int params_set(struct params *p, const struct param_entry *e, const char *text, struct fault *f);
/* Read `file` (NULL: none), then apply `overrides` ("Section:Name=value"; of two for one name the later counts), check
 * every range and the rules between parameters. Faults name file, line, key, what was expected and the nearest known name.
 * Paths in the file are relative to the current folder. Local. Returns 0 or -1. */
int params_read(struct params *p, const char *file, const char *const *overrides, int override_count, struct fault *f);
/* The same; `origin` (may be NULL) learns where each value came from. */
int params_read_origin(struct params *p, const char *file, const char *const *overrides, int override_count,
                       struct param_origin *origin, struct fault *f);
/* The rules between parameters, each value being in its range. Local. 0 or -1. */
int params_check_rules(const struct params *p, const struct param_origin *origin, struct fault *f);
/* The numbers of domains along x, y, z of a DomainGrid: "4x2x2", or zeros for "auto". 0 or -1. */
int params_grid(const char *text, int grid[3]);
/* Whether DomainGrid is for so many ranks. Local. 0 or -1. */
int params_check_ranks(const struct params *p, int ranks, struct fault *f);
/* What a run needs beyond that: InitCondFile is given, and it (with `input`) and OutputListFilename are there (what they hold is
 * for their readers to judge). Local. 0 or -1. */
int params_check_files(const struct params *p, const struct param_origin *origin, int input, struct fault *f);
/* The value as it would stand in a file; reading it back gives the same value, bit by bit. */
void params_format(const struct params *p, const struct param_entry *e, char *text, size_t size);
/* The values allowed, for people: "above 0", "from 0 to 1", "a, b or c"; strings: empty. */
void param_range(const struct param_entry *e, char *text, size_t size);
/* A whole parameter file with comments (`p` NULL: the defaults), and the table for the documentation. */
void params_write_ini(FILE *out, const struct params *p);
void params_write_markdown(FILE *out);
#endif
