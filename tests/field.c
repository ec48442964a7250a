/* SPDX-License-Identifier: GPL-3.0-or-later */
/* External fields: accelerations and frequencies against differences of potentials that are written independently;
 * kicks in a rotating frame; texts of [External]; orbits. */
#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint/files_changed.h"
#include "external/external.h"
#include "tap.h"

/* --- the formulas, of Binney & Tremaine (2008) and of the papers, with G = 1 -------------------------------------- */

static double square(double x) { return x * x; }
static double radius(const double d[3]) { return sqrt(square(d[0]) + square(d[1]) + square(d[2])); }
static double plummer(const double *n, const double d[3]) { return -n[0] * pow(square(radius(d)) + n[1] * n[1], -0.5); }
static double isochrone(const double *n, const double d[3]) { return -n[0] / (n[1] + hypot(radius(d), n[1])); }
static double logarithmic(const double *n, const double d[3])
{
  return n[0] * n[0] * log(sqrt(square(hypot(d[0], d[1])) + square(d[2] / n[2]) + n[1] * n[1]));
}
static double nfw(const double *n, const double d[3])
{
  return -n[0] / n[1] * log(1 + radius(d) / n[1]) * n[1] / radius(d);
}
static double hernquist(const double *n, const double d[3]) { return -n[0] / n[1] / (1 + radius(d) / n[1]); }
static double miyamoto_nagai(const double *n, const double d[3])
{
  return -n[0] / hypot(hypot(d[0], d[1]), n[1] + hypot(d[2], n[2]));
}

static const struct model {
  const char *text;
  int kind;
  double number[3];
  double (*potential)(const double *n, const double d[3]);
} models[] = {
    {"point mass=2", FIELD_PLUMMER, {2, 0}, plummer},
    {"point mass=2 softening=0.3", FIELD_PLUMMER, {2, 0.3}, plummer},
    {"plummer mass=2 scale=0.7", FIELD_PLUMMER, {2, 0.7}, plummer},
    {"isochrone mass=3 scale=0.4", FIELD_ISOCHRONE, {3, 0.4}, isochrone},
    {"logarithmic velocity=1.5 core=0.2 q=0.8", FIELD_LOGARITHMIC, {1.5, 0.2, 0.8}, logarithmic},
    {"logarithmic velocity=2", FIELD_LOGARITHMIC, {2, 0, 1}, logarithmic},
    {"nfw mass=4 scale=1.2", FIELD_NFW, {4, 1.2}, nfw},
    {"hernquist mass=4 scale=1.2", FIELD_HERNQUIST, {4, 1.2}, hernquist},
    {"miyamoto-nagai mass=3 a=1 b=0.2", FIELD_MIYAMOTO_NAGAI, {3, 1, 0.2}, miyamoto_nagai},
};
enum { MODELS = sizeof models / sizeof *models, PLACES = 200 };

static double drawn(void) { return 2.0 * rand() / RAND_MAX - 1; }

/* The negative gradient of a potential at x by a difference of fourth order. */
static void gradient(const struct model *model, const double centre[3], const double x[3], double acc[3])
{
  for (int c = 0; c < 3; c++) {
    double d[3], value[4],
        h = 2e-3 * fmin(0.5, radius((double[3]){x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]}));
    static const int at[4] = {-2, -1, 1, 2};
    for (int k = 0; k < 4; k++) {
      for (int j = 0; j < 3; j++) d[j] = x[j] - centre[j] + (j == c ? at[k] * h : 0);
      value[k] = model->potential(model->number, d);
    }
    acc[c] = -(value[0] - 8 * value[1] + 8 * value[2] - value[3]) / (12 * h);
  }
}

static struct params with(const char *potential)
{
  struct params p;
  params_defaults(&p);
  snprintf(p.Potential1, sizeof p.Potential1, "%s", potential);
  return p;
}

