/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers with units, as 50 pc: their text, dimension and conversion. A unit is a product or a quotient of names with
 * powers, as km/s/kpc, pc/Myr^2 or km s^-1. It knows no parameters. Local. Functions that take a fault return 0 or what
 * is stated, or -1 with the fault set. */
#ifndef QUANTITIES_H
#define QUANTITIES_H
#include "base/fault.h"
#include "params/constants.h"

/* Exponents of length, mass and time. */
struct dimension {
  int length, mass, time;
};
/* A number with a unit. */
struct quantity {
  long double number, cgs; /* cgs: the unit in cm, g and s */
  struct dimension of;
  int hours; /* 1: the unit is h alone, hours or the Hubble constant */
};
/* What can be measured: the kind of value that a parameter is. */
struct measure {
  const char *unit; /* in params.def: "length", "cm" */
  struct dimension of;
  double fixed;          /* its unit in cgs; 0: that of the run */
  const char *a, *given; /* "a length", an example of it */
};
/* The units of a run, in cgs. */
struct run_units {
  long double length, mass, time;
  int comoving;   /* 1: the time of the run is the expansion factor */
  double gravity; /* above 0: the run is dimensionless, with this gravitational constant */
};
enum { QUANTITY_TEXT = 100 }; /* bytes of the text of a quantity, with the final zero */

/* The kind of value with this name; NULL: none, the value has no dimension. */
const struct measure *measure_of(const char *unit);
/* Read a number with a unit for a value of this kind; NULL: it has no dimension, and may have no unit. Returns 1, or 0
 * where the text has no unit behind a number. The fault says what was expected, and what is wrong with the unit. */
int quantity_read(const struct measure *measure, const char *text, struct quantity *quantity, struct fault *fault);
/* The quantity in the fixed unit of `measure`. */
double quantity_fixed(const struct measure *measure, const struct quantity *quantity);
/* The quantity in units of the run; a fault where it has none. `measure`: not of a fixed unit. */
int quantity_in_run(const struct run_units *run, const struct measure *measure, const struct quantity *quantity,
                    double *value, struct fault *fault);
/* A length, mass, time or velocity (`measure`: "length" and so on), given in cgs, as text in the unit of astronomy that
 * suits its size: "104 pc", "0.978 Gyr". Returns `text`. */
const char *quantity_text(const char *measure, double cgs, char text[QUANTITY_TEXT]);
/* Write the shortest text, of at least 6 digits, that reads back as the same number. */
void number_text(double x, char *text, size_t size);
#endif
