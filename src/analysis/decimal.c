/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
  DIGITS = 17,
  FIVES = 27 /* 5^27 is the largest power of five below 2^63, so its product with 53 bits is below 2^128 */
};
#define LARGEST 99999999999999999ULL /* of DIGITS digits */

/* 5^n, n <= FIVES */
static uint64_t power_of_five(int n)
{
  uint64_t power = 1;
  for (uint64_t base = 5; n; n >>= 1, base *= base)
    if (n & 1) power *= base;
  return power;
}

/* The whole number nearest to x 10^n, x above 0, n from 0 to FIVES; of two equally near ones the even one. 0: out of
 * reach of these integers. */
static uint64_t scaled(double x, int n)
{
  int exponent;
  uint64_t mantissa = (uint64_t)ldexp(frexp(x, &exponent), 53);
  int shift = 53 - exponent - n; /* x 10^n = mantissa 5^n / 2^shift */
  if (shift < 1 || shift > 126) return 0;
  unsigned __int128 product = (unsigned __int128)mantissa * power_of_five(n),
                    half = (unsigned __int128)1 << (shift - 1), rest = product & (2 * half - 1),
                    whole = product >> shift;
  if (whole > LARGEST) return 0;
  return (uint64_t)whole + (rest > half || (rest == half && (whole & 1)));
}

/* The digits of a number with its first one at 10^power: as %g writes them. */
static int place_point(const char digits[DIGITS], int power, char *text)
{
  int count = DIGITS;
  char *at = text;
  while (count > 1 && digits[count - 1] == '0') count--;
  if (power < -4) {
    *at++ = digits[0];
    if (count > 1) *at++ = '.';
    memcpy(at, digits + 1, (size_t)count - 1);
    at += count - 1;
    *at++ = 'e';
    *at++ = '-';
    *at++ = (char)('0' + -power / 10);
    *at++ = (char)('0' + -power % 10);
  } else if (power < 0) {
    memcpy(at, "0.0000", (size_t)(1 - power));
    at += 1 - power;
    memcpy(at, digits, (size_t)count);
    at += count;
  } else {
    memcpy(at, digits, DIGITS); /* zeros before the point too */
    at += power + 1;
    if (count > power + 1) {
      *at++ = '.';
      memcpy(at, digits + power + 1, (size_t)(count - power - 1));
      at += count - power - 1;
    }
  }
  *at = 0;
  return (int)(at - text);
}

int decimal_text(double x, char text[DECIMAL_TEXT])
{
  double size = fabs(x);
  if (!(size > 1e-9 && size < 1e15)) return snprintf(text, DECIMAL_TEXT, "%.17g", x);
  int power = (int)floor(log10(size));
  uint64_t number = scaled(size, DIGITS - 1 - power);
  if (number && number <= LARGEST / 10 + 1) { /* the logarithm was rounded up, perhaps */
    uint64_t more = scaled(size, DIGITS - power);
    power -= more > 0;
    number = more ? more : number;
  }
  if (number <= LARGEST / 10 || number > LARGEST) return snprintf(text, DECIMAL_TEXT, "%.17g", x);
  char digits[DIGITS];
  for (int k = DIGITS - 1; k >= 0; k--, number /= 10) digits[k] = (char)('0' + number % 10);
  text[0] = '-';
  return place_point(digits, power, text + (x < 0)) + (x < 0);
}
