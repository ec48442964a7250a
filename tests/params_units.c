/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of parameters with units: what is read, into which number it is converted, and what is refused. */
#include <config.h>
#include "params/params_external.h"
#include "params/params_units.h"
#include "params/quantities.h"

#include <math.h>
#include <string.h>

#include "tap.h"

static const char file[] = "params-units-test.ini";

static int read_text(const char *text, struct params *params, struct param_origin *origin, struct fault *fault)
{
  fault->text[0] = 0;
  FILE *out = fopen(file, "w");
  if (!out || fputs(text, out) < 0 || fclose(out)) {
    perror(file);
    exit(99);
  }
  return params_read_origin(params, file, NULL, 0, origin, fault);
}

static double value_of(const struct params *params, const char *name)
{
  char text[PARAM_TEXT];
  params_format(params, &param_table[param_find(NULL, name)], text, sizeof text);
  return strtod(text, NULL);
}

/* The units of the tests, and what the constants are, written independently. */
static const char galaxy[] = "[Units]\nUnitLength_in_cm = 1 kpc\nUnitMass_in_g = 1e10 Msun\n"
                             "UnitVelocity_in_cm_per_s = 1 km/s\n";
#define KPC 3.0856776e21
#define SUN 1.98841e33
#define YEAR (365.25 * 86400)
#define GYR (KPC / 1e5 / (1e9 * YEAR)) /* the unit of time of these units */

static const struct good {
  const char *section, *name, *text;
  double value; /* in units of kpc, 1e10 solar masses and km/s, unless the unit is fixed */
} goods[] = {
    {"Gravity", "Softening", "50 pc", 0.05},
    {"Gravity", "Softening", "50pc", 0.05},
    {"Gravity", "Softening", "5e1  pc", 0.05},
    {"Gravity", "Softening", "0.05 kpc", 0.05},
    {"Gravity", "Softening", "5e-5 Mpc", 0.05},
    {"Gravity", "Softening", "0.05", 0.05},
    {"Gravity", "Softening", "1 AU", 1.495978707e13 / KPC},
    {"Gravity", "Softening", "1 au", 1.495978707e13 / KPC},
    {"Gravity", "Softening", "2 Rsun", 2 * 6.957e10 / KPC},
    {"Gravity", "Softening", "1e15 km", 1e20 / KPC},
    {"Gravity", "Softening", "1e18 m", 1e20 / KPC},
    {"Gravity", "Softening", "1e20 cm", 1e20 / KPC},
    {"Gravity", "Softening", "3 pc^2/kpc", 3e-6},
    {"Gravity", "Softening", "3 kpc^2 / Mpc", 3e-3},
    {"Gravity", "Softening", "1 km/s*Gyr", 1 / GYR},
    {"Gravity", "Softening", "0 pc", 0},
    {"Split", "R1", "0.2 pc", 2e-4},
    {"Output", "ProjectionSize", "1 Rsun", 6.957e10 / KPC},
    {"Collisions", "Mass", "1 Msun", 1e-10},
    {"Collisions", "Mass", "1.98841e33 g", 1e-10},
    {"Collisions", "Mass", "1.98841e30 kg", 1e-10},
    {"Collisions", "Mass", "2e10Msun", 2},
    {"Time", "TimeMax", "0.3 Gyr", 0.3 / GYR},
    {"Time", "TimeMax", "300 Myr", 0.3 / GYR},
    {"Time", "TimeMax", "3e5 kyr", 0.3 / GYR},
    {"Time", "TimeMax", "3e8 yr", 0.3 / GYR},
    {"Time", "TimeMax", "1e17 s", 1e17 * 1e5 / KPC},
    {"Time", "TimeMax", "1e15 min", 6e16 * 1e5 / KPC},
    {"Time", "TimeMax", "1e12 day", 8.64e16 * 1e5 / KPC},
    {"Time", "TimeMax", "2 kpc/km*s", 2},
    {"Time", "TimeMax", "2 kpc km^-1 s", 2},
    {"Time", "TimeBegin", "-1 Gyr", -1 / GYR},
    {"Output", "TimeBetSnapshot", "50 Myr", 0.05 / GYR},
    {"Time", "MaxSizeTimestep", "0.1 Myr", 1e-4 / GYR},
    {"Gravity", "ErrTolMultipole", "1 pc/Myr^2", KPC / 1e3 / (1e6 * YEAR) / (1e6 * YEAR) / (1e10 / KPC)},
    {"Gravity", "ErrTolMultipole", "1 km/s^2", 1e5 / (1e10 / KPC)},
    {"Gravity", "ErrTolMultipole", "1 km/s/s", 1e5 / (1e10 / KPC)},
    {"Gravity", "ErrTolMultipole", "3 km^2 s^-2 kpc^-1", 3},
    {"Checkpoints", "TimeBetCheckpoints", "2 h", 120},
    {"Checkpoints", "TimeBetCheckpoints", "90 s", 1.5},
    {"Checkpoints", "TimeBetCheckpoints", "90 min", 90},
    {"Checkpoints", "TimeBetCheckpoints", "1 day", 1440},
    {"Checkpoints", "TimeBetCheckpoints", "90", 90},
    {"Device", "WatchdogMinutes", "0.5 h", 30},
};

