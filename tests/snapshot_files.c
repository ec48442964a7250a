/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots in several files: they come back exactly by all names that they have, damage in one is named, a fault
 * leaves nothing behind, and what was there before stays. */
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

enum { N = 4001 };

static struct comm c;
static char folder[256], path[300], inside[320]; /* folder/run_007.hdf5, folder/snapdir_007 */
static struct params par;

static int write_it(const struct particles *particles, int files, struct fault *fault)
{
  struct snapshot_facts facts = {
      .params = &par, .time = 0.625, .step = 12, .gravity = 43007.1, .extras = 7, .files = files};
  return snapshot_write(&c, path, particles, &facts, fault);
}

/* The particles of `name` are those. */
static int holds(const char *name, const struct particles *particles, struct fault *fault)
{
  struct particles q;
  struct initial_facts facts;
  particles_init(&q);
  if (initial_read(&c, name, FORMAT_AUTO, &q, &facts, fault)) return 0;
  int same = digest_all(&c, particles) == digest_all(&c, &q) && facts.own && facts.time == 0.625;
  particles_free(&q);
  return same;
}

static void verdict(int ok, const struct fault *fault, const char *what)
{
  if (!ok && c.rank == 0) printf("# %s\n", fault->text);
  all_ok(&c, ok, what);
}

/* Rank 0: an attribute of one number of /Header. */
static int header_is(const char *name, const char *attribute, long long expected)
{
  long long x[6] = {0};
  hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return 0;
  hid_t a = H5Aopen_by_name(file, "Header", attribute, H5P_DEFAULT, H5P_DEFAULT);
  H5Aread(a, H5T_NATIVE_LLONG, x);
  H5Aclose(a);
  H5Fclose(file);
  return x[0] + x[1] + x[2] + x[3] + x[4] + x[5] == expected;
}

static void round_trip(int64_t n, int files, int types, const char *what)
{
  struct particles p;
  struct fault f = {""};
  char name[400], cwd[512];
  int expected = files < c.size ? files : c.size, ok;
  particles_make(&p, &c, n, types);
  ok = write_it(&p, files, &f) == 0 && holds(path, &p, &f);
  snprintf(name, sizeof name, "%s/run_007", inside); /* the common name */
  ok = ok && holds(name, &p, &f);
  snprintf(name, sizeof name, "%s/run_007.0.hdf5", inside);
  ok = ok && holds(name, &p, &f);
  if (c.rank == 0 && ok) {
    ok = header_is(name, "NumPart_Total", n) && header_is(name, "NumFilesPerSnapshot", expected) &&
         header_is(path, "NumFilesPerSnapshot", 1) && header_is(path, "NumPart_ThisFile", n) &&
         folder_files(inside) == expected && folder_files(folder) == 2;
    if (!ok) snprintf(f.text, sizeof f.text, "headers, or %d files and %d", folder_files(inside), folder_files(folder));
  }
  /* the virtual file finds the others from wherever it is read */
  if (ok && getcwd(cwd, sizeof cwd) && chdir("/") == 0) {
    ok = holds(path, &p, &f);
    if (chdir(cwd)) ok = 0;
  }
  verdict(ok, &f, what);
  particles_free(&p);
}

static void replaces(void)
{
  struct particles p, q;
  struct fault f = {""};
  particles_make(&p, &c, N, 3);
  particles_make(&q, &c, N / 2, 2);
  int ok = write_it(&p, 3, &f) == 0 && write_it(&q, 2, &f) == 0 && holds(path, &q, &f) &&
           folder_files(inside) == (c.size < 2 ? 1 : 2) && folder_files(folder) == 2;
  verdict(ok, &f, "a snapshot replaces an earlier one of its name, all files of it");
  particles_free(&p);
  particles_free(&q);
}

static void leftovers(void)
{
  struct particles p;
  struct fault f = {""};
  char name[400];
  particles_make(&p, &c, N, 3);
  snprintf(name, sizeof name, "%s.tmp", inside);
  if (c.rank == 0) {
    mkdir(name, 0777);
    snprintf(name, sizeof name, "%s.tmp/run_007.9.hdf5", inside);
    close(open(name, O_WRONLY | O_CREAT, 0666));
  }
  MPI_Barrier(c.mpi);
  int ok = write_it(&p, 2, &f) == 0 && holds(path, &p, &f) && folder_files(inside) == (c.size < 2 ? 1 : 2) &&
           folder_files(folder) == 2;
  verdict(ok, &f, "what a killed run left does not matter");
  particles_free(&p);
}

