/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The snapshots in a folder: which files belong to them, and their removal and move. */
#include <config.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/memory.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot_file.h"

enum {
  NUMBER_SIZE = 32,
  FOLDERS_MAX = 100000, /* discarded/NNN */
  LISTED_MAX = 8,       /* snapshots in the message of a move */
};

/* --- names ------------------------------------------------------------------------------------------------------- */

/* Length of a snapshot number, as "%03d" writes it, at the start of `at`; 0 if there is none. */
static size_t number_length(const char *at)
{
  size_t n = strspn(at, "0123456789");
  return n == 3 || (n > 3 && n < NUMBER_SIZE && at[0] != '0') ? n : 0;
}

/* NNN in a name BASE_NNN..., and its length; NULL for other names. */
static const char *number_in(const char *name, const char *base, size_t *length)
{
  size_t n = strlen(base);
  if (strncmp(name, base, n) != 0 || name[n] != '_') return NULL;
  *length = number_length(name + n + 1);
  return *length ? name + n + 1 : NULL;
}

/* The number of BASE_NNN.hdf5; -1 for other names. */
static long long snapshot_number(const char *name, const char *base)
{
  size_t length;
  const char *number = number_in(name, base, &length);
  return number && length < 19 && strcmp(number + length, ".hdf5") == 0 ? atoll(number) : -1;
}

/* BASE_NNN.hdf5 or BASE_NNN.xmf, or the catalogue of its groups. */
static int is_snapshot(const char *name, const char *base)
{
  size_t length;
  if (snapshot_number(name, "fof") >= 0) return 1;
  const char *number = number_in(name, base, &length);
  return number && (strcmp(number + length, ".hdf5") == 0 || strcmp(number + length, ".xmf") == 0);
}

/* The files of one snapshot in snapdir_NNN. */
struct part_names {
  const char *base;
  char number[NUMBER_SIZE]; /* NNN */
};

/* BASE_NNN.K.hdf5 in snapdir_NNN; `of`: struct part_names. */
static int is_part(const char *name, const void *of)
{
  const struct part_names *n = of;
  size_t length;
  const char *number = number_in(name, n->base, &length);
  if (!number || length != strlen(n->number) || strncmp(number, n->number, length) != 0 || number[length] != '.')
    return 0;
  const char *k = number + length + 1;
  size_t digits = strspn(k, "0123456789");
  return digits > 0 && strcmp(k + digits, ".hdf5") == 0;
}

/* snapdir_NNN; stores NNN. */
static int is_folder(const char *name, struct part_names *names)
{
  if (strncmp(name, "snapdir_", 8) != 0) return 0;
  size_t length = number_length(name + 8);
  if (!length || name[8 + length]) return 0;
  snprintf(names->number, sizeof names->number, "%s", name + 8);
  return 1;
}

/* Call `visit` for each BASE_NNN.hdf5 and BASE_NNN.xmf (`parts` NULL), and for each snapdir_NNN (`parts`: the names of
 * the files in it). Listing and removal use it alike, so only listed files are removed. */
static void for_each(const char *folder, const char *base,
                     void (*visit)(void *to, const char *path, const struct part_names *parts), void *to)
{
  char path[SNAPSHOT_PATH];
  struct part_names parts = {.base = base};
  DIR *d = opendir(folder);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    int has_parts = is_folder(e->d_name, &parts);
    if (!has_parts && !is_snapshot(e->d_name, base)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    visit(to, path, has_parts ? &parts : NULL);
  }
  if (d) closedir(d);
}

/* --- listing ----------------------------------------------------------------------------------------------------- */

struct listing {
  struct snapshot_names *names;
  size_t capacity;
};

static void add_name(struct listing *listing, const char *path)
{
  struct snapshot_names *n = listing->names;
  size_t length = strlen(path) + 1;
  if (n->count == listing->capacity)
    n->path = memory_resize("snapshot", n->path, sizeof *n->path * (listing->capacity = 2 * listing->capacity + 16));
  n->path[n->count] = memcpy(memory_alloc("snapshot", length), path, length);
  n->count++;
}

