/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cuts of domains: they share the work, and every position has one owner rank. */
#include <config.h>
#include "mpi/domain.h"

#include "cuts.h"
#include "tap.h"

enum { SAMPLES = 12000, RANKS_MAX = 64 };

/* Whether a position is in exactly one domain (outer faces are infinite), that of domain_owner. */
static int one_owner(const struct domain *domain, const double pos[3])
{
  int owners_match = 0, found = -1;
  for (int i = 0; i < domain->px; i++)
    for (int j = 0; j < domain->py; j++)
      for (int k = 0; k < domain->pz; k++) {
        const double *y = domain->y + i * (domain->py - 1), *z = domain->z + (i * domain->py + j) * (domain->pz - 1);
        int in = (i == 0 || pos[0] >= domain->x[i - 1]) && (i == domain->px - 1 || pos[0] < domain->x[i]) &&
                 (j == 0 || pos[1] >= y[j - 1]) && (j == domain->py - 1 || pos[1] < y[j]) &&
                 (k == 0 || pos[2] >= z[k - 1]) && (k == domain->pz - 1 || pos[2] < z[k]);
        owners_match += in;
        if (in) found = (i * domain->py + j) * domain->pz + k;
      }
  return owners_match == 1 && found == domain_owner(domain, pos);
}

static void check(enum shape shape, int64_t n, int ranks, double tolerance, const char *what)
{
  struct random r = {5 + (uint64_t)ranks};
  struct domain d, again, plain;
  double share[RANKS_MAX] = {0}, sum = 0, worst = 0;
  int owners_match = 1;
  struct weighted *w = memory_alloc("test", sizeof *w * (size_t)(n + 1)),
                  *other = memory_alloc("test", sizeof *w * (size_t)(n + 1));
  fill(w, n, shape, ANY, &r);
  for (int64_t i = 0; i < n; i++) other[i] = w[n - 1 - i];
  domain_open(&d, ranks);
  domain_open(&again, ranks);
  int whole = d.px * d.py * d.pz == ranks;
  domain_open(&plain, ranks);
  domain_cut(&d, NULL, w, n);
  domain_cut(&again, NULL, other, n);
  plain_cut(&plain, other, n);
  int pure = same_cuts(&d, &again), as_plain = same_cuts(&d, &plain);
  for (int64_t i = 0; i < n; i++) {
    int owner_rank = domain_owner(&d, w[i].pos);
    owners_match &= owner_rank >= 0 && owner_rank < ranks && one_owner(&d, w[i].pos);
    share[owner_rank] += w[i].weight;
    sum += w[i].weight;
  }
  const double odd[] = {0, -0.0, 0.1, 0.25, 1, -3, 1e300, -1e300};
  for (int i = 0; i < 512; i++) {
    double pos[3] = {odd[i & 7], odd[i >> 3 & 7], odd[i >> 6]};
    owners_match &= one_owner(&d, pos);
  }
  for (int k = 0; k < ranks; k++) worst = fmax(worst, fabs(share[k] * ranks / (sum > 0 ? sum : 1) - 1));
  char line[200];
  snprintf(line, sizeof line, "%s, %lld samples, %d ranks: every position has one owner rank", what, (long long)n,
           ranks);
  tap_ok(whole && owners_match, line);
  snprintf(line, sizeof line, "%s, %lld samples, %d ranks: the cuts depend on the set alone", what, (long long)n,
           ranks);
  tap_ok(pure, line);
  if (shape <= CUSP) {
    snprintf(line, sizeof line, "%s, %lld samples, %d ranks: the plain way's cuts, bit by bit", what, (long long)n,
             ranks);
    tap_ok(as_plain, line);
  }
  if (tolerance > 0) {
    snprintf(line, sizeof line, "%s, %lld samples, %d ranks: the work is shared evenly (worst by %.3f)", what,
             (long long)n, ranks, worst);
    tap_ok(worst <= tolerance, line);
  }
  domain_close(&d);
  domain_close(&again);
  domain_close(&plain);
  memory_free(other);
  memory_free(w);
}

/* How many times a cut can be halved towards a face of the root's cells: the larger, the smaller the cells. */
static int level_of(double centre, double cut)
{
  int level = 0;
  for (double x = ldexp(cut - centre, -20); x != rint(x); x *= 2) level++;
  return level;
}

/* Aligned cuts: shares as even as possible, one owner rank for each position, and no face of larger cells shares about
 * as evenly. */
