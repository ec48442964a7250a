/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int text_mark(const char *text) { return strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; }

int text_is_utf16(const char *text, int64_t n)
{
  if (n >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) return 1;
  return n >= 4 && !text[0] != !text[1] && !text[0] == !text[2] && !text[1] == !text[3];
}

int lines_open(struct lines *lines, const char *path, struct fault *fault)
{
  struct stat st;
  char first[4];
  *lines = (struct lines){.path = path};
  /* without O_NONBLOCK, opening a FIFO waits for a writer */
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return fault_set(fault, "%s: %s", path, strerror(errno));
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) fault_set(fault, "%s is not a regular file", path);
  else if (text_is_utf16(first, pread(fd, first, sizeof first, 0))) fault_set(fault, "%s: " TEXT_UTF16, path);
  else if (!(lines->file = fdopen(fd, "r"))) fault_set(fault, "%s cannot be opened: %s", path, strerror(errno));
  if (!lines->file) close(fd);
  return lines->file ? 0 : -1;
}

/* Skip the rest of a line, which begins with `c`. A NUL in it is a fault. */
static int skip_rest(struct lines *lines, struct fault *fault)
{
  int c;
  while ((c = getc(lines->file)) != EOF) {
    lines->offset++;
    if (c == '\n') return 0;
    if (c == 0)
      return fault_set(fault, "%s:%lld: a NUL byte (byte %lld of the file): the file is damaged", lines->path,
                       (long long)lines->number, (long long)lines->offset);
  }
  return 0;
}

/* A line that does not end where its text does: it has a NUL, it is too long, or it is the last one. */
static int odd_line(struct lines *lines, size_t length, const char *expected, struct fault *fault)
{
  int64_t begin = lines->offset, end = ftello(lines->file);
  lines->offset += (int64_t)length;
  if (end != lines->offset) {
    return fault_set(fault, "%s:%lld: a NUL byte (byte %lld of the file): the file is damaged", lines->path,
                     (long long)lines->number, (long long)lines->offset + 1);
  }
  if (length < LINES_BYTES + 1) return 0; /* the last line, without an end */
  if (!strchr(lines->buffer, '#'))
    return fault_set(fault, "%s:%lld: the line at byte %lld has more than %d characters; expected %s", lines->path,
                     (long long)lines->number, (long long)begin + 1, LINES_BYTES, expected);
  return skip_rest(lines, fault);
}

/* Lines of old Macs, which end with a carriage return alone, would be one. */
static int returns_alone(const char *line)
{
  const char *at = strchr(line, '\r');
  if (at) at += strspn(at, "\r");
  return at && *at && *at != '\n';
}

int lines_next(struct lines *lines, const char *expected, struct fault *fault)
{
  if (!fgets(lines->buffer, sizeof lines->buffer, lines->file))
    return ferror(lines->file) ? fault_set(fault, "%s:%lld: reading failed: %s", lines->path,
                                           (long long)lines->number + 1, strerror(errno))
                               : 0;
  size_t length = strlen(lines->buffer);
  lines->number++;
  if (returns_alone(lines->buffer))
    return fault_set(fault,
                     "%s:%lld: a line ends with a carriage return alone; expected line feeds, as of tr '\\r' '\\n' < "
                     "FILE > NEW",
                     lines->path, (long long)lines->number);
  if (length > 0 && lines->buffer[length - 1] == '\n') lines->offset += (int64_t)length;
  else if (odd_line(lines, length, expected, fault) != 0) return -1;
  lines->text = lines->buffer + (lines->number == 1 ? text_mark(lines->buffer) : 0);
  char *comment = strchr(lines->text, '#');
  if (comment) *comment = 0;
  return 1;
}

int lines_number(const char *at, int length, double *x)
{
  enum { NUMBER_BYTES = 400 };
  char copy[NUMBER_BYTES], *end;
  if (length <= 0) return -1;
  *x = strtod(at, &end);
  if (end == at + length) return 0;
  if (end >= at + length || !strchr("dD", *end) || length >= NUMBER_BYTES) return -1;
  memcpy(copy, at, (size_t)length);
  copy[length] = 0;
  copy[end - at] = 'e';
  *x = strtod(copy, &end);
  return end == copy + length ? 0 : -1;
}

void lines_close(struct lines *lines)
{
  if (lines->file) fclose(lines->file);
  lines->file = NULL;
}

const char *shell_text(const char *before, const char *text, char *to, size_t size)
{
  char *both = NULL;
  size_t bytes;
  FILE *out = open_memstream(&both, &bytes), *word = fmemopen(to, size, "w");
  to[0] = 0;
  if (out) fprintf(out, "%s%s", before, text);
  if (out) fclose(out);
  if (word && both) shell_word(word, both);
  if (word) fclose(word);
  free(both);
  to[size - 1] = 0;
  return to;
}

void shell_word(FILE *out, const char *text)
{
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";
  if (text[0] && text[strspn(text, plain)] == 0) {
    fputs(text, out);
    return;
  }
  putc('\'', out);
  for (; *text; text++)
    if (*text == '\'') fputs("'\\''", out);
    else putc(*text, out);
  putc('\'', out);
}
