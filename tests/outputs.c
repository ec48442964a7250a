/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "run/outputs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "tap.h"

static const char file[] = "outputs-test.txt";

static struct params with(const char *text)
{
  struct params p;
  params_defaults(&p);
  p.TimeMax = 10;
  snprintf(p.OutputListFilename, sizeof p.OutputListFilename, "%s", file);
  FILE *out = fopen(file, "w");
  if (!out || fputs(text, out) < 0 || fclose(out)) exit(99);
  return p;
}

/* The text is refused, with a sentence that holds `fragment`, and no memory is kept. */
static void refused(const char *text, const char *fragment, const char *what)
{
  struct params p = with(text);
  struct fault f = {""};
  struct outputs o;
  int status = outputs_open(&o, &p, &f);
  tap_ok(status == -1 && strstr(f.text, fragment) && memory_current() == 0, what);
  if (!strstr(f.text, fragment)) printf("# said: %s\n", f.text);
}

/* The same for a text with NULs. */
static void damaged(const char *text, size_t size, const char *fragment, const char *what)
{
  struct params p = with("");
  struct fault f = {""};
  struct outputs o;
  FILE *out = fopen(file, "w");
  if (!out || fwrite(text, 1, size, out) != size || fclose(out)) exit(99);
  tap_ok(outputs_open(&o, &p, &f) == -1 && strstr(f.text, fragment) && memory_current() == 0, what);
  if (!strstr(f.text, fragment)) printf("# said: %s\n", f.text);
}

static void check_lists(void)
{
  struct params p = with("# times\n0.5\n  1.25e0  # a comment\n\n\t3\n9.75\n12\n");
  struct fault f = {""};
  struct outputs o;
  int good = outputs_open(&o, &p, &f) == 0;
  tap_ok(good && o.count == 5, "a list with comments, blanks and empty lines");
  const double now[] = {-1, 0, 0.5, 1, 1.25, 3, 9.7, 9.75, 11}, next[] = {0.5, 0.5, 1.25, 1.25, 3, 9.75, 9.75, 10, 10};
  int all = good;
  for (size_t i = 0; i < sizeof now / sizeof *now; i++) all &= good && outputs_next(&o, now[i]) == next[i];
  tap_ok(all, "the next time of the list after now, and at most the end of the run");
  outputs_close(&o);

  char many[20000] = "";
  for (int i = 1; i <= 1000; i++) sprintf(many + strlen(many), "%.3f\n", i * 0.001);
  p = with(many);
  good = outputs_open(&o, &p, &f) == 0;
  tap_ok(good && o.count == 1000 && outputs_next(&o, 0.9985) == 0.999 && outputs_next(&o, 1) == 10, "a long list");
  outputs_close(&o);
  tap_ok(memory_current() == 0, "all memory is given back");
}

static void check_missing(void)
{
  struct missing m = {0};
  char text[64], few[16];
  tap_ok(strcmp(missing_text(&m, text, sizeof text), "") == 0, "no snapshot is missing");
  for (int n = 12; n < 100; n++) missing_add(&m, n, 0.25 * n);
  missing_remove(&m, 98); /* not the last one */
  missing_remove(&m, 99);
  missing_add(&m, 103, 25.8);
  tap_ok(m.count == 88 && strcmp(missing_text(&m, text, sizeof text), "12-98,103") == 0,
         "numbers that follow each other are joined");
  char *said = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&said, &size);
  missing_print(&m, m.count, out);
  fclose(out);
  tap_ok(strcmp(said, "12 to 98 (times 3 to 24.5), 103 (time 25.8)") == 0, "they are printed with their times");
  free(said);
  for (int n = 200; n < 300; n += 2) missing_add(&m, n, n);
  missing_text(&m, few, sizeof few);
  tap_ok(strcmp(few, "12-98,103,...") == 0, "what does not fit is cut at a number");
  missing_close(&m);
  tap_ok(memory_current() == 0, "the list is freed");
}

static void check_faults(void)
{
  refused("0.5\nsoon\n", "outputs-test.txt:2: 'soon' is not an output time: one number per line, in units of the run",
          "a word is no time; file and line are named");
  refused("0.5 0.75\n", "outputs-test.txt:1", "two times in a line");
  refused("1\n2\n2\n", "outputs-test.txt:3: output time 2 does not come after 2", "a time twice");
  refused("1\n0.5\n", "outputs-test.txt:2", "descending times");
  refused("nan\n", "outputs-test.txt:1", "a NaN");
  refused("inf\n", "outputs-test.txt:1", "infinity");
  refused("# nothing\n\n", "holds no output time", "a list without times");
  char text[20000];
  sprintf(text, "1 #%0600d 5\n2 # %05000d 7\n3\n", 0, 0);
  struct params p = with(text);
  struct fault f = {""};
  struct outputs o;
  int good = outputs_open(&o, &p, &f) == 0;
  tap_ok(good && o.count == 3 && o.time[1] == 2, "numbers at the end of long comments are no output times");
  outputs_close(&o);
  f.text[0] = 0;
  sprintf(text, "1\n%05000d\n", 2);
  refused(text, "outputs-test.txt:2: the line at byte 3 has more than", "a long line");
  damaged("1\n2\n\0\0\0\0", 8, "outputs-test.txt:3: a NUL byte (byte 5 of the file)", "NUL bytes at the end");
  damaged("1\n2 # a\0comment\n3\n", 19, "outputs-test.txt:2: a NUL byte (byte 8 of the file)",
          "a NUL byte in a comment");
  damaged("1\0\n\0002\0\n\0", 8, "this is text in UTF-16", "text in UTF-16");
  p = with("\xef\xbb\xbf"
           "1\n2\n");
  good = outputs_open(&o, &p, &f) == 0;
  tap_ok(good && o.count == 2 && o.time[0] == 1, "a byte order mark of UTF-8");
  outputs_close(&o);
  unlink(file);
  if (mkfifo(file, 0600)) exit(99);
  alarm(60);
  tap_ok(outputs_open(&o, &p, &f) == -1 && strstr(f.text, "not a regular file"),
         "a FIFO is refused, it is not waited for");
  alarm(0);
  unlink(file);
  p = with("");
  f.text[0] = 0;
  strcpy(p.OutputListFilename, ".");
  tap_ok(outputs_open(&o, &p, &f) == -1 && strstr(f.text, "OutputListFilename: .") &&
             strstr(f.text, "not a regular file"),
         "a folder is not a list");
  unlink(file);
  f.text[0] = 0;
  strcpy(p.OutputListFilename, file);
  tap_ok(outputs_open(&o, &p, &f) == -1 && strstr(f.text, "No such file"), "a missing list");
}

static void check_intervals(void)
{
  struct params p;
  struct fault f = {""};
  struct outputs o;
  params_defaults(&p);
  p.TimeMax = 2;
  p.TimeBegin = 1;
  p.TimeBetSnapshot = 0.75;
  int good = outputs_open(&o, &p, &f) == 0;
  tap_ok(good && outputs_next(&o, 1) == 1.75 && outputs_next(&o, 1.75) == 2,
         "without a list: every TimeBetSnapshot after the start");
  outputs_close(&o);
  p.TimeBetSnapshot = 0;
  good = outputs_open(&o, &p, &f) == 0;
  tap_ok(good && outputs_next(&o, 1) == 2, "or only at the end");
  outputs_close(&o);
}

int main(void)
{
  unlink(file); /* a FIFO that a failed run left */
  check_lists();
  check_missing();
  check_faults();
  check_intervals();
  return tap_end();
}