static void check_model(const struct model *model)
{
  struct external e;
  struct fault f = {""};
  struct field field;
  char text[200], line[300];
  double worst = 0, off = 0;
  const double gravity = 3, centre[3] = {0.5, -1, 2};
  snprintf(text, sizeof text, "%s centre=0.5,-1,2", model->text);
  struct params p = with(text);
  int failed = external_open(&e, &p, gravity, &f);
  external_field(&e, 0, &field);
  double factor = model->kind == FIELD_LOGARITHMIC ? 1 : gravity;
  for (int i = 0; i < PLACES; i++) {
    double x[3], acc[3], want[3], size = pow(10, 2 * drawn());
    for (int c = 0; c < 3; c++) x[c] = centre[c] + size * drawn();
    const double d[3] = {x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]};
    field_acceleration(&field, x, acc);
    gradient(model, centre, x, want);
    for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(acc[c] - factor * want[c]) / (factor * radius(want)));
    off = fmax(off, fabs(field_potential(&field, x) / (factor * model->potential(model->number, d)) - 1));
  }
  printf("# %s: acceleration within %.1e of the gradient, potential within %.1e\n", model->text, worst, off);
  snprintf(line, sizeof line, "%s: the potential is that of the formula, the acceleration its gradient", model->text);
  tap_ok(!failed && field.count == 1 && field.term[0].kind == model->kind && worst < 1e-7 && off < 1e-11, line);
  external_close(&e);
}

/* The circular velocity is known in closed form; the centre of a cusp has no direction. */
static void check_values(void)
{
  const double x[3] = {1e-5, 0, 0}, origin[3] = {0}, rest[3] = {0}, fast[3] = {1e4, 0, 0};
  double acc[3];
  struct field halo = {.count = 1, .term = {{FIELD_NFW, {0}, {2, 0.5}, {0}}}},
               point = {.count = 1, .term = {{FIELD_PLUMMER, {0}, {3, 0}, {0}}}};
  field_acceleration(&halo, x, acc);
  tap_ok(fabs(acc[0] / -(0.5 * 2 / 0.25 * (1 - 4.0 / 3 * 1e-5 / 0.5)) - 1) < 1e-8,
         "NFW near its centre: G M / (2 s^2)");
  field_acceleration(&halo, origin, acc);
  tap_ok(acc[0] == 0 && field_potential(&halo, origin) == -4 && field_rate(&halo, origin, fast) == 0,
         "NFW at its centre");
  const double there[3] = {0, 2, 0};
  tap_ok(fabs(field_rate(&point, there, rest) - 3.0 / 8) < 1e-12,
         "the rate of a point mass is the frequency of the circular orbit");
  tap_ok(fabs(field_rate(&point, x, fast) / square(FIELD_CROSSING * 3 / 1e-10 / 1e4) - 1) < 1e-9,
         "a fast passage changes the velocity by a part only");
  point.term[0].motion[1] = 1e4;
  tap_ok(fabs(field_rate(&point, there, rest) / (FIELD_PASSING * 1e8 / 4) - 1) < 1e-9,
         "a centre that flies past: the rate of its passage");
  tap_ok(fabs(field_rate(&point, there, (double[]){0, 1, 0}) / (FIELD_PASSING * FIELD_NOTABLE * 3750) - 1) < 1e-3,
         "... in proportion to its pull, where that is weak");
  struct fault f = {""};
  struct external e;
  struct params p = with("nfw mass=10 scale=2 concentration=5");
  external_open(&e, &p, 1, &f);
  const double edge[3] = {0, 0, 10};
  field_acceleration(&e.field, edge, acc);
  tap_ok(fabs(acc[2] + 0.1) < 1e-12, "NFW with a concentration: mass is that within concentration scales");
  external_close(&e);
}

/* --- the rotating frame ------------------------------------------------------------------------------------------- */

