/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of a restart compared with those of the checkpoint. */
#include <config.h>
#include "checkpoint/params_changed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint/manifest.h"
#include "params/params_external.h"

/* The state in the checkpoint depends on these: hard and soft accelerations, pending kicks, times of outputs. */
static const char *const fixed[] = {"UnitLength_in_cm",
                                    "UnitMass_in_g",
                                    "UnitVelocity_in_cm_per_s",
                                    "GravityConstantInternal",
                                    "TimeBegin",
                                    "Softening",
                                    "Mode",
                                    "Kernel",
                                    "R1",
                                    "R2",
                                    "R1OverR0",
                                    "RQuantile",
                                    "EnergyError",
                                    "SofteningType0",
                                    "SofteningType1",
                                    "SofteningType2",
                                    "SofteningType3",
                                    "SofteningType4",
                                    "SofteningType5",
                                    "Potential1",
                                    "Potential2",
                                    "Potential3",
                                    "Potential4",
                                    "Potential5",
                                    "Potential6",
                                    "Potential7",
                                    "Potential8",
                                    "TidalField",
                                    "Agama",
                                    "Comoving",
                                    "Omega0",
                                    "OmegaLambda",
                                    "HubbleParam"};
/* Not compared: the particles come from the checkpoint, and the units that System names are compared themselves. */
static const char *const ignored[] = {"InitCondFile", "ICFormat", "System"};

/* No snapshot depends on these. TimeMax only ends the run; the times of snapshots are compared one by one. */
static const char *const no_influence[] = {"InitCondFile",
                                           "ICFormat",
                                           "OutputDir",
                                           "TimeBetStatistics",
                                           "CommLog",
                                           "SubstepLog",
                                           "TunerLog",
                                           "CheckpointDir",
                                           "TimeBetCheckpoints",
                                           "CheckpointsKept",
                                           "CheckpointAtEnd",
                                           "TimeMax",
                                           "WatchdogMinutes",
                                           "Analysis",
                                           "Cluster",
                                           "Projections",
                                           "TimeBetProjections",
                                           "ProjectionAxes",
                                           "ProjectionSize",
                                           "ProjectionPixels",
                                           "ProjectionCentre",
                                           "Groups",
                                           "LinkingLength",
                                           "GroupMinSize",
                                           "GroupLinkTypes",
                                           "CommTrace",
                                           "Interval",
                                           "Limit",
                                           "System"};

static int is_among(const char *name, const char *const *list, size_t count)
{
  for (size_t k = 0; k < count; k++)
    if (strcmp(name, list[k]) == 0) return 1;
  return 0;
}

void params_before(const char *manifest, const struct param_entry *entry, char value[PARAM_TEXT])
{
  char name[160];
  size_t length;
  struct params defaults;
  snprintf(name, sizeof name, "%s:%s", entry->section, entry->name);
  const char *found = manifest_value(manifest, NULL, name, &length);
  if (found) {
    snprintf(value, PARAM_TEXT, "%.*s", (int)(length < PARAM_TEXT ? length : PARAM_TEXT - 1), found);
    return;
  }
  params_defaults(&defaults);
  params_format(&defaults, entry, value, PARAM_TEXT);
}

/* Parameters before and now, with the values that Accuracy sets. */
struct compared {
  const char *manifest;
  const struct params *p;
  struct params before, now;
};

static struct compared compare(const char *manifest, const struct params *params)
{
  struct compared c = {.manifest = manifest, .p = params, .now = params_resolved(params)};
  char value[PARAM_TEXT];
  double error;
  params_defaults(&c.before);
  for (int i = 0; i < param_count; i++) {
    struct fault unread = {""};
    params_before(manifest, &param_table[i], value);
    params_set(&c.before, &param_table[i], value, &unread);
  }
  if (params_accuracy(c.before.Accuracy, &error)) memcpy(c.before.Accuracy, params->Accuracy, sizeof params->Accuracy);
  c.before.run = params->run;
  c.before = params_resolved(&c.before);
  return c;
}

/* Whether the value differs from that in the manifest; both values as text. What Accuracy sets is compared as it is
 * used. */
static int differs(const struct compared *compared, const struct param_entry *entry, char before[PARAM_TEXT],
                   char now[PARAM_TEXT])
{
  params_before(compared->manifest, entry, before);
  params_format(compared->p, entry, now, PARAM_TEXT);
  if (entry->kind == KIND_REAL || entry->kind == KIND_WHOLE) {
    params_format(&compared->before, entry, before, PARAM_TEXT);
    params_format(&compared->now, entry, now, PARAM_TEXT);
  }
  return strcmp(before, now) != 0 && !params_same_field(entry->name, before, now);
}