static void check_aligned(enum shape shape, int ranks, const char *what)
{
  enum { SAMPLES = 20000 };
  struct random r = {5 + (uint64_t)ranks};
  struct domain d, plain;
  double share[RANKS_MAX] = {0}, worst = 0, box[6] = {HUGE_VAL, HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
  int owners_match = 1, faces = 1, coarse = 1;
  struct weighted *w = memory_alloc("test", sizeof *w * SAMPLES), *sorted = memory_alloc("test", sizeof *w * SAMPLES);
  fill(w, SAMPLES, shape, SAME, &r);
  memcpy(sorted, w, sizeof *w * SAMPLES);
  domain_open(&d, ranks);
  domain_open(&plain, ranks);
  d.align = 1;
  domain_cut(&d, NULL, w, SAMPLES);
  plain_cut(&plain, sorted, SAMPLES);
  for (int64_t i = 0; i < SAMPLES; i++) {
    int owner_rank = domain_owner(&d, w[i].pos);
    owners_match &= owner_rank >= 0 && owner_rank < ranks && one_owner(&d, w[i].pos);
    share[owner_rank] += 1;
    for (int c = 0; c < 3; c++) {
      box[c] = fmin(box[c], w[i].pos[c]);
      box[c + 3] = fmax(box[c + 3], w[i].pos[c]);
    }
  }
  for (int k = 0; k < ranks; k++) worst = fmax(worst, fabs(share[k] * ranks / SAMPLES - 1));
  struct lattice l = domain_lattice(&d, box, 1e-4);
  for (int p = 0; p < d.px - 1; p++) {
    double window = p == (d.px - 1) / 2 ? 1.0 / 40 : 1.0 / 160;
    int64_t at = 0, low = (int64_t)(SAMPLES * (p + 1.0 - window) / d.px),
            high = (int64_t)(SAMPLES * (p + 1.0 + window) / d.px);
    double u = (d.x[p] - l.corner[0]) * l.inverse;
    faces &= u == rint(u) && lattice_position(&l, 0, u) == d.x[p];
    plain_axis = 0;
    qsort(sorted, SAMPLES, sizeof *sorted, plain_order);
    /* a point between two samples is on a face of smaller cells, or of as large ones */
    for (at = low; at < high; at++) {
      double x = sorted[at].pos[0], y = sorted[at + 1].pos[0], step = ldexp(1, 20 - level_of(d.centre[0], d.x[p]) + 1);
      coarse &= d.x[p] == d.centre[0] || floor((y - d.centre[0]) / step) == floor((x - d.centre[0]) / step);
    }
  }
  char line[200];
  snprintf(line, sizeof line,
           "%s, %d domains, aligned: every position has one owner rank, the work is shared evenly (worst by %.3f)",
           what, ranks, worst);
  tap_ok(owners_match && worst <= 0.08, line);
  snprintf(line, sizeof line,
           "%s, %d domains, aligned: cuts are points of the lattice, faces of cells as large as can be", what, ranks);
  tap_ok(faces && coarse, line);
  domain_close(&plain);
  domain_close(&d);
  memory_free(sorted);
  memory_free(w);
}

/* Of a set that is its own mirror image all middle cuts are in one place. */
static void check_mirrored(void)
{
  enum { SAMPLES = 8 * 3000 };
  struct random r = {29};
  struct domain d;
  int same = 1;
  struct weighted *w = memory_alloc("test", sizeof *w * SAMPLES);
  fill(w, SAMPLES / 8, CUSP, SAME, &r);
  for (int i = SAMPLES - 1; i >= 0; i--) {
    w[i] = w[i / 8];
    for (int c = 0; c < 3; c++) w[i].pos[c] = 7 + (i >> c & 1 ? w[i].pos[c] : -w[i].pos[c]);
  }
  domain_open(&d, 8);
  d.align = 1;
  domain_cut(&d, NULL, w, SAMPLES);
  for (int i = 0; i < 2; i++)
    same &= d.y[i] == d.centre[1] && d.z[2 * i] == d.centre[2] && d.z[2 * i + 1] == d.centre[2];
  tap_ok(same && d.x[0] == d.centre[0] && fabs(d.x[0] - 7) < 1e-3, "the middle cuts of slabs that are alike are one");
  domain_close(&d);
  memory_free(w);
}

/* Planes that are as heavy as windows are wide, or heavier: shares stay within a plane of even ones, and no plane is in
 * the middle. */
static void check_aligned_planes(void)
{
  static const int numbers[] = {2, 3, 8};
  int even = 1, between_planes = 1;
  for (int planes = 4; planes <= 64; planes *= 2)
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
      enum { EACH = 16 };
      struct domain d;
      struct weighted *w = memory_alloc("test", sizeof *w * (size_t)(planes * EACH));
      int share[8] = {0};
      for (int i = 0; i < planes * EACH; i++) w[i] = (struct weighted){{0.1 * (i / EACH), 0, 0}, 1};
      domain_open_grid(&d, numbers[k], (const int[3]){numbers[k], 1, 1});
      d.align = 1;
      domain_cut(&d, NULL, w, planes * EACH);
      for (int i = 0; i < planes * EACH; i++) share[domain_owner(&d, w[i].pos)]++;
      for (int p = 0; p < numbers[k]; p++) even &= abs(share[p] * numbers[k] - planes * EACH) <= EACH * numbers[k];
      if (numbers[k] == 2) even &= share[0] == share[1];
      for (int i = 0; i < planes; i++) between_planes &= d.centre[0] != 0.1 * i;
      memory_free(w);
      domain_close(&d);
    }
  tap_ok(even, "aligned cuts between planes: shares are even within a plane, of two domains alike");
  tap_ok(between_planes, "and the centre is between planes");
}

