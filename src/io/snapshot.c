/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "folders.h"
#include "h5.h"
#include "snapshot_parts.h"

enum { NAME = PIECE_NAME };

double snapshot_bytes(double particles, unsigned extras)
{
  const double metadata = 65536;   /* 36 kB were measured for six types with all extras */
  double row = 0;
  for (int k = 0; k < column_count; k++)
    if (!columns[k].extra || (extras & columns[k].extra)) row += (double)columns[k].bytes;
  return metadata + particles * row;
}

void snapshot_folder(const char *path, char *folder)
{
  snprintf(folder, NAME, "%s", path);
  char *slash = strrchr(folder, '/');
  if (!slash)
    strcpy(folder, ".");
  else
    slash[slash == folder] = 0;
}

int snapshot_ask(const char *path, const struct layout *l, struct fault *f)
{
  char folder[NAME];
  struct stat st;
  struct statvfs fs;
  double particles = 0;
  if (strlen(path) > NAME - 8) return fault_set(f, "snapshot: the file's name is longer than %d characters", NAME - 8);
  snapshot_folder(path, folder);
  if (stat(folder, &st) != 0) return fault_set(f, "snapshot %s: %s: %s", path, folder, strerror(errno));
  if (!S_ISDIR(st.st_mode)) return fault_set(f, "snapshot %s: %s is not a directory", path, folder);
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
    return fault_set(f, "snapshot %s: the name is taken by something that is no regular file", path);
  for (int t = 0; t < PARTICLE_TYPES; t++) particles += (double)l->total[t];
  double needed = 1.1 * snapshot_bytes(particles, l->extras) + 1e6;
  if (statvfs(folder, &fs) != 0) return fault_set(f, "snapshot %s: %s: %s", path, folder, strerror(errno));
  double space = (double)fs.f_bavail * (double)fs.f_frsize;
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (double)limit.rlim_cur < needed)
    return fault_set(f, "snapshot %s: files may not be larger than %.1f MB here (ulimit -f), but %.1f MB are needed", path,
                     (double)limit.rlim_cur / 1e6, needed / 1e6);
  if (space < needed)
    return fault_set(f, "snapshot %s: the disk has %.1f MB free, but %.1f MB are needed (1.1 times the file and 1 MB)", path,
                     space / 1e6, needed / 1e6);
  return 0;
}

/* Rank 0: reserve the blocks now, so that a disk that fills up meanwhile is met here and not while rows are written. */
static int reserve(const char *path, struct fault *f)
{
  struct stat st;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) {
    fault_set(f, "snapshot %s: %s", path, strerror(errno));
  } else if (fallocate(fd, 0, 0, st.st_size) != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
    fault_set(f, "snapshot %s: no room for its %.1f MB: %s", path, (double)st.st_size / 1e6, strerror(errno));
  }
  if (fd >= 0 && close(fd) != 0) fault_set(f, "snapshot %s: %s", path, strerror(errno));
  return f->text[0] ? -1 : 0;
}

/* Rank 0: the file under its temporary name, complete but for the rows. */
static int prepare(const char *path, const char *temporary, const struct layout *l, const struct snapshot_facts *facts,
                   int *made, struct fault *f)
{
  if (snapshot_ask(path, l, f) != 0) return -1;
  /* HDF5's own words for what the system refuses are long and vague. */
  int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return fault_set(f, "snapshot %s cannot be created: %s", temporary, strerror(errno));
  *made = 1;
  close(fd);
  return snapshot_create(temporary, l, facts, NULL, f) == 0 ? reserve(temporary, f) : -1;
}

/* Rank 0: the verified file gets its name. */
static int publish(const char *path, const char *temporary, struct fault *f)
{
  char folder[NAME];
  if (rename(temporary, path) != 0)
    return fault_set(f, "snapshot %s: renaming %s to it failed: %s", path, temporary, strerror(errno));
  snapshot_folder(path, folder);
  return folder_flush(folder, f);
}

int snapshot_file(const struct comm *c, const char *path, const char *temporary, const struct layout *l, const struct particles *p,
                  const struct snapshot_facts *facts, int *made, struct fault *f)
{
  if (c->rank == 0) prepare(path, temporary, l, facts, made, f);
  if (comm_verdict(c, f) != 0) return -1;
  snapshot_rows(c, temporary, l, p, f);
  if (comm_agree(c, f) != 0) return -1;
  snapshot_verify(c, temporary, l, f);
  return comm_agree(c, f);
}

/* The only file. */
static int write_one(const struct comm *c, const char *path, const struct layout *l, const struct particles *p,
                     const struct snapshot_facts *facts, struct fault *f)
{
  char temporary[NAME];
  int made = 0;
  snprintf(temporary, sizeof temporary, "%.*s.tmp", NAME - 8, path);
  int good = snapshot_file(c, path, temporary, l, p, facts, &made, f) == 0;
  if (c->rank == 0 && good) publish(path, temporary, f);
  good = comm_verdict(c, f) == 0;
  if (made && !good) unlink(temporary);
  comm_barrier(c);   /* no rank returns while the temporary file is still there */
  return good ? 0 : -1;
}

/* Rank 0: a file beside the snapshot, which is there and good; that it is missing must not make anybody write the snapshot again. */
static void describe(const char *path, const struct layout *l, const struct snapshot_facts *facts)
{
  struct fault f = {""};
  if (snapshot_xdmf(path, l, facts, &f) == 0) return;
  fflush(stdout);
  fprintf(stderr, "espalier: warning: %s\n", f.text);
}

int snapshot_write(const struct comm *c, const char *path, const struct particles *p, const struct snapshot_facts *facts,
                   struct fault *f)
{
  struct layout l;
  h5_quiet();
  layout_open(&l, c, p, facts->extras);
  int bad = facts->files > 1 ? snapshot_files(c, path, &l, p, facts, f) : write_one(c, path, &l, p, facts, f);
  if (!bad && facts->xdmf) {
    if (c->rank == 0) describe(path, &l, facts);
    comm_barrier(c);   /* it is there when any rank returns */
  }
  layout_close(&l);
  return bad ? -1 : 0;
}