/* Set a parameter to its value in the manifest. */
static void adopt(const char *manifest, const char *name, struct params *params)
{
  const struct param_entry *e = &param_table[param_find(NULL, name)];
  char value[PARAM_TEXT];
  struct fault unread = {""};
  params_before(manifest, e, value);
  params_set(params, e, value, &unread);
}

/* The scheme that the run chose. */
static void adopt_scheme(const char *manifest, struct params *params)
{
  int mode = params->Mode == MODE_AUTO, scheme = params->Scheme == SCHEME_AUTO, ratio = params->R1OverR0 == 0;
  if (mode) adopt(manifest, "Mode", params);
  if (scheme) adopt(manifest, "Scheme", params);
  if (ratio) adopt(manifest, "R1OverR0", params);
}

/* The rule of the radii does not change with Accuracy. */
static void keep_radii(const char *manifest, struct params *params)
{
  const struct compared c = compare(manifest, params);
  if (params->R1OverR0 == 0 && c.before.R1OverR0 != c.now.R1OverR0) params->R1OverR0 = c.before.R1OverR0;
}

void params_adopt_found(const char *manifest, struct params *params)
{
  static const char *const names[] = {"R1", "R2", "SoftStep", "Eta", "ErrTolForceAcc"};
  const double *const given[] = {&params->R1, &params->R2, &params->SoftStep, &params->Eta};
  char value[PARAM_TEXT];
  struct params before;
  struct fault unread = {""};
  adopt_scheme(manifest, params);
  keep_radii(manifest, params);
  params_defaults(&before);
  params_before(manifest, &param_table[param_find("Split", "EnergyError")], value);
  params_set(&before, &param_table[param_find("Split", "EnergyError")], value, &unread);
  if (!(before.EnergyError > 0)) return;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const struct param_entry *e = &param_table[param_find(NULL, names[k])];
    if (k<sizeof given / sizeof *given && * given[k]> 0) continue;
    double delta = params_delta(params);
    params_before(manifest, e, value);
    params_set(params, e, value, &unread);
    params->ErrTolForceAcc = fmin(params->ErrTolForceAcc, delta); /* a smaller one that is given counts */
  }
}

int params_check_found(const struct params *asked, const struct params *found, struct fault *fault)
{
  int mode = params_mode(asked), other = mode != MODE_AUTO && mode != params_mode(found),
      shared = params_shared(asked) && !params_shared(found);
  if (other || shared)
    return fault_set(fault,
                     "the parameters need %s = %s, and the checkpoint was made with %s, which the run had chosen: "
                     "leave %s away, or begin a "
                     "new run with its last snapshot as InitCondFile",
                     other ? "Mode" : "Scheme", other ? params_choice("Mode", mode) : "shared",
                     other ? params_choice("Mode", params_mode(found)) : "block",
                     other ? "SoftStep, Integrator, Criterion and R1" : "FixedStep");
  return params_check_rules(found, NULL, fault);
}

int params_same_evolution(const char *manifest, const struct params *params)
{
  char before[PARAM_TEXT], now[PARAM_TEXT];
  const struct compared c = compare(manifest, params);
  for (int i = 0; i < param_count; i++)
    if (differs(&c, &param_table[i], before, now) &&
        !is_among(param_table[i].name, no_influence, sizeof no_influence / sizeof *no_influence))
      return 0;
  return 1;
}

int params_same_steps(const char *manifest, const struct params *params)
{
  static const char *const names[] = {"SoftStep", "MaxSizeTimestep", "Eta", "Integrator", "Criterion", "Accuracy"};
  char before[PARAM_TEXT], now[PARAM_TEXT];
  const struct compared c = compare(manifest, params);
  for (int i = 0; i < param_count; i++)
    if (is_among(param_table[i].name, names, sizeof names / sizeof *names) && differs(&c, &param_table[i], before, now))
      return 0;
  return 1;
}

int params_changed(const char *manifest, const struct params *params, int list, struct fault *fault)
{
  const struct compared c = compare(manifest, params);
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *e = &param_table[i];
    char before[PARAM_TEXT], now[PARAM_TEXT];
    if (!differs(&c, e, before, now) || is_among(e->name, ignored, sizeof ignored / sizeof *ignored)) continue;
    if (is_among(e->name, fixed, sizeof fixed / sizeof *fixed))
      return fault_set(
          fault,
          "%s = %.100s, but the checkpoint was made with %.100s: this cannot be changed at a restart (start a new run "
          "from a snapshot instead)",
          e->name, now, before);
    if (list) printf("restart: %s = %s now (it was %s)\n", e->name, now[0] ? now : "''", before[0] ? before : "''");
  }
  return 0;
}
