/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "files.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"

enum { N = 5003 };

static struct comm c;
static char folder[256], path[300], other[300];
static struct params par;

static int write_one(const char *name, const struct particles *particles, unsigned extras, struct fault *fault)
{
  struct snapshot_facts facts = {.params = &par, .time = 0.625, .step = 12, .gravity = 43007.1, .extras = extras};
  return snapshot_write(&c, name, particles, &facts, fault);
}

static int read_one(const char *name, struct particles *particles, struct initial_facts *facts, struct fault *fault)
{
  particles_init(particles);
  return initial_read(&c, name, FORMAT_AUTO, particles, facts, fault);
}

static void round_trip(int64_t n, int types, const char *what)
{
  struct particles p, q;
  struct initial_facts facts;
  struct fault f = {""};
  particles_make(&p, &c, n, types);
  int ok = write_one(path, &p, SNAPSHOT_ALL, &f) == 0 && read_one(path, &q, &facts, &f) == 0;
  if (ok) {
    ok = digest_all(&c, &p) == digest_all(&c, &q) && facts.own && facts.time == 0.625 && facts.has_units &&
         initial_check_units(path, &facts, &par, &f) == 0 && folder_files(folder) == 1;
    particles_free(&q);
  }
  if (!ok && c.rank == 0) printf("# %s\n", f.text);
  all_ok(&c, ok, what);
  particles_free(&p);
}

/* Files from any number of ranks are the same but for the order of rows, which follows the ranks: here one rank's file
 * is compared with the ordered rows of several. */
static void same_on_sub_communicators(void)
{
  struct particles p, all;
  struct fault f = {""};
  struct initial_facts one, many;
  particles_make(&p, &c, N, 3);
  int ok = write_one(path, &p, 0, &f) == 0;
  struct comm self;
  comm_open(&self, MPI_COMM_SELF);
  particles_init(&all);
  ok &= initial_read(&self, path, FORMAT_AUTO, &all, &one, &f) == 0;
  if (c.rank == 0 && ok) {
    struct snapshot_facts facts = {.params = &par, .time = 0.625, .step = 12};
    ok = snapshot_write(&self, other, &all, &facts, &f) == 0 && all.n == N;
  }
  ok = (int)comm_min_int64(&c, ok);
  struct particles q;
  if (ok && read_one(other, &q, &many, &f) == 0) {
    ok = digest_all(&c, &q) == digest_all(&c, &p) && memcmp(one.count, many.count, sizeof one.count) == 0;
    particles_free(&q);
  }
  all_ok(&c, ok, "one rank writes and reads what several wrote, rows in the same order");
  particles_free(&all);
  particles_free(&p);
  comm_close(&self);
  if (c.rank == 0) unlink(other);
}

/* Change a byte of a dataset's values without HDF5. */
static void damage(const char *dataset, long row_byte)
{
  MPI_Barrier(c.mpi);
  if (c.rank == 0) {
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, dataset, H5P_DEFAULT);
    off_t at = (off_t)H5Dget_offset(set) + row_byte;
    H5Dclose(set);
    H5Fclose(file);
    int fd = open(path, O_RDWR);
    char byte;
    if (pread(fd, &byte, 1, at) == 1) byte ^= 16;
    if (pwrite(fd, &byte, 1, at) != 1) MPI_Abort(c.mpi, 99);
    close(fd);
  }
  MPI_Barrier(c.mpi);
}

static void damage_is_named(const char *dataset)
{
  struct particles p, q;
  struct initial_facts facts;
  struct fault f = {""};
  char what[128];
  particles_make(&p, &c, N, 3);
  int ok = write_one(path, &p, 0, &f) == 0;
  damage(dataset, 4 * 777);
  ok &= read_one(path, &q, &facts, &f) == -1 && strstr(f.text, dataset) && strstr(f.text, "checksum");
  if (!ok && c.rank == 0) printf("# %s\n", f.text);
  snprintf(what, sizeof what, "a flipped bit in %s is found and named", dataset);
  all_ok(&c, ok, what);
  particles_free(&p);
}

/* A rank that may not write beyond a size meets the errors of a full disk. */
static void limited(int who, rlim_t bytes, const char *what)
{
  struct particles p;
  struct fault f = {""};
  struct rlimit old, small;
  particles_make(&p, &c, N, 3);
  int ok = write_one(path, &p, 0, &f) == 0;
  struct stat before = {0}, after = {0};
  stat(path, &before);
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = bytes;
  if (c.rank == who % c.size) setrlimit(RLIMIT_FSIZE, &small);
  ok &= write_one(path, &p, SNAPSHOT_ALL, &f) == -1 && f.text[0];
  setrlimit(RLIMIT_FSIZE, &old);
  stat(path, &after);
  ok &= before.st_ino == after.st_ino && folder_files(folder) == 1;
  if (c.rank == 0) printf("# %s\n", f.text);
  all_ok(&c, ok, what);
  particles_free(&p);
}

static void refused(const char *name, const char *word, const char *what)
{
  struct particles p;
  struct fault f = {""};
  particles_make(&p, &c, 100, 1);
  int ok = write_one(name, &p, 0, &f) == -1 && strstr(f.text, word);
  if (c.rank == 0) printf("# %s\n", f.text);
  all_ok(&c, ok, what);
  particles_free(&p);
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  signal(SIGXFSZ, SIG_IGN);
  params_defaults(&par);
  folder_make(&c, folder);
  snprintf(path, sizeof path, "%s/one_000.hdf5", folder);
  snprintf(other, sizeof other, "%s/two_000.hdf5", folder);

  round_trip(N, 6, "six types come back exactly");
  round_trip(N, 2, "two types come back exactly, over an older file");
  round_trip(1, 1, "one particle on several ranks");
  c.largest_message = 1000;
  round_trip(N, 3, "pieces of 1000 bytes");
  c.largest_message = 1 << 30;
  same_on_sub_communicators();
  damage_is_named("/PartType0/Coordinates");
  damage_is_named("/PartType1/Velocities");
  damage_is_named("/PartType2/Masses");
  damage_is_named("/PartType1/ParticleIDs");
  limited(0, 100000, "rank 0 may not write so large a file");
  limited(c.size - 2 > 0 ? c.size - 2 : 0, 100000,
          "the last rank with particles cannot write: all say so, no file is left");
  limited(1, 0, "rank 1 cannot write at all");
  snprintf(other, sizeof other, "%s/one_000.hdf5/below_000.hdf5", folder);
  refused(other, "irectory", "a name below a regular file");
  snprintf(other, sizeof other, "%s/none/a_000.hdf5", folder);
  refused(other, "No such file", "a folder that is not there");
  refused(folder, "is not a regular file", "a name that is a directory");

  folder_remove(&c, folder);
  all_ok(&c, handles_left() == 0, "all handles of HDF5 are given back");
  return ranks_end(&c);
}
