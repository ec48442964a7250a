/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checkpoints in a folder: listed, removed, renamed. */
#include <config.h>
#include "checkpoint/checkpoint_list.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/folders.h"
#include "base/memory.h"

#define PREFIX "checkpoint_"
static const char *const endings[] = {"", ".old", ".tmp", ".unused"};
enum { ENDINGS = sizeof endings / sizeof *endings };

void checkpoint_folder(const struct params *params, char path[CHECKPOINT_PATH])
{
  if (params->CheckpointDir[0]) snprintf(path, CHECKPOINT_PATH, "%s", params->CheckpointDir);
  else snprintf(path, CHECKPOINT_PATH, "%s/checkpoints", params->OutputDir);
}

void checkpoint_name(long long number, enum ending ending, char name[64])
{
  snprintf(name, 64, PREFIX "%06lld%s", number, endings[ending]);
}

static int parse(const char *name, struct checkpoint_name *checkpoint_name)
{
  const char *digits = name + sizeof PREFIX - 1;
  size_t length = strlen(name);
  char *end;
  if (strncmp(name, PREFIX, sizeof PREFIX - 1) || !isdigit((unsigned char)*digits) ||
      length >= sizeof checkpoint_name->name)
    return -1;
  checkpoint_name->number = strtoll(digits, &end, 10);
  memcpy(checkpoint_name->name, name, length + 1);
  for (int k = 0; k < ENDINGS; k++) {
    checkpoint_name->ending = (enum ending)k;
    if (strcmp(end, endings[k]) == 0) return 0;
  }
  return -1;
}

long long checkpoint_number(const char *path)
{
  struct checkpoint_name name;
  const char *slash = strrchr(path, '/');
  return parse(slash ? slash + 1 : path, &name) ? -1 : name.number;
}

static int newest_first(const void *a, const void *b)
{
  const struct checkpoint_name *one = a, *two = b;
  if (one->number != two->number) return one->number < two->number ? 1 : -1;
  return (int)one->ending - (int)two->ending;
}

struct checkpoint_name *checkpoint_list(const char *folder, int *count)
{
  struct checkpoint_name *list = NULL, one;
  int capacity = 0;
  *count = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    if (parse(e->d_name, &one)) continue;
    if (*count == capacity) list = memory_resize("checkpoint", list, sizeof *list * (size_t)(capacity += 16));
    list[(*count)++] = one;
  }
  if (d) closedir(d);
  if (*count > 0) qsort(list, (size_t)*count, sizeof *list, newest_first);
  return list;
}

int checkpoint_file(const char *name, const void *unused)
{
  (void)unused;
  if (strcmp(name, "manifest") == 0) return 1;
  return strncmp(name, "rank_", 5) == 0 && name[5] && name[5 + strspn(name + 5, "0123456789")] == 0;
}

/* The path of checkpoint `number` with an ending. */
static void path_of(const char *folder, long long number, enum ending ending, char path[CHECKPOINT_PATH + 128])
{
  char name[64];
  checkpoint_name(number, ending, name);
  snprintf(path, CHECKPOINT_PATH + 128, "%s/%s", folder, name);
}

/* A folder that has lost some of its files must not have the name of a complete checkpoint, whenever the job ends. */
void checkpoint_drop(const char *folder, const char *name)
{
  char path[CHECKPOINT_PATH + 128], temporary[CHECKPOINT_PATH + 128], unused[CHECKPOINT_PATH + 128];
  struct checkpoint_name n;
  struct fault ignored = {""};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (parse(name, &n) == 0 && n.ending != ENDING_TMP) {
    path_of(folder, n.number, ENDING_TMP, temporary);
    path_of(folder, n.number, ENDING_UNUSED, unused);
    folder_drop(temporary, checkpoint_file, NULL, &ignored);
    if (rename(path, temporary) == 0) {
      if (folder_drop(temporary, checkpoint_file, NULL, &ignored)) rename(temporary, unused);
      return;
    }
  }
  folder_drop(path, checkpoint_file, NULL, &ignored);
}

int checkpoint_exists(const struct params *params, char name[CHECKPOINT_PATH])
{
  char folder[CHECKPOINT_PATH];
  int count, found = 0;
  checkpoint_folder(params, folder);
  struct checkpoint_name *list = checkpoint_list(folder, &count);
  for (int k = 0; k < count && !found; k++) {
    if (list[k].ending != ENDING_NONE && list[k].ending != ENDING_OLD) continue;
    snprintf(name, CHECKPOINT_PATH, "%.900s/%s", folder, list[k].name);
    found = 1;
  }
  memory_free(list);
  return found;
}

int checkpoint_count(const struct params *params)
{
  char folder[CHECKPOINT_PATH];
  int count, good = 0;
  checkpoint_folder(params, folder);
  struct checkpoint_name *list = checkpoint_list(folder, &count);
  for (int k = 0; k < count; k++) good += list[k].ending == ENDING_NONE;
  memory_free(list);
  return good;
}

void checkpoint_remove_all(const struct params *params)
{
  char folder[CHECKPOINT_PATH];
  int count;
  checkpoint_folder(params, folder);
  struct checkpoint_name *list = checkpoint_list(folder, &count);
  for (int k = 0; k < count; k++) checkpoint_drop(folder, list[k].name);
  memory_free(list);
}

void checkpoint_set_aside(const struct params *params, const struct checkpoint *chosen)
{
  char folder[CHECKPOINT_PATH], from[CHECKPOINT_PATH + 128], to[CHECKPOINT_PATH + 128], aside[64];
  int count;
  if (!chosen->own_folder) return;
  checkpoint_folder(params, folder);
  struct checkpoint_name *list = checkpoint_list(folder, &count);
  for (int k = 0; k < count; k++) {
    if (list[k].number <= chosen->number || (list[k].ending != ENDING_NONE && list[k].ending != ENDING_OLD)) continue;
    if (list[k].ending == ENDING_OLD && k > 0 && list[k - 1].number == list[k].number &&
        list[k - 1].ending == ENDING_NONE) {
      /* the run ended after its replacement was complete, which has just been renamed */
      checkpoint_drop(folder, list[k].name);
      continue;
    }
    checkpoint_name(list[k].number, ENDING_UNUSED, aside);
    snprintf(from, sizeof from, "%s/%s", folder, list[k].name);
    snprintf(to, sizeof to, "%s/%s", folder, aside);
    checkpoint_drop(folder, aside); /* of an earlier restart */
    if (rename(from, to) == 0)
      printf("restart: %s is newer than the chosen checkpoint and is now named %s\n", list[k].name, aside);
  }
  memory_free(list);
}