static void check_rotation(void)
{
  struct fault f = {""};
  struct external e;
  struct params p = with("");
  snprintf(p.TidalField, sizeof p.TidalField, "omega=1 kappa=1.4 nu=2");
  external_open(&e, &p, 1, &f);
  double x[3] = {0.3, -0.2, 0.1}, v[3] = {0.4, 0.5, -0.6}, acc[3], w[3];
  const float soft[3] = {0.1f, -0.2f, 0.3f};
  field_acceleration(&e.field, x, acc);
  tap_ok(fabs(acc[0] - (4 - 1.96) * 0.3) < 1e-15 && acc[1] == 0 && fabs(acc[2] + 4 * 0.1) < 1e-15 &&
             e.field.spin == 1 && fabs(field_potential(&e.field, x) - 0.5 * (-2.04 * 0.09 + 4 * 0.01)) < 1e-15,
         "Hill's approximation");
  memcpy(w, v, sizeof w);
  field_kick(&e.field, x, soft, 0.37, w);
  field_kick(&e.field, x, soft, -0.37, w);
  tap_ok(fabs(w[0] - v[0]) + fabs(w[1] - v[1]) + fabs(w[2] - v[2]) < 1e-15,
         "a kick in a rotating frame is symmetric in time");
  memcpy(w, v, sizeof w);
  double h = 1e-6;
  field_kick(&e.field, x, soft, h, w);
  double off = fabs((w[0] - v[0]) / h - (acc[0] + soft[0] + 2 * v[1])) +
               fabs((w[1] - v[1]) / h - (acc[1] + soft[1] - 2 * v[0])) + fabs((w[2] - v[2]) / h - (acc[2] + soft[2]));
  tap_ok(off < 1e-5, "its force is that of the field and of Coriolis");
  external_close(&e);

  /* An epicycle: x = X cos(kappa t), y = -2 omega / kappa X sin(kappa t); leapfrog of 4000 steps in a period, 3
   * periods */
  double dt = 2 * M_PI / 1.4 / 4000, amplitude = 0.5, worst = 0;
  const float none[3] = {0};
  snprintf(p.TidalField, sizeof p.TidalField, "omega=1 kappa=1.4");
  external_open(&e, &p, 1, &f);
  double y[3] = {amplitude, 0, 0.2}, u[3] = {0, -2 * amplitude, 0};
  for (int k = 1; k <= 12000; k++) {
    field_kick(&e.field, y, none, 0.5 * dt, u);
    for (int c = 0; c < 3; c++) y[c] += dt * u[c];
    field_kick(&e.field, y, none, 0.5 * dt, u);
    worst = fmax(worst, fabs(y[0] - amplitude * cos(1.4 * k * dt)) +
                            fabs(y[1] + 2 / 1.4 * amplitude * sin(1.4 * k * dt)) + fabs(y[2] - 0.2 * cos(k * dt)));
  }
  printf("# an epicycle is off by at most %.1e\n", worst);
  tap_ok(worst < 2e-5, "an epicycle is that of the formula");
  external_close(&e);
  struct external_tide t;
  tap_ok(external_read_tide("A=0.6 B=-0.4", &t, &f) == 0 && fabs(t.omega - 1) < 1e-15 &&
             fabs(t.kappa - sqrt(1.6)) < 1e-15 && t.nu == t.omega,
         "the Oort constants");
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static void check_texts(void)
{
  static const char *const bad[][2] = {{"nwf mass=1 scale=2", "did you mean 'nfw'"},
                                       {"", "expected a potential"},
                                       {"nfw mass=1", "expected scale= for nfw"},
                                       {"nfw mass=1 scale=0", "scale= with a number above 0"},
                                       {"nfw mass=x scale=1", "found 'x'"},
                                       {"nfw mass=nan scale=1", "found 'nan'"},
                                       {"nfw mass=1 mass=2 scale=1", "expected mass= once"},
                                       {"point mass=1 scale=2", "expected for point the numbers mass=, softening="},
                                       {"point mass=1 centre=1,2", "expected centre=x,y,z"},
                                       {"point mass=1 centre=1,2,3,4", "expected centre=x,y,z"},
                                       {"point mass", "expected for point"},
                                       {"point mass=1 orbit=", "expected orbit="},
                                       {"point mass=1 orbit=a centre=1,2,3", "not both"},
                                       {"point mass=-1", "above 0"},
                                       {"logarithmic velocity=1 q=0", "q= with a number above 0"},
                                       {"miyamoto-nagai mass=1 a=1 b=0", "b= with a number above 0"}};
  static const char *const bad_tide[][2] = {
      {"omega=0", "above 0"},      {"kappa=1", "expected omega="}, {"omega=1 A=1 B=2", "expected omega="},
      {"A=1", "both Oort"},        {"A=1 B=2", "A= above B="},     {"omega", "expected omega="},
      {"omega=1 omega=2", "once"}, {"A=x B=1", "found 'x'"},       {"spin=1", "found 'spin'"}};
  int good = 1;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    struct external_potential e;
    struct fault f = {""};
    int here = external_read(bad[k][0], &e, &f) != 0 && strstr(f.text, bad[k][1]);
    if (!here) printf("# '%s': %s\n", bad[k][0], f.text);
    good &= here;
  }
  tap_ok(good, "mistakes in the text of a potential are named");
  good = 1;
  for (size_t k = 0; k < sizeof bad_tide / sizeof *bad_tide; k++) {
    struct external_tide t;
    struct fault f = {""};
    int here = external_read_tide(bad_tide[k][0], &t, &f) != 0 && strstr(f.text, bad_tide[k][1]);
    if (!here) printf("# '%s': %s\n", bad_tide[k][0], f.text);
    good &= here;
  }
  tap_ok(good, "mistakes in the text of a tidal field are named");
}

