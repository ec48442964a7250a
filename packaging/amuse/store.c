/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *enlarged(void *old, size_t bytes)
{
  void *larger = realloc(old, bytes);
  if (larger) return larger;
  fprintf(stderr, "espalier_worker: no memory for %zu bytes of particles\n", bytes);
  abort();
}

struct body *store_add(struct store *s)
{
  if (s->n == s->room || s->next >= s->room) {
    s->room = s->room ? 2 * s->room : 1024;
    while (s->room <= s->next) s->room *= 2;
    s->body = enlarged(s->body, sizeof *s->body * (size_t)s->room);
    s->slot = enlarged(s->slot, sizeof *s->slot * (size_t)s->room);
  }
  struct body *b = &s->body[s->n];
  *b = (struct body){.index = s->next};
  s->slot[s->next++] = s->n++;
  return b;
}

struct body *store_find(const struct store *s, int index)
{
  return index >= 0 && index < s->next && s->slot[index] >= 0 ? &s->body[s->slot[index]] : NULL;
}

int store_delete(struct store *s, int index)
{
  struct body *b = store_find(s, index);
  if (!b) return -1;
  b->index = -1;
  s->slot[index] = -1;
  s->deleted++;
  return 0;
}

void store_compact(struct store *s)
{
  int64_t kept = 0;
  if (s->deleted == 0) return;
  for (int64_t k = 0; k < s->n; k++) {
    if (s->body[k].index < 0) continue;
    s->body[kept] = s->body[k];
    s->slot[s->body[kept].index] = kept;
    kept++;
  }
  s->n = kept;
  s->deleted = 0;
}

struct body *store_next(const struct store *s, int index)
{
  for (int k = index < 0 ? 0 : index; k < s->next; k++)
    if (s->slot[k] >= 0) return &s->body[s->slot[k]];
  return NULL;
}

double store_mass(const struct store *s)
{
  double mass = 0;
  for (int64_t k = 0; k < s->n; k++)
    if (s->body[k].index >= 0) mass += s->body[k].mass;
  return mass;
}

void store_centre(const struct store *s, double x[3], double v[3])
{
  double mass = store_mass(s), sum = 0;
  for (int c = 0; c < 3; c++) x[c] = v[c] = 0;
  for (int64_t k = 0; k < s->n; k++) {
    const struct body *b = &s->body[k];
    double weight = mass > 0 ? b->mass : 1;
    if (b->index < 0) continue;
    sum += weight;
    for (int c = 0; c < 3; c++) x[c] += weight * b->x[c], v[c] += weight * b->v[c];
  }
  for (int c = 0; sum > 0 && c < 3; c++) x[c] /= sum, v[c] /= sum;
}

double store_extent(const struct store *s, const double from[3])
{
  double largest = 0;
  for (int64_t k = 0; k < s->n; k++) {
    const double *x = s->body[k].x;
    double r2 = 0;
    for (int c = 0; c < 3; c++) r2 += (x[c] - from[c]) * (x[c] - from[c]);
    if (s->body[k].index >= 0 && r2 > largest) largest = r2;
  }
  return sqrt(largest);
}

int store_has_hub(const struct store *s, double times)
{
  double first = 0, second = 0;
  for (int64_t k = 0; k < s->n; k++) {
    if (s->body[k].index < 0) continue;
    second = fmax(second, fmin(first, s->body[k].mass));
    first = fmax(first, s->body[k].mass);
  }
  return first > 0 && first >= times * second;
}

double store_kinetic(const struct store *s)
{
  double sum = 0;
  for (int64_t k = 0; k < s->n; k++) {
    const struct body *b = &s->body[k];
    if (b->index >= 0) sum += 0.5 * b->mass * (b->v[0] * b->v[0] + b->v[1] * b->v[1] + b->v[2] * b->v[2]);
  }
  return sum;
}

/* The force of two particles on each other. */
static void add_pair(struct body *a, struct body *b, double eps2, double gravity)
{
  double d[3], r2 = eps2;
  for (int c = 0; c < 3; c++) d[c] = b->x[c] - a->x[c], r2 += d[c] * d[c];
  double per_mass = gravity / sqrt(r2), slope = per_mass / r2;
  a->pot -= b->mass * per_mass;
  b->pot -= a->mass * per_mass;
  for (int c = 0; c < 3; c++) {
    a->acc[c] += b->mass * slope * d[c];
    b->acc[c] -= a->mass * slope * d[c];
  }
}

double store_direct(struct store *s, double softening, double gravity)
{
  double sum = 0;
  for (int64_t k = 0; k < s->n; k++) memset(s->body[k].acc, 0, sizeof s->body[k].acc), s->body[k].pot = 0;
  for (int64_t k = 0; k < s->n; k++)
    for (int64_t l = k + 1; l < s->n; l++) add_pair(&s->body[k], &s->body[l], softening * softening, gravity);
  for (int64_t k = 0; k < s->n; k++) sum += 0.5 * s->body[k].mass * s->body[k].pot;
  return sum;
}

void store_field(const struct store *s, double softening, double gravity, int n, const double *points, double *acc, double *pot)
{
  for (int k = 0; k < n; k++) {
    struct body here = {.mass = 0};
    memcpy(here.x, points + 3 * k, sizeof here.x);
    for (int64_t l = 0; l < s->n; l++) {
      struct body source = s->body[l];
      add_pair(&here, &source, softening * softening, gravity);
    }
    if (acc) memcpy(acc + 3 * k, here.acc, sizeof here.acc);
    if (pot) pot[k] = here.pot;
  }
}

void store_free(struct store *s)
{
  free(s->body);
  free(s->slot);
  memset(s, 0, sizeof *s);
}
