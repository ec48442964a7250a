/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as text, for tables with very many of them. Local. */
#ifndef DECIMAL_H
#define DECIMAL_H

enum { DECIMAL_TEXT = 32 };

/* Write `x` as printf's %.17g does, so that it reads back exactly; numbers of common sizes ten times as fast. Returns
 * the number of characters, without the NUL that ends them. */
int decimal_text(double x, char text[DECIMAL_TEXT]);
#endif