/* --- orbits ------------------------------------------------------------------------------------------------------- */

static char path[] = "/tmp/espalier-orbit-XXXXXX";

static void write_orbit(const char *text)
{
  FILE *out = fopen(path, "w");
  if (!out || fputs(text, out) == EOF || fclose(out)) exit(99);
}

static int refused(const char *text, const char *why)
{
  struct fault f = {""};
  write_orbit(text);
  struct orbit *o = orbit_read(path, &f);
  int good = !o && strstr(f.text, why) && strstr(f.text, path);
  if (!good) printf("# %s\n", f.text);
  orbit_free(o);
  return good;
}

static void check_orbits(void)
{
  struct fault f = {""};
  double worst = 0, x[3], v[3];
  int file = mkstemp(path);
  if (file < 0) exit(99);
  FILE *out = fdopen(file, "w");
  fprintf(out, "# a circle\n");
  for (int k = -10; k <= 110; k++)
    fprintf(out, "%.17g %.17g, %.17g\t%g%s\n", 0.1 * k, 2 * cos(0.1 * k), 2 * sin(0.1 * k), 0.1 * k,
            k % 2 ? "" : " 0 0 1");
  fclose(out);
  struct orbit *o = orbit_read(path, &f);
  for (double t = 0; o && t < 10; t += 0.013) {
    orbit_at(o, t, x, v);
    worst = fmax(worst, fabs(x[0] - 2 * cos(t)) + fabs(x[1] - 2 * sin(t)) + fabs(x[2] - t) +
                            0.01 * (fabs(v[0] + 2 * sin(t)) + fabs(v[2] - 1)));
  }
  printf("# the spline is within %.1e of the circle\n", worst);
  tap_ok(o && worst < 2e-5, "an orbit is a spline through its table");
  orbit_free(o);
  struct params p = with("");
  snprintf(p.Potential1, sizeof p.Potential1, "point mass=1 orbit=%s", path);
  struct external e;
  struct field field;
  int opened = external_open(&e, &p, 1, &f);
  external_field(&e, 1, &field);
  tap_ok(!opened && e.moves && fabs(field.term[0].centre[0] - 2 * cos(1)) < 1e-5 &&
             fabs(field.term[0].motion[1] - 2 * cos(1)) < 1e-3,
         "a potential moves on its orbit");
  tap_ok(external_check_times(&e, 0, 10, &f) == 0 && external_check_times(&e, -2, 10, &f) &&
             strstr(f.text, "the orbit is from -1 to 11") && external_check_times(&e, 0, 12, &f),
         "a run beyond the orbit's times is refused");
  external_close(&e);
  tap_ok(refused("0 1 2 3\n1 1 2 3\n", "at least 3 times") &&
             refused("0 1 2 3\n0 1 2 3\n1 0 0 0\n", ":2: expected a time above 0") &&
             refused("0 1 2\n", ":1: 3 numbers") && refused("0 1 2 3\n1 a 2 3\n", ":2: 'a' in column 2") &&
             refused("0 1 2 inf\n", "column 4"),
         "mistakes in the table of an orbit are named by file and line");
  unlink(path);
}

