/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checkpoints as files: what is written comes back, also on fewer ranks; damage is found, named and passed over; what
 * was interrupted leaves no half checkpoint under a good name. And snapshots: no flipped bit is read as a particle. */
#include <config.h>
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "chance.h"
#include "checkpoint/checkpoint.h"
#include "files.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"
#include "run/state.h"

enum { TOTAL = 3000, FLIPS = 100 };

static struct comm c;
static char folder[256];
static struct params par;
static double reals[3] = {0.1, -0.0, 1e-310};
static float single = 0.1f;
static long long large = (1LL << 60) + 1;
static int whole = -7;
static const struct item items[] = {{"reals", ITEM_REAL, 3, reals},
                                    {"single", ITEM_FLOAT, 1, &single},
                                    {"large", ITEM_LONG, 1, &large},
                                    {"whole", ITEM_WHOLE, 1, &whole}};
static uint64_t own[5];

/* Drawn by all ranks alike. */
static struct random dice = {5};
static double chance(void) { return random_unit(&dice); }

static int write_one(const struct particles *particles, long long number, struct fault *fault)
{
  for (int k = 0; k < 5; k++) own[k] = (uint64_t)(1000 * c.rank + k);
  const struct section mine = {"own", own, sizeof own};
  const struct checkpoint_content content = {number, "cpu", items, 4, &mine, 1, NULL};
  return checkpoint_write(&c, &par, &content, particles, fault);
}

static void name_of(long long number, const char *ending, char path[512])
{
  snprintf(path, 512, "%.200s/checkpoints/checkpoint_%06lld%s", folder, number, ending);
}

static int is_there(long long number, const char *ending)
{
  char path[512];
  name_of(number, ending, path);
  return access(path, F_OK) == 0;
}

/* The number that is found, and its particles read; -1: none. */
static long long found(const struct comm *comm, const char *which, uint64_t *digest, struct fault *fault)
{
  struct checkpoint one;
  struct particles p;
  long long number = -1;
  particles_init(&p);
  if (checkpoint_find(comm, &par, which, &one, fault)) return -1;
  if (checkpoint_particles(comm, &one, &p, fault) == 0) number = one.number;
  if (digest) *digest = digest_all(comm, &p);
  particles_free(&p);
  checkpoint_close(&one);
  return number;
}

static int same_particles(const struct particles *a, const struct particles *b)
{
  if (a->n != b->n) return 0;
  for (int f = 0; f < particle_field_count; f++) {
    size_t offset = particle_fields[f].offset;
    const char *one = *(char *const *)((const char *)a + offset), *two = *(char *const *)((const char *)b + offset);
    if (a->n && memcmp(one, two, particle_fields[f].bytes * (size_t)a->n)) return 0;
  }
  return 1;
}

static void comes_back(const struct particles *particles)
{
  struct checkpoint k;
  struct particles back;
  struct fault f = {""};
  uint64_t got[5] = {0};
  double got_reals[3];
  float got_single;
  long long got_large;
  int got_whole;
  const struct section mine = {"own", got, sizeof got};
  const struct item to[] = {{"reals", ITEM_REAL, 3, got_reals},
                            {"single", ITEM_FLOAT, 1, &got_single},
                            {"large", ITEM_LONG, 1, &got_large},
                            {"whole", ITEM_WHOLE, 1, &got_whole}};
  particles_init(&back);
  int ok = write_one(particles, 1, &f) == 0 && write_one(particles, 2, &f) == 0 &&
           checkpoint_find(&c, &par, NULL, &k, &f) == 0;
  if (c.rank == 0 && f.text[0]) printf("# %s\n", f.text);
  all_ok(&c, ok, "a checkpoint is written and found");
  if (!ok) return;
  ok = checkpoint_particles(&c, &k, &back, &f) == 0 && same_particles(particles, &back);
  all_ok(&c, ok && k.number == 2 && k.own_folder,
         "on as many ranks every rank gets its particles, all fields, in their order");
  ok = checkpoint_own(&c, &k, &mine, 1) == 1 && memcmp(got, own, sizeof own) == 0;
  all_ok(&c, ok, "... and its own section");
  ok = items_read(k.text, to, 4, &f) == 0 && memcmp(got_reals, reals, sizeof reals) == 0 && got_single == single;
  ok = ok && got_large == large && got_whole == whole;
  all_ok(&c, ok, "... and the numbers of all, bit by bit");
  particles_free(&back);
  checkpoint_close(&k);
}

