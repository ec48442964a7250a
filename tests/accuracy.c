/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameter Accuracy: names and numbers, the values of the table and between its lines, and what is given by
 * hand. */
#include <config.h>
#include "checkpoint/params_changed.h"
#include "params/params.h"

#include <math.h>
#include <string.h>

#include "tap.h"

static const struct {
  const char *name;
  double error, delta1, delta2;
  int order, order_on_device;
  double eta, eta_split, xs, ys, r1;
} line[] = {
#define ACCURACY(...) {__VA_ARGS__},
#include "params/accuracy.def"
#undef ACCURACY
};
enum { LINES = sizeof line / sizeof *line };

static void set(struct params *params, const char *name, const char *value)
{
  struct fault f = {""};
  if (params_set(params, &param_table[param_find(NULL, name)], value, &f)) printf("# %s: %s\n", name, f.text);
}

static struct params with(const char *accuracy)
{
  struct params p;
  params_defaults(&p);
  set(&p, "Accuracy", accuracy);
  return p;
}

/* Delta of the table within its limits. */
static double limited(double delta) { return fmin(fmax(delta, 1.0 / 32768), 1.0 / 64); }

static void check_lines(void)
{
  int good = LINES >= 2, found = 0;
  for (int i = 0; i < LINES; i++) {
    char number[40];
    snprintf(number, sizeof number, "%g", line[i].error);
    const struct params p = with(line[i].name), q = with(number);
    struct params one = p, two = p, tree = p, hybrid = p;
    one.MultipoleOrder = 1;
    two.MultipoleOrder = 2;
    tree.Mode = MODE_TREE;
    hybrid.Mode = MODE_HYBRID;
    tree.Comoving = hybrid.Comoving = COMOVING_ON; /* without a model of errors */
    good = good && params_error(&p) == line[i].error && params_error(&q) == line[i].error &&
           params_order(&q) == line[i].order && params_delta(&one) == limited(line[i].delta1) &&
           params_delta(&two) == limited(line[i].delta2) &&
           params_delta(&p) == limited(line[i].order == 2 ? line[i].delta2 : line[i].delta1) &&
           params_eta(&p, 0) == line[i].eta && params_eta(&p, 1) == line[i].eta_split && params_xs(&p) == line[i].xs &&
           params_ys(&p) == line[i].ys && params_r1_over_r0(&p) == line[i].r1 &&
           params_resolved(&tree).Eta == line[i].eta && params_resolved(&hybrid).Eta == line[i].eta_split;
    good = good && (i == 0 || line[i].error < line[i - 1].error) && (line[i].order == 1 || line[i].order == 2);
    found += strcmp(line[i].name, "standard") == 0 && line[i].error == 1e-5;
  }
  struct params p;
  params_defaults(&p);
  tap_ok(good, "names and their numbers have the values of the table");
  tap_ok(found == 1 && strcmp(p.Accuracy, "standard") == 0, "standard is 1e-5 and the default");
}

/* Whether x lies between a and b and has three digits, or is the value of both. */
static int between(double x, double a, double b)
{
  char text[40];
  snprintf(text, sizeof text, "%.3g", x);
  return a == b ? x == a : strtod(text, NULL) == x && x >= 0.995 * fmin(a, b) && x <= 1.005 * fmax(a, b);
}

/* The same of Delta within its limits. */
static int within(double x, double a, double b)
{
  return x == limited(x) && (x == limited(0) || x == limited(1) || between(x, a, b));
}

static void check_between(void)
{
  int good = 1;
  for (int i = 0; i + 1 < LINES; i++) {
    char number[40];
    snprintf(number, sizeof number, "%.6g", sqrt(line[i].error * line[i + 1].error));
    const struct params p = with(number);
    struct params one = p, two = p;
    one.MultipoleOrder = 1;
    two.MultipoleOrder = 2;
    good = good && params_order(&p) == line[i + 1].order &&
           within(params_delta(&one), line[i].delta1, line[i + 1].delta1) &&
           within(params_delta(&two), line[i].delta2, line[i + 1].delta2) &&
           between(params_eta(&p, 0), line[i].eta, line[i + 1].eta) &&
           between(params_eta(&p, 1), line[i].eta_split, line[i + 1].eta_split) &&
           between(params_xs(&p), line[i].xs, line[i + 1].xs) && between(params_ys(&p), line[i].ys, line[i + 1].ys) &&
           between(params_r1_over_r0(&p), line[i].r1, line[i + 1].r1);
    double middle = sqrt(line[i].eta * line[i + 1].eta);
    good = good && fabs(params_eta(&p, 0) / middle - 1) < 0.01;
  }
  tap_ok(good,
         "between two lines: in the middle of the logarithms, with three digits, and the order of the smaller error");
  const struct params loose = with("0.1"), tight = with("1e-12");
  tap_ok(params_eta(&loose, 1) == line[0].eta_split && params_xs(&tight) == line[LINES - 1].xs &&
             params_order(&loose) == line[0].order && params_order(&tight) == line[LINES - 1].order &&
             params_error(&tight) == 1e-12,
         "beyond the table: its end lines");
}

