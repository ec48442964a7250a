/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters. One table (params.def) serves parsing, range checks, help, the example file and the attributes of
 * snapshots. Local. Functions that take a fault return 0, or -1 with the fault set. */
#ifndef PARAMS_H
#define PARAMS_H
#include <stddef.h>
#include <stdio.h>

#include "base/fault.h"
#include "params/criteria.h"
#include "params/integrators.h"
#include "params/split_kernels.h"

enum { PARAM_TEXT = 512 }; /* bytes of a string value, with the final zero */

/* Values of choices, in the order of the names in params.def. */
enum ic_format { FORMAT_AUTO, FORMAT_GADGET1, FORMAT_GADGET2, FORMAT_HDF5, FORMAT_TIPSY, FORMAT_ASCII };
enum unit_system { SYSTEM_GIVEN, SYSTEM_GALAXY, SYSTEM_CLUSTER, SYSTEM_PC_MYR, SYSTEM_NBODY, SYSTEM_GADGET };
enum comoving { COMOVING_OFF, COMOVING_ON };
/* TypeOfOpeningCriterion: MAC_ACCELERATION and others (params/criteria.h) */
/* WalkMethod: enum walk_method (backend/backend.h) */
enum repeatable { REPEATABLE_OFF, REPEATABLE_ON };
enum split_mode { MODE_HYBRID, MODE_TREE, MODE_AUTO };
/* Kernel: enum split_kernel (params/split_kernels.h) */
enum step_scheme { SCHEME_BLOCK, SCHEME_SHARED, SCHEME_AUTO };
/* Integrator: enum step_integrator (params/integrators.h) */
enum radii_by_mass { RADII_AUTO, RADII_ON, RADII_OFF };
enum step_criterion { CRITERION_MIN_AV, CRITERION_A, CRITERION_PAIRS };
enum collisions_action { COLLISIONS_OFF, COLLISIONS_LIST, COLLISIONS_STOP, COLLISIONS_MERGE };
enum balance { BALANCE_COUNT, BALANCE_HARD, BALANCE_WORK, BALANCE_TIME };
enum projection_centre { PROJECTION_ORIGIN, PROJECTION_DENSITY };
enum comm_log { COMM_LOG_OFF, COMM_LOG_PHASES, COMM_LOG_PEERS };
enum groups_choice { GROUPS_OFF, GROUPS_ON };
enum substep_log_choice { SUBSTEP_LOG_OFF, SUBSTEP_LOG_ON };
enum tuning_choice { TUNING_AUTO, TUNING_ON, TUNING_FROZEN };
enum backend_choice { BACKEND_AUTO, BACKEND_CPU, BACKEND_CUDA, BACKEND_HIP };
enum transport_choice { TRANSPORT_AUTO, TRANSPORT_STAGED, TRANSPORT_CUDA_MPI, TRANSPORT_NCCL };

/* The values. A member has the name of its parameter (SnapshotFileBase, ErrTolForceAcc, xs, ...): double for a real,
 * int for a whole number or a choice, char[PARAM_TEXT] for a string. Units: params.def. */
struct params {
#define PARAM_REAL(section, name, ...) double name;
#define PARAM_WHOLE(section, name, ...) int name;
#define PARAM_CHOICE(section, name, ...) int name;
#define PARAM_STRING(section, name, ...) char name[PARAM_TEXT];
#include "params/params.def"
#undef PARAM_REAL
#undef PARAM_WHOLE
#undef PARAM_CHOICE
#undef PARAM_STRING
  /* Not parameters: what rules for values need to know of the run; zeros: not known (params_of_run). */
  struct {
    double particles;    /* of all ranks */
    long long on_device; /* 1: a device computes forces, 0: the host */
    long long types;     /* bit t: there are particles of type t */
  } run;
};

/* An entry of the table. */
enum param_kind { KIND_REAL, KIND_WHOLE, KIND_CHOICE, KIND_STRING };
struct param_entry {
  const char *section, *name;
  enum param_kind kind;
  size_t offset;               /* in struct params */
  const char *initial;         /* default, as text of a parameter file */
  double min_value, max_value; /* range of numbers, both ends allowed */
  int min_excluded;            /* 1: min_value itself is not allowed (Softening > 0) */
  const char *const *choices;  /* NULL-terminated names of a choice */
  const char *unit, *meaning;
};
extern const struct param_entry param_table[];
extern const int param_count;

/* Origin of each value, for messages: a line of the parameter file (1, 2, ...), ORIGIN_DEFAULT or ORIGIN_OPTION
 * (-P). */
