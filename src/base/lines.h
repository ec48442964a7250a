/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a text file with comments that '#' begins. A damaged file is a fault: a NUL byte, bytes of UTF-16, a
 * line of more than LINES_BYTES bytes (comments have any length). A byte order mark of UTF-8 is skipped. Only regular
 * files. Local. */
#ifndef LINES_H
#define LINES_H
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"

enum { LINES_BYTES = 4094 };

struct lines {
  FILE *file;
  const char *path;                    /* owned by the caller */
  int64_t number, offset;              /* of the current line, from 1; bytes read so far */
  char buffer[LINES_BYTES + 2], *text; /* the current line without its comment */
};

/* Open a file. 0; -1 with a fault. */
int lines_open(struct lines *lines, const char *path, struct fault *fault);
/* Read the next line to lines->text, with its end. 1; 0 at the end of the file; -1 with a fault. `expected`: what a
 * line holds. */
int lines_next(struct lines *lines, const char *expected, struct fault *fault);
void lines_close(struct lines *lines);

/* Read a number of `length` characters; the exponent may be Fortran's, as in 1.5D-3. 0; -1 if the characters are none,
 * or not all of them. */
int lines_number(const char *at, int length, double *x);

/* Returns the bytes of the byte order mark of UTF-8 that the text begins with (0 or 3). */
int text_mark(const char *text);
/* Whether the first n bytes of a text are of UTF-16: its byte order mark, or every other byte is a NUL; and what is to
 * be said then. */
int text_is_utf16(const char *text, int64_t n);
#define TEXT_UTF16 "this is text in UTF-16: save it as UTF-8"

/* Print `text` as one word of a POSIX shell: as it is, or in single quotes where the shell would change or divide
 * it. For commands that the user is to type. */
void shell_word(FILE *out, const char *text);
/* The same of `text` behind `before`, to to[size], for messages. Returns `to`. */
const char *shell_text(const char *before, const char *text, char *to, size_t size);
#endif
