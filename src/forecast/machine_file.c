/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/machine_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders of machine files, from the folder of the program: installed; in the sources; in a build folder of the
 * sources; a level below. */
static const char *const folders[] = {"../share/" PACKAGE "/params/machines", "params/machines", "../params/machines",
                                      "../../params/machines"};
enum { FOLDERS = sizeof folders / sizeof *folders };

static int is_ini(const char *name)
{
  size_t n = strlen(name);
  return n > 4 && strcmp(name + n - 4, ".ini") == 0;
}

static int is_path(const char *name)
{
  struct stat st;
  return strchr(name, '/') || is_ini(name) || (stat(name, &st) == 0 && !S_ISDIR(st.st_mode));
}

/* Folder of the program, without a '/' at its end: 0; -1 where the system does not tell. */
static int program_folder(char *path, size_t capacity)
{
  ssize_t n = readlink("/proc/self/exe", path, capacity - 1);
  if (n <= 0) return -1;
  path[n] = '\0';
  char *last = strrchr(path, '/');
  if (!last) return -1;
  *last = '\0';
  return 0;
}

static int chosen(const struct dirent *entry) { return is_ini(entry->d_name); }

/* "a, b, c": the machine files of a folder. */
static void list_names(const char *folder, char *text, size_t capacity)
{
  struct dirent **entries;
  int n = scandir(folder, &entries, chosen, alphasort);
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < n; i++) {
    int length = (int)strlen(entries[i]->d_name) - 4;
    if (used < capacity)
      used += (size_t)snprintf(text + used, capacity - used, "%s%.*s", i ? ", " : "", length, entries[i]->d_name);
    free(entries[i]);
  }
  if (n >= 0) free(entries);
}

/* The only machine file of a folder whose name begins with `name`: its path; -1: there is none, or there are
 * several. */
static int only_one(const char *folder, const char *name, char *path, size_t capacity)
{
  struct dirent **entries;
  int n = scandir(folder, &entries, chosen, alphasort), found = 0;
  for (int i = 0; i < n; i++) {
    if (*name && strncmp(entries[i]->d_name, name, strlen(name)) == 0) {
      int length = snprintf(path, capacity, "%s/%s", folder, entries[i]->d_name);
      found += length > 0 && (size_t)length < capacity ? 1 : 2;
    }
    free(entries[i]);
  }
  if (n >= 0) free(entries);
  return found == 1 ? 0 : -1;
}

int machine_file(const char *name, char *path, size_t capacity, struct fault *fault)
{
  char program[PATH_MAX], folder[2 * PATH_MAX], names[512];
  struct stat st;
  if (is_path(name)) {
    if ((size_t)snprintf(path, capacity, "%s", name) >= capacity)
      return fault_set(fault, "%.60s...: the path of the machine file is too long", name);
    return 0;
  }
  if (program_folder(program, sizeof program))
    return fault_set(fault, "%s: expected a machine file; its folder is not known, so give a path", name);
  for (int k = 0; k < FOLDERS; k++) {
    snprintf(folder, sizeof folder, "%s/%s", program, folders[k]);
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) continue;
    int length = snprintf(path, capacity, "%s/%s.ini", folder, name);
    if (length > 0 && (size_t)length < capacity && stat(path, &st) == 0) return 0;
    if (only_one(folder, name, path, capacity) == 0) return 0;
    list_names(folder, names, sizeof names);
    return fault_set(fault, "%s: expected a machine file or the name of one: %s", name, names);
  }
  return fault_set(
      fault, "%s: expected a machine file; there is no folder of them at %s/%s nor in params/machines of the sources",
      name, program, folders[0]);
}
