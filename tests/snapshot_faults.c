/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots, and catalogues of groups, whose system calls fail, are cut short, interrupted, or report success without
 * effect, one call after the other: the snapshot is whole or a fault is set, an earlier one stays, no temporary file
 * remains, and the program ends as usual. With TEST_SAMPLE in the environment: every third call. */
#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "files.h"
#include "fof/fof.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"

enum { N = 300, TYPES = 2, EVERY = 1000, CATALOGUE = 0 }; /* CATALOGUE in place of the number of a snapshot's files */
enum call { CALL_WRITE, CALL_FLUSH, CALL_CLOSE, CALL_TRUNCATE, CALL_ALLOCATE, CALL_RENAME };
enum effect { EFFECT_ERROR, EFFECT_DROPPED, EFFECT_SHORT, EFFECT_INTERRUPTED };

static struct comm c;
static char folder[256], path[300], inside[320]; /* folder/run_007.hdf5, folder/snapdir_007 */
static struct params par;

/* --- system calls ------------------------------------------------------------------------------------------------- */

/* Calls `first` to first + count - 1 of this kind on files of the folder meet the effect. */
static struct {
  int active, first, count;
  enum call call;
  enum effect effect;
  int seen, met;
} plan;

static int in_folder(int fd)
{
  char link[64], name[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, name, sizeof name - 1);
  return n > 0 && strncmp(name, folder, strlen(folder)) == 0;
}

static int meets(enum call call, int ours)
{
  if (!plan.active || plan.call != call || !ours) return 0;
  int now = plan.seen++;
  if (now < plan.first || now >= plan.first + plan.count) return 0;
  plan.met++;
  return 1;
}

/* The result of a call that returns a status, and is not made. */
static int status_of_effect(void)
{
  errno = plan.effect == EFFECT_INTERRUPTED ? EINTR : EIO;
  return plan.effect == EFFECT_DROPPED ? 0 : -1;
}

static ssize_t write_at(int fd, const void *from, size_t n, off_t at)
{
  if (!meets(CALL_WRITE, in_folder(fd))) return syscall(SYS_pwrite64, fd, from, n, at);
  if (plan.effect == EFFECT_SHORT) return syscall(SYS_pwrite64, fd, from, n > 1 ? n / 2 : n, at);
  return status_of_effect() ? -1 : (ssize_t)n;
}

/* These take the place of the C library's in this program and in HDF5. */
ssize_t test_pwrite(int fd, const void *from, size_t n, off_t at) __asm__("pwrite");
ssize_t test_pwrite(int fd, const void *from, size_t n, off_t at) { return write_at(fd, from, n, at); }
ssize_t test_pwrite64(int fd, const void *from, size_t n, off_t at) __asm__("pwrite64");
ssize_t test_pwrite64(int fd, const void *from, size_t n, off_t at) { return write_at(fd, from, n, at); }
int test_fsync(int fd) __asm__("fsync");
/* hundreds would take long */
int test_fsync(int fd) { return meets(CALL_FLUSH, in_folder(fd)) ? status_of_effect() : 0; }
int test_ftruncate(int fd, off_t n) __asm__("ftruncate");
int test_ftruncate(int fd, off_t n)
{
  return meets(CALL_TRUNCATE, in_folder(fd)) ? status_of_effect() : (int)syscall(SYS_ftruncate, fd, n);
}
int test_ftruncate64(int fd, off_t n) __asm__("ftruncate64");
int test_ftruncate64(int fd, off_t n) { return test_ftruncate(fd, n); }
int test_fallocate(int fd, int mode, off_t at, off_t n) __asm__("fallocate");
int test_fallocate(int fd, int mode, off_t at, off_t n)
{
  return meets(CALL_ALLOCATE, in_folder(fd)) ? status_of_effect() : (int)syscall(SYS_fallocate, fd, mode, at, n);
}
int test_rename(const char *from, const char *to) __asm__("rename");
int test_rename(const char *from, const char *to)
{
  return meets(CALL_RENAME, 1) ? status_of_effect() : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}
int test_close(int fd) __asm__("close");
int test_close(int fd)
{
  int met = plan.active && plan.call == CALL_CLOSE && meets(CALL_CLOSE, in_folder(fd)), s = (int)syscall(SYS_close, fd);
  return met ? status_of_effect() : s; /* closed, as by Linux */
}

/* --- trials ------------------------------------------------------------------------------------------------------- */

static int write_catalogue(const struct particles *particles, struct fault *fault)
{
  struct fof_catalogue k;
  const struct fof_request r = {.length = 1, .min_size = 1, .linking = 63};
  const struct fof_facts facts = {.time = 0.625, .request = &r};
  fof_find(&c, particles, &r, &k);
  int status = k.groups > 3 ? fof_write(&c, path, &k, &facts, fault)
                            : fault_set(fault, "the set has too few groups for this test");
  fof_close(&k);
  return status;
}

