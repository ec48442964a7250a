/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing of a snapshot: one file of all ranks, or one file per group of ranks with a virtual file beside them. */
#include <config.h>
#include "io/snapshot/snapshot.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/memory.h"
#include "io/h5_file.h"
#include "io/snapshot/snapshot_file.h"

enum {
  PATH_LENGTH_MAX = SNAPSHOT_PATH - 600, /* several files: for the names of the folder and of a file behind a path */
  NAME_LENGTH_MAX = 255,
};

double snapshot_bytes(double particles, unsigned extras)
{
  const double metadata = 65536; /* 46 kB were measured for six types with all extras */
  double row = 0;
  for (int k = 0; k < column_count; k++)
    if (!columns[k].extra || (extras & columns[k].extra)) row += (double)columns[k].bytes;
  return metadata + particles * row;
}

/* Rank 0: whether `path` can be written and the disk has enough space. */
static int check_space(const char *path, const struct layout *layout, struct fault *fault)
{
  double particles = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++) particles += (double)layout->total[t];
  return h5_file_space("snapshot", path, snapshot_bytes(particles, layout->facts->extras), fault);
}

/* Write and verify a file under the name `temporary`; `path` is its final name, for messages. Collective; faults agree
 * on all ranks. */
static int write_file(const struct comm *comm, const char *path, const char *temporary, struct layout *layout,
                      const struct particles *particles, const struct snapshot_facts *facts, struct fault *fault)
{
  if (comm->rank == 0 && check_space(path, layout, fault) == 0) snapshot_create(temporary, layout, facts, NULL, fault);
  if (comm_verdict(comm, fault) != 0) return -1;
  snapshot_rows(comm, temporary, layout, particles, fault);
  if (comm_agree(comm, fault) != 0) return -1;
  snapshot_verify(comm, temporary, layout, fault);
  return comm_agree(comm, fault);
}

/* --- one file ---------------------------------------------------------------------------------------------------- */

static int write_one(const struct comm *comm, const char *path, struct layout *layout,
                     const struct particles *particles, const struct snapshot_facts *facts, struct fault *fault)
{
  char temporary[SNAPSHOT_PATH];
  snprintf(temporary, sizeof temporary, "%.*s.tmp", SNAPSHOT_PATH - H5_FILE_SUFFIX, path);
  int good = write_file(comm, path, temporary, layout, particles, facts, fault) == 0;
  if (comm->rank == 0 && good) h5_file_publish("snapshot", comm, path, temporary, fault);
  good = comm_verdict(comm, fault) == 0;
  if (comm->rank == 0 && !good) unlink(temporary);
  comm_barrier(comm); /* when any rank returns the temporary file no longer exists */
  return good ? 0 : -1;
}

/* --- several files ----------------------------------------------------------------------------------------------- */

/* Names of PARENT/BASE.hdf5, the virtual file, and of the files that it refers to. */
struct several {
  char parent[SNAPSHOT_PATH], base[NAME_LENGTH_MAX + 1];
  char folder[SNAPSHOT_PATH];    /* of the files: final name, */
  char temporary[SNAPSHOT_PATH]; /* while they are written, */
  char old[SNAPSHOT_PATH];       /* and of an earlier snapshot while it is replaced */
  char virtual[SNAPSHOT_PATH];   /* the virtual file while it is written */
};

/* The number that names the folder: the digits after the last '_'; without any, the whole name. */
static const char *number_of(const char *base)
{
  const char *last = strrchr(base, '_');
  size_t digits = 0;
  while (last && isdigit((unsigned char)last[1 + digits])) digits++;
  return digits && !last[1 + digits] ? last + 1 : base;
}

static int set_names(const char *path, struct several *several, struct fault *fault)
{
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
  size_t length = strlen(file), ending = length > 5 && strcmp(file + length - 5, ".hdf5") == 0 ? 5 : 0;
  if (strlen(path) > PATH_LENGTH_MAX || length > NAME_LENGTH_MAX)
    return fault_set(fault, "snapshot: the file name is longer than %d characters, or its path than %d",
                     NAME_LENGTH_MAX, PATH_LENGTH_MAX);
  h5_file_folder(path, several->parent);
  snprintf(several->base, sizeof several->base, "%.*s", (int)(length - ending), file);
  const char *number = number_of(several->base);
  snprintf(several->folder, SNAPSHOT_PATH, "%.*s/snapdir_%s", PATH_LENGTH_MAX, several->parent, number);
  snprintf(several->temporary, SNAPSHOT_PATH, "%.*s/snapdir_%s.tmp", PATH_LENGTH_MAX, several->parent, number);
  snprintf(several->old, SNAPSHOT_PATH, "%.*s/snapdir_%s.old", PATH_LENGTH_MAX, several->parent, number);
  snprintf(several->virtual, SNAPSHOT_PATH, "%.*s.tmp", PATH_LENGTH_MAX, path);
  return 0;
}

