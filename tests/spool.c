/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text files that survive a full disk: rows that are refused, checksums of what has been written, files that were
 * changed. */
#include <config.h>
#include "base/spool.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "tap.h"

static const char path[] = "spool-test.csv";
static char text[200000];

static size_t file_size(void)
{
  struct stat st;
  return stat(path, &st) ? 0 : (size_t)st.st_size;
}

/* The file becomes text[0..bytes). */
static void put(const char *from, size_t bytes)
{
  FILE *out = fopen(path, "w");
  if (!out || fwrite(from, 1, bytes, out) != bytes || fclose(out)) exit(99);
}

static int is(size_t bytes)
{
  static char back[sizeof text];
  FILE *in = fopen(path, "r");
  size_t n = in ? fread(back, 1, sizeof back, in) : 0;
  if (in) fclose(in);
  return n == bytes && memcmp(back, text, bytes) == 0;
}

static FILE *open_at(long long at, struct spool **spool)
{
  struct fault f = {""};
  FILE *out = spool_open(path, at, spool, &f);
  if (!out) printf("# %s\n", f.text);
  return out;
}

/* Files may have this many bytes. */
static void limit(rlim_t bytes)
{
  struct rlimit l;
  getrlimit(RLIMIT_FSIZE, &l);
  l.rlim_cur = bytes < l.rlim_max ? bytes : l.rlim_max;
  setrlimit(RLIMIT_FSIZE, &l);
}

static void check_refused(void)
{
  struct spool *s;
  struct spool_sums sums;
  const char *bytes;
  FILE *out = open_at(-1, &s);
  if (!out) exit(99);
  signal(SIGXFSZ, SIG_IGN);
  limit(1000);
  fwrite(text, 1, 3000, out);
  tap_ok(fflush(out) == 0 && file_size() == 1000 && ftello(out) == 3000,
         "rows that do not fit stay in memory, and count");
  size_t left = spool_pending(s, &bytes);
  tap_ok(left == 2000 && memcmp(bytes, text + 1000, left) == 0, "these are known");
  spool_sums(s, &sums);
  tap_ok(sums.bytes == 1000, "checksums are of the bytes in the file");
  tap_ok(spool_report(s) == 2000 && spool_report(s) == 2000, "they are reported");
  limit(RLIM_INFINITY);
  fwrite(text + 3000, 1, 10, out);
  fflush(out);
  tap_ok(spool_report(s) == 0 && is(3010), "with room again all is written, in order");
  limit(3010);
  fwrite(text + 3010, 1, 10, out);
  tap_ok(fclose(out) != 0 && is(3010), "closing says that rows are lost");
  limit(RLIM_INFINITY);
  tap_ok(memory_current() == 0, "all memory is given back");
}

/* Checksums do not depend on how the bytes came. */
static void check_sums(void)
{
  struct spool_sums one, two;
  struct spool *s;
  int good = 1;
  for (size_t bytes = 0; bytes <= sizeof text; bytes += 3700) {
    FILE *out = open_at(-1, &s);
    fwrite(text, 1, bytes, out);
    fflush(out);
    spool_sums(s, &one);
    fclose(out);
    out = open_at((long long)(bytes / 3), &s);
    for (size_t at = bytes / 3; at < bytes; at += 77) fwrite(text + at, 1, bytes - at < 77 ? bytes - at : 77, out);
    fflush(out);
    spool_sums(s, &two);
    fclose(out);
    good &= memcmp(&one, &two, sizeof one) == 0 && one.bytes == (long long)bytes && is(bytes);
  }
  tap_ok(good, "the same checksums for the same bytes, appended in parts to a part of the file");
}

static struct spool_check compare(const struct spool_sums *was)
{
  struct spool_check found;
  struct fault f = {""};
  if (spool_check(path, was, &found, &f)) {
    printf("# %s\n", f.text);
    found.size = -2;
  }
  return found;
}

