/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and maps of particles at a synchronisation: against formulas, and to the bit the same for any number of
 * ranks. */
#include <config.h>
#include <math.h>
#include <mpi.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/exact.h"
#include "analysis/projection.h"
#include "analysis/quantiles.h"
#include "chance.h"
#include "everywhere.h"
#include "files.h"
#include "tap.h"

#define TURN 6.283185307179586

static struct comm c, self;

/* All particles, on every rank; share() takes those of this rank. */
static struct particles set;

static void begin(int64_t capacity)
{
  particles_init(&set);
  particles_reserve(&set, capacity);
}

static void add(double mass, int type, const double x[3], const double v[3])
{
  int64_t i = set.n++;
  memcpy(&set.pos[3 * i], x, 3 * sizeof *x);
  memcpy(&set.vel[3 * i], v, 3 * sizeof *v);
  set.mass[i] = (float)mass;
  set.type[i] = (uint8_t)type;
  set.id[i] = (uint64_t)i + 1;
}

/* In runs of three, the first one on the last rank, so that the order differs from that on one rank. */
static void share(struct particles *mine)
{
  particles_init(mine);
  particles_reserve(mine, set.n + 1);
  for (int64_t i = set.n - 1; i >= 0; i--)
    if ((i / 3 + 1) % c.size == c.rank) particles_copy(mine, mine->n++, &set, i);
}

static void say(int good, const char *what, double found, double expected)
{
  char line[300];
  snprintf(line, sizeof line, "%s (%.9g, expected %.9g)", what, found, expected);
  int all = (int)comm_min_int64(&c, good);
  if (c.rank == 0) tap_ok(all, line);
}

static void near(double found, double expected, double error, const char *what)
{
  say(fabs(found - expected) <= error, what, found, expected);
}

/* The rows over all ranks; they must be those of one rank that has all particles. Ends the set. */
static struct analysis measure(const char *what)
{
  struct analysis a, whole;
  struct particles mine;
  memset(&a, 0, sizeof a);
  memset(&whole, 0, sizeof whole);
  share(&mine);
  analysis_measure(&a, &c, &mine);
  analysis_measure(&whole, &self, &set);
  int same = a.rows == whole.rows && memcmp(a.row, whole.row, sizeof *a.row * (size_t)a.rows) == 0;
  char text[200];
  snprintf(text, sizeof text, "%s: the bits of one rank, in %d rows", what, a.rows);
  say(same, text, a.rows, whole.rows);
  particles_free(&mine);
  particles_free(&set);
  return a;
}

/* --- formulas ---------------------------------------------------------------------------------------------------- */

/* Pairs on opposite sides of a centre, each at the radius within which Plummer's sphere of scale radius 1 has so much
 * mass, with velocities of 0.3 outwards or inwards and 0.4 across, and a bulk velocity. */
static void check_sphere(int64_t pairs)
{
  static const double centre[3] = {12, -7, 0.5}, bulk[3] = {-3, 1, 20};
  struct random r = {5};
  begin(2 * pairs);
  for (int64_t k = 0; k < pairs; k++) {
    double d[3], e[3], across[3], part = ((double)k + 0.5) / (double)pairs, radius = 1 / sqrt(pow(part, -2.0 / 3) - 1),
                                  size = 0;
    random_direction(&r, 1, d);
    random_direction(&r, 1, e);
    for (int i = 0; i < 3; i++) across[i] = d[(i + 1) % 3] * e[(i + 2) % 3] - d[(i + 2) % 3] * e[(i + 1) % 3];
    for (int i = 0; i < 3; i++) size += across[i] * across[i];
    for (int side = -1; side <= 1; side += 2) {
      double x[3], v[3];
      for (int i = 0; i < 3; i++) {
        x[i] = centre[i] + side * radius * d[i];
        v[i] = bulk[i] + side * ((k % 2 ? 0.3 : -0.3) * d[i] + 0.4 * across[i] / sqrt(size));
      }
      add(0.5 / (double)pairs, 1, x, v);
    }
  }
  struct analysis a = measure("Plummer's sphere");
  const struct analysis_row *row = &a.row[0];
  say(a.rows == 2 && row->type == 1 && a.row[1].type == TYPE_ALL, "a row for the type and one for all", a.rows, 2);
  double off = 0;
  for (int i = 0; i < 3; i++) off = fmax(off, fmax(fabs(row->centre[i] - centre[i]), fabs(row->velocity[i] - bulk[i])));
  near(off, 0, 1e-9, "its centre and its velocity");
  for (int k = 0; k < ANALYSIS_RADII; k++) {
    double part = (ceil(analysis_fractions[k] * (double)pairs) - 0.5) / (double)pairs,
           radius = 1 / sqrt(pow(part, -2.0 / 3) - 1);
    near(row->radius[k], radius, 3e-8 * radius, "Lagrangian radius");
  }
  near(row->dispersion, 0.5, 1e-9, "velocity dispersion");
  near(row->radial, 0.3, 1e-9, "radial velocity dispersion");
  near(row->mass, 1, 1e-6, "mass");
}

