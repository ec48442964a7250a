/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters from a file and the command line. inih splits the lines. Each line is passed to it without comments and
 * outer blanks, because inih (as most systems build it) has no line numbers, no '#' after a value and no lines of more
 * than 200 bytes, and takes an indented line as a continuation of the value above. */
#include <config.h>
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/lines.h"
#include "params/params.h"
#include "params/params_nearest.h"
#include "params/params_units.h"

enum { LINE_LIMIT = 4096 };

struct source {
  FILE *file;
  const char *name;
  int line, found;       /* number of the current line; parameters found so far */
  int sections;          /* sections begun so far */
  char text[LINE_LIMIT]; /* the current line */
  const char *value;     /* its value where the line is too long for inih; else NULL */
  struct params *params;
  struct param_origin *origin;
  struct fault *fault;
};

static int source_fault(struct source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int source_fault(struct source *source, const char *format, ...)
{
  char text[900];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fault_set(source->fault, "%s:%d: %s", source->name, source->line, text);
}

/* Fault for the control character `ch` after n bytes of a line. */
static int odd_byte(struct source *source, size_t n, int ch)
{
  if (source->line == 1 && ch == 0) {
    source->text[n++] = 0;
    for (; n < 4; n++) source->text[n] = (char)getc(source->file);
    if (text_is_utf16(source->text, (int64_t)n)) return source_fault(source, TEXT_UTF16);
  }
  return source_fault(
      source,
      "byte 0x%02x%s: this is not a text file; expected a parameter file ('%s params --ini' prints one), in which "
      "[Input] InitCondFile names the initial conditions",
      (unsigned)ch, ch ? "" : " (NUL)", PACKAGE_NAME);
}

/* Read the next line into source->text, without its end. Returns 0, or -1 at the end of the file or with the fault
 * set. */
static int read_line(struct source *source)
{
  size_t n = 0;
  int ch = getc(source->file);
  if (ch != EOF) source->line++;
  for (; ch != EOF && ch != '\n'; ch = getc(source->file)) {
    if (ch == '\r') ch = ' ';
    if (iscntrl(ch) && ch != '\t') return odd_byte(source, n, ch);
    if (n == LINE_LIMIT - 1) return source_fault(source, "a line of more than %d characters", LINE_LIMIT - 1);
    source->text[n++] = (char)ch;
  }
  source->text[n] = 0;
  if (source->line == 1 && strncmp(source->text, "\211HDF", 4) == 0)
    return fault_set(
        source->fault,
        "%s is an HDF5 file; expected a parameter file: '%s params --ini > run.ini' writes one; set [Input] "
        "InitCondFile = %s in it",
        source->name, PACKAGE_NAME, source->name);
  if (source->line == 1 && text_is_utf16(source->text, (int64_t)n)) return source_fault(source, TEXT_UTF16);
  if (ferror(source->file)) return fault_set(source->fault, "%s: %s", source->name, strerror(errno));
  return ch == EOF && n == 0 ? -1 : 0;
}

/* Remove the byte order mark, the comment and outer blanks. */
static char *strip(char *text, int first_line)
{
  if (first_line) text += text_mark(text);
  char *end = text;
  while (*end && !((*end == ';' || *end == '#') && (end == text || isspace((unsigned char)end[-1])))) end++;
  *end = 0;
  while (isspace((unsigned char)*text)) text++;
  size_t n = strlen(text);
  while (n && isspace((unsigned char)text[n - 1])) text[--n] = 0;
  return text;
}

static int check_section(struct source *source, const char *text)
{
  size_t n = strlen(text);
  if (strchr(text, ']') != text + n - 1)
    return source_fault(source, "expected [Section] and nothing else, found '%.60s'", text);
  char name[64], hint[200];
  snprintf(name, sizeof name, "%.*s", (int)(n - 2 < 60 ? n - 2 : 60), text + 1);
  source->sections++;
  if (section_known(name)) return 0;
  section_hint(name, hint, sizeof hint);
  return source_fault(source, "unknown section [%s]%s", name, hint);
}

/* A line that is neither empty nor a section nor 'Name = value'. */
static int odd_line(struct source *source, const char *text)
{
  char hint[600];
  gadget_hint(text, source->sections > 0, hint, sizeof hint);
  return source_fault(source, "expected 'Name = value', found '%.60s'%s", text, hint);
}

/* Reader of inih. A fault ends the reading. */
static char *next_line(char *out, int capacity, void *stream)
{
  struct source *s = stream;
  s->value = NULL;
  if (s->fault->text[0] || read_line(s)) return NULL;
  char *text = strip(s->text, s->line == 1);
  char *equals = strpbrk(text, "=:");
  if (text[0] == '[') {
    if (check_section(s, text)) return NULL;
    equals = NULL;
  } else if (text[0] && (!equals || equals == text || text[0] == '%')) {
    odd_line(s, text);
    return NULL;
  }
  if (strlen(text) + 2 < (size_t)capacity) {
    snprintf(out, (size_t)capacity, "%s", text);
  } else if (equals && equals - text + 2 < capacity) {
    s->value = equals + 1 + strspn(equals + 1, " \t");
    snprintf(out, (size_t)capacity, "%.*s", (int)(equals - text + 1), text);
  } else {
    source_fault(s, "unknown parameter '%.40s...'", text);
    return NULL;
  }
  return out;
}

/* Handler of inih. */
static int take(void *user, const char *section, const char *name, const char *value)
{
  struct source *s = user;
  if (!name) return 1; /* some builds of inih call the handler for sections too */
  if (s->value) value = s->value;
  int i = param_find(section, name);
  if (i < 0 && param_without_effect(name, value)) return 1;
  if (i < 0) {
    char hint[200];
    param_hint(section, name, hint, sizeof hint);
    if (!section[0]) return source_fault(s, "'%.60s' stands before any [Section]%s", name, hint) == 0;
    return source_fault(s, "unknown parameter '%.60s' in [%s]%s", name, section, hint) == 0;
  }
  int *line = &s->origin->line[i];
  if (*line) return source_fault(s, "[%s] %s is given twice; the first is in line %d", section, name, *line) == 0;
  *line = s->line;
  s->found++;
  struct fault reason = {""};
  if (params_take(s->params, i, value, s->origin, &reason) == 0) return 1;
  return source_fault(s, "[%s] %s: %s", section, name, reason.text) == 0;
}

/* What stands in place of a parameter file, so that opening or reading it may wait for ever; NULL: nothing of the kind.
 * Pipes that a shell makes (/dev/stdin, <(COMMAND)) and the terminal that is standard input are read; they have an
 * end. */
static const char *found_instead(const char *name, const struct stat *st)
{
  struct statfs place;
  struct stat standard;
  if (S_ISDIR(st->st_mode)) return "a folder";
  if (S_ISSOCK(st->st_mode)) return "a socket";
  if (S_ISFIFO(st->st_mode)) return statfs(name, &place) == 0 && place.f_type == PIPEFS_MAGIC ? NULL : "a FIFO";
  if (S_ISREG(st->st_mode)) return NULL;
  int same = fstat(STDIN_FILENO, &standard) == 0 && S_ISCHR(standard.st_mode) && standard.st_rdev == st->st_rdev;
  return S_ISCHR(st->st_mode) && same ? NULL : "a device";
}

static FILE *open_file(const char *name, struct fault *fault)
{
  struct stat st;
  FILE *file = NULL;
  char hint[400] = "";
  const char *found = stat(name, &st) == 0 ? found_instead(name, &st) : NULL;
  if (found) {
    fault_set(fault, "%s: expected a parameter file, found %s", name, found);
  } else if (!(file = fopen(name, "r"))) {
    int error = errno;
    file_hint(name, NULL, hint, sizeof hint);
    fault_set(fault, "%s: expected a parameter file: %s%s", name, strerror(error), hint);
  }
  return file;
}

/* Read an open file, which is closed. `name`: for messages. */
static int read_stream(struct params *params, FILE *file, const char *name, struct param_origin *origin,
                       struct fault *fault)
{
  struct source s = {.file = file, .name = name, .params = params, .origin = origin, .fault = fault};
  int rc = ini_parse_stream(next_line, &s, take, &s);
  fclose(s.file);
  if (fault->text[0]) return -1;
  if (rc) return fault_set(fault, "%s:%d: cannot be read as an ini file", name, rc > 0 ? rc : s.line);
  if (!s.found)
    return fault_set(fault, "%s: expected parameters, found none ('%s params --ini' prints a complete file)", name,
                     PACKAGE_NAME);
  return 0;
}

static int read_file(struct params *params, const char *name, struct param_origin *origin, struct fault *fault)
{
  FILE *file = open_file(name, fault);
  return file ? read_stream(params, file, name, origin, fault) : -1;
}

int params_read_text(struct params *params, const char *text, const char *name, struct param_origin *origin,
                     struct fault *fault)
{
  size_t length = strlen(text);
  memset(origin, 0, sizeof *origin);
  origin->file = name;
  params_defaults(params);
  if (text[strspn(text, " \t\r\n")] == 0) return 0;
  FILE *file = fmemopen((void *)(uintptr_t)text, length, "r");
  if (!file) return fault_set(fault, "%s: %s", name, strerror(errno));
  return read_stream(params, file, name, origin, fault);
}

/* Whether the text of an option is one line of characters, as a line of a file is: else the manifest of a checkpoint,
 * which remembers it, could not hold it. 0, or -1 with a fault. */
static int check_line(const char *text, struct fault *fault)
{
  for (const char *at = text; *at; at++)
    if (iscntrl((unsigned char)*at) && *at != '\t')
      return fault_set(fault, "%.*s: expected a value of one line, found byte 0x%02x%s behind it", (int)(at - text),
                       text, (unsigned char)*at, *at == '\n' ? " (a line's end)" : "");
  return 0;
}

/* The value behind the '=' of an option; as in files, it may begin with blanks. */
static const char *option_value(const char *equals) { return equals + 1 + strspn(equals + 1, " \t"); }

int params_set_named(struct params *params, const char *text, struct param_origin *origin, struct fault *fault)
{
  const char *equals = strchr(text, '='), *colon = strchr(text, ':');
  char section[64] = "", name[64], hint[200];
  struct fault reason = {""};
  if (!equals) return fault_set(fault, "%.100s: expected Name=value", text);
  if (colon && colon < equals)
    snprintf(section, sizeof section, "%.*s", (int)(colon - text < 60 ? colon - text : 60), text);
  const char *begin = colon && colon < equals ? colon + 1 : text;
  snprintf(name, sizeof name, "%.*s", (int)(equals - begin < 60 ? equals - begin : 60), begin);
  int i = param_find(section[0] ? section : NULL, name);
  if (i < 0 && param_without_effect(name, option_value(equals))) return 0;
  if (i < 0) {
    param_hint(section, name, hint, sizeof hint);
    return fault_set(fault, "unknown parameter '%s'%s", name, hint);
  }
  origin->line[i] = ORIGIN_OPTION;
  if (params_take(params, i, option_value(equals), origin, &reason))
    return fault_set(fault, "%s: %s", name, reason.text);
  return 0;
}

int params_replace(struct params *params, int i, const char *text, struct param_origin *origin, struct fault *fault)
{
  if (origin->line[i] != ORIGIN_OPTION) param_text(params, origin, i, origin->without[i]);
  origin->line[i] = ORIGIN_OPTION;
  snprintf(origin->option[i], PARAM_TEXT, "%s", text);
  return params_take(params, i, text, origin, fault);
}

static int apply_override(struct params *params, const char *text, struct param_origin *origin, struct fault *fault)
{
  const char *colon = strchr(text, ':'), *equals = colon ? strchr(colon, '=') : NULL;
  char section[64], name[64], hint[200];
  struct fault reason = {""};
  if (!equals) return fault_set(fault, "-P %.100s: expected Section:Name=value", text);
  if (check_line(text, &reason)) return fault_set(fault, "-P %s", reason.text);
  snprintf(section, sizeof section, "%.*s", (int)(colon - text < 60 ? colon - text : 60), text);
  snprintf(name, sizeof name, "%.*s", (int)(equals - colon - 1 < 60 ? equals - colon - 1 : 60), colon + 1);
  int i = param_find(section, name);
  if (i < 0 && !section_known(section)) {
    section_hint(section, hint, sizeof hint);
    return fault_set(fault, "-P %.100s: unknown section [%s]%s", text, section, hint);
  }
  if (i < 0 && param_without_effect(name, option_value(equals))) return 0;
  if (i < 0) {
    param_hint(section, name, hint, sizeof hint);
    return fault_set(fault, "-P %.100s: unknown parameter '%s' in [%s]%s", text, name, section, hint);
  }
  if (params_replace(params, i, option_value(equals), origin, &reason))
    return fault_set(fault, "-P %.100s: %s", text, reason.text);
  return 0;
}

int params_gather(struct params *params, const char *file, const char *const *overrides, int override_count,
                  struct param_origin *origin, struct fault *fault)
{
  memset(origin, 0, sizeof *origin);
  origin->file = file;
  params_defaults(params);
  if (file && read_file(params, file, origin, fault)) return -1;
  for (int i = 0; i < override_count; i++)
    if (apply_override(params, overrides[i], origin, fault)) return -1;
  return 0;
}

int params_complete(struct params *params, struct param_origin *origin, struct fault *fault)
{
  if (params_convert(params, origin, fault)) return -1;
  params_choose_integrator(params, origin);
  return params_check_rules(params, origin, fault);
}

int params_read_origin(struct params *params, const char *file, const char *const *overrides, int override_count,
                       struct param_origin *origin, struct fault *fault)
{
  struct param_origin own;
  if (!origin) origin = &own;
  return params_gather(params, file, overrides, override_count, origin, fault) ? -1
                                                                               : params_complete(params, origin, fault);
}

int params_read(struct params *params, const char *file, const char *const *overrides, int override_count,
                struct fault *fault)
{
  return params_read_origin(params, file, overrides, override_count, NULL, fault);
}