enum { PARAM_LIMIT = 128, ORIGIN_DEFAULT = 0, ORIGIN_OPTION = -1 };
struct param_origin {
  const char *file;                    /* name of the parameter file; NULL: none */
  int line[PARAM_LIMIT];               /* by index in param_table */
  char given[PARAM_LIMIT][PARAM_TEXT]; /* text of a value that has units (params_units.h); empty: it has none */
  /* of ORIGIN_OPTION: the text of the option, and the value without it, as param_text gives it */
  char option[PARAM_LIMIT][PARAM_TEXT], without[PARAM_LIMIT][PARAM_TEXT];
  char units[PARAM_TEXT]; /* what states the units of [Units], a file; empty: the parameters */
  /* the checkpoint that options and units were taken from (checkpoint/recall.h); empty: none */
  char checkpoint[2 * PARAM_TEXT + 64];
};

/* Returns 1 where the parameter has its default because neither file nor command line gives it; 0 also where `origin`
 * is NULL. */
int param_is_default(const struct param_origin *origin, const char *name);
/* The text of parameter i, with the unit that it was given with. Returns `text`. */
const char *param_text(const struct params *params, const struct param_origin *origin, int i, char text[PARAM_TEXT]);
/* Index of a parameter in param_table, or -1. `section` NULL: any section. A softening has GADGET's name too
 * (SofteningHalo). */
int param_find(const char *section, const char *name);
/* Text of a value of a choice: params_choice("WalkMethod", METHOD_DIRECT) is "direct". Fatal where `name` is not a
 * choice. */
const char *params_choice(const char *name, int value);
/* Set all values to their defaults. */
void params_defaults(struct params *params);
/* Set one value from its text. A number may have a unit where the parameter has one of its own (cm, minutes), not where
 * that is the run's (params_take of params_units.h). The fault says what was expected ("expected a number above 0
 * (length), found 'x'"), without file or line. */
int params_set(struct params *params, const struct param_entry *entry, const char *text, struct fault *fault);
/* Set defaults, read `file` (NULL: none) and apply overrides[override_count] ("Section:Name=value"; the last one for a
 * name counts). Faults name file, line, parameter, what was expected and the nearest known name. Values with units are
 * not yet set. *origin becomes the origin of each value. */
int params_gather(struct params *params, const char *file, const char *const *overrides, int override_count,
                  struct param_origin *origin, struct fault *fault);
/* Then set values with units, choose the integrator, and check ranges and params_check_rules. */
int params_complete(struct params *params, struct param_origin *origin, struct fault *fault);
/* Both. */
int params_read(struct params *params, const char *file, const char *const *overrides, int override_count,
                struct fault *fault);
/* The same; *origin (may be NULL) becomes the origin of each value. */
int params_read_origin(struct params *params, const char *file, const char *const *overrides, int override_count,
                       struct param_origin *origin, struct fault *fault);
/* Set defaults, and read parameters from the text of a file; `name` stands for the file in messages. *origin becomes
 * the origin of each value. Values with units are not yet set (params_convert of params_units.h), no integrator is
 * chosen (params_choose_integrator), and the rules between them are not checked (params_check_rules). */
int params_read_text(struct params *params, const char *text, const char *name, struct param_origin *origin,
                     struct fault *fault);
/* Set one parameter by "Name=value" or "Section:Name=value". The fault names it, what was expected, and the nearest
 * known name. In *origin the value is one of an option; with a unit it is not yet set. */
int params_set_named(struct params *params, const char *text, struct param_origin *origin, struct fault *fault);
/* 1: Softening, or that of a type, is given. */
int params_softening_given(const struct param_origin *origin);
/* 1: EnergyError or Softening = 0 is given, which needs another Integrator (or Criterion) than the parameters have. */
int params_without_integrator(const struct params *params);
/* The name of a parameter that is given and excludes Integrator = hermite; NULL: none is. With `origin` NULL Integrator
 * itself counts as given. */
const char *params_against_hermite(const struct params *params, const struct param_origin *origin);
/* Choose Integrator = hermite where it is needed (params_without_integrator) and nothing that is given excludes it.
 * After all values are read, before params_check_rules. */
void params_choose_integrator(struct params *params, const struct param_origin *origin);
/* 1: params_choose_integrator chose the integrator; text[size] says what and why. */
int params_integrator_chosen(const struct params *params, const struct param_origin *origin, char *text, size_t size);
/* The softening of a particle type: SofteningTypeN, or Softening. */
double params_softening_of(const struct params *params, int type);
/* The smallest softening of the types that have particles (where these are not known: of all types). `of` (NULL, or
 * [6]) becomes the softening of each type; types without particles get the smallest one. */
double params_softening(const struct params *params, double *of);
/* 1: the types that have particles differ in their softenings. */
int params_softenings_differ(const struct params *params);
/* 1: the hard part, if there is one, is integrated from neighbour lists (the table `neighbour_lists` of a backend). */
int params_neighbour_lists(const struct params *params);
/* Choose the leapfrog with the default criterion where the hard part would be integrated from neighbour lists: its
 * forces are of walks. Where Mode and Scheme are auto: the split with block steps. */
