/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The snapshots of an earlier run: which they are, and that they are gone before a new one with the same names begins. */
#include <config.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "memory.h"
#include "snapshot_parts.h"

enum { NUMBER = 32, PATH = 4096 };

/* What the names of an earlier run's files begin with. */
struct earlier {
  const char *base;
  char number[NUMBER];   /* of the folder that is looked at, as text */
};

/* How many characters at `at` are a snapshot's number as "%03d" writes it; 0: it is none. */
static size_t number_length(const char *at)
{
  size_t n = strspn(at, "0123456789");
  return n == 3 || (n > 3 && n < NUMBER && at[0] != '0') ? n : 0;
}

/* The place of NNN in BASE_NNN..., and its length; or NULL. */
static const char *number_in(const char *name, const char *base, size_t *length)
{
  size_t n = strlen(base);
  if (strncmp(name, base, n) != 0 || name[n] != '_') return NULL;
  *length = number_length(name + n + 1);
  return *length ? name + n + 1 : NULL;
}

long long snapshot_number(const char *name, const char *base, const char **rest)
{
  size_t length;
  const char *number = number_in(name, base, &length);
  *rest = number ? number + length : name;
  return number && length < 19 ? atoll(number) : -1;
}

/* BASE_NNN.hdf5 or BASE_NNN.xmf. */
static int is_snapshot(const char *name, const char *base)
{
  size_t length;
  const char *number = number_in(name, base, &length);
  return number && (strcmp(number + length, ".hdf5") == 0 || strcmp(number + length, ".xmf") == 0);
}

/* BASE_NNN.K.hdf5 in snapdir_NNN. */
static int is_piece(const char *name, const void *of)
{
  const struct earlier *e = of;
  size_t length;
  const char *number = number_in(name, e->base, &length);
  if (!number || length != strlen(e->number) || strncmp(number, e->number, length) != 0 || number[length] != '.') return 0;
  const char *k = number + length + 1;
  size_t digits = strspn(k, "0123456789");
  return digits > 0 && strcmp(k + digits, ".hdf5") == 0;
}

/* snapdir_NNN, whose number is noted. */
static int is_folder(const char *name, struct earlier *e)
{
  if (strncmp(name, "snapdir_", 8) != 0) return 0;
  size_t n = number_length(name + 8);
  if (!n || name[8 + n]) return 0;
  snprintf(e->number, sizeof e->number, "%s", name + 8);
  return 1;
}

/* The only way by which names are looked for, so that nothing is removed that was not looked at before: `see` is called with each
 * snapshot of one file, and with each folder of pieces. */
static void walk(const char *folder, struct earlier *of, void (*see)(void *to, const char *path, int is_folder), void *to)
{
  char path[PATH];
  DIR *d = opendir(folder);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    int pieces = is_folder(e->d_name, of);
    if (!pieces && !is_snapshot(e->d_name, of->base)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    see(to, path, pieces);
  }
  if (d) closedir(d);
}

/* --- listing ----------------------------------------------------------------------------------------------------- */

struct listing {
  struct earlier of;
  struct snapshot_names *names;
  size_t room;
};

static void add(struct listing *l, const char *path)
{
  struct snapshot_names *n = l->names;
  size_t length = strlen(path) + 1;
  if (n->count == l->room) n->path = memory_resize("snapshot", n->path, sizeof *n->path * (l->room = 2 * l->room + 16));
  n->path[n->count] = memcpy(memory_alloc("snapshot", length), path, length);
  n->count++;
}

static void list(void *to, const char *path, int is_folder)
{
  struct listing *l = to;
  char piece[PATH];
  if (!is_folder) {
    add(l, path);
    return;
  }
  DIR *d = opendir(path);
  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    if (!is_piece(e->d_name, &l->of)) continue;
    snprintf(piece, sizeof piece, "%.3000s/%s", path, e->d_name);
    add(l, piece);
  }
  if (d) closedir(d);
}

void snapshot_list(const char *folder, const char *base, struct snapshot_names *names)
{
  struct listing l = {.of = {.base = base}, .names = names};
  *names = (struct snapshot_names){NULL, 0};
  walk(folder, &l.of, list, &l);
}

void snapshot_names_free(struct snapshot_names *names)
{
  for (size_t k = 0; k < names->count; k++) memory_free(names->path[k]);
  memory_free(names->path);
  *names = (struct snapshot_names){NULL, 0};
}

/* --- removing ---------------------------------------------------------------------------------------------------- */

/* By whatever name `file` is called. */
static int stands_in(const char *file, const char *folder)
{
  struct stat one, other;
  char *path = realpath(file, NULL), *slash = path ? strrchr(path, '/') : NULL;
  if (slash) slash[slash == path] = 0;
  int same = slash && stat(path, &one) == 0 && stat(folder, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
  free(path);
  return same;
}

struct removal {
  struct earlier of;
  int folders;   /* may go */
};

static void drop(void *to, const char *path, int is_folder)
{
  struct removal *r = to;
  struct stat st;
  struct fault ignored = {""};
  if (lstat(path, &st)) return;
  if (is_folder && r->folders && S_ISDIR(st.st_mode)) folder_drop(path, is_piece, &r->of, &ignored);
  else if (!is_folder && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))) unlink(path);
}

void snapshot_remove_all(const char *folder, const char *base, const char *input)
{
  struct removal r = {.of = {.base = base}, .folders = !stands_in(input, folder)};
  walk(folder, &r.of, drop, &r);
}