static void fewer_ranks(const struct particles *particles)
{
  uint64_t digest = digest_all(&c, particles), got = 0;
  int ok = 1;
  for (int ranks = 1; ranks < c.size; ranks++) {
    MPI_Comm part;
    struct comm few;
    struct fault f = {""};
    MPI_Comm_split(c.mpi, c.rank < ranks, c.rank, &part);
    comm_open(&few, part);
    if (c.rank < ranks) ok &= found(&few, "last", &got, &f) == 2 && got == digest;
    comm_close(&few);
    MPI_Comm_free(&part);
  }
  all_ok(&c, ok, "on fewer ranks: the same particles");
}

/* Rank 0 changes a bit of a file of the newest checkpoint, or cuts the file; then it is as it was. */
static int survives(const char *path, int cut, char what[700])
{
  struct fault f = {""};
  unsigned char byte = 0, changed;
  double place = chance(), bit = chance();
  off_t at = 0, size = 0;
  char keep[640];
  snprintf(keep, sizeof keep, "%s.keep", path);
  if (c.rank == 0) {
    struct stat st;
    int fd = open(path, O_RDWR);
    fstat(fd, &st);
    size = st.st_size;
    at = (off_t)(place * (double)size);
    if (cut) {
      char command[1300];
      snprintf(command, sizeof command, "cp '%s' '%s'", path, keep);
      if (system(command) || ftruncate(fd, at)) MPI_Abort(c.mpi, 99);
    } else {
      if (pread(fd, &byte, 1, at) != 1) MPI_Abort(c.mpi, 99);
      changed = byte ^ (unsigned char)(1u << (int)(bit * 8));
      if (pwrite(fd, &changed, 1, at) != 1) MPI_Abort(c.mpi, 99);
    }
    close(fd);
  }
  comm_barrier(&c);
  long long number = found(&c, NULL, NULL, &f);
  struct fault named = {""};
  int refused = found(&c, "2", NULL, &named) == -1 && strstr(named.text, "checkpoint_000002");
  if (c.rank == 0) {
    int fd = open(path, O_RDWR);
    if (!cut && pwrite(fd, &byte, 1, at) != 1) MPI_Abort(c.mpi, 99);
    close(fd);
    if (cut && rename(keep, path)) MPI_Abort(c.mpi, 99);
  }
  comm_barrier(&c);
  snprintf(what, 700, "%s byte %lld of %lld", path, (long long)at, (long long)size);
  return number == 1 && refused;
}

static void damage(int cut, int count, const char *what)
{
  int ok = 1, seen = 0;
  for (int i = 0; i < count; i++) {
    char path[600], name[512], where[700];
    int file = (int)(chance() * (c.size + 1));
    name_of(2, "", name);
    if (file < c.size) snprintf(path, sizeof path, "%s/rank_%05d", name, file);
    else snprintf(path, sizeof path, "%s/manifest", name);
    int good = survives(path, cut, where);
    if (!good && c.rank == 0) printf("# not found: %s\n", where);
    ok &= good;
    seen += good;
  }
  char text[200];
  snprintf(text, sizeof text, "%s: %d of %d found, named, and the checkpoint before taken", what, seen, count);
  all_ok(&c, ok, text);
  struct fault f = {""};
  all_ok(&c, found(&c, NULL, NULL, &f) == 2, "... and once repaired it is used");
}

static void without(const char *file)
{
  char name[512], path[600], away[600], text[100];
  struct fault f = {""};
  name_of(2, "", name);
  snprintf(path, sizeof path, "%s/%s", name, file);
  snprintf(away, sizeof away, "%s/away", folder);
  if (c.rank == 0 && rename(path, away)) MPI_Abort(c.mpi, 99);
  comm_barrier(&c);
  int ok = found(&c, NULL, NULL, &f) == 1;
  comm_barrier(&c);
  if (c.rank == 0 && rename(away, path)) MPI_Abort(c.mpi, 99);
  comm_barrier(&c);
  snprintf(text, sizeof text, "without its file %s a checkpoint is passed over", file);
  all_ok(&c, ok, text);
}

/* Rename a manifest to `away` and write it with other first numbers in two of its lines and a right checksum. */
static void forge(const char *path, const char *away, const char *const name[2], const char *const value[2])
{
  struct fault f = {""};
  struct manifest m;
  char *text = manifest_load(path, &f);
  if (!text) MPI_Abort(c.mpi, 99);
  manifest_begin(&m);
  for (char *at = text, *end; *at; at = end + 1) {
    end = strchr(at, '\n');
    int length = (int)(end - at), k = 0;
    while (k < 2 && strncmp(at, name[k], strlen(name[k]))) k++;
    size_t head = strcspn(at, "=") + 2, tail = head + strcspn(at + head, " \n");
    if (k == 2) fprintf(m.out, "%.*s\n", length, at);
    else fprintf(m.out, "%s = %s%.*s\n", name[k], value[k], length - (int)tail, at + tail);
  }
  memory_free(text);
  if (rename(path, away) || manifest_save(&m, path, &f)) MPI_Abort(c.mpi, 99);
}

