/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files by which a run and the scripts that submit it know of each other: status, cont, lock, and the folder itself.
 * What has their names may be a FIFO, may be replaced, or may be moved while the run goes on. */
#define _GNU_SOURCE
#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "job/held_folder.h"
#include "job/status.h"
#include "tap.h"

static char top[256], folder[300];
static int fail_renames; /* the next so many fail */

/* In the place of the C library's. */
int rename(const char *from, const char *to)
{
  if (fail_renames > 0) {
    fail_renames--;
    errno = EIO;
    return -1;
  }
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static const char *in(const char *name)
{
  static char path[4][700];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
  return path[turn];
}

static void put(const char *name, const char *text)
{
  FILE *out = fopen(in(name), "w");
  fputs(text, out);
  fclose(out);
}

static int has(const char *name, const char *text)
{
  char found[4096] = "";
  FILE *from = fopen(in(name), "r");
  if (!from) return 0;
  found[fread(found, 1, sizeof found - 1, from)] = 0;
  fclose(from);
  return strncmp(found, text, strlen(text)) == 0;
}

static int is_there(const char *name) { return access(in(name), F_OK) == 0; }

static void opens_regular_files(void)
{
  int flags[] = {O_RDONLY, O_WRONLY, O_RDWR | O_CREAT, O_WRONLY | O_CREAT | O_TRUNC}, ok = 1;
  mkfifo(in("fifo"), 0666);
  for (int k = 0; k < 4; k++) ok &= file_open(in("fifo"), flags[k]) == -1 && errno == FILE_NOT_REGULAR;
  tap_ok(ok && !file_stream(in("fifo"), "w") && !file_stream(in("fifo"), "r"), "a FIFO is refused without waiting");
  ok = 1;
  for (int k = 0; k < 4; k++) ok &= file_open(folder, flags[k]) == -1 && errno == FILE_NOT_REGULAR;
  tap_ok(ok && file_open("/dev/null", O_RDWR) == -1 && errno == FILE_NOT_REGULAR, "so are a folder and a device");
  tap_ok(file_open(in("absent"), O_RDONLY) == -1 && errno == ENOENT, "a missing file is missing");
  int fd = file_open(in("file"), O_WRONLY | O_CREAT | O_TRUNC);
  tap_ok(fd >= 0 && write(fd, "text", 4) == 4 && close(fd) == 0 && has("file", "text"),
         "a regular file is created and written");
  unlink(in("file"));
  unlink(in("fifo"));
}

static struct params par;
static struct status some(void)
{
  return (struct status){.par = &par, .ranks = 1, .backend = "cpu", .energy_error = NAN, .ends = HUGE_VAL};
}

static void reports_the_end(void)
{
  struct status s = some();
  fail_renames = 3;
  int bad = status_end(&s, STATE_FINISHED, "TimeMax", 0);
  tap_ok(bad == 0 && has("status", "state=finished\n"),
         "an end whose status cannot be renamed three times is reported all the same");
  put("status", "state=running\n");
  fail_renames = 1000;
  bad = status_end(&s, STATE_FINISHED, "TimeMax", 0);
  tap_ok(bad == 0 && has("status", "state=finished\n") && !is_there("status.tmp"),
         "one that never can: it is written over in place");
  unlink(in("status"));
  fail_renames = 1000;
  bad = status_end(&s, STATE_FINISHED, "TimeMax", 0);
  tap_ok(bad == -1 && !is_there("status") && !is_there("status.tmp"), "without a file to write over: a fault");
  fail_renames = 1000;
  bad = status_end(&s, "interrupted", "SIGUSR1", 1);
  tap_ok(bad == 0 && is_there("cont"),
         "... but none where the file cont has been written, which counts for chains of jobs");
  fail_renames = 0;
  mkfifo(in("status.tmp"), 0666);
  bad = status_end(&s, STATE_FINISHED, "TimeMax", 0);
  tap_ok(bad == -1 && !is_there("status"), "a FIFO in the place of status.tmp: a fault, and no waiting");
}

static void knows_its_files(void)
{
  static const char *const names[] = {"status", "status.tmp", "cont"};
  for (int k = 0; k < 3; k++) {
    struct fault f = {""};
    unlink(in(names[k]));
    mkfifo(in(names[k]), 0666);
    int bad = status_check(&par, &f);
    char what[100];
    snprintf(what, sizeof what, "a start with a FIFO named %s is refused", names[k]);
    tap_ok(bad == -1 && strstr(f.text, "is not of a run"), what);
    unlink(in(names[k]));
  }
  for (int k = 0; k < 2; k++) {
    struct fault f = {""};
    struct lock l = LOCK_NONE;
    if (k) mkdir(in("lock"), 0777);
    else mkfifo(in("lock"), 0666);
    tap_ok(lock_take(&l, "OutputDir", folder, &f) == -1 && strstr(f.text, "is not the lock of a run"),
           k ? "a folder named lock: the same" : "a FIFO named lock: the same");
    if (k) rmdir(in("lock"));
    else unlink(in("lock"));
  }
}

static void keeps_the_status_of_before(void)
{
  static const char before[] = "state=interrupted\nreason=SIGUSR1\nstep=5\n";
  put("status", before);
  put("cont", "");
  status_refused(&par);
  tap_ok(has("status", before) && !is_there("cont"), "a refused restart: the status stays, the file cont goes");
  put("cont", "notes");
  status_refused(&par);
  tap_ok(is_there("cont"), "... but not a file that is not a run's");
  unlink(in("cont"));
  long long step;
  double time;
  put("status", "state=untrusted\nreason=TimeMax\nstep=5\ntime=0.5\n");
  tap_ok(status_finished(&par, &step, &time) && step == 5 && time == 0.5 && status_untrusted(&par),
         "an untrusted run has finished");
  put("status", "state=finished\nreason=TimeMax\nstep=5\ntime=0.5\n");
  tap_ok(status_finished(&par, &step, &time) && !status_untrusted(&par), "... but not the other way round");
  unlink(in("status"));
}

static enum folder_fate fate(const struct held_folder *folder, const struct lock *lock, char now[FOLDER_PATH])
{
  now[0] = 0;
  return held_folder_look(folder, lock, now);
}

static void holds_its_folder(void)
{
  char now[FOLDER_PATH], moved[400], rescue[FOLDER_PATH], expected[FOLDER_PATH + 16], real[PATH_MAX];
  struct held_folder h = FOLDER_NONE;
  struct lock l = LOCK_NONE;
  struct fault f = {""};
  int ok = lock_take(&l, "OutputDir", folder, &f) == 0;
  ok = ok && fate(&h, &l, now) == FOLDER_HELD;
  held_folder_open(&h, folder);
  tap_ok(ok && fate(&h, &l, now) == FOLDER_HELD, "a folder that stays is held; so is one that was never opened");
  snprintf(moved, sizeof moved, "%s/moved", top);
  rename(folder, moved);
  mkdir(folder, 0777);
  if (!realpath(moved, real)) strcpy(real, moved);
  tap_ok(fate(&h, &l, now) == FOLDER_MOVED && strcmp(now, real) == 0,
         "one that was moved, with another in its place: its new path");
  rmdir(folder);
  rename(moved, folder);
  tap_ok(fate(&h, &l, now) == FOLDER_HELD, "moved back: held");
  unlink(in("lock"));
  tap_ok(fate(&h, &l, now) == LOCK_REMOVED, "a lock that was removed");
  put("lock", "");
  tap_ok(fate(&h, &l, now) == LOCK_REPLACED, "a lock that was replaced");
  rename(folder, moved);
  tap_ok(fate(&h, &l, now) == FOLDER_GONE, "moved, and with another lock: the folder counts as gone");
  rename(moved, folder);
  unlink(in("lock"));
  rmdir(folder);
  tap_ok(fate(&h, &l, now) == FOLDER_GONE, "a folder that was removed");
  snprintf(expected, sizeof expected, "%s-rescue", h.absolute);
  ok = held_folder_rescue(&h, rescue, &f) == 0 && strcmp(rescue, expected) == 0;
  snprintf(expected, sizeof expected, "%s-rescue-2", h.absolute);
  ok = ok && held_folder_rescue(&h, rescue, &f) == 0 && strcmp(rescue, expected) == 0;
  tap_ok(ok && access(expected, W_OK) == 0, "rescue folders are beside it, a new one each");
  rmdir(expected);
  expected[strlen(expected) - 2] = 0;
  rmdir(expected);
  lock_release(&l);
  held_folder_close(&h);
}

int main(void)
{
  const char *tmp = getenv("TMPDIR");
  snprintf(top, sizeof top, "%.200s/espalier-test-XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(top)) return 99;
  snprintf(folder, sizeof folder, "%s/out", top);
  mkdir(folder, 0777);
  alarm(120); /* a FIFO that is opened waits without end */
  params_defaults(&par);
  snprintf(par.OutputDir, sizeof par.OutputDir, "%s", folder);
  opens_regular_files();
  reports_the_end();
  knows_its_files();
  keeps_the_status_of_before();
  holds_its_folder();
  tap_ok(rmdir(top) == 0, "no other file remains");
  return tap_end();
}