/* Digest of all bytes of the file; 0: there is none. */
static uint64_t file_digest(void)
{
  static char bytes[1 << 20];
  int fd = open(path, O_RDONLY);
  if (fd < 0) return 0;
  int64_t n = read_all(fd, bytes, sizeof bytes, 0);
  syscall(SYS_close, fd);
  return n > 0 ? XXH64(bytes, (size_t)n, 0) : 0;
}

static uint64_t catalogue_digest; /* of the file that was written without faults */

static int write_it(const struct particles *particles, int files, struct fault *fault)
{
  if (files == CATALOGUE) return write_catalogue(particles, fault);
  const struct snapshot_facts facts = {
      .params = &par, .time = 0.625, .step = 12, .gravity = 43007.1, .extras = SNAPSHOT_ALL, .files = files};
  return snapshot_write(&c, path, particles, &facts, fault);
}

static int holds(const struct particles *particles, int files)
{
  if (files == CATALOGUE) return file_digest() == catalogue_digest;
  struct particles q;
  struct initial_facts facts;
  struct fault f = {""};
  particles_init(&q);
  if (initial_read(&c, path, FORMAT_AUTO, &q, &facts, &f)) return 0;
  int same = digest_all(&c, particles) == digest_all(&c, &q);
  particles_free(&q);
  return same;
}

/* Call number `first` on rank `who` and the next ones meet the effect. 1: as it should be; 0: not; -1: there are no so
 * many calls. */
static int trial(const struct particles *particles, int files, int who, enum call call, enum effect effect, int first,
                 int count)
{
  struct fault f = {""};
  struct stat before = {0}, after = {0};
  if (stat(path, &before) != 0 && (write_it(particles, files, &f) != 0 || stat(path, &before) != 0)) return 0;
  plan.call = call;
  plan.effect = effect;
  plan.first = first;
  plan.count = count;
  plan.seen = plan.met = 0;
  plan.active = c.rank == who;
  int status = write_it(particles, files, &f);
  plan.active = 0;
  if (comm_max_int64(&c, plan.met) == 0) return -1;
  int harmless = effect == EFFECT_SHORT || effect == EFFECT_INTERRUPTED;
  /* Dropped calls that cannot be noticed: a flush, a close, space that is there all the same. */
  int good = status == 0 ? f.text[0] == 0 && (effect != EFFECT_ERROR || call == CALL_CLOSE || call == CALL_FLUSH)
                         : f.text[0] && !harmless;
  if ((call == CALL_WRITE || call == CALL_RENAME) && effect == EFFECT_DROPPED) good = good && status == -1;
  /* An earlier folder that cannot be moved back is named, and no virtual file without files remains. */
  if (status == -1 && access(path, F_OK) != 0) return good && strstr(f.text, "with .old") && folder_files(folder) == 1;
  /* a new file, or the earlier one */
  good = good && stat(path, &after) == 0 && (before.st_ino == after.st_ino) == (status == -1);
  good = good && holds(particles, files) && folder_files(folder) == (files > 1 ? 2 : 1);
  if (!good && c.rank == 0)
    printf("# rank %d, call %d: status %d, %d files: %s\n", who, first, status, folder_files(folder), f.text);
  return good;
}

static void trials(int files, enum call call, enum effect effect, int count, const char *what)
{
  char text[200];
  struct particles p;
  int good = 1, all = 0, one, every = getenv("TEST_SAMPLE") ? 3 : 1;
  struct fault f = {""};
  particles_make(&p, &c, N, TYPES);
  good &= write_it(&p, files, &f) == 0;
  catalogue_digest = file_digest();
  for (int who = 0; who < c.size && who < 2 && good; who++)
    for (int first = 0; (one = trial(&p, files, who, call, effect, first, count)) >= 0; first += every) {
      good &= one;
      all++;
      if (count == EVERY && effect == EFFECT_SHORT) break; /* all in one trial */
    }
  snprintf(text, sizeof text, "%s%s: a fault or a whole snapshot each time", what,
           files > 1            ? ", several files"
           : files == CATALOGUE ? ", a catalogue"
                                : "");
  if (c.rank == 0) printf("# %d trials\n", all);
  all_ok(&c, good && all, text);
  folder_remove(&c, inside);
  folder_remove(&c, folder);
  MPI_Barrier(c.mpi);
  if (c.rank == 0) mkdir(folder, 0777);
  MPI_Barrier(c.mpi);
  particles_free(&p);
}