static void forged(void)
{
  static const char *const names[2][2] = {{"ranks", "particles"}, {"rank_00000", "particles"}};
  static const char *const values[2][2] = {{"0", "0"}, {"9223372036854775807", "9223372036854775807"}};
  for (int k = 0; k < 2; k++) {
    char name[512], path[600], away[600];
    struct fault f = {""};
    name_of(2, "", name);
    snprintf(path, sizeof path, "%s/manifest", name);
    snprintf(away, sizeof away, "%s/away", folder);
    comm_barrier(&c);
    if (c.rank == 0) forge(path, away, names[k], values[k]);
    comm_barrier(&c);
    int ok = found(&c, NULL, NULL, &f) == 1;
    comm_barrier(&c);
    if (c.rank == 0 && rename(away, path)) MPI_Abort(c.mpi, 99);
    comm_barrier(&c);
    all_ok(&c, ok, k ? "a manifest with too many particles is passed over" : "a manifest without ranks is passed over");
  }
}

static void kept(const struct particles *particles)
{
  struct fault f = {""};
  int ok = write_one(particles, 5, &f) == 0;
  all_ok(&c, ok && !is_there(1, "") && is_there(2, "") && is_there(5, ""), "CheckpointsKept = 2: the two newest stay");
  ok = write_one(particles, 5, &f) == 0;
  all_ok(&c, ok && is_there(2, "") && is_there(5, "") && !is_there(5, ".old") && !is_there(5, ".tmp"),
         "one of the same number is replaced");
  par.CheckpointsKept = 3;
  ok = write_one(particles, 7, &f) == 0;
  all_ok(&c, ok && is_there(2, "") && is_there(5, "") && is_there(7, ""), "CheckpointsKept = 3: the three newest");
  par.CheckpointsKept = 2;
}

static void move(long long from, const char *from_ending, long long to, const char *to_ending)
{
  char a[512], b[512];
  name_of(from, from_ending, a);
  name_of(to, to_ending, b);
  comm_barrier(&c);
  if (c.rank == 0 && rename(a, b)) MPI_Abort(c.mpi, 99);
  comm_barrier(&c);
}

/* The states that a kill can leave behind. */
static void interrupted(const struct particles *particles)
{
  struct fault f = {""};
  char path[512];
  move(7, "", 9, ".tmp");
  all_ok(&c, found(&c, NULL, NULL, &f) == 5, "what has not got its name yet is not taken");
  move(5, "", 5, ".old");
  all_ok(&c, found(&c, NULL, NULL, &f) == 5, "one that was about to be replaced is taken");
  int ok = write_one(particles, 8, &f) == 0;
  all_ok(&c, ok && !is_there(9, ".tmp") && is_there(5, "") && is_there(8, "") && !is_there(2, ""),
         "the next checkpoint tidies up");
  /* a folder that cannot be removed stands where the next one is to be written */
  name_of(10, ".tmp", path);
  if (c.rank == 0 && mkdir(path, 0777)) MPI_Abort(c.mpi, 99);
  snprintf(path + strlen(path), 20, "/strange");
  if (c.rank == 0 && mkdir(path, 0777)) MPI_Abort(c.mpi, 99);
  comm_barrier(&c);
  ok = write_one(particles, 10, &f) == -1 && strstr(f.text, "checkpoint_000010.tmp") && is_there(5, "") &&
       is_there(8, "") && !is_there(10, "");
  all_ok(&c, ok, "one that cannot be written is a fault, and the others stay");
  comm_barrier(&c);
  if (c.rank == 0) rmdir(path);
  name_of(10, ".tmp", path);
  if (c.rank == 0) rmdir(path);
}

/* Killed between the new one's name and the removal of the one that it replaces; then one before both is gone on
 * from. */
