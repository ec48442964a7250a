/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots and checkpoints on a small file system: full_disk FOLDER, which holds about 2 MB. Started by
 * full_disk.sh. */
#include <config.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "checkpoint/checkpoint.h"
#include "files.h"
#include "io/snapshot/snapshot.h"
#include "io/snapshot/snapshot_file.h"

enum { MANY = 40000, FEW = 8000 };

static struct comm c;
static char path[512], filler[512];
static struct params par;
static const struct snapshot_facts facts = {.params = &par, .time = 1, .extras = 7};

static void report(int ok, const struct fault *fault, const char *what)
{
  if (c.rank == 0 && fault->text[0]) printf("# %s\n", fault->text);
  all_ok(&c, ok, what);
}

/* Rank 0 takes all but `leave` bytes. */
static void fill(long leave)
{
  MPI_Barrier(c.mpi);
  if (c.rank == 0) {
    struct statvfs fs;
    char zeros[4096] = {0};
    int fd = open(filler, O_WRONLY | O_CREAT | O_APPEND, 0666);
    statvfs(filler, &fs);
    for (long n = (long)(fs.f_bavail * fs.f_frsize) - leave; n > 0; n -= 4096)
      if (write(fd, zeros, 4096) <= 0) break;
    close(fd);
  }
  MPI_Barrier(c.mpi);
}

static void clear(void)
{
  MPI_Barrier(c.mpi);
  if (c.rank == 0) {
    unlink(filler);
    unlink(path);
  }
  MPI_Barrier(c.mpi);
}

static void too_large(void)
{
  struct particles p;
  struct fault f = {""};
  particles_make(&p, &c, MANY, 3);
  int ok = snapshot_write(&c, path, &p, &facts, &f) == -1 && strstr(f.text, "free");
  report(ok && access(path, F_OK) != 0, &f, "a snapshot larger than the disk is refused before anything is written");
  particles_free(&p);
}

static void keeps_older(void)
{
  struct particles p;
  struct fault f = {""};
  struct stat before, after;
  particles_make(&p, &c, 2000, 3);
  int ok = snapshot_write(&c, path, &p, &facts, &f) == 0 && stat(path, &before) == 0;
  fill(100000);
  ok &= snapshot_write(&c, path, &p, &facts, &f) == -1 && stat(path, &after) == 0;
  ok &= before.st_ino == after.st_ino && before.st_size == after.st_size;
  report(ok, &f, "with the disk full an older snapshot is kept");
  clear();
  particles_free(&p);
}

/* Groups of ranks ask for the space for their own files; here the disk has some, but not enough for all. */
static void keeps_older_files(void)
{
  struct particles p;
  struct fault f = {""}, g = {""};
  struct snapshot_facts several = facts;
  char inside[600];
  several.files = 2;
  particles_make(&p, &c, 2000, 3);
  int ok = snapshot_write(&c, path, &p, &several, &f) == 0;
  snprintf(inside, sizeof inside, "%.*s/snapdir_000", (int)(strrchr(path, '/') - path), path);
  int files = folder_files(inside);
  fill(100000);
  ok = snapshot_write(&c, path, &p, &several, &g) == -1 && ok && folder_files(inside) == files &&
       access(path, F_OK) == 0;
  report(ok, &g, "with the disk full an older snapshot in several files is kept");
  clear();
  folder_remove(&c, inside);
  MPI_Barrier(c.mpi);
  particles_free(&p);
}

/* The steps of snapshot_write without its question for free space. */
static void layout_on_full(void)
{
  struct particles p;
  struct fault f = {""};
  struct layout l;
  particles_make(&p, &c, FEW, 3);
  layout_open(&l, &c, &p, &facts);
  fill(0);
  if (c.rank == 0) snapshot_create(path, &l, &facts, NULL, &f);
  report(comm_verdict(&c, &f) == -1, &f, "laying out the file on a full disk fails, and the program goes on");
  layout_close(&l);
  particles_free(&p);
  clear();
}

/* Take away the space that was reserved for the rows, as a file system without fallocate does. */
static void release(const struct layout *layout)
{
  if (c.rank == 0 && (truncate(path, (off_t)layout->image.size) || truncate(path, (off_t)layout->image.length)))
    MPI_Abort(c.mpi, 99);
}

