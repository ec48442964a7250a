/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int text_mark(const char *text) { return strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; }

int text_is_utf16(const char *text, int64_t n)
{
  if (n >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) return 1;
  return n >= 4 && !text[0] != !text[1] && !text[0] == !text[2] && !text[1] == !text[3];
}

int lines_open(struct lines *l, const char *path, struct fault *f)
{
  struct stat st;
  char first[4];
  *l = (struct lines){.path = path};
  /* without O_NONBLOCK, opening a FIFO waits for a writer */
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return fault_set(f, "%s: %s", path, strerror(errno));
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
    fault_set(f, "%s is not a regular file", path);
  else if (text_is_utf16(first, pread(fd, first, sizeof first, 0)))
    fault_set(f, "%s: " TEXT_UTF16, path);
  else if (!(l->file = fdopen(fd, "r")))
    fault_set(f, "%s cannot be opened: %s", path, strerror(errno));
  if (!l->file) close(fd);
  return l->file ? 0 : -1;
}

/* Skip the rest of a line, which begins with `c`. A NUL in it is a fault. */
static int skip_rest(struct lines *l, struct fault *f)
{
  int c;
  while ((c = getc(l->file)) != EOF) {
    l->offset++;
    if (c == '\n') return 0;
    if (c == 0) return fault_set(f, "%s:%lld: a NUL byte (byte %lld of the file): the file is damaged", l->path, (long long)l->number,
                                 (long long)l->offset);
  }
  return 0;
}

/* A line that does not end where its text does: it has a NUL, it is too long, or it is the last one. */
static int odd_line(struct lines *l, size_t length, const char *expected, struct fault *f)
{
  int64_t begin = l->offset, end = ftello(l->file);
  l->offset += (int64_t)length;
  if (end != l->offset) {
    return fault_set(f, "%s:%lld: a NUL byte (byte %lld of the file): the file is damaged", l->path, (long long)l->number,
                     (long long)l->offset + 1);
  }
  if (length < LINES_BYTES + 1) return 0;   /* the last line, without an end */
  if (!strchr(l->buffer, '#'))
    return fault_set(f, "%s:%lld: the line at byte %lld has more than %d characters; expected %s", l->path, (long long)l->number,
                     (long long)begin + 1, LINES_BYTES, expected);
  return skip_rest(l, f);
}

int lines_next(struct lines *l, const char *expected, struct fault *f)
{
  if (!fgets(l->buffer, sizeof l->buffer, l->file))
    return ferror(l->file) ? fault_set(f, "%s:%lld: reading failed: %s", l->path, (long long)l->number + 1, strerror(errno)) : 0;
  size_t length = strlen(l->buffer);
  l->number++;
  if (length > 0 && l->buffer[length - 1] == '\n')
    l->offset += (int64_t)length;
  else if (odd_line(l, length, expected, f) != 0)
    return -1;
  l->text = l->buffer + (l->number == 1 ? text_mark(l->buffer) : 0);
  char *comment = strchr(l->text, '#');
  if (comment) *comment = 0;
  return 1;
}

void lines_close(struct lines *l)
{
  if (l->file) fclose(l->file);
  l->file = NULL;
}