static void list(void *to, const char *path, const struct part_names *parts)
{
  char part[SNAPSHOT_PATH];
  if (!parts) {
    add_name(to, path);
    return;
  }
  DIR *d = opendir(path);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    if (!is_part(e->d_name, parts)) continue;
    snprintf(part, sizeof part, "%.3000s/%s", path, e->d_name);
    add_name(to, part);
  }
  if (d) closedir(d);
}

void snapshot_list(const char *folder, const char *base, struct snapshot_names *names)
{
  struct listing l = {.names = names};
  *names = (struct snapshot_names){NULL, 0};
  for_each(folder, base, list, &l);
}

void snapshot_names_free(struct snapshot_names *names)
{
  for (size_t k = 0; k < names->count; k++) memory_free(names->path[k]);
  memory_free(names->path);
  *names = (struct snapshot_names){NULL, 0};
}

/* --- removal ----------------------------------------------------------------------------------------------------- */

/* Whether `file`, after symbolic links are resolved, is in `folder`. */
static int is_in_folder(const char *file, const char *folder)
{
  struct stat one, other;
  char *path = realpath(file, NULL), *slash = path ? strrchr(path, '/') : NULL;
  if (slash) slash[slash == path] = 0;
  int same = slash && stat(path, &one) == 0 && stat(folder, &other) == 0 && one.st_dev == other.st_dev &&
             one.st_ino == other.st_ino;
  free(path);
  return same;
}

/* `to`: int, whether folders are removed. */
static void drop(void *to, const char *path, const struct part_names *parts)
{
  const int *folders = to;
  struct stat st;
  struct fault ignored = {""};
  if (lstat(path, &st)) return;
  if (parts && *folders && S_ISDIR(st.st_mode)) folder_drop(path, is_part, parts, &ignored);
  else if (!parts && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))) unlink(path);
}

void snapshot_remove_all(const char *folder, const char *base, const char *input)
{
  int folders = !is_in_folder(input, folder);
  for_each(folder, base, drop, &folders);
}

/* --- by number --------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
  long long one = *(const long long *)a, two = *(const long long *)b;
  return (one > two) - (one < two);
}

/* The numbers of BASE_NNN.hdf5 that are at least `first`, ascending. Free with memory_free. */
static long long *list_numbers(const char *folder, const char *base, long long first, int *count)
{
  long long *numbers = NULL;
  *count = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    long long number = snapshot_number(e->d_name, base);
    if (number < 0 || number < first) continue;
    if (*count % 64 == 0) numbers = memory_resize("snapshot", numbers, sizeof *numbers * (size_t)(*count + 64));
    numbers[(*count)++] = number;
  }
  if (d) closedir(d);
  if (*count) qsort(numbers, (size_t)*count, sizeof *numbers, ascending);
  return numbers;
}

int snapshot_last(const char *folder, const char *base, char *path, size_t size)
{
  int count;
  long long *numbers = list_numbers(folder, base, 0, &count);
  if (count) snprintf(path, size, "%s/%s_%03lld.hdf5", folder, base, numbers[count - 1]);
  memory_free(numbers);
  return count ? 0 : -1;
}

/* --- discarding -------------------------------------------------------------------------------------------------- */

/* The time in the header; NAN if the file is damaged. */
static double header_time(const char *folder, const char *base, long long number)
{
  char path[SNAPSHOT_PATH];
  struct initial_facts facts;
  struct fault ignored = {""};
  snprintf(path, sizeof path, "%s/%s_%03lld.hdf5", folder, base, number);
  return initial_inspect(path, FORMAT_HDF5, &facts, &ignored) == 0 ? facts.time : NAN;
}

/* The numbers of the snapshots that do not stay, ascending. Free with memory_free. */
static long long *list_discarded(const char *folder, const char *base, long long first, snapshot_stays *stays,
                                 const void *of, int *count)
{
  int all;
  long long *numbers = list_numbers(folder, base, first, &all);
  *count = 0;
  for (int k = 0; k < all; k++)
    if (!stays(of, numbers[k], header_time(folder, base, numbers[k]))) numbers[(*count)++] = numbers[k];
  return numbers;
}