static void rows_on_full(long leave, const char *what)
{
  struct particles p;
  struct fault f = {""};
  struct layout l;
  particles_make(&p, &c, FEW, 3);
  layout_open(&l, &c, &p, &facts);
  if (c.rank == 0) snapshot_create(path, &l, &facts, NULL, &f);
  int ok = comm_verdict(&c, &f) == 0;
  release(&l);
  fill(leave);
  snapshot_rows(&c, path, &l, &p, &f);
  ok &= comm_agree(&c, &f) == -1;
  report(ok, &f, what);
  layout_close(&l);
  particles_free(&p);
  clear();
}

/* What parallel I/O loses without a word is met in the comparison. */
static void lost_values(void)
{
  struct particles p;
  struct fault f = {""};
  struct layout l;
  particles_make(&p, &c, FEW, 3);
  layout_open(&l, &c, &p, &facts);
  if (c.rank == 0) snapshot_create(path, &l, &facts, NULL, &f);
  int ok = comm_verdict(&c, &f) == 0;
  snapshot_rows(&c, path, &l, &p, &f);
  ok &= comm_agree(&c, &f) == 0;
  if (c.rank == 0) {
    int fd = open(path, O_WRONLY);
    char zeros[2000] = {0};
    if (pwrite(fd, zeros, sizeof zeros, 300000) != sizeof zeros) ok = 0;
    close(fd);
  }
  MPI_Barrier(c.mpi);
  snapshot_verify(&c, path, &l, &f);
  ok &= comm_agree(&c, &f) == -1 && strstr(f.text, "read back");
  report(ok, &f, "values lost on the way to the disk are found when reading back");
  layout_close(&l);
  particles_free(&p);
  clear();
}

/* The part of a rank of a checkpoint. */
static void sections_on_full(void)
{
  struct particles p;
  struct fault f = {""};
  uint64_t sum;
  particles_make(&p, &c, FEW, 3);
  const struct section all[] = {
      {"pos", p.pos, 24 * (uint64_t)p.n}, {"vel", p.vel, 24 * (uint64_t)p.n}, {"filler", path, sizeof path}};
  fill(100000);
  char part[600];
  snprintf(part, sizeof part, "%s.part%d", path, c.rank);
  sections_write(part, all, 3, &sum, &f);
  int ok = comm_agree(&c, &f) == -1;
  unlink(part);
  report(ok && strstr(f.text, "No space left"), &f, "a part of a checkpoint on a disk that fills up is a fault");
  particles_free(&p);
  clear();
}

/* As a whole. */
static void checkpoint_on_full(void)
{
  struct particles p;
  struct fault f = {""};
  struct item none = {"nothing", ITEM_WHOLE, 0, NULL};
  struct checkpoint_content content = {1, "cpu", &none, 1, NULL, 0, NULL};
  struct checkpoint k;
  particles_make(&p, &c, 4000, 3);
  int ok = checkpoint_write(&c, &par, &content, &p, &f) == 0;
  fill(100000);
  content.number = 2;
  ok &= checkpoint_write(&c, &par, &content, &p, &f) == -1 && strstr(f.text, "free");
  report(ok, &f, "a checkpoint on a full disk is a fault");
  f.text[0] = 0;
  ok = checkpoint_find(&c, &par, NULL, &k, &f) == 0 && k.number == 1;
  report(ok, &f, "... and the one before is good");
  checkpoint_close(&k);
  particles_free(&p);
  clear();
  if (c.rank == 0) checkpoint_remove_all(&par);
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  if (argc < 2) MPI_Abort(c.mpi, 99);
  snprintf(path, sizeof path, "%s/full_000.hdf5", argv[1]);
  snprintf(filler, sizeof filler, "%s/filler", argv[1]);
  params_defaults(&par);
  snprintf(par.OutputDir, sizeof par.OutputDir, "%s", argv[1]);
  too_large();
  keeps_older();
  keeps_older_files();
  layout_on_full();
  rows_on_full(0, "writing rows on a full disk is a fault on all ranks");
  rows_on_full(200000, "writing rows on a disk that fills up is a fault on all ranks");
  lost_values();
  sections_on_full();
  checkpoint_on_full();
  return ranks_end(&c);
}
