/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots of a future that a restart discards: they leave the way of those to come, and nothing is lost. */
#include <config.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "initial.h"
#include "memory.h"
#include "snapshot_parts.h"

enum { NAME = PIECE_NAME, ATTEMPTS = 100000, NAMED = 8 };

static int ascending(const void *a, const void *b)
{
  long long one = *(const long long *)a, two = *(const long long *)b;
  return (one > two) - (one < two);
}

/* The numbers from `first` on of files BASE_NNN.hdf5, ascending. Owner: caller (memory_free). */
static long long *list_numbers(const char *folder, const char *base, long long first, int *count)
{
  long long *list = NULL, number;
  const char *rest;
  *count = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    number = snapshot_number(e->d_name, base, &rest);
    if (number < first || strcmp(rest, ".hdf5") != 0) continue;
    if (*count % 64 == 0) list = memory_resize("snapshot", list, sizeof *list * (size_t)(*count + 64));
    list[(*count)++] = number;
  }
  if (d) closedir(d);
  if (*count) qsort(list, (size_t)*count, sizeof *list, ascending);
  return list;
}

int snapshot_last(const char *folder, const char *base, char *path, size_t size)
{
  int count;
  long long *list = list_numbers(folder, base, 0, &count);
  if (count) snprintf(path, size, "%s/%s_%03lld.hdf5", folder, base, list[count - 1]);
  memory_free(list);
  return count ? 0 : -1;
}

/* What its header states; NAN of a file that is not whole. */
static double time_of(const char *folder, const char *base, long long number)
{
  char path[NAME];
  struct initial_facts facts;
  struct fault ignored = {""};
  snprintf(path, sizeof path, "%s/%s_%03lld.hdf5", folder, base, number);
  return initial_inspect(path, FORMAT_HDF5, &facts, &ignored) == 0 ? facts.time : NAN;
}

/* FOLDER/discarded/NNN, the first that is not there, is made. */
static int make_folder(const char *folder, char path[NAME], struct fault *f)
{
  char above[NAME];
  snprintf(above, sizeof above, "%.*s/discarded", NAME - 64, folder);
  if (folder_make(above, "OutputDir", f)) return -1;
  for (int k = 1; k < ATTEMPTS; k++) {
    snprintf(path, NAME, "%.*s/%03d", NAME - 32, above, k);
    if (mkdir(path, 0777) == 0) return 0;
    if (errno != EEXIST) break;
  }
  return fault_set(f, "the folder %s cannot be made: %s", path, strerror(errno));
}

static int move(const char *folder, const char *name, const char *to, struct fault *f)
{
  char here[NAME], there[NAME];
  snprintf(here, sizeof here, "%.*s/%.500s", NAME - 512, folder, name);
  snprintf(there, sizeof there, "%.*s/%.500s", NAME - 512, to, name);
  if (rename(here, there) == 0) return 0;
  return errno == ENOENT ? 0 : fault_set(f, "%s cannot be moved to %s: %s", here, there, strerror(errno));
}

/* The file, what describes it, and the folder that its datasets may lie in, which it names relative to itself. */
static int move_one(const char *folder, const char *base, long long number, const char *to, struct fault *f)
{
  char name[512], piece[NAME];
  snprintf(piece, sizeof piece, "%.*s/snapdir_%03lld/%.400s_%03lld.0.hdf5", NAME - 600, folder, number, base, number);
  snprintf(name, sizeof name, "snapdir_%03lld", number);
  if (access(piece, F_OK) == 0 && move(folder, name, to, f)) return -1;
  snprintf(name, sizeof name, "%.450s_%03lld.xmf", base, number);
  if (move(folder, name, to, f)) return -1;
  snprintf(name, sizeof name, "%.450s_%03lld.hdf5", base, number);
  return move(folder, name, to, f);
}

static void tell(const char *base, const long long *number, int count, const char *to)
{
  printf("restart: %d snapshot%s from behind the checkpoint, which will not come again, %s now in %s:", count, plural(count),
         count == 1 ? "is" : "are", to);
  for (int k = 0; k < count; k++) {
    if (count > NAMED && k == NAMED - 1) printf(" ...,");
    if (count > NAMED && k >= NAMED - 1 && k < count - 1) continue;
    printf(" %s_%03lld%s", base, number[k], k < count - 1 ? "," : "\n");
  }
}

/* The numbers of those that go, ascending. Owner: caller (memory_free). */
static long long *list_gone(const char *folder, const char *base, long long first, int (*stays)(const void *of, long long number, double time),
                            const void *of, int *gone)
{
  int count;
  long long *list = list_numbers(folder, base, first, &count);
  *gone = 0;
  for (int k = 0; k < count; k++)
    if (!stays(of, list[k], time_of(folder, base, list[k]))) list[(*gone)++] = list[k];
  return list;
}

int snapshot_to_discard(const char *folder, const char *base, long long first, int (*stays)(const void *of, long long number, double time),
                        const void *of)
{
  int gone;
  memory_free(list_gone(folder, base, first, stays, of, &gone));
  return gone;
}

int snapshot_discard(const char *folder, const char *base, long long first, int (*stays)(const void *of, long long number, double time),
                     const void *of)
{
  char to[NAME];
  struct fault f = {""};
  int gone, moved = 0;
  long long *list = list_gone(folder, base, first, stays, of, &gone);
  if (gone && make_folder(folder, to, &f) == 0) {
    while (moved < gone && move_one(folder, base, list[moved], to, &f) == 0) moved++;
    if (moved) tell(base, list, moved, to);
  }
  if (f.text[0]) fprintf(stderr, "espalier: warning: snapshots from behind the checkpoint cannot be moved away, and new ones will take the place of those with the same number: %s\n", f.text);
  memory_free(list);
  return moved;
}
