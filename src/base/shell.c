/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/shell.h"

#include <string.h>

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
