/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A disk that fails: a library for LD_PRELOAD whose calls fail, write less than asked, or report success and do
 * nothing, for files below one folder. Linux, 64 bits.
 *   cc -shared -fPIC -o fault_shim.so fault_shim.c
 *   export FAULT_BELOW=$PWD/out FAULT_PLAN="calls=pwrite path=*snapshot_001* at=3 run=2 modes=EIO"
 *   env LD_PRELOAD=$PWD/fault_shim.so espalier run run.ini      # on ranks: mpirun -n 2 env LD_PRELOAD=...
 * FAULT_BELOW: an absolute path without links. FAULT_LOG: a file that gets a line for each fault. FAULT_DO: a command
 * for the mode do. FAULT_PLAN: rules, separated by ';', of settings, separated by blanks; the first rule that applies
 * decides.
 *   calls=LIST    of: write (and writev) pwrite (and pwritev) fsync (and fdatasync) rename close open (for writing, and
 *                 fopen) truncate allocate mkdir unlink (and rmdir) link; default: all
 *   path=PATTERN  as of the shell, where * matches / too, for the path below the folder; of rename, one of both paths;
 *                 default: *
 *   modes=LIST    EIO ENOSPC EDQUOT EACCES ENOENT; short: half of the bytes; drop: success without effect; slow: a
 *                 tenth of a second late; KILL TERM USR1 USR2 STOP: the signal, and then the call; do: the command
 *                 FAULT_DO, and then the call. One is drawn for each run of faults; where short and drop have no
 *                 meaning it is EIO
 *   at=N          the N-th call that matches, on each rank; or
 *   p=P           each call with this probability, from=N on, at most most=M times; seed=S
 *   run=R         and the R - 1 next calls that match in the same way
 *   rank=K        only on this rank
 * Ranks draw numbers of their own. One seed gives the same faults where the calls are the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum call { WRITE, PWRITE, FSYNC, RENAME, CLOSE, OPEN, TRUNCATE, ALLOCATE, MKDIR, UNLINK, LINK, CALLS };
static const char *const call_names[CALLS] = {"write",    "pwrite",   "fsync", "rename", "close", "open",
                                              "truncate", "allocate", "mkdir", "unlink", "link"};
enum {
  SHORT = -1,
  DROP = -2,
  COMMAND = -3,
  SLOW = -4,
  SIGNAL = -100,
  RULES = 8,
  MODES = 16,
  PATH_SIZE = PATH_MAX + 64
};
/* Errors are positive, signals are SIGNAL - number. */
static const struct {
  const char *name;
  int mode;
} mode_names[] = {{"EIO", EIO},
                  {"ENOSPC", ENOSPC},
                  {"EDQUOT", EDQUOT},
                  {"EACCES", EACCES},
                  {"ENOENT", ENOENT},
                  {"short", SHORT},
                  {"drop", DROP},
                  {"do", COMMAND},
                  {"slow", SLOW},
                  {"KILL", SIGNAL - SIGKILL},
                  {"TERM", SIGNAL - SIGTERM},
                  {"USR1", SIGNAL - SIGUSR1},
                  {"USR2", SIGNAL - SIGUSR2},
                  {"STOP", SIGNAL - SIGSTOP}};
enum { MODE_NAMES = sizeof mode_names / sizeof *mode_names };

struct rule {
  unsigned calls;
  char path[256];
  int modes[MODES], mode_count;
  long at, from, run, most;
  double p;
  uint64_t seed;
  long matched, left, faults; /* calls so far; faults that the run has left; faults so far */
  int mode;                   /* of the run */
};
static struct rule rules[RULES];
static int rule_count, rank;
static char below[PATH_MAX], log_path[PATH_MAX], command[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- the plan ---------------------------------------------------------------------------------------------------- */

static void refuse(const char *what)
{
  fprintf(stderr, "fault_shim: %s is not understood\n", what);
  _exit(99);
}

static void set_calls(struct rule *rule, char *list)
{
  char *rest;
  rule->calls = 0;
  for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    int k = 0;
    while (k < CALLS && strcmp(name, call_names[k])) k++;
    if (k == CALLS) refuse(name);
    rule->calls |= 1u << k;
  }
}