static void check_changes(void)
{
  enum { BYTES = 100000 }; /* with marks every 8192 bytes */
  static char other[BYTES];
  struct spool *s;
  struct spool_sums was;
  FILE *out = open_at(-1, &s);
  fwrite(text, 1, BYTES, out);
  fflush(out);
  spool_sums(s, &was);
  fclose(out);
  struct spool_check c = compare(&was);
  tap_ok(c.size == BYTES && c.agree == BYTES && c.keep == BYTES, "a file as it was");
  put(text, BYTES + 500);
  c = compare(&was);
  tap_ok(c.agree == BYTES && c.keep == BYTES, "with more rows");
  put(text, 20000);
  c = compare(&was);
  tap_ok(c.size == 20000 && c.agree == 16384 && c.keep > 19900 && c.keep <= 20000 && text[c.keep - 1] == '\n',
         "a short file: whole lines are kept");
  memcpy(other, text, BYTES);
  memset(other + 50000, 0, 5);
  put(other, BYTES);
  c = compare(&was);
  tap_ok(c.agree == 49152 && c.keep > 49900 && c.keep <= 50000 && text[c.keep - 1] == '\n',
         "zeros: the lines before them are kept");
  memcpy(other, text, BYTES);
  other[70000] ^= 1;
  put(other, BYTES);
  c = compare(&was);
  tap_ok(c.agree == 65536 && c.keep > BYTES - 100, "one bit changed: known up to the mark before it, and kept");
  unlink(path);
  c = compare(&was);
  tap_ok(c.size == -1 && c.agree == 0 && c.keep == 0, "a missing file");
}

static void check_others(void)
{
  struct fault f = {""};
  struct spool_check found;
  const struct spool_sums was = {.bytes = 10};
  if (mkfifo(path, 0666)) exit(99);
  tap_ok(!spool_open(path, -1, NULL, &f) && strstr(f.text, "is not a regular file"),
         "a FIFO is refused, and not waited for");
  f.text[0] = 0;
  tap_ok(!spool_open(path, 5, NULL, &f) && strstr(f.text, "is not a regular file"), "also to append to");
  f.text[0] = 0;
  tap_ok(spool_check(path, &was, &found, &f) == -1 && strstr(f.text, "is not a regular file"), "also to compare");
  unlink(path);
}

static void check_removed(void)
{
  struct spool *s;
  unlink(path);
  FILE *out = open_at(-1, &s);
  fwrite(text, 1, 100000, out);
  fflush(out);
  unlink(path);
  spool_sync(s);
  tap_ok(is(100000), "a file that was removed while it is open is written again");
  fwrite(text + 100000, 1, 50000, out);
  tap_ok(fclose(out) == 0 && is(150000), "and goes on");
  out = open_at(-1, &s);
  fwrite(text, 1, 1000, out);
  fflush(out);
  unlink(path);
  put("other", 5);
  spool_sync(s);
  fclose(out);
  tap_ok(file_size() == 5, "another file of its name is left alone");
  unlink(path);
}

/* Rows with the first columns only, also where a line comes in pieces, and on a disk that refuses them. */
static void check_columns(void)
{
  static const char given[] = "7,8\n# a,b,c\n1,2,3,4\n\n,,5\n6\n", wanted[] = "a,b\n1,2,3\n7,8\n# a,b,c\n1,2\n\n,\n6\n";
  for (size_t piece = 1; piece < sizeof given; piece += 4) {
    struct spool *s;
    char back[100] = "";
    FILE *out = open_at(-1, &s);
    fputs("a,b\n1,2,3\n", out);
    fflush(out);
    spool_columns(s, 2);
    for (size_t at = 0; at < sizeof given - 1; at += piece, fflush(out))
      fwrite(given + at, 1, piece < sizeof given - 1 - at ? piece : sizeof given - 1 - at, out);
    long long end = (long long)ftello(out);
    fclose(out);
    FILE *in = fopen(path, "r");
    size_t n = in ? fread(back, 1, sizeof back - 1, in) : 0;
    if (in) fclose(in);
    tap_ok(strcmp(back, wanted) == 0 && end == (long long)n,
           "the first columns of rows, comments whole, the place in the file");
  }
  unlink(path);
}

int main(void)
{
  size_t at = 0;
  for (int row = 0; at + 40 < sizeof text; row++)
    at += (size_t)sprintf(text + at, "%d,%.9f,%d\n", row, row * 0.017, row % 7);
  memset(text + at, '\n', sizeof text - at);
  check_refused();
  check_sums();
  check_changes();
  check_others();
  check_removed();
  check_columns();
  return tap_end();
}
