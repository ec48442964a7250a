/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Softening by particle type. A pair has the larger softening of its two particles. For host and device.
 *
 * The different softenings of a run are its classes, ascending, so that the larger class has the larger softening. With
 * more than one class the record of a source carries its class, and that of a node a code of its softening, in bits
 * that it has already: trees, LETs and their updates stay as they are.
 *
 *   particle   the last three bits of its mass: the mass is rounded to 21 bits, by at most 4.8e-7 of it
 *   node       the last sixteen bits of `reach`, which is rounded up, by at most 1.6 %: a class where its particles
 *              have the same softening, else the upper half of the float that is the mean of their squared softenings,
 *              weighted by mass
 *
 * rho^2 = r^2 + eps^2, so a particle of softening eps is a point mass at the distance eps from the others along a
 * fourth axis. The mean of eps^2 takes the place of a centre of mass: forces of a mixed cell on particles of less
 * softening have no error of the first order in its extent along that axis. What this extent adds to the radius of the
 * cell is in softening_radius. */
#ifndef SOFTENING_H
#define SOFTENING_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/hd.h"
#include "particles/particles.h"

enum { SOFTENING_CLASSES = 8 }; /* as many as three bits tell apart; at most PARTICLE_TYPES are used */

struct softening {
  int classes;                      /* 1: all particles have the same softening, eps[0] */
  uint8_t class_of[PARTICLE_TYPES]; /* of each type */
  double eps[SOFTENING_CLASSES];    /* of each class, ascending; those that are not used repeat the last one */
  float eps2[SOFTENING_CLASSES];    /* squares */
};

#define SOFTENING_CLASS 7u        /* bits of a mass */
#define SOFTENING_CODE 0xffffu    /* bits of a reach */
#define SOFTENING_REACH_MAX 1e38f /* larger ones are cut off, so that the code makes no NaN of them */

/* The classes of the softenings `of` the types; an entry that is 0 where another one is not is a softening of 0. All 0:
 * `common` for all. */
static inline struct softening softening_make(double common, const double of[PARTICLE_TYPES])
{
  struct softening s;
  int given = 0;
  memset(&s, 0, sizeof s);
  for (int t = 0; t < PARTICLE_TYPES; t++) given |= of[t] > 0;
  for (double last = -1; s.classes < PARTICLE_TYPES; s.classes++) { /* the next larger one */
    double next = HUGE_VAL;
    for (int t = 0; t < PARTICLE_TYPES; t++) {
      double eps = given ? of[t] : common;
      if (eps > last && eps < next) next = eps;
    }
    if (next == HUGE_VAL) break;
    s.eps[s.classes] = last = next;
  }
  for (int c = s.classes; c < SOFTENING_CLASSES; c++) s.eps[c] = s.eps[s.classes - 1];
  for (int c = 0; c < SOFTENING_CLASSES; c++) s.eps2[c] = (float)(s.eps[c] * s.eps[c]);
  for (int t = 0; t < PARTICLE_TYPES; t++)
    for (int c = 0; c < s.classes; c++)
      if (given && of[t] == s.eps[c]) s.class_of[t] = (uint8_t)c;
  return s;
}

/* Their squares where there are several; else NULL. */
static inline const float *softening_classes2(const struct softening *softening)
{
  return softening->classes > 1 ? softening->eps2 : NULL;
}

HD uint32_t softening_bits(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
HD float softening_float(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The mass of a source that carries a class, and back. */
HD float softening_pack(float mass, int class_)
{
  return softening_float(((softening_bits(mass) + (SOFTENING_CLASS + 1) / 2) & ~SOFTENING_CLASS) | (uint32_t)class_);
}
HD float softening_mass(float packed) { return softening_float(softening_bits(packed) & ~SOFTENING_CLASS); }
HD int softening_class(float packed) { return (int)(softening_bits(packed) & SOFTENING_CLASS); }

/* A reach that carries the code of a node's softening. `low`, `high`: the smallest and the largest class of its
 * particles; mean2: the mean of their squared softenings. */
HD float softening_pack_reach(float reach, int low, int high, float mean2)
{
  uint32_t code = low == high ? (uint32_t)low : (softening_bits(mean2) + 0x8000u) >> 16;
  if (low != high && code < SOFTENING_CLASSES) code = SOFTENING_CLASSES; /* an underflow is no class */
  if (!(reach < SOFTENING_REACH_MAX)) reach = SOFTENING_REACH_MAX;
  return softening_float(((softening_bits(reach) + SOFTENING_CODE) & ~SOFTENING_CODE) | code);
}
/* The squared softening that it carries; eps2: of the classes. */
HD float softening_of_reach(float reach, const float *eps2)
{
  uint32_t code = softening_bits(reach) & SOFTENING_CODE;
  return code < SOFTENING_CLASSES ? eps2[code] : softening_float(code << 16);
}

/* The radius of a cell of radius b whose squared softenings differ by `difference`: that in four dimensions. */
HD double softening_radius(double b, double difference) { return difference > 0 ? sqrt(b * b + difference) : b; }
#endif
