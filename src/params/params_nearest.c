/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "params/params_nearest.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "params/params.h"

enum { FILES_LOOKED_AT = 1000 };

/* List the sections (`sections` 1), or the names in one section (NULL: all names), in the order of the table. Returns their number. */
static int list_names(const char *section, int sections, const char **names)
{
  int count = 0;
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *e = &param_table[i];
    int first = count == 0 || strcmp(names[count - 1], e->section) != 0;
    if (sections && first) names[count++] = e->section;
    if (!sections && (!section || strcmp(section, e->section) == 0)) names[count++] = e->name;
  }
  return count;
}

int section_known(const char *name)
{
  for (int i = 0; i < param_count; i++)
    if (strcmp(param_table[i].section, name) == 0) return 1;
  return 0;
}

static void list_all(const char *before, const char **names, int count, char *hint, size_t size)
{
  size_t at = (size_t)snprintf(hint, size, "; %s", before);
  for (int i = 0; i < count && at < size; i++) at += (size_t)snprintf(hint + at, size - at, "%s %s", i ? "," : "", names[i]);
}

void section_hint(const char *name, char *hint, size_t size)
{
  const char *names[PARAM_LIMIT] = {NULL};
  int count = list_names(NULL, 1, names);
  const char *near = nearest_name(name, names, count);
  if (near)
    snprintf(hint, size, "; did you mean [%s]?", near);
  else
    list_all("there are", names, count, hint, size);
}

/* Parameters of earlier versions, and the value that asks for nothing. */
static const struct {
  const char *name, *without_effect, *advice;
} removed[] = {
    {"Xdmf", "off", "it was removed: leave it out, and write .xmf files with espalier-xdmf SNAPSHOT... (tools/)"},
};

int param_without_effect(const char *name, const char *value)
{
  for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
    if (strcmp(removed[i].name, name) == 0 && strcmp(removed[i].without_effect, value) == 0) return 1;
  return 0;
}

void param_hint(const char *section, const char *name, char *hint, size_t size)
{
  const char *names[PARAM_LIMIT] = {NULL};
  int at = param_find(NULL, name);
  if (at >= 0) {
    snprintf(hint, size, "; it belongs in [%s]", param_table[at].section);
    return;
  }
  for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
    if (strcmp(removed[i].name, name) == 0) {
      snprintf(hint, size, "; %s", removed[i].advice);
      return;
    }
  int here = section_known(section), count = list_names(here ? section : NULL, 0, names);
  const char *near = nearest_name(name, names, count);
  if (!near) near = nearest_name(name, names, list_names(NULL, 0, names));
  at = near ? param_find(NULL, near) : -1;
  if (at >= 0 && strcmp(param_table[at].section, section) == 0)
    snprintf(hint, size, "; did you mean '%s'?", near);
  else if (at >= 0)
    snprintf(hint, size, "; did you mean '%s' in [%s]?", near, param_table[at].section);
  else
    list_all("there are", names, list_names(here ? section : NULL, 0, names), hint, size);
}

/* Whether folder/name and `b` (may be NULL) are the same file. */
static int same_file(const char *folder, const char *name, const char *b)
{
  char path[2048];
  struct stat one, other;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return b && stat(path, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Whether two names have the same ending or the same stem, or one of them has no ending. */
static int may_be_meant(const char *name, const char *word)
{
  const char *a = strrchr(name, '.'), *b = strrchr(word, '.');
  return !a || !b || strcmp(a, b) == 0 || (a - name == b - word && strncmp(name, word, (size_t)(a - name)) == 0);
}

void file_hint(const char *path, const char *but, char *hint, size_t size)
{
  const char *slash = strrchr(path, '/');
  char folder[1024];
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  *hint = 0;
  DIR *dir = opendir(folder);
  if (!dir) return;
  const char **names = malloc(sizeof *names * FILES_LOOKED_AT);
  const char *word = slash ? slash + 1 : path, *near = NULL;
  int count = 0;
  for (struct dirent *d; names && count < FILES_LOOKED_AT && (d = readdir(dir));)
    if (d->d_name[0] != '.' && may_be_meant(d->d_name, word) && !same_file(folder, d->d_name, but) && (names[count] = strdup(d->d_name)))
      count++;
  for (int i = 0; i < count && !near; i++)   /* the user left out the ending */
    if (strncmp(names[i], word, strlen(word)) == 0 && names[i][strlen(word)] == '.') near = names[i];
  if (!near && names) near = nearest_name(word, names, count);
  if (near) snprintf(hint, size, "; did you mean '%s%s'?", slash ? folder : "", near);
  for (int i = 0; i < count; i++) free((char *)(uintptr_t)names[i]);
  free(names);
  closedir(dir);
}