static void check_good(void)
{
  for (size_t k = 0; k < sizeof goods / sizeof *goods; k++) {
    const struct good *g = &goods[k];
    char text[600], what[200];
    struct params p;
    struct fault f = {""};
    snprintf(text, sizeof text, "[%s]\n%s = %s\n[Steps]\nIntegrator = hermite\n%s", g->section, g->name, g->text,
             galaxy);
    int rc = read_text(text, &p, NULL, &f);
    double found = rc ? NAN : value_of(&p, g->name);
    if (rc) printf("# %s\n", f.text);
    else printf("# %.17g, expected %.17g\n", found, g->value);
    snprintf(what, sizeof what, "%s = %s", g->name, g->text);
    tap_ok(fabs(found - g->value) <= 5e-16 * fabs(g->value), what);
  }
}

static const struct bad {
  const char *section, *name, *text, *parts[2];
} bads[] = {
    {"Gravity", "Softening", "0.3 Gyr", {"expected a length, for example 50 pc", "'0.3 Gyr': that is a time"}},
    {"Gravity", "Softening", "1 Msun", {"expected a length", "that is a mass"}},
    {"Gravity", "Softening", "1 km/s", {"expected a length", "that is a velocity"}},
    {"Gravity", "Softening", "1 pc^2", {"expected a length", "that is length^2"}},
    {"Gravity", "Softening", "1 pc/kpc", {"expected a length", "that is a number"}},
    {"Time", "TimeMax", "50 pc", {"expected a time, for example 0.3 Gyr", "that is a length"}},
    {"Time", "TimeMax", "1 km/s/kpc", {"expected a time", "that is a frequency"}},
    {"Time", "TimeMax", "3 h", {"expected a time", "h are hours of wall-clock times only"}},
    {"Collisions", "Mass", "1 Rsun", {"expected a mass, for example 1e10 Msun", "that is a length"}},
    {"Gravity", "ErrTolMultipole", "1 pc/Myr", {"expected an acceleration, for example 1 pc/Myr^2", "a velocity"}},
    {"Gravity", "Softening", "5 Kpc", {"unknown unit 'Kpc'", "did you mean 'kpc'?"}},
    {"Time", "TimeMax", "5 gyr", {"unknown unit 'gyr'", "did you mean 'Gyr'?"}},
    {"Collisions", "Mass", "5 Msol", {"unknown unit 'Msol'", "did you mean 'Msun'?"}},
    {"Gravity", "Softening", "5 parsecs", {"unknown unit 'parsecs'", "units are pc, kpc, Mpc"}},
    {"Gravity", "Softening", "5 kpc/h", {"h may be hours", "the Hubble constant"}},
    {"Gravity", "Softening", "5 h^-1 kpc", {"h may be hours", "the Hubble constant"}},
    {"Gravity", "Softening", "5 Mpc/h", {"h may be hours", "give the value without it"}},
    {"Collisions", "Mass", "1e10 Msun/h", {"h may be hours", "'1e10 Msun/h'"}},
    {"Gravity", "Softening", "5 pc^", {"a unit is a name, or a product", "'5 pc^'"}},
    {"Gravity", "Softening", "5 pc^0", {"a unit is a name, or a product", "'5 pc^0'"}},
    {"Gravity", "Softening", "5 pc^10", {"a unit is a name, or a product", "'5 pc^10'"}},
    {"Gravity", "Softening", "5 pc^1.5", {"a unit is a name, or a product", "'5 pc^1.5'"}},
    {"Gravity", "Softening", "5 pc/", {"a unit is a name, or a product", "'5 pc/'"}},
    {"Gravity", "Softening", "5 pc 3", {"a unit is a name, or a product", "'5 pc 3'"}},
    {"Gravity", "Softening", "5 km/(s kpc)", {"a unit is a name, or a product", "'5 km/(s kpc)'"}},
    {"Time", "TimeMax", "5 kpc/km s", {"a unit is a name, or a product", "'5 kpc/km s'"}},
    {"Gravity", "Softening", "5 \xc2\xb5pc", {"a unit is a name, or a product", "found '5 "}},
    {"Gravity", "Softening", "5 *pc", {"a unit is a name, or a product", "'5 *pc'"}},
    {"Gravity", "Softening", "pc", {"expected a number at least 0 (length)", "found 'pc'"}},
    {"Gravity", "Softening", "5,5 pc", {"expected a number at least 0 (length)", "found '5,5 pc'"}},
    {"Gravity", "Softening", "nan pc", {"expected a number at least 0 (length)", "found 'nan pc'"}},
    {"Gravity", "Softening", "-5 pc", {"Softening = -5 pc: expected a number at least 0 (length)", "found '-0.005'"}},
    {"Gravity", "Softening", "1e999 Mpc", {"expected a number at least 0", "'1e999 Mpc'"}},
    {"Gravity", "Softening", "1e-290 cm", {"Softening = 1e-290 cm: expected 0, or a size of 1e-300", "3.24e-312"}},
    {"Time", "MaxSizeTimestep", "1e-305 s", {"expected 0, or a size of 1e-300 to 1e300 in units of the run", "3.2"}},
    {"Gravity", "ErrTolTheta", "0.5 pc", {"expected a number without a unit", "'0.5 pc'"}},
    {"Gravity", "MaxLeafSize", "16 pc", {"expected a whole number from 1 to 256", "'16 pc'"}},
    {"Units", "GravityConstantInternal", "1 pc", {"expected a number without a unit", "'1 pc'"}},
    {"Checkpoints", "TimeBetCheckpoints", "1 Myr", {"a wall-clock time in s, min, h or day", "a time of the model"}},
    {"Checkpoints", "TimeBetCheckpoints", "1 pc", {"a wall-clock time in s, min, h or day", "that is a length"}},
    {"External", "Potential1", "point mass=1 pc", {"mass=: expected a mass", "that is a length"}},
    {"External",
     "Potential1",
     "point mass=1 foo",
     {"mass=: expected a mass, for example 1e10 Msun", "unknown unit 'foo'"}},
    {"External", "Potential1", "logarithmic velocity=1 q=1 pc", {"q=: expected a number without a unit", "'1 pc'"}},
    {"External", "Potential1", "point mass=1 centre=8 kpc,0,0", {"three numbers and one unit", "centre=8,0,0 kpc"}},
    {"External", "Potential1", "point mass=-1 Msun", {"(point mass=-1 Msun)", "expected mass= with a number above 0"}},
    {"External", "TidalField", "omega=27 kappa=37 km/s/kpc", {"omega=: expected a number with a unit", "as kappa="}},
    {"External", "TidalField", "A=15.3 km/s/kpc B=-11.9", {"B=: expected a number with a unit", "each has its own"}},
    {"External",
     "Potential1",
     "miyamoto-nagai mass=1 a=3 b=300 pc",
     {"a=: expected a number with a unit", "as b= has"}},
    {"External", "TidalField", "omega=27 km/s", {"omega=: expected a frequency", "that is a velocity"}},
};