/* Numbers of domains: near-cubic, or those given. */
static void check_grid(void)
{
  static const int grids[][3] = {{2, 3, 4}, {24, 1, 1}, {1, 1, 24}, {1, 24, 1}, {4, 3, 2}};
  struct domain d;
  int good = 1, cubic = 1;
  for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
    domain_open_grid(&d, 24, grids[k]);
    good &= d.px == grids[k][0] && d.py == grids[k][1] && d.pz == grids[k][2];
    domain_close(&d);
  }
  const int none[3] = {0, 0, 0},
            sides[][4] = {{8, 2, 2, 2}, {16, 4, 2, 2}, {64, 4, 4, 4}, {12, 3, 2, 2}, {7, 7, 1, 1}, {4096, 16, 16, 16}};
  for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
    domain_open_grid(&d, sides[k][0], none);
    cubic &= d.px == sides[k][1] && d.py == sides[k][2] && d.pz == sides[k][3];
    domain_close(&d);
  }
  tap_ok(good, "a grid that is given is taken");
  tap_ok(cubic, "otherwise the numbers are near-cubic");
}

/* Binary search against counting one by one, also with equal cuts and odd positions. */
static void check_slot(void)
{
  struct random r = {11};
  double cut[100];
  int good = 1;
  for (int cuts = 0; cuts <= 100; cuts++) {
    for (int k = 0; k < cuts; k++) cut[k] = (k ? cut[k - 1] : -5) + (k % 3 ? random_unit(&r) : 0);
    for (int k = 0; k < 3 * cuts + 8; k++) {
      const double odd[] = {-HUGE_VAL, HUGE_VAL, -6, 1e300, 0, -0.0, NAN, -5};
      double x = k < 8 ? odd[k] : (k & 1) ? cut[k % cuts] : random_between(&r, -6, 60);
      int count = 0;
      while (count < cuts && x >= cut[count]) count++;
      good &= domain_slot(cut, cuts, x) == count;
    }
  }
  tap_ok(good, "a position's slot is the number of cuts at or below it");
}

/* Two planes with one and two thirds of the particles cannot be cut within: the cut is between them. */
static void check_planes(void)
{
  struct weighted w[300];
  struct domain d;
  int empty = 0, one_sided = 1, owner_rank[2] = {0, 0};
  for (int i = 0; i < 300; i++) w[i] = (struct weighted){{i < 100 ? -0.0 : 1, i, 0}, 1};
  for (int i = 0; i < 100; i += 2) w[i].pos[0] = 0.0; /* the same plane */
  domain_open_grid(&d, 2, (const int[3]){2, 1, 1});
  domain_cut(&d, NULL, w, 300);
  tap_ok(d.x[0] > 0 && d.x[0] <= 1, "planes of particles are cut between");
  for (int i = 0; i < 300; i++) {
    w[i].pos[0] = 1;
    w[i].weight = 0;
  }
  domain_cut(&d, NULL, w, 300);
  for (int i = 0; i < 300; i++) owner_rank[domain_owner(&d, w[i].pos)]++;
  one_sided = (owner_rank[0] == 0) != (owner_rank[1] == 0);
  domain_close(&d);
  tap_ok(one_sided, "one plane goes to one side");
  domain_open_grid(&d, 2, (const int[3]){1, 2, 1});
  domain_cut(&d, NULL, w, 300);
  owner_rank[0] = owner_rank[1] = 0;
  for (int i = 0; i < 300; i++) owner_rank[domain_owner(&d, w[i].pos)]++;
  tap_ok(owner_rank[0] == 150 && owner_rank[1] == 150, "samples without weight are shared by number");
  domain_close(&d);
  /* the columns beside a plane have no particles, and no part of its samples */
  domain_open(&d, 8);
  int share[8] = {0};
  domain_cut(&d, NULL, w, 300);
  for (int i = 0; i < 300; i++) share[domain_owner(&d, w[i].pos)]++;
  for (int k = 0; k < 8; k++) empty += share[k] == 0;
  tap_ok(empty == 6, "a plane's line is shared by the two domains that can share it");
  domain_close(&d);
}