/* See struct virtual_sources. H5Pset_virtual reads "%%" in a file name as "%". */
static const char *source_name(const void *of, int k, char *text)
{
  const struct several *n = of;
  char plain[SNAPSHOT_PATH];
  size_t at = 0;
  snprintf(plain, sizeof plain, "%s/%s.%d.hdf5", strrchr(n->folder, '/') + 1, n->base, k);
  for (const char *c = plain; *c && at < SNAPSHOT_PATH - 2; c++) {
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

/* Rank 0: remove a folder if it holds only HDF5 files, and anything that is no folder. */
static void drop_folder(const char *path)
{
  struct fault ignored = {""};
  if (unlink(path) != 0) folder_drop(path, is_hdf5, NULL, &ignored);
}

/* Rank 0: an empty folder for the files. */
static int prepare_folder(const char *path, const struct several *several, const struct layout *layout,
                          struct fault *fault)
{
  struct stat st;
  if (check_space(path, layout, fault) != 0) return -1;
  if (stat(several->folder, &st) == 0 && !S_ISDIR(st.st_mode))
    return fault_set(fault, "snapshot %s: %s is not a directory", path, several->folder);
  drop_folder(several->temporary); /* of a run that was killed */
  if (mkdir(several->temporary, 0777) != 0)
    return fault_set(fault, "snapshot %s: the folder %s cannot be created: %s", path, several->temporary,
                     strerror(errno));
  return 0;
}

/* The group of this rank writes its file. count[group] becomes the particles by type on rank 0 of the group. Collective
 * over all ranks; faults are set only in the groups where they occur. */
static void write_group(const struct comm *comm, int group, int groups, const struct several *several,
                        const struct layout *whole, const struct particles *particles,
                        const struct snapshot_facts *facts, int64_t (*count)[PARTICLE_TYPES], struct fault *fault)
{
  char path[SNAPSHOT_PATH];
  struct comm part;
  struct layout l;
  MPI_Comm ranks;
  MPI_Comm_split(comm->mpi, group, comm->rank, &ranks);
  comm_open(&part, ranks);
  part.largest_message = comm->largest_message;
  MPI_Comm_free(&ranks);
  layout_open(&l, &part, particles, facts);
  l.files = groups;
  memcpy(l.all, whole->total, sizeof l.all);
  snprintf(path, sizeof path, "%.*s/%s.%d.hdf5", SNAPSHOT_PATH - 300, several->temporary, several->base, group);
  write_file(&part, path, path, &l, particles, facts, fault);
  if (part.rank == 0) memcpy(count[group], l.total, sizeof l.total);
  layout_close(&l);
  comm_close(&part);
}

/* Rank 0: give the folder of an earlier snapshot its name back. Where that fails too, its virtual file would refer to
 * nothing, and is removed. Returns what to say about it. */
static const char *restore_folder(const char *path, const struct several *several)
{
  if (h5_file_move(several->old, several->folder) == 0) return "";
  unlink(path);
  return "; the files of the earlier snapshot of this name are now in its folder with .old, without a virtual file";
}

/* Rank 0: flush the folder of the verified files, then rename it and the virtual file. If that fails the earlier
 * snapshot is restored. */
static int publish_several(const struct comm *comm, const char *path, const struct several *several,
                           struct fault *fault)
{
  if (folder_flush(several->temporary, fault) != 0) return -1;
  drop_folder(several->old);
  int replaces = h5_file_move(several->folder, several->old) == 0;
  if (!replaces && errno != ENOENT)
    return fault_set(fault, "snapshot %s: moving %s away failed: %s", path, several->folder, strerror(errno));
  int renamed = h5_file_move(several->temporary, several->folder) == 0;
  if (!renamed || h5_file_move(several->virtual, path) != 0) {
    int cause = errno;
    if (renamed) drop_folder(several->folder);
    const char *earlier = replaces ? restore_folder(path, several) : "";
    if (renamed)
      return fault_set(fault, "snapshot %s: renaming %s to it failed: %s%s", path, several->virtual, strerror(cause),
                       earlier);
    return fault_set(fault, "snapshot %s: renaming %s to %s failed: %s%s", path, several->temporary, several->folder,
                     strerror(cause), earlier);
  }
  drop_folder(several->old);
  h5_file_flush_name("snapshot", comm, path, several->parent);
  return 0;
}

static int write_several(const struct comm *comm, const char *path, struct layout *layout,
                         const struct particles *particles, const struct snapshot_facts *facts, struct fault *fault)
{
  struct several n;
  int groups = facts->files < comm->size ? facts->files : comm->size,
      group = (int)((int64_t)comm->rank * groups / comm->size);
  if (set_names(path, &n, fault) == 0 && comm->rank == 0) prepare_folder(path, &n, layout, fault);
  if (comm_agree(comm, fault) != 0) return -1;
  int64_t(*count)[PARTICLE_TYPES] = memory_alloc("snapshot", sizeof *count * (size_t)groups);
  write_group(comm, group, groups, &n, layout, particles, facts, count, fault);
  comm_agree(comm, fault);
  comm_sum_int64(comm, count[0], groups * PARTICLE_TYPES);
  if (comm->rank == 0) {
    const struct virtual_sources sources = {groups, (const int64_t(*)[PARTICLE_TYPES])count, source_name, &n};
    int good = !fault->text[0] && snapshot_create(n.virtual, layout, facts, &sources, fault) == 0 &&
               snapshot_verify_metadata(n.virtual, layout, fault) == 0 && publish_several(comm, path, &n, fault) == 0;
    if (!good) {
      unlink(n.virtual);
      drop_folder(n.temporary);
    }
  }
  memory_free(count);
  return comm_verdict(comm, fault); /* when any rank returns the temporary files no longer exist */
}

/* ----------------------------------------------------------------------------------------------------------------- */

int snapshot_write(const struct comm *comm, const char *path, const struct particles *particles,
                   const struct snapshot_facts *facts, struct fault *fault)
{
  struct layout l;
  h5_quiet();
  layout_open(&l, comm, particles, facts);
  int status = facts->files > 1 ? write_several(comm, path, &l, particles, facts, fault)
                                : write_one(comm, path, &l, particles, facts, fault);
  layout_close(&l);
  return status;
}