static void set_modes(struct rule *rule, char *list)
{
  char *rest;
  rule->mode_count = 0;
  for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    int k = 0;
    while (k < MODE_NAMES && strcmp(name, mode_names[k].name)) k++;
    if (k == MODE_NAMES || rule->mode_count == MODES) refuse(name);
    rule->modes[rule->mode_count++] = mode_names[k].mode;
  }
}

/* "at=3 run=2": a rule. Returns 0 where it is for another rank. */
static int set_rule(struct rule *rule, char *text)
{
  char *rest;
  int mine = 1;
  *rule = (struct rule){
      .calls = ~0u, .path = "*", .modes = {EIO}, .mode_count = 1, .from = 1, .run = 1, .most = LONG_MAX, .p = 1};
  for (char *item = strtok_r(text, " \n", &rest); item; item = strtok_r(NULL, " \n", &rest)) {
    char *value = strchr(item, '=');
    if (!value) refuse(item);
    *value++ = 0;
    if (!strcmp(item, "calls")) set_calls(rule, value);
    else if (!strcmp(item, "path")) snprintf(rule->path, sizeof rule->path, "%s", value);
    else if (!strcmp(item, "modes")) set_modes(rule, value);
    else if (!strcmp(item, "at")) rule->at = atol(value);
    else if (!strcmp(item, "from")) rule->from = atol(value);
    else if (!strcmp(item, "run")) rule->run = atol(value);
    else if (!strcmp(item, "most")) rule->most = atol(value);
    else if (!strcmp(item, "p")) rule->p = atof(value);
    else if (!strcmp(item, "seed")) rule->seed = strtoull(value, NULL, 10);
    else if (!strcmp(item, "rank")) mine = atoi(value) == rank;
    else refuse(item);
  }
  return mine;
}

__attribute__((constructor)) static void begin(void)
{
  static char plan[16384];
  static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  char *rest;
  for (int k = 2; k >= 0; k--)
    if (getenv(ranks[k])) rank = atoi(getenv(ranks[k]));
  snprintf(below, sizeof below, "%s", getenv("FAULT_BELOW") ? getenv("FAULT_BELOW") : "");
  snprintf(log_path, sizeof log_path, "%s", getenv("FAULT_LOG") ? getenv("FAULT_LOG") : "");
  snprintf(command, sizeof command, "%s", getenv("FAULT_DO") ? getenv("FAULT_DO") : "");
  snprintf(plan, sizeof plan, "%s", getenv("FAULT_PLAN") ? getenv("FAULT_PLAN") : "");
  for (char *text = strtok_r(plan, ";", &rest); text; text = strtok_r(NULL, ";", &rest)) {
    if (rule_count == RULES) refuse("a plan of so many rules");
    rule_count += set_rule(&rules[rule_count], text);
  }
  unsetenv("LD_PRELOAD"); /* for programs that this one starts */
}

/* --- which call fails -------------------------------------------------------------------------------------------- */

/* A number in [0, 1) that depends on all arguments (splitmix64). */
static double chance(uint64_t seed, uint64_t a, uint64_t b)
{
  uint64_t z = seed * 0x9e3779b97f4a7c15u + a * 0xd1342543de82ef95u + b * 0xbf58476d1ce4e5b9u + 0x94d049bb133111ebu;
  for (int k = 0; k < 2; k++) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return (double)(z >> 11) * 0x1p-53;
}

/* What a rule has for a call that matches it: a mode, or 0. */
static int apply(struct rule *rule, int number)
{
  long n = ++rule->matched;
  if (rule->left > 0) {
    rule->left--;
  } else {
    double drawn = chance(rule->seed, (uint64_t)rank * 16 + (uint64_t)number, (uint64_t)n);
    int begins = rule->at ? n == rule->at : n >= rule->from && rule->faults < rule->most && drawn < rule->p;
    if (!begins) return 0;
    rule->mode = rule->modes[(int)(chance(rule->seed + 1, (uint64_t)rank, (uint64_t)n) * rule->mode_count)];
    rule->left = rule->run - 1;
  }
  rule->faults++;
  return rule->mode;
}