/* What a checkpoint holds of a table of an orbit: the rows up to its time. */
static void check_files(void)
{
  static const char *const tables[] = {"0 1 2 3\n1 1 2 3.5\n2 1 2 5\n3 0 0 0\n",          /* this one, */
                                       "0 1 2 3\n1 1 2 3.5\n2 1 2 5\n3 7 7 7\n4 0 0 0\n", /* other later rows, */
                                       "0 1 2 3\n1 1 2 3.5\n2 1 2 5.1\n3 0 0 0\n",  /* another one after the time, */
                                       "0 1 2 3\n0.5 1 2 3\n1 1 2 3.5\n2 1 2 5\n"}; /* one more before it */
  char name[] = "orbit-XXXXXX", text[4][200];
  struct external_file file[EXTERNAL_FILES];
  struct params par;
  int descriptor = mkstemp(name), count = 0;
  params_defaults(&par);
  snprintf(par.Potential3, sizeof par.Potential3, "point mass=1 orbit=%s", name);
  for (int k = 0; k < 4; k++) {
    struct external e;
    struct fault f = {""};
    FILE *out = fopen(name, "w");
    if (!out) break;
    fputs(tables[k], out);
    fclose(out);
    if (external_open(&e, &par, 1, &f) == 0) count += external_files(&e, 1.5, file);
    external_close(&e);
    snprintf(text[k], sizeof text[k], "time = 0\n%s = %lld %lld\n", file[0].entry, file[0].number[0],
             file[0].number[1]);
  }
  unlink(name);
  close(descriptor);
  struct fault f[5] = {{""}, {""}, {""}, {""}, {""}};
  tap_ok(count == 4 && strcmp(file[0].entry, "file.Potential3") == 0 && strcmp(file[0].path, name) == 0,
         "the file of an orbit is listed with its parameter");
  tap_ok(files_changed(text[3], file, 1, 1.5, &f[0]) == 0, "a table that is the same is accepted");
  tap_ok(strcmp(text[0], text[1]) == 0, "rows after the first one behind the time do not count");
  tap_ok(files_changed(text[2], file, 1, 1.5, &f[1]) && strstr(f[1].text, "4 rows with") &&
             files_changed(text[0], file, 1, 1.5, &f[2]) && strcmp(text[0], text[2]),
         "another row, or one more, is refused");
  tap_ok(files_changed("time = 0\n", file, 1, 1.5, &f[3]) == 0, "a manifest of an older version is accepted");
  tap_ok(files_changed("time = 0\nfile.Agama = 1 2\nfile.Agama.1 = 3 4\n", file, 1, 1.5, &f[4]) != 0,
         "a file that is missing is found");
}