/* Rank 0 changes a byte of a dataset in a file. */
static void damage(const char *file, const char *dataset)
{
  MPI_Barrier(c.mpi);
  if (c.rank == 0) {
    hid_t h = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(h, dataset, H5P_DEFAULT);
    off_t at = (off_t)H5Dget_offset(set) + 4 * 55;
    H5Dclose(set);
    H5Fclose(h);
    int fd = open(file, O_RDWR);
    char byte;
    if (pread(fd, &byte, 1, at) == 1) byte ^= 16;
    if (pwrite(fd, &byte, 1, at) != 1) MPI_Abort(c.mpi, 99);
    close(fd);
  }
  MPI_Barrier(c.mpi);
}

static void damage_is_named(void)
{
  struct particles p;
  struct fault f = {""}, g = {""};
  char last[400], common[400];
  particles_make(&p, &c, N, 3);
  int ok = write_it(&p, 2, &f) == 0;
  snprintf(last, sizeof last, "%s/run_007.0.hdf5", inside);
  snprintf(common, sizeof common, "%s/run_007", inside);
  damage(last, "/PartType1/Velocities");
  ok = ok && !holds(common, &p, &f) && strstr(f.text, "run_007.0.hdf5: the values of /PartType1/Velocities");
  verdict(ok, &f, "a flipped bit in one file: the file and the dataset are named");
  ok = !holds(path, &p, &g) && strstr(g.text, "run_007.hdf5: the values of /PartType1/Velocities");
  verdict(ok, &g, "... also when the virtual file is read");
  struct fault h = {""};
  if (c.rank == 0) unlink(last);
  MPI_Barrier(c.mpi);
  ok = !holds(path, &p, &h) && strstr(h.text, "missing");
  verdict(ok, &h, "a file that is missing is found through the virtual one");
  particles_free(&p);
}

/* A rank that may not write beyond a size meets the errors of a full disk. */
static void limited(int who, rlim_t bytes, const char *what)
{
  struct particles p, q;
  struct fault f = {""}, g = {""};
  struct rlimit old, small;
  particles_make(&p, &c, N, 3);
  particles_make(&q, &c, N / 3, 2);
  int ok = write_it(&q, 2, &f) == 0;
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = bytes;
  if (c.rank == who % c.size) setrlimit(RLIMIT_FSIZE, &small);
  ok = write_it(&p, 3, &f) == -1 && f.text[0] && ok;
  setrlimit(RLIMIT_FSIZE, &old);
  ok = holds(path, &q, &g) && folder_files(folder) == 2 && ok;
  if (c.rank == 0) printf("# %s\n", f.text);
  verdict(ok, &g, what);
  particles_free(&p);
  particles_free(&q);
}

static void taken(void)
{
  struct particles p;
  struct fault f = {""};
  particles_make(&p, &c, N, 3);
  if (c.rank == 0) {
    unlink(path);
    close(open(inside, O_WRONLY | O_CREAT, 0666));
  }
  MPI_Barrier(c.mpi);
  int ok = write_it(&p, 2, &f) == -1 && strstr(f.text, "is not a directory") && folder_files(folder) == 1;
  verdict(ok, &f, "a file has the name of the folder");
  MPI_Barrier(c.mpi);
  if (c.rank == 0) unlink(inside);
  particles_free(&p);
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  signal(SIGXFSZ, SIG_IGN);
  params_defaults(&par);
  folder_make(&c, folder);
  snprintf(path, sizeof path, "%s/run_007.hdf5", folder);
  snprintf(inside, sizeof inside, "%s/snapdir_007", folder);

  round_trip(N, 2, 6, "two files, six types");
  round_trip(N, 3, 2, "three files, two types");
  round_trip(N, 100, 3, "a file for every rank, also for one without particles");
  round_trip(1, 4, 1, "one particle in several files");
  c.largest_message = 1000;
  round_trip(N, 2, 3, "pieces of 1000 bytes");
  c.largest_message = 1 << 30;
  replaces();
  leftovers();
  damage_is_named();
  limited(0, 40000, "rank 0 may not write so large a file: what was there stays");
  limited(1, 0, "rank 1 cannot write at all: what was there stays");
  MPI_Barrier(c.mpi);
  folder_remove(&c, inside);
  MPI_Barrier(c.mpi);
  taken();

  folder_remove(&c, inside);
  folder_remove(&c, folder);
  all_ok(&c, handles_left() == 0, "all handles of HDF5 are given back");
  return ranks_end(&c);
}
