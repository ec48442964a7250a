/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshot in several files. Each group of ranks writes one as if it were alone; all stand in a folder that gets its name when
 * every one has been verified. Beside it comes a small file with virtual datasets, which reads like the single file. */
#include <config.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "memory.h"
#include "snapshot_parts.h"

enum { NAME = PIECE_NAME };

struct names {
  char parent[NAME], base[256];                       /* of PARENT/BASE.hdf5, the virtual file */
  char folder[NAME], fresh[NAME], stale[NAME];        /* of the files: in the end, while they are written, and what was there */
  char virtual[NAME];                                 /* the virtual file while it is written */
};

/* A length that leaves room for all that is put behind a path. */
enum { PATH_MOST = NAME - 600 };

/* The number that names the folder: the digits behind the last '_'; without any, the whole name. */
static const char *number_of(const char *base)
{
  const char *last = strrchr(base, '_');
  size_t digits = 0;
  while (last && isdigit((unsigned char)last[1 + digits])) digits++;
  return digits && !last[1 + digits] ? last + 1 : base;
}

static int make_names(const char *path, struct names *n, struct fault *f)
{
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
  size_t length = strlen(file), tail = length > 5 && strcmp(file + length - 5, ".hdf5") == 0 ? 5 : 0;
  if (strlen(path) > PATH_MOST || length >= sizeof n->base)
    return fault_set(f, "snapshot: the file's name is longer than 255 characters, or its path than %d", PATH_MOST);
  snapshot_folder(path, n->parent);
  snprintf(n->base, sizeof n->base, "%.*s", (int)(length - tail), file);
  const char *number = number_of(n->base);
  snprintf(n->folder, NAME, "%.*s/snapdir_%s", PATH_MOST, n->parent, number);
  snprintf(n->fresh, NAME, "%.*s/snapdir_%s.tmp", PATH_MOST, n->parent, number);
  snprintf(n->stale, NAME, "%.*s/snapdir_%s.old", PATH_MOST, n->parent, number);
  snprintf(n->virtual, NAME, "%.*s.tmp", PATH_MOST, path);
  return 0;
}

/* File `k`, as the virtual file names it: relative to its own folder. */
static const char *piece_name(const void *of, int k, char *text)
{
  const struct names *n = of;
  char plain[NAME];
  size_t at = 0;
  snprintf(plain, sizeof plain, "%s/%s.%d.hdf5", strrchr(n->folder, '/') + 1, n->base, k);
  for (const char *c = plain; *c && at < NAME - 2; c++) {
    if (*c == '%') text[at++] = '%';
    text[at++] = *c;
  }
  text[at] = 0;
  return text;
}

static int is_hdf5(const char *name, const void *unused)
{
  (void)unused;
  size_t n = strlen(name);
  return n > 5 && strcmp(name + n - 5, ".hdf5") == 0;
}

/* Rank 0: the folder, if nothing but such files is in it. */
static void drop_folder(const char *path)
{
  struct fault ignored = {""};
  folder_drop(path, is_hdf5, NULL, &ignored);
}

/* Rank 0: an empty folder for the files. */
static int prepare(const char *path, const struct names *n, const struct layout *l, struct fault *f)
{
  struct stat st;
  if (snapshot_ask(path, l, f) != 0) return -1;
  if (stat(n->folder, &st) == 0 && !S_ISDIR(st.st_mode)) return fault_set(f, "snapshot %s: %s is not a directory", path, n->folder);
  drop_folder(n->fresh);   /* of a run that was killed */
  if (mkdir(n->fresh, 0777) != 0) return fault_set(f, "snapshot %s: the folder %s cannot be made: %s", path, n->fresh, strerror(errno));
  return 0;
}

/* This rank's group writes its file; count[group] becomes its particles. Faults are set on some ranks only. Collective. */
static void write_group(const struct comm *c, int group, int groups, const struct names *n, const struct layout *whole,
                        const struct particles *p, const struct snapshot_facts *facts, int64_t (*count)[PARTICLE_TYPES], struct fault *f)
{
  char path[NAME];
  struct comm part;
  struct layout l;
  MPI_Comm ranks;
  int made = 0;
  MPI_Comm_split(c->mpi, group, c->rank, &ranks);
  comm_open(&part, ranks);
  part.largest_message = c->largest_message;
  MPI_Comm_free(&ranks);
  layout_open(&l, &part, p, facts->extras);
  l.files = groups;
  memcpy(l.all, whole->total, sizeof l.all);
  snprintf(path, sizeof path, "%.*s/%s.%d.hdf5", NAME - 300, n->fresh, n->base, group);
  snapshot_file(&part, path, path, &l, p, facts, &made, f);
  if (part.rank == 0) memcpy(count[group], l.total, sizeof l.total);
  layout_close(&l);
  comm_close(&part);
}

/* Rank 0: the names of the files are on the disk, then their folder and the virtual file get theirs. */
static int publish(const char *path, const struct names *n, struct fault *f)
{
  if (folder_flush(n->fresh, f) != 0) return -1;
  drop_folder(n->stale);
  int replaces = rename(n->folder, n->stale) == 0;
  if (!replaces && errno != ENOENT) return fault_set(f, "snapshot %s: moving %s away failed: %s", path, n->folder, strerror(errno));
  if (rename(n->fresh, n->folder) != 0) {
    fault_set(f, "snapshot %s: renaming %s to %s failed: %s", path, n->fresh, n->folder, strerror(errno));
    if (replaces) rename(n->stale, n->folder);
    return -1;
  }
  if (rename(n->virtual, path) != 0) {
    fault_set(f, "snapshot %s: renaming %s to it failed: %s", path, n->virtual, strerror(errno));
    drop_folder(n->folder);
    if (replaces) rename(n->stale, n->folder);
    return -1;
  }
  drop_folder(n->stale);
  return folder_flush(n->parent, f);
}

int snapshot_files(const struct comm *c, const char *path, const struct layout *l, const struct particles *p,
                   const struct snapshot_facts *facts, struct fault *f)
{
  struct names n;
  int groups = facts->files < c->size ? facts->files : c->size, group = (int)((int64_t)c->rank * groups / c->size);
  if (make_names(path, &n, f) == 0 && c->rank == 0) prepare(path, &n, l, f);
  if (comm_agree(c, f) != 0) return -1;
  int64_t(*count)[PARTICLE_TYPES] = memory_alloc("snapshot", sizeof *count * (size_t)groups);
  write_group(c, group, groups, &n, l, p, facts, count, f);
  comm_agree(c, f);
  comm_sum_int64(c, count[0], groups * PARTICLE_TYPES);
  if (c->rank == 0) {
    const struct pieces pieces = {groups, (const int64_t(*)[PARTICLE_TYPES])count, piece_name, &n};
    int good = !f->text[0] && snapshot_create(n.virtual, l, facts, &pieces, f) == 0 && publish(path, &n, f) == 0;
    if (!good) unlink(n.virtual), drop_folder(n.fresh);
  }
  memory_free(count);
  return comm_verdict(c, f);   /* and no rank returns while temporary files are still there */
}