/* The largest share of many others like the samples over the mean, in domains that were cut by the samples. */
static double max_over_mean(const struct domain *domain, struct random *random)
{
  enum { OTHERS = 1 << 20 };
  int ranks = domain->px * domain->py * domain->pz;
  double *share = memory_alloc("test", sizeof *share * (size_t)ranks), max_value = 0;
  struct weighted *w = memory_alloc("test", sizeof *w * OTHERS);
  fill(w, OTHERS, CUSP, SAME, random);
  for (int64_t i = 0; i < OTHERS; i++) share[domain_owner(domain, w[i].pos)]++;
  for (int k = 0; k < ranks; k++) max_value = fmax(max_value, share[k]);
  memory_free(w);
  memory_free(share);
  return max_value * ranks / OTHERS;
}

/* How long a cut for many ranks takes, and how well it balances (for measurements, not a test). */
static void measure(int ranks, int64_t n)
{
  enum { SETS = 8 };
  double ms = 0, balance = 0;
  struct random r = {3};
  struct domain d;
  struct weighted *w = memory_alloc("test", sizeof *w * (size_t)n);
  domain_open(&d, ranks);
  for (int k = 0; k < SETS; k++) {
    fill(w, n, CUSP, SAME, &r);
    double taken = time_cut(&d, NULL, w, n);
    ms = k ? fmin(ms, taken) : taken;
    balance += max_over_mean(&d, &r) / SETS;
  }
  printf("%lld samples, %d x %d x %d domains: %.3f ms, most over mean %.4f\n", (long long)n, d.px, d.py, d.pz, ms,
         balance);
  domain_close(&d);
  memory_free(w);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  if (argc == 3) { /* RANKS SAMPLES */
    measure(atoi(argv[1]), atoll(argv[2]));
    MPI_Finalize();
    return 0;
  }
  const int ranks[] = {1, 2, 3, 4, 7, 12, 64};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
    /* a sample weighs at most 5 of 12,000 * 2.6: each of the three cuts is off by at most one sample */
    double fine = 2.0 * 3 * 5 * ranks[k] / (SAMPLES * 2.6);
    check(BALL, SAMPLES, ranks[k], fine, "a ball");
    check(CUSP, SAMPLES, ranks[k], fine, "a cusp");
  }
  /* an axis without extent cannot be cut: only check that each position has an owner, which is one rank of a column */
  check(PLANE, SAMPLES, 7, 0, "a plane");
  check(PLANE, SAMPLES, 8, 0, "a plane");
  check(LINE, SAMPLES, 8, 0, "a line");
  check(POINT, SAMPLES, 8, 0, "one point");
  check(TWO_POINTS, SAMPLES, 4, 0, "two points");
  for (int n = 0; n <= 3; n++) check(BALL, n, 8, 0, "fewer samples than ranks");
  check(POINT, 3, 12, 0, "fewer samples than ranks, all equal");
  static const int aligned[] = {2, 3, 4, 7, 8, 64};
  for (size_t k = 0; k < sizeof aligned / sizeof *aligned; k++) {
    check_aligned(BALL, aligned[k], "a ball");
    check_aligned(CUSP, aligned[k], "a cusp");
  }
  check_mirrored();
  check_aligned_planes();
  check_grid();
  check_slot();
  check_planes();
  tap_ok(memory_current() == 0, "all memory is given back");
  MPI_Finalize();
  return tap_end();
}