static const char *mode_text(int mode)
{
  for (int k = 0; k < MODE_NAMES; k++)
    if (mode_names[k].mode == mode) return mode_names[k].name;
  return "?";
}

static void note(const char *call, const char *path, int mode)
{
  char line[PATH_SIZE + 128];
  int length = snprintf(line, sizeof line, "rank %d: %s %s %s\n", rank, mode_text(mode), call, path);
  int file =
      log_path[0] ? (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
  if (file < 0) return;
  syscall(SYS_write, file, line, (size_t)length);
  syscall(SYS_close, file);
}

/* The path below the folder, or NULL. */
static const char *inside(const char *path)
{
  size_t n = strlen(below);
  if (!n || strncmp(path, below, n)) return NULL;
  return path[n] == '/' ? path + n + 1 : path[n] ? NULL : path + n;
}

/* The mode of a call on these absolute paths (`other`: "" or the second one): an error, SHORT, DROP, or 0: to be done
 * as usual. */
static int fault(enum call call, const char *path, const char *other)
{
  const char *a = inside(path), *b = inside(other);
  int mode = 0, was = errno;
  if (!a && !b) return 0;
  pthread_mutex_lock(&lock);
  for (int k = 0; k < rule_count && !mode; k++) {
    struct rule *r = &rules[k];
    if (r->calls >> call & 1 && ((a && !fnmatch(r->path, a, 0)) || (b && !fnmatch(r->path, b, 0)))) mode = apply(r, k);
  }
  pthread_mutex_unlock(&lock);
  int writes = call == WRITE || call == PWRITE;
  if ((mode == SHORT && !writes) || (mode == DROP && !writes && call != FSYNC && call != RENAME)) mode = EIO;
  if (mode) note(call_names[call], a ? a : b, mode);
  if (mode <= SIGNAL) kill(getpid(), SIGNAL - mode);
  if (mode == SLOW) usleep(100000);
  if (mode == COMMAND && system(command)) fprintf(stderr, "fault_shim: the command failed: %s\n", command);
  errno = was;
  return mode == SHORT || mode == DROP || mode > 0 ? mode : 0;
}

/* --- paths ------------------------------------------------------------------------------------------------------- */

static void path_of(int fd, char path[PATH_SIZE])
{
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, (size_t)PATH_SIZE - 1);
  path[n > 0 ? n : 0] = 0;
}

static void path_at(int folder, const char *name, char path[PATH_SIZE])
{
  path[0] = 0;
  while (name[0] == '.' && name[1] == '/') name += 2;
  if (name[0] == '/') snprintf(path, PATH_SIZE, "%s", name);
  else if (folder != AT_FDCWD) path_of(folder, path);
  else if (syscall(SYS_getcwd, path, (size_t)PATH_SIZE) < 0) path[0] = 0;
  size_t n = strlen(path);
  if (name[0] != '/' && n) snprintf(path + n, PATH_SIZE - n, "/%s", name);
}

static int fault_fd(enum call call, int fd)
{
  char path[PATH_SIZE];
  int was = errno;
  path_of(fd, path);
  errno = was;
  return fault(call, path, "");
}

static int fault_at(enum call call, int folder, const char *name)
{
  char path[PATH_SIZE];
  int was = errno;
  path_at(folder, name, path);
  errno = was;
  return fault(call, path, "");
}

static int fails(int mode)
{
  errno = mode;
  return -1;
}

/* --- the calls --------------------------------------------------------------------------------------------------- */

/* Of a mode of writing: whether the call ends here, with *done. */
static int ends(int mode, int fd, size_t bytes, int moves, ssize_t *done)
{
  if (mode > 0) *done = fails(mode);
  if (mode == DROP) {
    if (moves) syscall(SYS_lseek, fd, (off_t)bytes, SEEK_CUR);
    *done = (ssize_t)bytes;
  }
  return mode > 0 || mode == DROP;
}