/* Create folder/discarded/NNN with the first free number. */
static int create_folder(const char *folder, char path[SNAPSHOT_PATH], struct fault *fault)
{
  char parent[SNAPSHOT_PATH];
  snprintf(parent, sizeof parent, "%.*s/discarded", SNAPSHOT_PATH - 64, folder);
  if (folder_make(parent, "OutputDir", fault)) return -1;
  for (int k = 1; k < FOLDERS_MAX; k++) {
    snprintf(path, SNAPSHOT_PATH, "%.*s/%03d", SNAPSHOT_PATH - 32, parent, k);
    if (mkdir(path, 0777) == 0) return 0;
    if (errno != EEXIST) break;
  }
  return fault_set(fault, "the folder %s cannot be created: %s", path, strerror(errno));
}

/* A file that does not exist is no fault. */
static int move(const char *folder, const char *name, const char *to, struct fault *fault)
{
  char here[SNAPSHOT_PATH], there[SNAPSHOT_PATH];
  snprintf(here, sizeof here, "%.*s/%.500s", SNAPSHOT_PATH - 512, folder, name);
  snprintf(there, sizeof there, "%.*s/%.500s", SNAPSHOT_PATH - 512, to, name);
  if (rename(here, there) == 0) return 0;
  return errno == ENOENT ? 0 : fault_set(fault, "%s cannot be moved to %s: %s", here, there, strerror(errno));
}

/* BASE_NNN.hdf5, BASE_NNN.xmf, fof_NNN.hdf5 and snapdir_NNN. The first refers to the last by a relative name, so they
 * stay together. */
static int move_snapshot(const char *folder, const char *base, long long number, const char *to, struct fault *fault)
{
  char name[512], part[SNAPSHOT_PATH];
  snprintf(part, sizeof part, "%.*s/snapdir_%03lld/%.400s_%03lld.0.hdf5", SNAPSHOT_PATH - 600, folder, number, base,
           number);
  snprintf(name, sizeof name, "snapdir_%03lld", number);
  if (access(part, F_OK) == 0 && move(folder, name, to, fault)) return -1;
  snprintf(name, sizeof name, "%.450s_%03lld.xmf", base, number);
  if (move(folder, name, to, fault)) return -1;
  snprintf(name, sizeof name, "fof_%03lld.hdf5", number);
  if (move(folder, name, to, fault)) return -1;
  snprintf(name, sizeof name, "%.450s_%03lld.hdf5", base, number);
  return move(folder, name, to, fault);
}

static void report_moved(const char *base, const long long *number, int count, const char *to)
{
  printf("restart: %d snapshot%s later than the checkpoint, which this run will not write again, %s now in %s:", count,
         plural(count), count == 1 ? "is" : "are", to);
  for (int k = 0; k < count; k++) {
    if (count > LISTED_MAX && k == LISTED_MAX - 1) printf(" ...,");
    if (count > LISTED_MAX && k >= LISTED_MAX - 1 && k < count - 1) continue;
    printf(" %s_%03lld%s", base, number[k], k < count - 1 ? "," : "\n");
  }
}

int snapshot_to_discard(const char *folder, const char *base, long long first, snapshot_stays *stays, const void *of)
{
  int count;
  memory_free(list_discarded(folder, base, first, stays, of, &count));
  return count;
}

int snapshot_discard(const char *folder, const char *base, long long first, snapshot_stays *stays, const void *of)
{
  char to[SNAPSHOT_PATH];
  struct fault f = {""};
  int count, moved = 0;
  long long *numbers = list_discarded(folder, base, first, stays, of, &count);
  if (count && create_folder(folder, to, &f) == 0) {
    while (moved < count && move_snapshot(folder, base, numbers[moved], to, &f) == 0) moved++;
    if (moved) report_moved(base, numbers, moved, to);
  }
  if (f.text[0])
    fprintf(stderr,
            "espalier: warning: snapshots later than the checkpoint cannot be moved, and new ones with the same "
            "numbers will "
            "replace them: %s\n",
            f.text);
  memory_free(numbers);
  return moved;
}
