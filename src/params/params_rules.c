/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules between parameters, and checks of the files that they name. */
#include <config.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "params/params.h"
#include "params/params_external.h"
#include "params/params_nearest.h"
#include "particles/particles.h"
#include "particles/timeline.h"

enum { RANKS_MAX = 1000000 }; /* along an axis; more is taken as a mistake */

/* "SoftStep = 0.5 (line 12)"; without the line where it equals `known`, which the message names already. */
static const char *cite(const struct params *params, const struct param_origin *origin, const char *name, int known,
                        char *text, size_t size)
{
  int i = param_find(NULL, name), line = origin ? origin->line[i] : ORIGIN_DEFAULT;
  char value[PARAM_TEXT];
  params_format(params, &param_table[i], value, sizeof value);
  size_t at = (size_t)snprintf(text, size, "%s = %.100s", name, value[0] ? value : "''");
  if (at >= size) return text;
  if (origin && origin->given[i][0]) {
    at += (size_t)snprintf(text + at, size - at, " (%.60s)", origin->given[i]);
    if (at >= size) return text;
  }
  if (line == ORIGIN_OPTION) snprintf(text + at, size - at, " (-P)");
  else if (line == ORIGIN_DEFAULT) snprintf(text + at, size - at, " (default)");
  else if (line != known) snprintf(text + at, size - at, " (line %d)", line);
  return text;
}

struct rules {
  const struct params *p;
  const struct param_origin *origin;
  struct fault *f;
};

/* Set the fault "FILE:LINE: Name = value and Other = value (line): what was expected". `other` may be NULL. */
static int broken(const struct rules *rules, const char *name, const char *other, const char *expected)
{
  char a[250], b[250], where[600] = "";
  int line = rules->origin ? rules->origin->line[param_find(NULL, name)] : ORIGIN_DEFAULT;
  if (rules->origin && rules->origin->file && line > 0)
    snprintf(where, sizeof where, "%.500s:%d: ", rules->origin->file, line);
  else if (rules->origin && rules->origin->file) snprintf(where, sizeof where, "%.500s: ", rules->origin->file);
  cite(rules->p, rules->origin, name, line, a, sizeof a);
  if (other) cite(rules->p, rules->origin, other, 0, b, sizeof b);
  return fault_set(rules->f, "%s%s%s%s: %s", where, a, other ? " and " : "", other ? b : "", expected);
}

#define POWERS "1, 2, 4, ... 2^24"
_Static_assert(LEVEL_MAX == 24, "POWERS names 2^LEVEL_MAX");

/* Whether `step` is `base` times 1, 2, 4, ... 2^LEVEL_MAX, within the rounding of decimal numbers. */
static int is_power_multiple(double step, double base)
{
  double power = log2(step / base);
  return power > -0.5 && power < LEVEL_MAX + 0.5 && fabs(step / base / exp2(round(power)) - 1) < 1e-9;
}

/* Whether a path has signs that a shell would replace: a leading '~', quotes around the whole, $NAME, ${NAME},
 * $(COMMAND). */
static int for_a_shell(const char *path)
{
  size_t n = strlen(path);
  if (n == 0) return 0;
  if (path[0] == '~' || strchr("'\"", path[0]) || strchr("'\"", path[n - 1])) return 1;
  for (const char *at = strchr(path, '$'); at; at = strchr(at + 1, '$'))
    if (isalpha((unsigned char)at[1]) || (at[1] && strchr("_{(", at[1]))) return 1;
  return 0;
}