/* Delta is for 100,000 particles; the sum of force errors falls with the root of the number. On a device cells may be
 * of another order. */
static void check_run(void)
{
  struct params p = with("standard"), one = p, two = p;
  one.MultipoleOrder = 1;
  two.MultipoleOrder = 2;
  const struct params few1 = params_of_run(&one, 12500, 0), few2 = params_of_run(&two, 12500, 0),
                      same = params_of_run(&two, 1e5, 0), none = params_of_run(&two, 0, 0),
                      least = params_of_run(&two, 10, 0), most = params_of_run(&two, 1e12, 0);
  tap_ok(fabs(params_delta(&few1) / params_delta(&one) / pow(8, -1 / 1.1) - 1) < 0.01 &&
             fabs(params_delta(&few2) / params_delta(&two) - 0.25) < 0.0025 &&
             params_delta(&same) == params_delta(&two) && params_delta(&none) == params_delta(&two) &&
             params_delta(&least) == 1.0 / 32768 && params_delta(&most) == 1.0 / 64,
         "Delta by the number of particles, within 2^-15 and 2^-6");
  const struct params host = params_of_run(&p, 1e5, 0), device = params_of_run(&p, 1e5, 1);
  int i = 0;
  while (strcmp(line[i].name, "standard") != 0) i++;
  tap_ok(params_order(&host) == line[i].order && params_order(&device) == line[i].order_on_device &&
             params_delta(&device) == (line[i].order_on_device == 2 ? line[i].delta2 : line[i].delta1),
         "MultipoleOrder of the host and of a device");
}

static void check_given(void)
{
  struct params p = with("fine");
  set(&p, "ErrTolForceAcc", "0.25");
  set(&p, "MultipoleOrder", "1");
  set(&p, "xs", "0.5");
  set(&p, "ys", "0.75");
  set(&p, "R1OverR0", "3");
  set(&p, "Eta", "0.125");
  tap_ok(params_delta(&p) == 0.25 && params_order(&p) == 1 && params_xs(&p) == 0.5 && params_ys(&p) == 0.75 &&
             params_r1_over_r0(&p) == 3 && params_eta(&p, 0) == 0.125 && params_eta(&p, 1) == 0.125,
         "values given by hand stay");
  struct params r = params_resolved(&p);
  tap_ok(memcmp(&r, &p, sizeof p) == 0, "... and nothing is resolved");
  p = with("standard");
  set(&p, "Integrator", "hermite");
  int hermite = params_eta(&p, 1) == 0.1;
  set(&p, "Accuracy", "fine");
  hermite = hermite && params_eta(&p, 1) == 0.0562;
  set(&p, "Accuracy", "0.01");
  tap_ok(hermite && params_eta(&p, 1) == 0.2, "hermite: 0.1, and with the fourth root of the error");
  set(&p, "Integrator", "leapfrog");
  set(&p, "Criterion", "pairs");
  tap_ok(params_eta(&p, 1) == 0.05, "pairs: 0.05");
}

static void check_bad(void)
{
  static const char *const bad[] = {"", "Standard", "0", "-1e-5", "1", "nan", "0x1", "1e-5x", "1e-400", " 1e-5"};
  double error = 7;
  int good = 1;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) good = good && params_accuracy(bad[i], &error) == -1;
  tap_ok(good && error == 7, "what is neither a name nor a number from 0 to 0.1 is refused");
}

