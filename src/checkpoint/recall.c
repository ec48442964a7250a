/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "checkpoint/recall.h"

#include <stdlib.h>
#include <string.h>

#include "base/folders.h"
#include "base/memory.h"
#include "checkpoint/checkpoint_list.h"
#include "job/status.h"
#include "params/params_units.h"

/* Keys of the manifest: the text of an option, and the value of the parameter without it. */
#define OPTION "option "
#define WITHOUT "without "

void recall_write(FILE *out, const struct param_origin *origin)
{
  for (int i = 0; origin && i < param_count; i++) {
    const struct param_entry *entry = &param_table[i];
    if (origin->line[i] != ORIGIN_OPTION || strchr(origin->option[i], '\n') || strchr(origin->without[i], '\n'))
      continue;
    fprintf(out, OPTION "%s:%s = %s\n", entry->section, entry->name, origin->option[i]);
    fprintf(out, WITHOUT "%s:%s = %s\n", entry->section, entry->name, origin->without[i]);
  }
}

/* The manifest of the checkpoint `which`, whose folder is path[]. */
static char *manifest_of(const struct params *params, const char *which, char path[2 * CHECKPOINT_PATH])
{
  char folder[CHECKPOINT_PATH];
  char *text = NULL;
  int count, last = !which || strcmp(which, "last") == 0;
  if (!last && which[strspn(which, "0123456789")]) {
    snprintf(path, 2 * CHECKPOINT_PATH, "%s", which);
    return checkpoint_manifest(which);
  }
  checkpoint_folder(params, folder);
  struct checkpoint_name *list = checkpoint_list(folder, &count);
  for (int k = 0; k < count && !text; k++) {
    if (list[k].ending > ENDING_OLD || (!last && list[k].number != atoll(which))) continue;
    snprintf(path, 2 * CHECKPOINT_PATH, "%s/%s", folder, list[k].name);
    text = checkpoint_manifest(path);
  }
  memory_free(list);
  return text;
}

/* A value of the manifest; 0 where it is not there. */
static int value_of(const char *text, const char *key, const struct param_entry *entry, char value[PARAM_TEXT])
{
  char name[160];
  size_t length = 0;
  snprintf(name, sizeof name, "%s%s:%s", key, entry->section, entry->name);
  const char *at = manifest_value(text, NULL, name, &length);
  if (!at || length >= PARAM_TEXT) return 0;
  snprintf(value, PARAM_TEXT, "%.*s", (int)length, at);
  return 1;
}

static int leads_here(const char *name) { return strcmp(name, "OutputDir") == 0 || strcmp(name, "CheckpointDir") == 0; }

/* Whether the run has reached the TimeMax with which it wrote the checkpoint. */
static int has_reached_end(const char *text, const struct param_entry *entry, const struct params *params)
{
  char end[PARAM_TEXT];
  long long step;
  double time;
  return value_of(text, "", entry, end) && status_finished(params, &step, &time) && time >= atof(end);
}

static void recall_option(const char *text, int i, struct params *params, struct param_origin *origin)
{
  const struct param_entry *entry = &param_table[i];
  char option[PARAM_TEXT], without[PARAM_TEXT], now[PARAM_TEXT];
  struct fault unread = {""};
  const char *fate = "still holds";
  if (leads_here(entry->name) || origin->line[i] == ORIGIN_OPTION) return;
  if (!value_of(text, OPTION, entry, option) || !value_of(text, WITHOUT, entry, without)) return;
  int edited = strcmp(param_text(params, origin, i, now), without) != 0;
  if (edited) fate = "the parameter file, changed since, replaces";
  else if (strcmp(entry->name, "TimeMax") == 0 && origin->line[i] != ORIGIN_DEFAULT &&
           has_reached_end(text, entry, params))
    fate = "it has reached: that of the parameter file holds";
  else if (params_replace(params, i, option, origin, &unread)) fate = "this version of the program does not accept";
  printf("restart: the run was started with -P %s:%s=%s, which %s\n", entry->section, entry->name, option, fate);
}

static void recall_units(const char *text, struct params *params, struct param_origin *origin)
{
  static const char *const names[] = {"UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s",
                                      "GravityConstantInternal"};
  char value[PARAM_TEXT];
  double unit[4];
  if (params_units_given(origin)) return;
  for (int k = 0; k < 4; k++) {
    if (!value_of(text, "", &param_table[param_find("Units", names[k])], value)) return;
    unit[k] = atof(value);
  }
  params_take_units(params, unit, unit[3], "the checkpoint", origin);
}

void recall(struct params *params, const char *which, struct param_origin *origin)
{
  char path[2 * CHECKPOINT_PATH];
  char *text = manifest_of(params, which, path);
  if (text) snprintf(origin->checkpoint, sizeof origin->checkpoint, "%.1000s", path);
  for (int i = 0; text && i < param_count; i++) recall_option(text, i, params, origin);
  if (text) recall_units(text, params, origin);
  memory_free(text);
}

/* Whether two manifests have the same value, or none. */
static int same_value(const char *one, const char *other, const char *key, const struct param_entry *entry)
{
  char a[PARAM_TEXT] = "", b[PARAM_TEXT] = "";
  return value_of(one, key, entry, a) == value_of(other, key, entry, b) && strcmp(a, b) == 0;
}

int recall_check(const struct param_origin *origin, const char *path, const char *text, struct fault *fault)
{
  if (!origin || !origin->checkpoint[0] || folder_same(origin->checkpoint, path)) return 0;
  char *recalled = checkpoint_manifest(origin->checkpoint);
  int same = recalled != NULL;
  for (int i = 0; i < param_count && same; i++)
    same = same_value(recalled, text, OPTION, &param_table[i]) &&
           same_value(recalled, text, WITHOUT, &param_table[i]) &&
           (strcmp(param_table[i].section, "Units") != 0 || same_value(recalled, text, "", &param_table[i]));
  memory_free(recalled);
  if (same) return 0;
  return fault_set(
      fault, "%.300s is damaged, and options -P or units, which differ in %.300s, were taken from it: give -r %lld",
      origin->checkpoint, path, checkpoint_number(path));
}