static int check_paths(const struct rules *rules)
{
  const struct {
    const char *name, *path;
  } list[] = {{"InitCondFile", rules->p->InitCondFile},
              {"OutputListFilename", rules->p->OutputListFilename},
              {"OutputDir", rules->p->OutputDir},
              {"CheckpointDir", rules->p->CheckpointDir}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (for_a_shell(list[i].path))
      return broken(rules, list[i].name, NULL,
                    "expected a path as it is: a shell's signs (~, quotes, $) mean nothing in a parameter file");
  return 0;
}

static int check_outputs(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (!(p->TimeMax > p->TimeBegin)) return broken(rules, "TimeMax", "TimeBegin", "expected TimeMax above TimeBegin");
  if (!p->OutputDir[0]) return broken(rules, "OutputDir", NULL, "expected a folder ('.' is the current one)");
  if (!p->SnapshotFileBase[0])
    return broken(rules, "SnapshotFileBase", NULL, "expected the first part of the snapshots' names");
  if (strpbrk(p->SnapshotFileBase, "./"))
    return broken(rules, "SnapshotFileBase", NULL,
                  "expected a name without '.' (readers cut names there) and '/' (the folder is OutputDir)");
  if (p->TimeBetSnapshot > 0 && p->OutputListFilename[0])
    return broken(rules, "TimeBetSnapshot", "OutputListFilename", "expected one of the two, not both");
  return 0;
}

int params_planes(const char *text, int axis[3][2])
{
  static const char *const names[] = {"xy", "xz", "yz"};
  static const int axes[][2] = {{0, 1}, {0, 2}, {1, 2}};
  unsigned seen = 0;
  for (int count = 0; count < 3;) {
    int plane = 0;
    while (plane < 3 && strncmp(text, names[plane], 2) != 0) plane++;
    if (plane == 3 || (seen & 1u << plane)) return -1;
    seen |= 1u << plane;
    memcpy(axis[count++], axes[plane], sizeof axes[plane]);
    if (!text[2]) return count;
    if (text[2] != ',') return -1;
    text += 3;
  }
  return -1;
}

static int check_projections(const struct rules *rules)
{
  const struct params *p = rules->p;
  int axis[3][2];
  if (params_planes(p->ProjectionAxes, axis) < 0)
    return broken(rules, "ProjectionAxes", NULL, "expected some of xy, xz, yz, each once, with commas between them");
  if (p->Projections && !(p->TimeBetProjections > 0))
    return broken(rules, "TimeBetProjections", "Projections",
                  "expected TimeBetProjections above 0 with Projections = on");
  return 0;
}

static int check_accuracy(const struct rules *rules)
{
  double error;
  if (params_accuracy(rules->p->Accuracy, &error) == 0) return 0;
  static const char *const names[] = {"coarse", "standard", "fine", "finest"};
  const char *near = nearest_name(rules->p->Accuracy, names, sizeof names / sizeof *names);
  char expected[300];
  snprintf(expected, sizeof expected,
           "expected coarse, standard, fine, finest, or the wanted |dE/E| per dynamical time, a number from 1e-12 "
           "to 0.1%s%s%s",
           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  return broken(rules, "Accuracy", NULL, expected);
}

/* What rests on clocks is refused where results are to repeat. */
static int check_repeatable(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (p->Repeatable == REPEATABLE_OFF) return 0;
  if (p->Balance == BALANCE_TIME)
    return broken(rules, "Repeatable", "Balance",
                  "expected Balance = count, hard or work with Repeatable = on: measured seconds differ between runs");
  if (p->Tuning == TUNING_ON)
    return broken(rules, "Repeatable", "Tuning",
                  "expected Tuning = frozen or auto with Repeatable = on: measured seconds differ between runs");
  return 0;
}

static int check_split(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (p->R2 > 0 && !(p->R1 > 0))
    return broken(rules, "R2", "R1", "expected R1 above 0 where R2 is given (or R2 = 0: both by rule)");
  if (p->R2 > 0 && !(p->R2 > p->R1)) return broken(rules, "R2", "R1", "expected R2 above R1");
  if (params_mode(p) != MODE_TREE && p->SoftStep > 0 && p->MaxSizeTimestep > 0 && p->SoftStep > p->MaxSizeTimestep)
    return broken(rules, "SoftStep", "MaxSizeTimestep", "expected SoftStep not above MaxSizeTimestep, which caps it");
  return 0;
}

/* Leapfrog with time steps by pairs. */
static int check_pairs(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (p->Criterion != CRITERION_PAIRS) return 0;
  if (p->Mode == MODE_TREE)
    return broken(rules, "Criterion", "Mode",
                  "expected Mode = hybrid with Criterion = pairs, which needs the neighbour lists of the hard part");
  if (p->Scheme == SCHEME_SHARED)
    return broken(rules, "Criterion", "Scheme", "expected Scheme = block with Criterion = pairs");
  return 0;
}

static int check_integrator(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (p->Integrator == INTEGRATOR_OF_WALKS) return check_pairs(rules);
  const char *name = integrator_traits[p->Integrator].name;
  char expected[200];
  if (p->Criterion == CRITERION_PAIRS) {
    snprintf(expected, sizeof expected,
             "expected Criterion = pairs with Integrator = %s only: %s has its own criterion (leave it out)",
             integrator_traits[INTEGRATOR_OF_WALKS].name, name);
    return broken(rules, "Criterion", "Integrator", expected);
  }
  if (p->Mode == MODE_TREE) {
    snprintf(expected, sizeof expected, "expected Mode = hybrid with Integrator = %s, which integrates the hard part",
             name);
    return broken(rules, "Integrator", "Mode", expected);
  }
  if (p->Scheme == SCHEME_SHARED) {
    snprintf(expected, sizeof expected, "expected Scheme = block with Integrator = %s", name);
    return broken(rules, "Integrator", "Scheme", expected);
  }
  return 0;
}

#define A_LEAST 1e-6
#define A_MOST 1e3

/* A run in comoving coordinates: times are expansion factors, and there is one way of steps. */
static int check_comoving(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (!p->Comoving) return 0;
  if (p->Cluster)
    return broken(rules, "Cluster", "Comoving",
                  "expected Cluster = off: in comoving coordinates there is no such table");
  if (!(p->Omega0 > 0)) return broken(rules, "Omega0", "Comoving", "expected the density of matter, a number above 0");
  if (!(p->TimeBegin >= A_LEAST))
    return broken(rules, "TimeBegin", "Comoving",
                  "expected the expansion factor of the initial conditions, 1 / (1 + redshift), above 0");
  if (p->TimeMax > A_MOST)
    return broken(rules, "TimeMax", "Comoving", "expected an expansion factor of at most 1000 (1 is today)");
  if (p->TimeBetSnapshot >= 1)
    return broken(
        rules, "TimeBetSnapshot", "Comoving",
        "expected a difference of expansion factors below 1, not a factor as in GADGET (or OutputListFilename)");
  if (p->MaxSizeTimestep >= 1)
    return broken(rules, "MaxSizeTimestep", "Comoving", "expected the largest d ln a of a soft step, below 1");
  if (params_neighbour_lists(p)) {
    char expected[100];
    snprintf(expected, sizeof expected, "expected Integrator = %s and Criterion = min-av or a",
             integrator_traits[INTEGRATOR_OF_WALKS].name);
    return broken(rules, p->Criterion == CRITERION_PAIRS ? "Criterion" : "Integrator", "Comoving", expected);
  }
  if (p->SoftStep > 0 || p->FixedStep > 0)
    return broken(rules, p->SoftStep > 0 ? "SoftStep" : "FixedStep", "Comoving",
                  "expected 0: give MaxSizeTimestep, the largest d ln a of a soft step");
  if (p->GravityConstantInternal > 0)
    return broken(rules, "GravityConstantInternal", "Comoving",
                  "expected 0: the gravitational constant and H_0 follow from the units");
  if (external_given(p))
    return broken(rules,
                  p->TidalField[0] ? "TidalField"
                  : p->Agama[0]    ? "Agama"
                                   : "Potential1",
                  "Comoving", "expected no external potentials in comoving coordinates");
  return 0;
}

/* What excludes the choice of an integrator (params_choose_integrator). */
static const char *excluding(const struct rules *rules)
{
  const char *name = params_against_hermite(rules->p, rules->origin);
  return name ? name : "Integrator";
}

/* Block steps by acceleration and velocity scale with the softening. */
static int check_softening(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (p->EnergyError > 0 || !params_without_integrator(p)) return 0;
  if (p->Comoving) return broken(rules, "Softening", "Comoving", "expected a softening above 0");
  return broken(rules, "Softening", excluding(rules),
                "expected Integrator = hermite or Criterion = pairs where Softening = 0 (with Mode, Scheme and other "
                "criteria left out hermite is chosen), or one fixed step for all: Mode = tree and FixedStep");
}

static int check_finder(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (!(p->EnergyError > 0)) return 0;
  if (!integrator_traits[p->Integrator].has_error_model)
    return broken(
        rules, "EnergyError", excluding(rules),
        "expected Integrator = hermite where EnergyError is given (with Mode, Scheme, Criterion and FixedStep "
        "left out it is chosen)");
  if (p->Mode == MODE_TREE)
    return broken(rules, "EnergyError", "Mode", "expected Mode = hybrid or auto where EnergyError is given");
  return 0;
}

static int check_collisions(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (p->Action == COLLISIONS_OFF && p->Radius > 0 && param_is_default(rules->origin, "Action"))
    return broken(rules, "Radius", "Action",
                  "expected Action = list, stop or merge where stars have radii, or Action = off in the file");
  if (p->Action == COLLISIONS_OFF) return 0;
  if (!integrator_traits[p->Integrator].has_units || params_mode(p) == MODE_TREE)
    return broken(
        rules, "Action", "Integrator",
        "expected Integrator = hermite, with which stars form the units that find collisions, or Action = off");
  if (params_softening(p, NULL) > 0)
    return broken(rules, "Action", "Softening", "expected Softening = 0 (of all types), or Action = off");
  if (!(p->Radius > 0)) return broken(rules, "Radius", "Action", "expected the radius of a star, above 0");
  if (!(p->Mass > 0)) return broken(rules, "Mass", "Action", "expected the mass of a star that has Radius, above 0");
  return 0;
}

static int check_fixed_step(const struct rules *rules)
{
  const struct params *p = rules->p;
  if (!(p->FixedStep > 0)) return 0;
  if (!params_shared(p))
    return broken(rules, "FixedStep", "Scheme", "expected Scheme = shared (or auto) where FixedStep is given");
  if (params_mode(p) != MODE_TREE && !(p->SoftStep > 0))
    return broken(rules, "FixedStep", "SoftStep",
                  "expected SoftStep too: FixedStep times a power of two (" POWERS "), or Mode = tree");
  if (p->SoftStep > 0 && !is_power_multiple(p->SoftStep, p->FixedStep))
    return broken(rules, "FixedStep", "SoftStep",
                  "expected SoftStep to be FixedStep times a power of two (" POWERS ")");
  if (params_mode(p) != MODE_HYBRID && p->MaxSizeTimestep > 0 && !is_power_multiple(p->MaxSizeTimestep, p->FixedStep))
    return broken(
        rules, "FixedStep", "MaxSizeTimestep",
        "expected MaxSizeTimestep, without the split the soft step, to be FixedStep times a power of two (" POWERS ")");
  return 0;
}

int params_types(const char *text, unsigned *types)
{
  *types = 0;
  if (strcmp(text, "all") == 0) {
    *types = (1u << PARTICLE_TYPES) - 1;
    return 0;
  }
  for (const char *at = text;; at += 2) {
    if (at[0] < '0' || at[0] >= '0' + PARTICLE_TYPES || (at[1] && at[1] != ',')) return -1;
    *types |= 1u << (at[0] - '0');
    if (!at[1]) return 0;
  }
}

static int check_groups(const struct rules *rules)
{
  unsigned types;
  if (params_types(rules->p->GroupLinkTypes, &types) != 0)
    return broken(rules, "GroupLinkTypes", NULL,
                  "expected all, or types from 0 to 5 with commas between them, as in 1,4");
  if (rules->p->Groups == GROUPS_ON && strcmp(rules->p->SnapshotFileBase, "fof") == 0)
    return broken(rules, "SnapshotFileBase", "Groups",
                  "expected another name: fof_NNN.hdf5 are the catalogues of groups");
  return 0;
}

int params_grid(const char *text, int grid[3])
{
  grid[0] = grid[1] = grid[2] = 0;
  if (strcmp(text, "auto") == 0) return 0;
  const char *at = text;
  for (int c = 0; c < 3; c++) {
    char *end;
    long number = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;
    if (number < 1 || number > RANKS_MAX || *end != (c < 2 ? 'x' : 0)) return grid[0] = grid[1] = grid[2] = 0, -1;
    grid[c] = (int)number;
    at = end + 1;
  }
  return 0;
}

static int check_domain(const struct rules *rules)
{
  int grid[3];
  if (params_grid(rules->p->DomainGrid, grid) == 0) return 0;
  return broken(rules, "DomainGrid", NULL, "expected auto, or three whole numbers as in 4x2x2");
}

/* The name of Potential1 ... Potential8. */
static const char *potential_name(int number)
{
  static const char *const names[EXTERNAL_POTENTIALS] = {"Potential1", "Potential2", "Potential3", "Potential4",
                                                         "Potential5", "Potential6", "Potential7", "Potential8"};
  return names[number];
}

static int check_external(const struct rules *rules)
{
  struct fault why = {""};
  struct external_potential e;
  struct external_tide t;
  for (int k = 0; k < EXTERNAL_POTENTIALS; k++)
    if (external_text(rules->p, k)[0] && external_read(external_text(rules->p, k), &e, &why))
      return broken(rules, potential_name(k), NULL, why.text);
  if (rules->p->TidalField[0] && external_read_tide(rules->p->TidalField, &t, &why))
    return broken(rules, "TidalField", NULL, why.text);
  if (rules->p->AgamaLibrary[0] && !rules->p->Agama[0])
    return broken(rules, "AgamaLibrary", "Agama", "expected Agama too, the potential");
  return 0;
}

int params_check_ranks(const struct params *params, int ranks, struct fault *fault)
{
  int grid[3];
  params_grid(params->DomainGrid, grid);
  double product = (double)grid[0] * grid[1] * grid[2];
  if (product == 0 || product == ranks) return 0;
  return fault_set(
      fault, "DomainGrid = %.100s is for %.15g rank%s, and this run has %d: give numbers whose product is %d, or auto",
      params->DomainGrid, product, product > 1 ? "s" : "", ranks, ranks);
}

int params_check_rules(const struct params *params, const struct param_origin *origin, struct fault *fault)
{
  struct rules r = {params, origin, fault};
  return check_paths(&r) || check_outputs(&r) || check_projections(&r) || check_accuracy(&r) || check_repeatable(&r) ||
                 check_split(&r) || check_comoving(&r) || check_integrator(&r) || check_softening(&r) ||
                 check_finder(&r) || check_collisions(&r) || check_fixed_step(&r) || check_domain(&r) ||
                 check_external(&r) || check_groups(&r)
             ? -1
             : 0;
}

/* Whether a file exists; a snapshot in several files is named without its endings. */
static int is_there(const char *path)
{
  static const char *const endings[] = {"", ".0", ".hdf5", ".0.hdf5"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    char whole[PARAM_TEXT + 16];
    struct stat st;
    snprintf(whole, sizeof whole, "%s%s", path, endings[i]);
    if (stat(whole, &st) == 0 && !S_ISDIR(st.st_mode)) return 1;
  }
  return 0;
}

static int check_file(const struct rules *rules, const char *name, const char *path)
{
  struct stat st;
  char hint[600], expected[700];
  if (is_there(path)) return 0;
  if (stat(path, &st) == 0) return broken(rules, name, NULL, "expected a file, found a folder");
  int error = errno;
  file_hint(path, rules->origin ? rules->origin->file : NULL, hint, sizeof hint);
  snprintf(expected, sizeof expected, "%s%s", strerror(error), hint);
  return broken(rules, name, NULL, expected);
}

int params_check_files(const struct params *params, const struct param_origin *origin, int input, struct fault *fault)
{
  struct rules r = {params, origin, fault};
  if (input && !params->InitCondFile[0])
    return broken(&r, "InitCondFile", NULL, "expected a file with initial conditions");
  if (input && check_file(&r, "InitCondFile", params->InitCondFile)) return -1;
  if (params->OutputListFilename[0] && check_file(&r, "OutputListFilename", params->OutputListFilename)) return -1;
  for (int k = 0; k < EXTERNAL_POTENTIALS; k++) {
    struct external_potential e;
    if (!external_text(params, k)[0] || external_read(external_text(params, k), &e, fault)) continue;
    if (e.orbit[0] && check_file(&r, potential_name(k), e.orbit)) return -1;
  }
  return params->Agama[0] && !strchr(params->Agama, '=') ? check_file(&r, "Agama", params->Agama) : 0;
}

void params_use_walks(struct params *params)
{
  params->Integrator = INTEGRATOR_OF_WALKS;
  if (params->Criterion == CRITERION_PAIRS) params->Criterion = CRITERION_MIN_AV;
  params->EnergyError = 0;
  if (params->Mode == MODE_AUTO) params->Mode = params_mode(params) == MODE_TREE ? MODE_TREE : MODE_HYBRID;
  if (params->Scheme == SCHEME_AUTO) params->Scheme = params_shared(params) ? SCHEME_SHARED : SCHEME_BLOCK;
}