/* A disc of a hundred rings in the plane perpendicular to `normal`: a part of the mass at an angle and opposite of it,
 * the rest evenly spread. It turns, and the bar is at `angle` from the plane's x axis. */
static void check_bar(const double normal[3], double part, double angle)
{
  enum { RINGS = 100, SPREAD = 6, BAR = 4 };
  double x[3], y[3], z[3];
  analysis_plane(normal, x, y, z);
  near(x[0] * (y[1] * z[2] - y[2] * z[1]) + x[1] * (y[2] * z[0] - y[0] * z[2]) + x[2] * (y[0] * z[1] - y[1] * z[0]), 1,
       1e-14, "right-handed axes");
  begin(RINGS * (SPREAD + BAR));
  for (int k = 0; k < RINGS * (SPREAD + BAR); k++) {
    int in_ring = k % (SPREAD + BAR), ring = k / (SPREAD + BAR);
    double phi = in_ring < SPREAD ? TURN * (in_ring + 0.1 * ring) / SPREAD : angle + k % 2 * TURN / 2,
           R = 0.02 * (ring + 1), pos[3], vel[3];
    for (int i = 0; i < 3; i++) {
      pos[i] = R * (cos(phi) * x[i] + sin(phi) * y[i]);
      vel[i] = -sin(phi) * x[i] + cos(phi) * y[i];
    }
    add((in_ring < SPREAD ? (1 - part) / SPREAD : part / BAR) / RINGS, 2, pos, vel);
  }
  struct analysis a = measure("a bar");
  const struct analysis_row *row = &a.row[0];
  near(row->bar, part, 1e-6, "bar strength");
  near(fabs(remainder(row->phase - angle, TURN / 2)), 0, 1e-6, "phase of the bar");
  near(row->bar_radius, 1, 1e-6, "radius of the bar");
  double turn = 0;
  for (int i = 0; i < 3; i++) turn += row->angular[i] * z[i];
  near(turn, 1.01, 1e-5, "angular momentum");
}

/* Two clumps: the centre of all is that of the larger one, and each type has its own. */
static void check_merger(void)
{
  struct random r = {9};
  begin(4000);
  for (int k = 0; k < 4000; k++) {
    int type = k < 3000 ? 1 : 3;
    double d[3], x[3], v[3] = {type, 0, 0}, radius = random_unit(&r);
    random_direction(&r, 1, d);
    for (int i = 0; i < 3; i++) x[i] = radius * d[i] + (i == 0 ? (type == 1 ? 5 : -15) : 0);
    add(1, type, x, v);
  }
  struct analysis a = measure("a merger");
  near(a.row[0].centre[0], 5, 0.05, "centre of the larger part");
  near(a.row[1].centre[0], -15, 0.05, "centre of the smaller part");
  near(a.row[2].centre[0], 5, 0.05, "centre of all is that of the larger part");
  near(a.row[2].velocity[0], 1, 1e-9, "velocity of all is that of the larger part");
  near(a.row[2].radius[ANALYSIS_RADII - 1], 20, 1.1, "nine tenths of the mass reach to the smaller part");
}