static void set_aside(const struct particles *particles)
{
  struct fault f = {""};
  char good[512], old[512], unused[512], elsewhere[512];
  struct stat before = {.st_ino = 0}, after = {.st_ino = 1};
  const struct checkpoint chosen = {.number = 8, .own_folder = 1};
  name_of(12, "", good);
  name_of(12, ".old", old);
  name_of(12, ".unused", unused);
  snprintf(elsewhere, sizeof elsewhere, "%.200s/elsewhere", folder);
  int ok = write_one(particles, 12, &f) == 0;
  if (c.rank == 0 && rename(good, elsewhere)) MPI_Abort(c.mpi, 99);
  comm_barrier(&c);
  ok = ok && write_one(particles, 12, &f) == 0;
  if (c.rank == 0 && (rename(elsewhere, old) || stat(good, &before))) MPI_Abort(c.mpi, 99);
  if (c.rank == 0) checkpoint_set_aside(&par, &chosen);
  if (c.rank == 0) ok = ok && stat(unused, &after) == 0 && after.st_ino == before.st_ino;
  comm_barrier(&c);
  all_ok(&c, ok && !is_there(12, "") && !is_there(12, ".old"),
         "of two newer ones of the same number the later is set aside, and not lost");
}

/* What a checkpoint lacks is found before a table is cut back to it. */
static void tables_stay(void)
{
  char path[512], lacking[] = "logs.ends = 4 -1 -1 -1 -1 -1\nlogs.first_energy = 0x1p+0\n";
  struct logs logs = {0};
  struct fault f = {""};
  struct stat st = {.st_size = 0};
  struct sim sim = {.comm = &c, .par = &par, .be = &backend_cpu};
  const struct checkpoint k = {.own_folder = 1, .own_output = 1, .text = lacking};
  snprintf(path, sizeof path, "%.200s/energy.csv", folder);
  int fd = c.rank == 0 ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (c.rank == 0 && (fd < 0 || write(fd, "one\ntwo\n", 8) != 8 || close(fd))) MPI_Abort(c.mpi, 99);
  comm_barrier(&c);
  int ok = state_load_logs(&logs, &sim, &k, 0, &f) == -1 && strstr(f.text, "logs.worst") && !logs.files.energy;
  ok = ok && stat(path, &st) == 0 && st.st_size == 8;
  comm_barrier(&c);
  all_ok(&c, ok, "a checkpoint that lacks a number is refused with the tables as they were");
  if (c.rank == 0) unlink(path);
}

/* A file that cannot grow beyond a size fails in the midst of it, as on a disk that fills up. */
static void cut_short(const struct particles *particles)
{
  struct fault f = {""};
  struct rlimit before, small;
  int files, after;
  char path[512];
  snprintf(path, sizeof path, "%s/checkpoints", folder);
  comm_barrier(&c);
  files = folder_files(path);
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 20000;
  setrlimit(RLIMIT_FSIZE, &small);
  int ok = write_one(particles, 20, &f) == -1 && strstr(f.text, "File too large");
  setrlimit(RLIMIT_FSIZE, &before);
  after = folder_files(path);
  comm_barrier(&c);
  ok = ok && files == after && !is_there(20, "") && !is_there(20, ".tmp");
  all_ok(&c, ok, "one that fails in the midst of its files leaves nothing, and the others stay");
}

/* --- snapshots --------------------------------------------------------------------------------------------------- */

static int reads_as(const char *path, uint64_t digest, const struct initial_facts *facts, int *found_out)
{
  struct particles p;
  struct initial_facts got;
  struct fault f = {""};
  particles_init(&p);
  int status = initial_read(&c, path, FORMAT_AUTO, &p, &got, &f);
  uint64_t mine = status == 0 ? digest_all(&c, &p) : 0;
  particles_free(&p);
  *found_out += status != 0;
  if (status) return f.text[0] != 0;
  if (memcmp(&got, facts, sizeof got) && c.rank == 0)
    printf("# format %s, time %g, own %d, units %d, gravity %g\n", got.format, got.time, got.own, got.has_units,
           got.gravity);
  if (mine != digest && c.rank == 0) printf("# other particles\n");
  return mine == digest && memcmp(&got, facts, sizeof got) == 0;
}