static void closes_after_reading(int files)
{
  struct particles p;
  struct fault f = {""};
  particles_make(&p, &c, N, TYPES);
  int ok = write_it(&p, files, &f) == 0;
  plan.call = CALL_CLOSE;
  plan.effect = EFFECT_ERROR;
  plan.first = 0;
  plan.count = EVERY;
  plan.seen = 0;
  plan.active = 1;
  ok = holds(&p, files) && ok;
  plan.active = 0;
  all_ok(&c, ok && handles_left() == 0, "files that are read cannot be closed");
  particles_free(&p);
}

static void all_trials(int files)
{
  if (files <= 1) trials(files, CALL_WRITE, EFFECT_ERROR, 1, "a write fails");
  trials(files, CALL_WRITE, EFFECT_ERROR, 2, "two writes fail");
  if (files <= 1) trials(files, CALL_WRITE, EFFECT_ERROR, EVERY, "all writes from one on fail");
  trials(files, CALL_WRITE, EFFECT_DROPPED, 1, "a write is lost");
  trials(files, CALL_WRITE, EFFECT_SHORT, EVERY, "writes are cut short");
  if (files <= 1) trials(files, CALL_WRITE, EFFECT_INTERRUPTED, 2, "writes are interrupted");
  trials(files, CALL_FLUSH, EFFECT_ERROR, 1, "a flush fails");
  trials(files, CALL_FLUSH, EFFECT_INTERRUPTED, 1, "a flush is interrupted");
  trials(files, CALL_CLOSE, EFFECT_ERROR, 1, "a close fails");
  if (files != CATALOGUE) closes_after_reading(files);
  trials(files, CALL_TRUNCATE, EFFECT_ERROR, 1, "giving the file its length fails");
  trials(files, CALL_TRUNCATE, EFFECT_DROPPED, 1, "giving the file its length has no effect");
  trials(files, CALL_ALLOCATE, EFFECT_ERROR, 1, "reserving space fails");
  trials(files, CALL_ALLOCATE, EFFECT_INTERRUPTED, 2, "reserving space is interrupted");
  trials(files, CALL_RENAME, EFFECT_ERROR, 1, "a rename fails");
  if (files > 1) trials(files, CALL_RENAME, EFFECT_ERROR, 2, "two renames fail");
  trials(files, CALL_RENAME, EFFECT_DROPPED, 1, "a rename has no effect");
}

/* A FIFO has the name of a temporary file. */
static void fifo(int files, const char *name, const char *what)
{
  struct particles p;
  struct fault f = {""};
  particles_make(&p, &c, N, TYPES);
  MPI_Barrier(c.mpi);
  if (c.rank == 0 && mkfifo(name, 0666)) MPI_Abort(c.mpi, 99);
  MPI_Barrier(c.mpi);
  int ok = write_it(&p, files, &f) == 0 && holds(&p, files);
  MPI_Barrier(c.mpi);
  if (c.rank == 0) {
    if (!ok) printf("# %s\n", f.text);
    unlink(name);
  }
  all_ok(&c, ok, what);
  particles_free(&p);
}

static int stays(const void *of, long long number, double time)
{
  (void)of;
  (void)number;
  return time == time;
}

int main(int argc, char **argv)
{
  char name[400];
  ranks_begin(&c, &argc, &argv);
  signal(SIGXFSZ, SIG_IGN);
  params_defaults(&par);
  folder_make(&c, folder);
  snprintf(path, sizeof path, "%s/run_007.hdf5", folder);
  snprintf(inside, sizeof inside, "%s/snapdir_007", folder);

  all_trials(1);
  all_trials(2);
  all_trials(CATALOGUE);
  alarm(600); /* a program that waits for a FIFO would wait without end */
  snprintf(name, sizeof name, "%s.tmp", path);
  fifo(1, name, "a FIFO in place of the temporary file");
  fifo(2, name, "a FIFO in place of the temporary virtual file");
  snprintf(name, sizeof name, "%s.tmp", inside);
  fifo(2, name, "a FIFO in place of the temporary folder");
  snprintf(name, sizeof name, "%s.old", inside);
  fifo(2, name, "a FIFO in place of the folder of an earlier snapshot");
  if (c.rank == 0) {
    snprintf(name, sizeof name, "%s/run_009.hdf5", folder);
    mkfifo(name, 0666);
    tap_ok(snapshot_to_discard(folder, "run", 0, stays, NULL) == 1,
           "a FIFO among the snapshots of a folder has no time, and is not waited for");
  }

  folder_remove(&c, inside);
  folder_remove(&c, folder);
  all_ok(&c, handles_left() == 0, "all handles of HDF5 are given back");
  return ranks_end(&c);
}
