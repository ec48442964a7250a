/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cuts of domains: they share the work, and every position has one home. */
#include <config.h>
#include "domain.h"

#include <string.h>

#include "chance.h"
#include "memory.h"
#include "tap.h"

enum { SAMPLES = 12000, RANKS_MOST = 64 };

enum shape { BALL, CUSP, PLANE, LINE, POINT, TWO_POINTS };

static void fill(struct weighted *w, int64_t n, enum shape shape, struct random *r)
{
  for (int64_t i = 0; i < n; i++) {
    double length = shape == BALL ? cbrt(random_unit(r)) : random_log(r, 1e-8, 1);
    random_direction(r, length, w[i].pos);
    if (shape == PLANE) w[i].pos[1] = 0.25;
    if (shape == LINE) w[i].pos[0] = w[i].pos[2] = -3;
    if (shape >= POINT) w[i].pos[0] = w[i].pos[1] = w[i].pos[2] = shape == TWO_POINTS ? (double)(i % 2) : 0.1;
    w[i].weight = random_between(r, 0.2, 5);
    w[i].id = (uint64_t)(n - i);
  }
}

/* The cuts that limit each home, with infinite outer faces: a position is at home in exactly one box, domain_home's. */
static int one_home(const struct domain *d, const double pos[3])
{
  int homes = 0, found = -1;
  for (int i = 0; i < d->px; i++)
    for (int j = 0; j < d->py; j++)
      for (int k = 0; k < d->pz; k++) {
        const double *y = d->y + i * (d->py - 1), *z = d->z + (i * d->py + j) * (d->pz - 1);
        int in = (i == 0 || pos[0] >= d->x[i - 1]) && (i == d->px - 1 || pos[0] < d->x[i]) && (j == 0 || pos[1] >= y[j - 1]) &&
                 (j == d->py - 1 || pos[1] < y[j]) && (k == 0 || pos[2] >= z[k - 1]) && (k == d->pz - 1 || pos[2] < z[k]);
        homes += in;
        if (in) found = (i * d->py + j) * d->pz + k;
      }
  return homes == 1 && found == domain_home(d, pos);
}

static void check(enum shape shape, int64_t n, int ranks, double tolerance, const char *what)
{
  struct random r = {5 + (uint64_t)ranks};
  struct domain d, again;
  double share[RANKS_MOST] = {0}, sum = 0, worst = 0;
  int homes = 1;
  struct weighted *w = memory_alloc("test", sizeof *w * (size_t)(n + 1)), *other = memory_alloc("test", sizeof *w * (size_t)(n + 1));
  fill(w, n, shape, &r);
  for (int64_t i = 0; i < n; i++) other[i] = w[n - 1 - i];
  domain_open(&d, ranks);
  domain_open(&again, ranks);
  int whole = d.px * d.py * d.pz == ranks;
  domain_cut(&d, w, n);
  domain_cut(&again, other, n);
  int pure = memcmp(d.x, again.x, sizeof(double) * (size_t)(d.px - 1)) == 0 &&
             memcmp(d.y, again.y, sizeof(double) * (size_t)(d.px * (d.py - 1))) == 0 &&
             memcmp(d.z, again.z, sizeof(double) * (size_t)(d.px * d.py * (d.pz - 1))) == 0;
  for (int64_t i = 0; i < n; i++) {
    int home = domain_home(&d, w[i].pos);
    homes &= home >= 0 && home < ranks && one_home(&d, w[i].pos);
    share[home] += w[i].weight;
    sum += w[i].weight;
  }
  const double odd[] = {0, -0.0, 0.1, 0.25, 1, -3, 1e300, -1e300};
  for (int i = 0; i < 512; i++) {
    double pos[3] = {odd[i & 7], odd[i >> 3 & 7], odd[i >> 6]};
    homes &= one_home(&d, pos);
  }
  for (int k = 0; k < ranks; k++) worst = fmax(worst, fabs(share[k] * ranks / (sum > 0 ? sum : 1) - 1));
  char line[200];
  snprintf(line, sizeof line, "%s, %lld samples, %d ranks: every position has one home", what, (long long)n, ranks);
  tap_ok(whole && homes, line);
  snprintf(line, sizeof line, "%s, %lld samples, %d ranks: the cuts depend on the set alone", what, (long long)n, ranks);
  tap_ok(pure, line);
  if (tolerance > 0) {
    snprintf(line, sizeof line, "%s, %lld samples, %d ranks: the work is shared evenly (worst by %.3f)", what, (long long)n, ranks, worst);
    tap_ok(worst <= tolerance, line);
  }
  domain_close(&d);
  domain_close(&again);
  memory_free(other);
  memory_free(w);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  const int ranks[] = {1, 2, 3, 4, 7, 12, 64};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
    /* a sample weighs at most 5 of 12,000 * 2.6: each of the three cuts is off by at most one sample */
    double fine = 2.0 * 3 * 5 * ranks[k] / (SAMPLES * 2.6);
    check(BALL, SAMPLES, ranks[k], fine, "a ball");
    check(CUSP, SAMPLES, ranks[k], fine, "a cusp");
  }
  /* an axis without extent cannot be cut: only that everyone has a home, and that one rank of a column has it */
  check(PLANE, SAMPLES, 7, 0, "a plane");
  check(PLANE, SAMPLES, 8, 0, "a plane");
  check(LINE, SAMPLES, 8, 0, "a line");
  check(POINT, SAMPLES, 8, 0, "one point");
  check(TWO_POINTS, SAMPLES, 4, 0, "two points");
  for (int n = 0; n <= 3; n++) check(BALL, n, 8, 0, "fewer samples than ranks");
  check(POINT, 3, 12, 0, "fewer samples than ranks, all equal");
  tap_ok(memory_current() == 0, "all memory is given back");
  MPI_Finalize();
  return tap_end();
}