void params_use_walks(struct params *params);
/* The wanted |dE/E| per dynamical time from the text of Accuracy, a name or a number: *error. Returns 0, or -1 where it
 * is neither. */
int params_accuracy(const char *text, double *error);
/* The same for parameters that params_check_rules has accepted. */
double params_error(const struct params *params);
/* Values that Accuracy sets where the parameter is 0 (accuracy.def): code reads them by these functions, never the
 * members themselves. They follow *params: a copy with another Accuracy, Mode or MultipoleOrder has other values. */
/* ErrTolForceAcc for the MultipoleOrder in use and the number of particles (where it is not known: for 100,000), since
 * the sum of the force errors falls with the root of the number. */
double params_delta(const struct params *params);
/* MultipoleOrder: 1 or 2, by Accuracy on a device and on the host. */
int params_order(const struct params *params);
double params_xs(const struct params *params);
double params_ys(const struct params *params);
double params_r1_over_r0(const struct params *params);
/* What texts say of the acceptance criterion of the parameters, and its range (params/criteria.h). */
struct criterion {
  const char *name, *symbol, *title;
  int by_power;
  double most;
  const char *expected;
};
const struct criterion *criterion_of(const struct params *params);
/* The tolerance of the acceptance criterion `kind` (params/criteria.h). */
double params_tolerance(const struct params *params, int kind);
/* Eta; where it is 0, that of the integrator, of the criterion, or by Accuracy. `split`: 1: forces are split (hybrid),
 * 0: they are not. */
double params_eta(const struct params *params, int split);
/* A copy that knows of the run: the number of particles of all ranks (0: not known), and whether a device computes
 * forces. */
struct params params_of_run(const struct params *params, double particles, int on_device);
/* A copy in which the values above are in place of zeros (Eta: with the split unless Mode = tree), but of those that
 * follow the system at each soft step too (step/plan.h: Eta, and xs with ys, for the leapfrog of walks);
 * for files and comparisons. */
struct params params_resolved(const struct params *params);
/* Write the value in use and its origin, "0.2, by Accuracy = standard", where the parameter is 0 and has one of the
 * rules above; else "". Returns 1 or 0. */
int params_note(const struct params *params, const struct param_entry *entry, char *text, size_t size);
/* Mode; where it is auto, hybrid with neighbour lists or where R1, R2 or SoftStep is given, else tree where FixedStep
 * is or Comoving is on; MODE_AUTO where the parameters leave it open. Code reads Mode by this function. */
int params_mode(const struct params *params);
/* 1: one time step for all particles: Scheme = shared, or auto with FixedStep. */
int params_shared(const struct params *params);
/* Check the rules between parameters. Before: each value is in its range. `origin` may be NULL. */
int params_check_rules(const struct params *params, const struct param_origin *origin, struct fault *fault);
/* Numbers of domains along x, y, z from the text of DomainGrid, "4x2x2"; zeros for "auto". Returns 0, or -1 where the
 * text is neither. */
int params_grid(const char *text, int grid[3]);
/* The two axes of each plane (0: x) from the text of ProjectionAxes, "xy,xz". Returns the number of planes, 1 to 3; -1
 * where the text is not such a list. */
int params_planes(const char *text, int axis[3][2]);
/* Bits of types from the text of GroupLinkTypes: "all", or types from 0 to 5 with commas between them. 0, or -1 where
 * it is neither. */
int params_types(const char *text, unsigned *types);
/* Check that DomainGrid is for `ranks` ranks. */
int params_check_ranks(const struct params *params, int ranks, struct fault *fault);
/* Check that the files exist which a run reads: OutputListFilename where it is given, and with `input` 1 InitCondFile,
 * which must be given. Their contents are checked by their readers. */
int params_check_files(const struct params *params, const struct param_origin *origin, int input, struct fault *fault);
/* Write a value to text[size] as in a parameter file; params_set reads back the same value, bit by bit. */
void params_format(const struct params *params, const struct param_entry *entry, char *text, size_t size);
/* Write the range of a parameter to text[size]: "above 0", "from 0 to 1", "a, b or c"; "any"; for strings "". */
void param_range(const struct param_entry *entry, char *text, size_t size);
/* Write a complete parameter file with comments (`params` NULL: defaults; values that were given with units have these
 * in a comment where `origin` is not NULL), the page doc/parameters.md, and the table
 * for programs: a list of objects with the strings section, name, kind (real, whole, choice, string), default, values
 * (param_range), unit and meaning. */
void params_write_ini(FILE *out, const struct params *params, const struct param_origin *origin);
void params_write_markdown(FILE *out);
void params_write_json(FILE *out);
#endif