static void flipped_snapshots(int64_t total, const char *what)
{
  struct particles p;
  struct initial_facts facts;
  struct fault f = {""};
  char path[512], text[200];
  const struct snapshot_facts about = {
      .params = &par, .time = 1.5, .step = 3, .gravity = 1, .extras = SNAPSHOT_POTENTIAL};
  int ok = 1, seen = 0;
  snprintf(path, sizeof path, "%s/flip_000.hdf5", folder);
  particles_make(&p, &c, total, 3);
  if (snapshot_write(&c, path, &p, &about, &f)) MPI_Abort(c.mpi, 99);
  uint64_t digest = digest_all(&c, &p);
  particles_free(&p);
  particles_init(&p);
  if (initial_read(&c, path, FORMAT_AUTO, &p, &facts, &f)) MPI_Abort(c.mpi, 99);
  particles_free(&p);
  for (int i = 0; i < FLIPS; i++) {
    double place = chance(), bit = chance();
    unsigned char byte, changed;
    off_t at = 0;
    if (c.rank == 0) {
      struct stat st;
      int fd = open(path, O_RDWR);
      fstat(fd, &st);
      at = (off_t)(place * (double)st.st_size);
      if (pread(fd, &byte, 1, at) != 1) MPI_Abort(c.mpi, 99);
      changed = byte ^ (unsigned char)(1u << (int)(bit * 8));
      if (pwrite(fd, &changed, 1, at) != 1) MPI_Abort(c.mpi, 99);
      close(fd);
    }
    comm_barrier(&c);
    int good = reads_as(path, digest, &facts, &seen);
    if (!good && c.rank == 0) printf("# byte %lld is read as something else\n", (long long)at);
    ok &= good;
    comm_barrier(&c);
    if (c.rank == 0) {
      int fd = open(path, O_RDWR);
      if (pwrite(fd, &byte, 1, at) != 1) MPI_Abort(c.mpi, 99);
      close(fd);
    }
    comm_barrier(&c);
  }
  snprintf(text, sizeof text, "%s: %d of %d flipped bits are found, the others are not read (potentials, free space)",
           what, seen, FLIPS);
  all_ok(&c, ok && seen > FLIPS / 4, text);
}

/* A link to another run's checkpoint, and a file that only looks like one of a rank. */
static void not_ours(const struct particles *particles)
{
  char path[512], elsewhere[512], kept[600];
  struct fault f = {""};
  name_of(50, "", path);
  snprintf(elsewhere, sizeof elsewhere, "%.200s/elsewhere", folder);
  int ok = write_one(particles, 50, &f) == 0;
  if (c.rank == 0 && (rename(path, elsewhere) || symlink(elsewhere, path))) MPI_Abort(c.mpi, 99);
  if (c.rank == 0) checkpoint_remove_all(&par);
  comm_barrier(&c);
  snprintf(kept, sizeof kept, "%s/rank_00000", elsewhere);
  all_ok(&c, ok && !is_there(50, "") && access(kept, F_OK) == 0,
         "of a link to a checkpoint the link is removed, and nothing behind it");
  comm_barrier(&c);
  if (c.rank == 0 && rename(elsewhere, path)) MPI_Abort(c.mpi, 99);
  snprintf(kept, sizeof kept, "%s/rank_notes", path);
  name_of(50, ".unused", elsewhere);
  int fd = c.rank == 0 ? open(kept, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (fd >= 0) close(fd);
  if (c.rank == 0) checkpoint_remove_all(&par);
  comm_barrier(&c);
  snprintf(kept, sizeof kept, "%s/rank_notes", elsewhere);
  all_ok(&c, access(kept, F_OK) == 0 && !is_there(50, ""),
         "a file whose name is not a rank's stays, but not in a checkpoint's name");
  comm_barrier(&c);
  if (c.rank == 0) {
    unlink(kept);
    rmdir(elsewhere);
  }
}

static void remove_all(void)
{
  char path[512];
  comm_barrier(&c);
  if (c.rank == 0) checkpoint_remove_all(&par);
  snprintf(path, sizeof path, "%s/checkpoints", folder);
  int left = c.rank == 0 ? folder_files(path) : 0;
  all_ok(&c, left == 0, "all checkpoints are removed");
  if (c.rank == 0) rmdir(path);
  folder_remove(&c, folder);
}

int main(int argc, char **argv)
{
  struct particles p;
  ranks_begin(&c, &argc, &argv);
  params_defaults(&par);
  folder_make(&c, folder);
  snprintf(par.OutputDir, sizeof par.OutputDir, "%s", folder);
  particles_make(&p, &c, TOTAL, 3);
  if (!freopen("/dev/null", "w", stderr)) return 99; /* every damage is named there */
  comes_back(&p);
  fewer_ranks(&p);
  damage(0, FLIPS, "flipped bits");
  damage(1, 40, "truncated files");
  without("manifest");
  without("rank_00000");
  forged();
  kept(&p);
  interrupted(&p);
  set_aside(&p);
  tables_stay();
  cut_short(&p);
  not_ours(&p);
  particles_free(&p);
  flipped_snapshots(1500, "a snapshot of 1500 particles");
  flipped_snapshots(8, "a snapshot of 8 particles, nearly all metadata");
  remove_all();
  return ranks_end(&c);
}
