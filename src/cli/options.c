/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the commands need to read their command lines. */
#include <config.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/info.h"

/* Length of the next word of a usage line; text in brackets is one word. */
static int usage_word(const char *at)
{
  int length = 0, depth = 0;
  for (; at[length] && (at[length] != ' ' || depth > 0); length++) depth += (at[length] == '[') - (at[length] == ']');
  return length;
}

void command_usage(const struct command *self, FILE *out)
{
  enum { COLUMNS = 100 };
  int begin = fprintf(out, "usage: %s", PACKAGE_NAME), at = begin;
  for (const char *word = self ? self->usage : "[-h] [-V] COMMAND [ARGUMENT]..."; *word;) {
    int length = usage_word(word);
    if (at + 1 + length > COLUMNS) at = fprintf(out, "\n%*s", begin, "") - 1;
    at += fprintf(out, " %.*s", length, word);
    word += length + strspn(word + length, " ");
  }
  fputc('\n', out);
}

void command_help(const struct command *self)
{
  command_usage(self, stdout);
  printf("%s.\n\n%s  -h, --help              print this\n  -V, --version           print the version and how it was "
         "built\n",
         self->summary, self->help);
}

int command_misused(const struct command *self, const struct comm *comm, const char *format, ...)
{
  if (comm->rank != 0) return STATUS_USAGE;
  va_list args;
  va_start(args, format);
  fprintf(stderr, "%s: ", PACKAGE_NAME);
  if (self) fprintf(stderr, "%s: ", self->name);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  command_usage(self, stderr);
  if (self) fprintf(stderr, "'%s %s --help' explains it.\n", PACKAGE_NAME, self->name);
  else fprintf(stderr, "'%s --help' lists the commands.\n", PACKAGE_NAME);
  return STATUS_USAGE;
}

int command_failed(const struct comm *comm, const struct fault *fault)
{
  if (comm->rank == 0) fprintf(stderr, "%s: error: %s\n", PACKAGE_NAME, fault->text);
  return STATUS_ERROR;
}

/* A hint about an unknown long option: "; did you mean --check?", or the options that it abbreviates. */
static void option_hint(const char *word, const struct option *longs, char *hint, size_t size)
{
  enum { LIMIT = 64 };
  const char *names[LIMIT], *near;
  char name[64];
  int count = 0, begun = 0;
  size_t length = strcspn(word + 2, "="), at = 0;
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word + 2);
  hint[0] = 0;
  for (; longs[count].name && count < LIMIT; count++) {
    names[count] = longs[count].name;
    if (strncmp(names[count], name, length) == 0 && at < size)
      at += (size_t)snprintf(hint + at, size - at, "%s --%s", begun++ ? "," : ": it may be", names[count]);
  }
  if (begun) return;
  near = nearest_name(name, names, count);
  if (near) snprintf(hint, size, "; did you mean --%s?", near);
}

static int bad_option(const struct command *self, const struct comm *comm, char **argv, const struct option *longs,
                      int option)
{
  /* getopt gives the letter of a short option; a long option is the word before optind */
  const char letter[3] = {'-', (char)optopt, 0}, *word = argv[optind - 1];
  char hint[300] = "";
  int is_long = strncmp(word, "--", 2) == 0;
  if (option == ':') return command_misused(self, comm, "option %s needs a value", is_long ? word : letter);
  if (is_long && optopt) return command_misused(self, comm, "option %s: expected no value", word);
  if (is_long) option_hint(word, longs, hint, sizeof hint);
  return command_misused(self, comm, "%s option %s%s", hint[0] == ':' ? "ambiguous" : "unknown",
                         is_long ? word : letter, hint);
}

int command_option(const struct command *self, const struct comm *comm, int argc, char **argv, const char *options,
                   const struct option *longs, int *status)
{
  opterr = 0;
  int option = getopt_long(argc, argv, options, longs, NULL);
  if (option == 'h' && !self) return option;
  if (option == 'h' && comm->rank == 0) command_help(self);
  if (option == 'V' && comm->rank == 0) info_version(stdout);
  if (option == 'h' || option == 'V') *status = STATUS_OK;
  if (option == '?' || option == ':') *status = bad_option(self, comm, argv, longs, option);
  return option == 'h' || option == 'V' || option == '?' || option == ':' ? COMMAND_DONE : option;
}

const char *command_operand(const struct command *self, const struct comm *comm, int argc, char **argv,
                            const char *what, int *status)
{
  if (argc - optind == 1) return argv[optind];
  if (argc == optind) *status = command_misused(self, comm, "%s is missing", what);
  else *status = command_misused(self, comm, "expected one %s, found '%s' too", what, argv[optind + 1]);
  return NULL;
}

int command_whole(const char *text, long long min_value, long long max_value, long long *x)
{
  char *end;
  errno = 0;
  *x = strtoll(text, &end, 10);
  if (end != text && *end && strspn(text, "0123456789+-.eE") == strlen(text)) {
    errno = 0;
    long double real = strtold(text, &end);
    if (!(fabsl(real) < 0x1p63L) || real != floorl(real)) return -1;
    *x = (long long)real;
  }
  return end == text || *end || errno || *x < min_value || *x > max_value ? -1 : 0;
}

int command_particles(const char *text, double *x)
{
  static const char letters[] = "kMG";
  char *end;
  double power = 0;
  *x = strtod(text, &end);
  if (end == text) return -1;
  if (*end == '^') {
    const char *at = end + 1;
    power = strtod(at, &end);
    if (end == at) return -1;
    *x = pow(*x, power);
  }
  const char *letter = *end ? strchr(letters, *end) : NULL;
  if (letter) {
    *x *= pow(1000, (double)(letter - letters) + 1);
    end++;
  }
  return *end || !(*x >= 1 && *x <= 0x1p40) || *x != floor(*x) ? -1 : 0;
}

int command_real(const char *text, double *x)
{
  char *end;
  errno = 0;
  *x = strtod(text, &end);
  return end == text || *end || errno || !isfinite(*x) ? -1 : 0;
}

int command_output(const char *path, int overwrite, struct fault *fault)
{
  struct stat st;
  char folder[1024];
  const char *slash = strrchr(path, '/');
  if (!*path) return fault_set(fault, "option -o: expected the name of a file, found ''");
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    return fault_set(fault, "%s: expected a file name, found a folder", path);
  if (stat(path, &st) == 0 && !overwrite)
    return fault_set(fault, "%s: already exists; give another name, or --overwrite to replace it", path);
  if (slash == path) strcpy(folder, "/");
  else snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
  if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode)) errno = ENOTDIR;
  else if (access(folder, W_OK | X_OK) == 0) return 0;
  return fault_set(fault, "%s: cannot be written: folder %s: %s", path, folder, strerror(errno));
}