static void check_bad(void)
{
  for (size_t k = 0; k < sizeof bads / sizeof *bads; k++) {
    const struct bad *b = &bads[k];
    char text[600], what[200], where[200];
    struct params p;
    struct fault f = {""};
    int in_units = strcmp(b->section, "Units") == 0;
    snprintf(text, sizeof text, "[%s]\n%s = %s\n%s", b->section, b->name, b->text, in_units ? "" : galaxy);
    snprintf(where, sizeof where, "%s:2: ", file);
    int good = read_text(text, &p, NULL, &f) == -1 && strncmp(f.text, where, strlen(where)) == 0 &&
               strstr(f.text, b->name) && strstr(f.text, b->parts[0]) && strstr(f.text, b->parts[1]);
    printf("# %s\n", f.text);
    snprintf(what, sizeof what, "refused: %s = %s", b->name, b->text);
    tap_ok(good, what);
  }
}

static void check_potentials(void)
{
  static const char *const cases[][3] = {
      {"Potential1", "point mass=1e10 Msun softening=10 pc", "point mass=1 softening=0.01"},
      {"Potential2", "point mass=1e10Msun softening=10pc", "point mass=1 softening=0.01"},
      {"Potential3", "point  mass=1   softening=0.01", "point  mass=1   softening=0.01"},
      {"Potential4", "logarithmic velocity=220 km/s core=100pc q=0.9", "logarithmic velocity=220 core=0.1 q=0.9"},
      {"Potential5", "nfw mass=8e11 Msun scale=16", "nfw mass=80 scale=16"},
      {"Potential6", "miyamoto-nagai mass=5e10 Msun a=3000 pc b=0.3 kpc centre=8000,-1e3,0 pc",
       "miyamoto-nagai mass=5 a=3 b=0.3 centre=8,-1,0"},
      {"Potential7", "plummer mass=1e9 Msun scale=1e3 pc centre=8,0,0", "plummer mass=0.1 scale=1 centre=8,0,0"},
      {"Potential8", "miyamoto-nagai mass=1 a=0 b=300 pc", "miyamoto-nagai mass=1 a=0 b=0.3"},
      {"TidalField", "A=15.3 km/s/kpc B=-11.9km/s/kpc nu=70 km s^-1 kpc^-1", "A=15.3 B=-11.9 nu=70"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[600], what[200], found[PARAM_TEXT] = "";
    struct params p;
    struct fault f = {""};
    snprintf(text, sizeof text, "%s[External]\n%s = %s\n", galaxy, cases[k][0], cases[k][1]);
    if (read_text(text, &p, NULL, &f)) printf("# %s\n", f.text);
    else params_format(&p, &param_table[param_find(NULL, cases[k][0])], found, sizeof found);
    printf("# '%s'\n", found);
    snprintf(what, sizeof what, "%s = %s", cases[k][0], cases[k][1]);
    tap_ok(strcmp(found, cases[k][2]) == 0, what);
  }
}

/* Which units a run has, and texts that are noted. */
static void check_runs(void)
{
  struct params p;
  static struct param_origin origin;
  struct fault f = {""};
  tap_ok(read_text("[Gravity]\nSoftening = 1 kpc\n", &p, NULL, &f) == 0 &&
             fabs(p.Softening - KPC / 3.085678e21) < 1e-15,
         "without [Units] a run is in GADGET's");
  tap_ok(read_text("[Gravity]\nSoftening = 1 kpc\n[Units]\nGravityConstantInternal = 1\n", &p, NULL, &f) == -1 &&
             strstr(f.text, ":2: [Gravity] Softening = 1 kpc: expected a number without a unit: "
                            "the run is dimensionless, with G = 1"),
         "a dimensionless run refuses units");
  tap_ok(read_text("[External]\nPotential1=point mass=1 Msun\n[Units]\nGravityConstantInternal = 1\n", &p, NULL, &f) ==
                 -1 &&
             strstr(f.text, "mass=: expected a number without a unit"),
         "... also in potentials");
  tap_ok(read_text("[Checkpoints]\nTimeBetCheckpoints = 2 h\n[Units]\nGravityConstantInternal = 1\n", &p, NULL, &f) ==
             0,
         "... but not for wall-clock times");
  static const char comoving[] = "[Cosmology]\nComoving = on\nOmega0 = 0.3\nHubbleParam = 0.5\n[Time]\n"
                                 "TimeBegin = 0.1\n";
  char text[900];
  snprintf(text, sizeof text, "%s%sTimeMax = 1 Gyr\n", galaxy, comoving);
  tap_ok(read_text(text, &p, NULL, &f) == -1 && strstr(f.text, "with Comoving = on the time is the expansion factor"),
         "a comoving run refuses times");
  snprintf(text, sizeof text, "%s%s[Gravity]\nSoftening = 50 pc\n", galaxy, comoving);
  tap_ok(read_text(text, &p, NULL, &f) == 0 && p.Softening == 0.025, "... and its lengths are in units of kpc/h");
  static const char *const options[] = {"Gravity:Softening= 20 pc", "Time:TimeMax=2", "Units:UnitLength_in_cm=1 pc"};
  snprintf(text, sizeof text,
           "[Gravity]\nSoftening = 50 pc\n[Time]\nTimeMax = 1 Gyr\n[Output]\nTimeBetSnapshot=1 yr\n"
           "%s",
           galaxy);
  read_text(text, &p, NULL, &f);
  tap_ok(params_read_origin(&p, file, options, 3, &origin, &f) == 0 && p.Softening == 20 && p.TimeMax == 2 &&
             strcmp(origin.given[param_find(NULL, "Softening")], "20 pc") == 0 &&
             origin.given[param_find(NULL, "TimeMax")][0] == 0,
         "-P replaces values and units, before anything is converted");
  char *written = NULL;
  size_t size;
  FILE *out = open_memstream(&written, &size);
  params_write_ini(out, &p, &origin);
  fclose(out);
  tap_ok(strstr(written, "\nSoftening = 20   # 20 pc\n") && strstr(written, "\nTimeMax = 2\n"),
         "a parameter file has the value, and its text in a comment");
  struct params back;
  tap_ok(read_text(written, &back, NULL, &f) == 0 && memcmp(&p, &back, sizeof p) == 0, "... and reads back the same");
  free(written);
  out = open_memstream(&written, &size);
  params_list_given(out, "given: ", &p, &origin);
  fclose(out);
  tap_ok(strstr(written, "given: Softening = 20 (20 pc)\n") && !strstr(written, "TimeMax"), "... and so has a list");
  free(written);
  struct fault unset = {""};
  tap_ok(params_set(&p, &param_table[param_find(NULL, "Softening")], "50 pc", &unset) == -1 && unset.text[0] &&
             params_set(&p, &param_table[param_find(NULL, "UnitLength_in_cm")], "2 pc", &f) == 0 &&
             p.UnitLength_in_cm == 2 * KPC / 1000,
         "one value alone: only fixed units");
}

/* System names the units. */
static void check_systems(void)
{
  static const struct {
    const char *name;
    double length, mass, velocity, gravity;
  } systems[] = {{"galaxy", KPC, 1e10 * SUN, 1e5, 0},
                 {"cluster", KPC / 1000, SUN, 1e5, 0},
                 {"nbody", 3.085678e21, 1.989e43, 1e5, 1},
                 {"gadget", 3.085678e21, 1.989e43, 1e5, 0},
                 {"given", 3.085678e21, 1.989e43, 1e5, 0}};
  struct params p;
  struct fault f = {""};
  char text[300], what[100];
  for (size_t k = 0; k < sizeof systems / sizeof *systems; k++) {
    snprintf(text, sizeof text, "[Units]\nSystem = %s\n", systems[k].name);
    int good = read_text(text, &p, NULL, &f) == 0 && fabs(p.UnitLength_in_cm / systems[k].length - 1) < 1e-15 &&
               fabs(p.UnitMass_in_g / systems[k].mass - 1) < 1e-15 &&
               p.UnitVelocity_in_cm_per_s == systems[k].velocity && p.GravityConstantInternal == systems[k].gravity &&
               units_physical(&p) != (systems[k].gravity == 1);
    snprintf(what, sizeof what, "System = %s", systems[k].name);
    tap_ok(good, what);
  }
  tap_ok(read_text("[Gravity]\nSoftening = 0.05 pc\n[Units]\nSystem = cluster\nUnitMass_in_g = 1 Msun\n", &p, NULL,
                   &f) == 0 &&
             p.Softening == 0.05,
         "values are in these units, which may be given too");
  tap_ok(read_text("[Units]\nSystem = galaxy\nUnitMass_in_g = 1 Msun\n", &p, NULL, &f) == -1 &&
             strstr(f.text, ":3: [Units] UnitMass_in_g = 1.98841e+33 and System = galaxy: expected 1.98841e+43, or"),
         "another unit of mass is refused");
  tap_ok(read_text("[Units]\nGravityConstantInternal = 1\nSystem = galaxy\n", &p, NULL, &f) == -1 &&
             strstr(f.text, ":2: [Units] GravityConstantInternal = 1 and System = galaxy: expected 0"),
         "... and another gravitational constant");
  tap_ok(read_text("[Units]\nGravityConstantInternal = 43009.2\nSystem = galaxy\n", &p, NULL, &f) == 0 &&
             p.GravityConstantInternal == 43009.2 && units_physical(&p),
         "... but not another value of Newton's constant");
  tap_ok(read_text("[Units]\nSystem = nbody\n[Gravity]\nSoftening = 5 pc\n", &p, NULL, &f) == -1 &&
             strstr(f.text, "the run is dimensionless"),
         "nbody has no units");
}

int main(void)
{
  check_good();
  check_bad();
  check_potentials();
  check_runs();
  check_systems();
  remove(file);
  return tap_end();
}
