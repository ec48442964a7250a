/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as text against printf's %.17g, character by character. */
#include <config.h>
#include "analysis/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "tap.h"

static int bad;

static void compare(double x)
{
  for (int sign = 0; sign < 2; sign++, x = -x) {
    char text[DECIMAL_TEXT], expected[DECIMAL_TEXT];
    int length = decimal_text(x, text);
    snprintf(expected, sizeof expected, "%.17g", x);
    if (length == (int)strlen(text) && strcmp(text, expected) == 0) continue;
    if (bad++ < 5) printf("# %s: expected %s\n", text, expected);
  }
}

static void done(const char *what)
{
  tap_ok(bad == 0, what);
  bad = 0;
}

int main(void)
{
  struct random random = {1};
  for (int k = 0; k < 300000; k++) {
    uint64_t bits = random_bits(&random);
    double x;
    memcpy(&x, &bits, sizeof x);
    if (!isnan(x)) compare(x);
  }
  done("numbers of all sizes");
  for (int k = 0; k < 600000; k++) compare(random_log(&random, 1e-12, 1e18));
  done("numbers of common sizes");
  for (int k = -20; k <= 20; k++) {
    double power = pow(10, k), next = power;
    for (int i = 0; i < 20; i++, next = nextafter(next, HUGE_VAL)) compare(next);
    for (int i = 0; i < 20; i++, power = nextafter(power, 0)) compare(power);
  }
  done("near powers of ten");
  for (int k = -70; k <= 70; k++)
    for (int i = 1; i < 200; i++) compare(ldexp(i, k));
  for (int k = 0; k < 100000; k++) compare(k / 64.0);
  for (int k = 0; k < 100000; k++) compare(k / 1000.0);
  done("short ones, also half-way between two texts");
  compare(0);
  compare(INFINITY);
  done("0 and infinity");
  return tap_end();
}