/* --- odd sets ---------------------------------------------------------------------------------------------------- */

static void check_few(void)
{
  static const double x[3] = {1, 2, 3}, away[3] = {1, 2, 7}, v[3] = {0.5, 0, 0}, rest[3] = {0, 0, 0};
  begin(1);
  add(2, 4, x, v);
  struct analysis a = measure("one particle");
  say(a.rows == 2 && a.row[0].centre[2] == 3 && a.row[0].velocity[0] == 0.5 &&
          a.row[0].radius[0] == a.row[0].radius[6] && a.row[0].radius[6] == 0,
      "one particle: its place, its velocity", a.row[0].radius[6], 0);
  begin(2);
  add(1e9, 5, x, rest);
  add(1e-3, 0, away, v);
  a = measure("two particles of masses 1e9 and 1e-3");
  near(a.row[2].radius[6], 0, 1e-6, "the heavy one has all the mass");
  near(a.row[2].centre[2], 3, 1e-6, "... and the centre");
  begin(3);
  for (int k = 0; k < 3; k++) add(0, 1, k ? x : away, v);
  a = measure("particles without mass");
  say(a.row[0].mass == 0 && a.row[0].velocity[0] == 0.5 && a.row[0].count == 3 && isfinite(a.row[0].bar),
      "they count 1 each", a.row[0].count, 3);
  begin(0);
  a = measure("no particles");
  say(a.rows == 1 && a.row[0].count == 0, "a row of all alone", a.rows, 1);
}

/* Masses over nine decades, three types, far from the origin. */
static void fill_random(int64_t n)
{
  struct random r = {21};
  begin(n);
  for (int64_t k = 0; k < n; k++) {
    double d[3], v[3], x[3], radius = pow(random_unit(&r), 3) * 100;
    random_direction(&r, 1, d);
    random_direction(&r, 1, v);
    for (int i = 0; i < 3; i++) x[i] = 1000 + radius * d[i];
    add(pow(10, 9 * random_unit(&r) - 9), (int)(3 * random_unit(&r)), x, v);
  }
}

/* Type 1 out to 100 about a place on the x axis, and stars of type 3 out to 3 about the origin. */
static void fill_galaxy(int64_t halo, int64_t stars, double place)
{
  struct random r = {22};
  begin(halo + stars);
  for (int64_t k = 0; k < halo + stars; k++) {
    double x[3], v[3] = {0, 0, 0};
    random_direction(&r, (k < halo ? 100 : 3) * random_unit(&r), x);
    if (k < halo) x[0] += place;
    add(k < halo ? 1 : place > 0 ? 10 : 0.1, k < halo ? 1 : 3, x, v);
  }
}

static void check_random(void)
{
  for (int64_t n = 2; n <= 20000; n = n * 7 + 1) {
    char text[100];
    fill_random(n);
    snprintf(text, sizeof text, "%lld particles of any mass", (long long)n);
    measure(text);
  }
}

static void values(const void *of, int64_t i, double *value)
{
  value[0] = ((const double *)of)[i];
  value[1] = 1;
}

static double number_at(const void *of, int64_t i) { return ((const double *)of)[i]; }

static void check_sums(void)
{
  double x[4] = {1e16, 1, -1e16, 3}, sum[2];
  exact_sums(&self, 4, 4, 2, values, x, sum);
  say(sum[0] == 4 && sum[1] == 4, "a sum whatever the order", sum[0], 4);
  x[1] = NAN;
  exact_sums(&self, 4, 4, 2, values, x, sum);
  say(isnan(sum[0]) && sum[1] == 4, "a sum with a value that is no number", sum[1], 4);
  double key[10], fraction[3] = {0.1, 0.5, 1}, found[3];
  for (int k = 0; k < 10; k++) key[k] = (k * 7 + 3) % 10;
  quantiles(&self, 10, number_at, NULL, key, 10, 3, fraction, found);
  say(found[0] == 0 && fabs(found[1] - 4) < 1e-6 && found[1] >= 4 && fabs(found[2] - 9) < 1e-6,
      "quantiles of ten numbers", found[1], 4);
}

