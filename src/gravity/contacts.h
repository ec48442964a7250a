/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of two stars: their distance falls to the sum of their radii. What the orbit of the two says about it, and
 * the log of the contacts of a soft step. In double precision, on the host and on devices. Masses are G m. */
#ifndef CONTACTS_H
#define CONTACTS_H
#include <stdint.h>

#include "gravity/ks.h"

#define CONTACT_OPEN 0.2 /* a pair that parts is seen to have met for so long, in 1 / sqrt(beta) of Sundman's time */

/* Two stars that have met within a unit. */
struct contact {
  int32_t root, star[2]; /* places: of the unit, and of the stars; the first one stays where they have merged */
  int merged, earlier;   /* earlier: they touched before the soft step */
  double t, m[2];        /* when their distance fell to the sum of their radii; G m */
  double radii, pericentre, speed; /* the sum of their radii; of their orbit; relative speed at that distance */
  double a, e;                     /* of their orbit; a < 0: not bound */
  double x[3], v[3];               /* of their centre of mass */
  double lost;                     /* G times the energy that a merger takes out */
};

/* count: of those that there were, also beyond the capacity. */
struct contact_log {
  int32_t count, capacity;
  struct contact *at;
};

/* The radius of a star is radius (G m)^exponent. log: NULL: stars have none. merge: stars that meet become one. begun:
 * contacts of before this soft step have been noted. */
struct contact_rules {
  double radius, exponent;
  int merge, begun;
  struct contact_log *log;
};

HD double contact_radius(const struct contact_rules *rules, double gm)
{
  return rules->radius * pow(gm, rules->exponent);
}

/* The sum of the radii of two stars. */
HD double contact_distance(const struct contact_rules *rules, double m1, double m2)
{
  return contact_radius(rules, m1) + contact_radius(rules, m2);
}

/* Enter a contact. Returns whether there was room. Threads may call it together. */
HD_CALL int contact_note(struct contact_log *log, const struct contact *contact)
{
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  int32_t at = atomicAdd(&log->count, 1);
#else
  int32_t at = __atomic_fetch_add(&log->count, 1, __ATOMIC_RELAXED);
#endif
  if (at >= log->capacity) return 0;
  log->at[at] = *contact;
  return 1;
}

/* --- orbits ------------------------------------------------------------------------------------------------------- */

/* An orbit, bound or not, and where on it two stars are. */
struct contact_orbit {
  double mu, beta, e, pericentre; /* beta: 2 mu / r - u.u */
  double r, s, since;             /* Sundman's and the common time since the pericentre; below 0: until it */
  double period;                  /* 1e300: not bound */
};

/* The time from the pericentre that Sundman's time s takes. */
HD double contact_time(const struct contact_orbit *orbit, double s)
{
  double g[4];
  ks_stumpff(orbit->beta, s, g);
  return orbit->pericentre * s + orbit->mu * orbit->e * g[3];
}

HD_CALL struct contact_orbit contact_orbit_of(double mu, double beta, const double d[3], const double u[3])
{
  struct contact_orbit orbit;
  double h[3], along = kepler_dot(d, u), root = sqrt(fabs(beta));
  kepler_cross(d, u, h);
  double h2 = kepler_dot(h, h);
  orbit.mu = mu;
  orbit.beta = beta;
  orbit.r = sqrt(kepler_dot(d, d));
  orbit.e = sqrt(fmax(0.0, 1 - beta * h2 / (mu * mu)));
  orbit.pericentre = h2 / (mu * (1 + orbit.e));
  orbit.period = beta > 0 ? 2 * KEPLER_PI * mu / (beta * root) : 1e300;
  if (!(root * root * orbit.r > 1e-10 * mu)) orbit.s = along / mu;
  else if (beta > 0) orbit.s = atan2(along * root, mu - beta * orbit.r) / root;
  else orbit.s = asinh(along * root / (mu * orbit.e)) / root;
  orbit.since = contact_time(&orbit, orbit.s);
  return orbit;
}

/* The time that the stars take from the distance r to the pericentre; 0 where they are never as near. */
HD double contact_fall(const struct contact_orbit *orbit, double r)
{
  double bend = (r - orbit->pericentre) / (orbit->mu * orbit->e), root = sqrt(fabs(orbit->beta)), s;
  if (!(bend > 0) || !(bend < 1e300)) return 0;
  double half = sqrt(0.5 * bend); /* of G2 = 2 sin^2(root s / 2) / beta */
  if (!(root * half > 1e-5)) s = 2 * half;
  else if (orbit->beta > 0) s = 2 * asin(fmin(1.0, root * half)) / root;
  else s = 2 * asinh(root * half) / root;
  return contact_time(orbit, s);
}

/* Whether the stars were at their pericentre within the time dt until now. */
HD int contact_passed(const struct contact_orbit *orbit, double dt)
{
  return orbit->since >= 0 ? orbit->since <= dt : orbit->since + orbit->period <= dt;
}

/* Whether they will be there within the time dt. */
HD int contact_passes(const struct contact_orbit *orbit, double dt)
{
  return orbit->since < 0 ? -orbit->since <= dt : orbit->period - orbit->since <= dt;
}

/* Whether two stars that part were at their pericentre just now. entry: as of resolved pairs, whose steps are as
 * long. */
HD int contact_just_passed(const struct contact_orbit *orbit, double entry)
{
  return orbit->since >= 0 && orbit->s * sqrt(fmax(fabs(orbit->beta), orbit->mu / entry)) < CONTACT_OPEN;
}

/* What the orbit says about the contact at the time `now` of its stars, at the distance `radii`, not before `least`. */
HD_CALL void contact_describe(struct contact *contact, const struct contact_orbit *orbit, double radii, double now,
                              double least)
{
  contact->radii = radii;
  contact->pericentre = orbit->pericentre;
  contact->speed = sqrt(fmax(0.0, 2 * orbit->mu / radii - orbit->beta));
  contact->a = orbit->mu / orbit->beta;
  contact->e = orbit->e;
  contact->t = fmin(now, now - orbit->since - contact_fall(orbit, radii));
  contact->earlier = contact->t < 0;
  contact->t = fmax(least, contact->t);
}
#endif
