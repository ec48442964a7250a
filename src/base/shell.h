/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of commands that are printed for the user to type. Local. */
#ifndef SHELL_H
#define SHELL_H
#include <stdio.h>

/* Print `text` as one word of a POSIX shell: as it is, or in single quotes where the shell would change or divide it. */
void shell_word(FILE *out, const char *text);
#endif