ssize_t write(int fd, const void *from, size_t bytes)
{
  ssize_t done;
  int mode = fault_fd(WRITE, fd);
  if (ends(mode, fd, bytes, 1, &done)) return done;
  return syscall(SYS_write, fd, from, mode == SHORT && bytes > 1 ? bytes / 2 : bytes);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
  ssize_t done;
  int mode = fault_fd(PWRITE, fd);
  if (ends(mode, fd, bytes, 0, &done)) return done;
  return syscall(SYS_pwrite64, fd, from, mode == SHORT && bytes > 1 ? bytes / 2 : bytes, offset);
}
ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t offset) { return pwrite(fd, from, bytes, offset); }

static size_t total(const struct iovec *parts, int count)
{
  size_t sum = 0;
  for (int k = 0; k < count; k++) sum += parts[k].iov_len;
  return sum;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
  ssize_t done;
  int mode = fault_fd(WRITE, fd);
  if (ends(mode, fd, total(parts, count), 1, &done)) return done;
  return syscall(SYS_writev, fd, parts, mode == SHORT && count > 1 ? count / 2 : count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
  ssize_t done;
  int mode = fault_fd(PWRITE, fd);
  if (ends(mode, fd, total(parts, count), 0, &done)) return done;
  return syscall(SYS_pwritev, fd, parts, mode == SHORT && count > 1 ? count / 2 : count, offset, 0);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
  return pwritev(fd, parts, count, offset);
}

int fsync(int fd)
{
  int mode = fault_fd(FSYNC, fd);
  return mode > 0 ? fails(mode) : mode == DROP ? 0 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
  int mode = fault_fd(FSYNC, fd);
  return mode > 0 ? fails(mode) : mode == DROP ? 0 : (int)syscall(SYS_fdatasync, fd);
}

/* As of Linux: the file is closed whatever close returns. */
int close(int fd)
{
  int mode = fault_fd(CLOSE, fd);
  int status = (int)syscall(SYS_close, fd);
  return mode > 0 ? fails(mode) : status;
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
  char a[PATH_SIZE], b[PATH_SIZE];
  path_at(from_folder, from, a);
  path_at(to_folder, to, b);
  int mode = fault(RENAME, a, b);
  return mode > 0       ? fails(mode)
         : mode == DROP ? 0
                        : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}
int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
  return renameat2(from_folder, from, to_folder, to, 0);
}
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
  int mode = fault_at(LINK, to_folder, to);
  return mode > 0 ? fails(mode) : (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

static int open_file(int folder, const char *name, int flags, mode_t rights)
{
  int mode = flags & (O_WRONLY | O_RDWR) && !(flags & O_DIRECTORY) ? fault_at(OPEN, folder, name) : 0;
  return mode > 0 ? fails(mode) : (int)syscall(SYS_openat, folder, name, flags, rights);
}

static mode_t rights_of(int flags, va_list rest)
{
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int openat(int folder, const char *name, int flags, ...)
{
  va_list rest;
  va_start(rest, flags);
  mode_t rights = rights_of(flags, rest);
  va_end(rest);
  return open_file(folder, name, flags, rights);
}

int open(const char *name, int flags, ...)
{
  va_list rest;
  va_start(rest, flags);
  mode_t rights = rights_of(flags, rest);
  va_end(rest);
  return open_file(AT_FDCWD, name, flags, rights);
}

int open64(const char *name, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *name, int flags, ...) __attribute__((alias("openat")));
int creat(const char *name, mode_t rights) { return open_file(AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, rights); }

int ftruncate(int fd, off_t length)
{
  int mode = fault_fd(TRUNCATE, fd);
  return mode > 0 ? fails(mode) : (int)syscall(SYS_ftruncate, fd, length);
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

int fallocate(int fd, int how, off_t offset, off_t length)
{
  int mode = fault_fd(ALLOCATE, fd);
  return mode > 0 ? fails(mode) : (int)syscall(SYS_fallocate, fd, how, offset, length);
}
int fallocate64(int fd, int how, off64_t offset, off64_t length) { return fallocate(fd, how, offset, length); }

int mkdirat(int folder, const char *name, mode_t rights)
{
  int mode = fault_at(MKDIR, folder, name);
  return mode > 0 ? fails(mode) : (int)syscall(SYS_mkdirat, folder, name, rights);
}
int mkdir(const char *name, mode_t rights) { return mkdirat(AT_FDCWD, name, rights); }

int unlinkat(int folder, const char *name, int flags)
{
  int mode = fault_at(UNLINK, folder, name);
  return mode > 0 ? fails(mode) : (int)syscall(SYS_unlinkat, folder, name, flags);
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

/* --- streams: the C library's own writes do not come here, so a stream below the folder writes through the calls
 * above */

enum { STREAMS = 64 };
static struct stream {
  FILE *file;
  int fd;
} streams[STREAMS];

static ssize_t stream_read(void *of, char *to, size_t bytes)
{
  return syscall(SYS_read, ((struct stream *)of)->fd, to, bytes);
}
static ssize_t stream_write(void *of, const char *from, size_t bytes)
{
  size_t done = 0;
  for (ssize_t n = 1; n > 0 && done<bytes; done += n> 0 ? (size_t)n : 0)
    n = write(((struct stream *)of)->fd, from + done, bytes - done);
  return (ssize_t)done; /* less than asked is an error, with errno of the last write */
}
static int stream_seek(void *of, off64_t *offset, int whence)
{
  long at = syscall(SYS_lseek, ((struct stream *)of)->fd, *offset, whence);
  if (at >= 0) *offset = at;
  return at < 0 ? -1 : 0;
}
static int stream_close(void *of)
{
  struct stream *s = of;
  s->file = NULL;
  return close(s->fd);
}

static FILE *stream_open(int fd, const char *how)
{
  static const cookie_io_functions_t functions = {stream_read, stream_write, stream_seek, stream_close};
  struct stream *s = streams;
  pthread_mutex_lock(&lock);
  while (s < streams + STREAMS && s->file) s++;
  if (s < streams + STREAMS) {
    s->fd = fd;
    s->file = fopencookie(s, how, functions);
  }
  pthread_mutex_unlock(&lock);
  return s < streams + STREAMS ? s->file : NULL;
}

FILE *fopen(const char *name, const char *how)
{
  char path[PATH_SIZE];
  FILE *(*real)(const char *, const char *);
  *(void **)&real = dlsym(RTLD_NEXT, "fopen");
  path_at(AT_FDCWD, name, path);
  if ((how[0] != 'w' && how[0] != 'a') || !inside(path)) return real(name, how);
  int flags = O_CREAT | (how[0] == 'w' ? O_TRUNC : O_APPEND) | (strchr(how, '+') ? O_RDWR : O_WRONLY) |
              (strchr(how, 'x') ? O_EXCL : 0) | (strchr(how, 'e') ? O_CLOEXEC : 0);
  int fd = open(name, flags, 0666);
  return fd < 0 ? NULL : stream_open(fd, how);
}
FILE *fopen64(const char *name, const char *how) __attribute__((alias("fopen")));

FILE *fdopen(int fd, const char *how)
{
  char path[PATH_SIZE];
  FILE *(*real)(int, const char *);
  *(void **)&real = dlsym(RTLD_NEXT, "fdopen");
  path_of(fd, path);
  return how[0] == 'r' || !inside(path) ? real(fd, how) : stream_open(fd, how);
}

int fileno(FILE *file)
{
  int (*real)(FILE *);
  *(void **)&real = dlsym(RTLD_NEXT, "fileno");
  for (int k = 0; k < STREAMS; k++)
    if (file && streams[k].file == file) return streams[k].fd;
  return real(file);
}

int vdprintf(int fd, const char *form, va_list values)
{
  char *text;
  int n = vasprintf(&text, form, values);
  if (n < 0) return -1;
  ssize_t done = write(fd, text, (size_t)n);
  free(text);
  return done < 0 ? -1 : n;
}
int dprintf(int fd, const char *form, ...)
{
  va_list values;
  va_start(values, form);
  int n = vdprintf(fd, form, values);
  va_end(values);
  return n;
}