/* --- maps -------------------------------------------------------------------------------------------------------- */

/* Sum of the values of a dataset, and the value at row, column; NAN where it is not there. */
static double read_map(const char *path, const char *name, int pixels, int row, int column, double *sum)
{
  char cause[256];
  hid_t file = h5_open_read(path, cause), data = file < 0 ? -1 : H5Dopen2(file, name, H5P_DEFAULT);
  double *value = memory_alloc("test", sizeof *value * (size_t)pixels * (size_t)pixels), at = NAN;
  *sum = 0;
  if (data >= 0 && H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0) {
    for (int k = 0; k < pixels * pixels; k++) *sum += value[k];
    at = value[row * pixels + column];
  }
  if (data >= 0) H5Dclose(data);
  if (file >= 0) h5_close(file);
  memory_free(value);
  return at;
}

static int same_files(const char *one, const char *two)
{
  FILE *a = fopen(one, "r"), *b = fopen(two, "r");
  int x = a && b ? 0 : EOF, y = x, bytes = 0;
  while (x != EOF && x == y) {
    x = fgetc(a);
    y = fgetc(b);
    bytes++;
  }
  if (a) fclose(a);
  if (b) fclose(b);
  return x == EOF && y == EOF && bytes > 1000;
}

static void write_both(const char *folder, const struct params *par, double half, const double place[3],
                       struct map_facts *facts, const char *what)
{
  struct particles mine;
  struct fault f = {""};
  struct map_facts own;
  char one[300], two[300], line[400];
  *facts = own = (struct map_facts){.par = par, .time = 2.5, .gravity = 1, .step = 7, .half = half};
  share(&mine);
  int bad = projection_write(&c, folder, 3, &mine, facts, place, &f) != 0;
  snprintf(one, sizeof one, "%s/projection_0003.hdf5", folder);
  snprintf(two, sizeof two, "%s/projection_0004.hdf5", folder);
  if (c.rank == 0) bad |= projection_write(&self, folder, 4, &set, &own, place, &f) != 0 || !same_files(one, two);
  snprintf(line, sizeof line, "%s: maps of one rank, byte by byte %s", what, f.text);
  say(!bad, line, bad, 0);
  particles_free(&mine);
}

/* In a folder with two maps: what is removed with those of later times; and what cannot be written. */
static void check_map_files(const char *maps, struct map_facts *facts)
{
  static const double place[3] = {10, 20, 30}, x[3] = {0.6, -0.3, 0.9}, rest[3] = {0, 0, 0};
  char path[400];
  snprintf(path, sizeof path, "%s/projection_0012.hdf5.tmp", maps);
  fclose(fopen(path, "w"));
  snprintf(path, sizeof path, "%s/projection_mine.hdf5", maps);
  fclose(fopen(path, "w"));
  projection_remove(maps, 4);
  tap_ok(folder_files(maps) == 2 && access(path, F_OK) == 0,
         "later maps and unfinished ones are removed, other files stay");
  struct fault f = {""};
  begin(1);
  add(1, 1, x, rest);
  facts->half = 0;
  snprintf(path, sizeof path, "%s/projection_mine.hdf5", maps); /* a file, no folder */
  tap_ok(projection_write(&self, path, 0, &set, facts, place, &f) == -1 && f.text[0],
         "a folder that cannot be made is a fault");
  tap_ok(facts->half == 1, "maps of a single particle have the half-width 1");
  particles_free(&set);
}