/* The tide of a potential about a centre that moves, on what is at d from it and moves with u relative to it, against
 * that of King (1962): L^2 / r^4 - d2 phi / dr2, L the angular momentum, for `second`, the second derivative. */
static void check_tide_of(const char *text, const double d[3], const double u[3], double second, double reach)
{
  static const double centre[3] = {0.5, -1, 2}, motion[3] = {7, 20, -3};
  struct external e;
  struct fault f = {""};
  struct tide tide;
  char whole[200], line[300];
  double x[3], v[3], across = 0;
  snprintf(whole, sizeof whole, "%s centre=0.5,-1,2", text);
  struct params p = with(whole);
  int failed = external_open(&e, &p, 3, &f);
  memcpy(e.field.term[0].motion, motion, sizeof motion);
  for (int c = 0; c < 3; c++) {
    int a = (c + 1) % 3, b = (c + 2) % 3;
    x[c] = centre[c] + d[c];
    v[c] = motion[c] + u[c];
    across += square(d[a] * u[b] - d[b] * u[a]);
  }
  double r = radius(d), want = across / pow(r, 4) - second;
  external_tide(&e, 0, x, v, 1e-4, &tide);
  snprintf(line, sizeof line, "%s: tide %.9g, expected %.9g; the scale of the field %.6g, expected %.6g", text,
           tide.stretch, want, tide.reach, reach);
  tap_ok(!failed && fabs(tide.stretch / want - 1) < 1e-6 && fabs(tide.reach / reach - 1) < 1e-6 && tide.spin == 0,
         line);
  external_close(&e);
}

static void check_tides(void)
{
  static const double d[3] = {2, 0, 0}, u[3] = {0.4, 0.7, 0.2}, far[3] = {6, 8, 0}, rest[3] = {0};
  struct external e;
  struct fault f = {""};
  struct tide tide, still;
  check_tide_of("point mass=2", d, u, -2 * 6.0 / 8, 1);
  check_tide_of("point mass=2", d, rest, -2 * 6.0 / 8, 1);
  check_tide_of("logarithmic velocity=5", far, u, -0.25, 10);
  check_tide_of("logarithmic velocity=5", far, (double[]){-4, 3, 0}, -0.25, 10); /* circular: 2 v^2 / r^2 */
  /* in the plane of a disc the largest derivative is that along z */
  double h = 3.3, s = 121 + 0; /* a + b; R^2 + (a + b)^2 with R^2 = 110.11 */
  const double R = sqrt(s - h * h), at[3] = {R, 0, 0}, mass = 3 * 40, s3 = s * sqrt(s);
  check_tide_of("miyamoto-nagai mass=40 a=3 b=0.3", at, (double[]){0, R * sqrt(mass / s3), 0},
                mass / s3 * (1 - 3 * R * R / s), R / (h / 0.3));
  struct params p = with("");
  strcpy(p.TidalField, "omega=0.3 kappa=0.4 nu=0.5");
  int failed = external_open(&e, &p, 3, &f);
  external_tide(&e, 0, d, u, 1e-2, &tide);
  external_tide(&e, 0, rest, rest, 1e-2, &still);
  tap_ok(!failed && fabs(tide.stretch - 0.2) < 1e-12 && tide.spin == 0.3 && tide.reach > 1e300 &&
             fabs(still.stretch - 0.2) < 1e-12,
         "TidalField: 4 omega^2 - kappa^2 everywhere");
  external_close(&e);
  failed = external_open(&e, &(struct params){.TidalField = ""}, 3, &f);
  external_tide(&e, 0, d, u, 1e-2, &tide);
  tap_ok(!failed && tide.stretch == 0 && tide.reach == 0, "no field has no tide");
  external_close(&e);
}

int main(void)
{
  srand(7);
  for (int k = 0; k < MODELS; k++) check_model(&models[k]);
  check_values();
  check_rotation();
  check_texts();
  check_orbits();
  check_files();
  check_tides();
  return tap_end();
}