static void check_notes(void)
{
  struct params p = with("fine");
  char text[200], wanted[200];
  set(&p, "xs", "0.5");
  set(&p, "Mode", "tree");
  tap_ok(params_note(&p, &param_table[param_find(NULL, "xs")], text, sizeof text) == 0 && !text[0],
         "no note where a value is given");
  tap_ok(params_note(&p, &param_table[param_find(NULL, "R1")], text, sizeof text) == 0,
         "nor where 0 is not by Accuracy");
  snprintf(wanted, sizeof wanted, "%g, by Accuracy = fine", params_ys(&p));
  tap_ok(params_note(&p, &param_table[param_find(NULL, "ys")], text, sizeof text) == 1 && strcmp(text, wanted) == 0,
         "the value in use and its origin");
  tap_ok(params_note(&p, &param_table[param_find(NULL, "Eta")], text, sizeof text) == 1 &&
             strcmp(text, "by Accuracy = fine, and by the system at each soft step") == 0 &&
             params_resolved(&p).Eta == 0,
         "Eta follows the system too");
  set(&p, "Comoving", "on");
  snprintf(wanted, sizeof wanted, "%g, by Accuracy = fine", params_eta(&p, 0));
  tap_ok(params_note(&p, &param_table[param_find(NULL, "Eta")], text, sizeof text) == 1 && strcmp(text, wanted) == 0,
         "or does not");
}

static void check_scheme(void)
{
  struct params p = with("standard");
  set(&p, "Scheme", "auto");
  int block = !params_shared(&p);
  p.FixedStep = 0.1;
  int fixed = params_shared(&p);
  set(&p, "Scheme", "block");
  tap_ok(block && fixed && !params_shared(&p), "Scheme = auto is block, and with FixedStep shared");
}

/* A checkpoint's manifest has the text of parameters: those that Accuracy sets are compared as they are used. */
static void check_restart(void)
{
  struct params p = with("standard"), fine = with("fine");
  struct fault f = {""};
  char text[400];
  const char *same = "Accuracy:Accuracy = standard\nSplit:xs = 0\nSplit:R1OverR0 = 0\nSteps:Eta = 0\n";
  tap_ok(params_same_evolution(same, &p) && params_changed(same, &p, 0, &f) == 0,
         "the same parameters are the same run");
  tap_ok(!params_same_evolution(same, &fine), "another Accuracy is another run");
  p = params_of_run(&p, 1000, 1);
  tap_ok(params_same_evolution(same, &p), "also where the number of particles is known");
  set(&p, "Comoving", "on"); /* without a model of errors */
  snprintf(text, sizeof text, "Cosmology:Comoving = on\nSplit:xs = %.17g\nSplit:R1OverR0 = %.17g\nSteps:Eta = %.17g\n",
           params_xs(&p), params_r1_over_r0(&p), params_eta(&p, params_mode(&p) != MODE_TREE));
  tap_ok(params_same_evolution(text, &p), "so are zeros in place of the values that they stand for");
  set(&p, "Comoving", "off");
  tap_ok(params_changed("Split:R1OverR0 = 7\n", &p, 0, &f) == -1 &&
             strstr(f.text, "but the checkpoint was made with 7"),
         "another R1OverR0 is refused");
  params_adopt_found("Split:R1OverR0 = 7\n", &p);
  tap_ok(params_changed("Split:R1OverR0 = 7\n", &p, 0, &f) == 0 && params_r1_over_r0(&p) == 7,
         "... and that of the checkpoint stays where Accuracy sets it");
}

static void check_mode(void)
{
  static const struct {
    const char *name[2], *value[2];
    int mode;
  } list[] = {{{"Mode", "Eta"}, {"auto", "1"}, MODE_AUTO},
              {{"R1", "Eta"}, {"0.1", "1"}, MODE_HYBRID},
              {{"SoftStep", "FixedStep"}, {"0.1", "0.1"}, MODE_HYBRID},
              {{"FixedStep", "Eta"}, {"0.1", "1"}, MODE_TREE},
              {{"Integrator", "Eta"}, {"hermite", "0.1"}, MODE_HYBRID},
              {{"Criterion", "Eta"}, {"pairs", "0.1"}, MODE_HYBRID},
              {{"SoftStep", "Mode"}, {"0.1", "tree"}, MODE_TREE}};
  int good = 1;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    struct params p = with("standard");
    set(&p, "Mode", "auto");
    for (int k = 0; k < 2; k++) set(&p, list[i].name[k], list[i].value[k]);
    good = good && params_mode(&p) == list[i].mode;
  }
  tap_ok(good, "Mode = auto is open unless parameters of one mode are given");
}

int main(void)
{
  check_lines();
  check_between();
  check_run();
  check_given();
  check_bad();
  check_notes();
  check_scheme();
  check_mode();
  check_restart();
  return tap_end();
}