static void check_maps(void)
{
  static const double place[3] = {10, 20, 30}, x[3] = {0.6, -0.3, 0.9}, back[3] = {-0.6, 0.3, -0.9},
                      outside[3] = {50, 0, 0}, rest[3] = {0, 0, 0};
  char folder[256], maps[300], path[400];
  struct params par;
  struct map_facts facts;
  double sum, at;
  params_defaults(&par);
  params_set(&par, &param_table[param_find("Output", "ProjectionPixels")], "8", &(struct fault){""});
  strcpy(par.ProjectionAxes, "yz,xy");
  folder_make(&c, folder);
  snprintf(maps, sizeof maps, "%s/maps", folder);
  snprintf(path, sizeof path, "%s/projection_0003.hdf5", maps);
  begin(4);
  add(3, 1, x, rest);
  add(3, 2, back, rest);
  add(0.5, 2, outside, rest);
  add(0, 4, x, rest);
  par.ProjectionCentre = PROJECTION_ORIGIN;
  static const double origin[3] = {0, 0, 0};
  write_both(maps, &par, 1, origin, &facts, "four particles");
  if (c.rank == 0) { /* pixels are 0.25 wide: x in column 6, y in row 2, z in row 7 */
    at = read_map(path, "All/xy", 8, 2, 6, &sum);
    tap_ok(fabs(at - 48) < 1e-5 && fabs(sum - 96) < 1e-5,
           "mass per area in the pixel of each particle, without those outside");
    at = read_map(path, "PartType1/yz", 8, 7, 2, &sum);
    tap_ok(fabs(at - 48) < 1e-5 && fabs(sum - 48) < 1e-5, "the map of a type in another plane");
    at = read_map(path, "PartType4/xy", 8, 2, 6, &sum);
    tap_ok(fabs(at - 16) < 1e-5, "particles without mass by number");
    tap_ok(isnan(read_map(path, "PartType0/xy", 8, 0, 0, &sum)) && isnan(read_map(path, "All/xz", 8, 0, 0, &sum)),
           "no other maps");
  }
  particles_free(&set);
  fill_random(9000);
  par.ProjectionCentre = PROJECTION_DENSITY;
  write_both(maps, &par, 0, place, &facts, "9000 particles");
  near(facts.centre[2], 1030, 0.5, "the maps' centre in the user's frame");
  say(facts.half > 1 && facts.half < 100, "a half-width that holds 90 % of the mass", facts.half, 75);
  particles_free(&set);
  if (c.rank == 0) check_map_files(maps, &facts);
  fill_galaxy(2000, 300, 0);
  write_both(maps, &par, 0, place, &facts, "a galaxy");
  say(facts.half > 2 && facts.half < 3.001, "a half-width that holds 90 % of the stars, not of the halo", facts.half,
      3);
  particles_free(&set);
  fill_galaxy(2000, 300, 2000);
  write_both(maps, &par, 0, place, &facts, "two galaxies");
  say(facts.half > 1000, "... of both, where type 1 is a galaxy beside the other", facts.half, 2000);
  particles_free(&set);
  fill_galaxy(2000, 3, 0);
  write_both(maps, &par, 0, place, &facts, "a halo with three stars");
  say(facts.half > 50 && facts.half < 100, "... of all, where stars are few", facts.half, 90);
  particles_free(&set);
  folder_remove(&c, maps);
  folder_remove(&c, folder);
}

int main(int argc, char **argv)
{
  static const double normals[][3] = {{0, 0, 1}, {1, 2, -0.5}, {-3, 0.1, 0.2}};
  ranks_begin(&c, &argc, &argv);
  comm_open(&self, MPI_COMM_SELF);
  check_sphere(5000);
  for (int k = 0; k < 3; k++) check_bar(normals[k], 0.1 + 0.3 * k, 0.4 + 0.7 * k);
  check_merger();
  check_few();
  check_random();
  if (c.rank == 0) check_sums();
  else {
    comm_min_int64(&c, 1);
    comm_min_int64(&c, 1);
    comm_min_int64(&c, 1);
  }
  check_maps();
  if (c.rank == 0)
    tap_ok(analysis_cost(1e6, 0) > 0 && analysis_cost(1e6, 1) > analysis_cost(1e6, 0),
           "a copy from a device costs more");
  comm_close(&self);
  return ranks_end(&c);
}
