/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "params/params_external.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "params/quantities.h"

enum { WORD = PARAM_TEXT, KEYS = 5 };
enum range { ABOVE_ZERO, FROM_ZERO };
/* of numbers, which may not be below its inverse, unless they are 0: so squares and products are finite */
#define LARGEST 1e100

/* A number of a potential or of a tidal field. */
struct key {
  const char *name, *measure; /* its kind of value (params/quantities.h); "": without dimension */
  enum range range;
  double initial; /* negative: it must be given */
};

static const struct kind {
  const char *name;
  struct key key[EXTERNAL_VALUES + 1];
} kinds[] = {
    {"point", {{"mass", "mass", ABOVE_ZERO, -1}, {"softening", "length", FROM_ZERO, 0}}},
    {"plummer", {{"mass", "mass", ABOVE_ZERO, -1}, {"scale", "length", ABOVE_ZERO, -1}}},
    {"isochrone", {{"mass", "mass", ABOVE_ZERO, -1}, {"scale", "length", ABOVE_ZERO, -1}}},
    {"logarithmic",
     {{"velocity", "velocity", ABOVE_ZERO, -1}, {"core", "length", FROM_ZERO, 0}, {"q", "", ABOVE_ZERO, 1}}},
    {"nfw",
     {{"mass", "mass", ABOVE_ZERO, -1}, {"scale", "length", ABOVE_ZERO, -1}, {"concentration", "", FROM_ZERO, 0}}},
    {"hernquist", {{"mass", "mass", ABOVE_ZERO, -1}, {"scale", "length", ABOVE_ZERO, -1}}},
    {"miyamoto-nagai",
     {{"mass", "mass", ABOVE_ZERO, -1}, {"a", "length", FROM_ZERO, -1}, {"b", "length", ABOVE_ZERO, -1}}},
};
_Static_assert(sizeof kinds / sizeof *kinds == EXTERNAL_KINDS, "a name for each kind");

static const struct key tide_keys[] = {{"omega", "frequency", ABOVE_ZERO, 0},
                                       {"kappa", "frequency", FROM_ZERO, 0},
                                       {"nu", "frequency", FROM_ZERO, 0},
                                       {NULL, NULL, FROM_ZERO, 0}};

const char *external_text(const struct params *params, int number)
{
  const char *const text[EXTERNAL_POTENTIALS] = {params->Potential1, params->Potential2, params->Potential3,
                                                 params->Potential4, params->Potential5, params->Potential6,
                                                 params->Potential7, params->Potential8};
  return text[number];
}

int external_given(const struct params *params)
{
  for (int k = 0; k < EXTERNAL_POTENTIALS; k++)
    if (external_text(params, k)[0]) return 1;
  return params->TidalField[0] || params->Agama[0];
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* The next word of *text, which is moved behind it. Returns 0 at the end. */
static int next_word(const char **text, char word[WORD])
{
  const char *at = *text + strspn(*text, " \t");
  size_t n = strcspn(at, " \t");
  *text = at + n;
  snprintf(word, WORD, "%.*s", (int)n, at);
  return n > 0;
}

/* A finite decimal number that ends at *end. Returns 0, or -1. */
static int number_of(const char *text, const char **end, double *x)
{
  char *after;
  *x = strtod(text, &after);
  *end = after;
  size_t n = (size_t)(after - text);
  return n == 0 || strspn(text, "0123456789+-.eE") < n || !isfinite(*x) ? -1 : 0;
}

static int read_key(const struct key *key, const char *text, double *x, struct fault *fault)
{
  const char *end;
  int bad = number_of(text, &end, x) || *end || *x < 0 || (key->range == ABOVE_ZERO && *x == 0);
  if (bad || *x > LARGEST || (*x > 0 && *x < 1 / LARGEST))
    return fault_set(fault, "expected %s= with a number %s%s, found '%.60s'", key->name,
                     key->range == ABOVE_ZERO ? "above 0" : "of at least 0",
                     bad ? "" : ", not above 1e100 and not within 1e-100 of 0", text);
  return 0;
}

static int read_centre(const char *text, double x[3], struct fault *fault)
{
  const char *at = text;
  for (int c = 0; c < 3; c++) {
    if (number_of(at, &at, &x[c]) || fabs(x[c]) > LARGEST || *at != (c < 2 ? ',' : 0))
      return fault_set(fault, "expected centre=x,y,z with three numbers and no blanks, found '%.60s'", text);
    at++;
  }
  return 0;
}

/* The names of keys, "mass=, scale=". */
static void list_keys(const struct key *key, const char *more, char *text, size_t size)
{
  size_t at = 0;
  text[0] = 0;
  for (int k = 0; key[k].name && at < size; k++)
    at += (size_t)snprintf(text + at, size - at, "%s%s=", k ? ", " : "", key[k].name);
  if (at < size) snprintf(text + at, size - at, "%s", more);
}

/* Split NAME=value. Returns the value within `word`, or NULL. */
static char *split(char *word)
{
  char *equals = strchr(word, '=');
  if (!equals) return NULL;
  *equals = 0;
  return equals + 1;
}

/* Index of a key; -1: it is none. A key that is given twice is a fault. */
static int find_key(const struct key *key, const char *name, int *given, struct fault *fault)
{
  for (int k = 0; key[k].name; k++) {
    if (strcmp(key[k].name, name)) continue;
    if (given[k]++) fault_set(fault, "expected %s= once, found it twice", name);
    return k;
  }
  return -1;
}

/* --- potentials --------------------------------------------------------------------------------------------------- */

static int read_kind(const char *word, struct external_potential *potential, struct fault *fault)
{
  const char *names[EXTERNAL_KINDS];
  for (int k = 0; k < EXTERNAL_KINDS; k++) {
    names[k] = kinds[k].name;
    if (strcmp(word, kinds[k].name) == 0) return potential->kind = (enum external_kind)k, 0;
  }
  const char *near = nearest_name(word, names, EXTERNAL_KINDS);
  return fault_set(
      fault,
      "expected a potential (point, plummer, isochrone, logarithmic, nfw, hernquist or miyamoto-nagai), found "
      "'%.60s'%s%s%s",
      word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* One NAME=value of a potential. */
static int read_word(char *word, struct external_potential *potential, int *given, struct fault *fault)
{
  const struct kind *kind = &kinds[potential->kind];
  char expected[200], *value = split(word);
  int place = !value ? -1 : strcmp(word, "centre") == 0 ? 0 : strcmp(word, "orbit") == 0 ? 1 : -1;
  if (place >= 0 && given[EXTERNAL_VALUES + place]++)
    return fault_set(fault, "expected %s= once, found it twice", word);
  if (place == 0) return read_centre(value, potential->centre, fault);
  if (place == 1) {
    snprintf(potential->orbit, sizeof potential->orbit, "%s", value);
    return value[0] ? 0 : fault_set(fault, "expected orbit= with the name of a file");
  }
  int k = value ? find_key(kind->key, word, given, fault) : -1;
  if (fault->text[0]) return -1;
  if (k >= 0) return read_key(&kind->key[k], value, &potential->value[k], fault);
  list_keys(kind->key, ", centre= and orbit=", expected, sizeof expected);
  return fault_set(fault, "expected for %s the numbers %s, found '%.60s'", kind->name, expected, word);
}

int external_read(const char *text, struct external_potential *potential, struct fault *fault)
{
  char word[WORD];
  int given[EXTERNAL_VALUES + 2] = {0}; /* the numbers, centre= and orbit= */
  memset(potential, 0, sizeof *potential);
  next_word(&text, word);
  if (read_kind(word, potential, fault)) return -1;
  const struct key *key = kinds[potential->kind].key;
  for (int k = 0; k < EXTERNAL_VALUES && key[k].name; k++) potential->value[k] = key[k].initial;
  while (next_word(&text, word))
    if (read_word(word, potential, given, fault)) return -1;
  for (int k = 0; k < EXTERNAL_VALUES && key[k].name; k++)
    if (!given[k] && key[k].initial < 0)
      return fault_set(fault, "expected %s= for %s, which has none", key[k].name, kinds[potential->kind].name);
  if (given[EXTERNAL_VALUES] && given[EXTERNAL_VALUES + 1])
    return fault_set(fault, "expected centre= or orbit=, not both: the orbit is that of the centre");
  return 0;
}

/* --- the tidal field ---------------------------------------------------------------------------------------------- */

int external_read_tide(const char *text, struct external_tide *tide, struct fault *fault)
{
  char word[WORD], expected[200];
  int given[4] = {0}, oort[2] = {0};
  double value[3] = {0}, constant[2];
  while (next_word(&text, word)) {
    char *number = split(word);
    const char *end;
    int k = number ? find_key(tide_keys, word, given, fault) : -1,
        o = number && (strcmp(word, "A") == 0 || strcmp(word, "B") == 0);
    if (fault->text[0]) return -1;
    if (o) {
      o = word[0] - 'A';
      if (oort[o]++ || number_of(number, &end, &constant[o]) || *end || fabs(constant[o]) > LARGEST)
        return fault_set(fault, "expected %s= with a number, once, found '%.60s'", word, number);
    } else if (k < 0) {
      list_keys(tide_keys, ", or the Oort constants A= and B=", expected, sizeof expected);
      return fault_set(fault, "expected %s, found '%.60s'", expected, word);
    } else if (read_key(&tide_keys[k], number, &value[k], fault)) {
      return -1;
    }
  }
  if (oort[0] != oort[1] || (oort[0] ? given[0] || given[1] : !given[0]))
    return fault_set(fault,
                     "expected omega=, with kappa= where it is not a point mass, or both Oort constants, A= and B=");
  if (oort[0] && !(constant[0] - constant[1] > 0 && constant[0] >= 0 && constant[1] <= 0))
    return fault_set(fault, "expected A= above B=, A= of at least 0, and B= of at most 0");
  tide->omega = oort[0] ? constant[0] - constant[1] : value[0];
  tide->kappa = oort[0] ? sqrt(-4 * constant[1] * tide->omega) : given[1] ? value[1] : value[0];
  tide->nu = given[2] ? value[2] : tide->omega;
  if (given[1] && tide->kappa > 2 * tide->omega * (1 + 1e-12)) /* omega falls outwards, or is the same everywhere */
    return fault_set(fault, "expected kappa= of at most 2 omega (that of a homogeneous galaxy), found %.9g",
                     tide->kappa);
  return 0;
}

int params_same_field(const char *name, const char *one, const char *other)
{
  struct fault unread = {""};
  struct external_potential a, b;
  struct external_tide s, t;
  if (strncmp(name, "Potential", 9) == 0)
    return external_read(one, &a, &unread) == 0 && external_read(other, &b, &unread) == 0 &&
           memcmp(&a, &b, sizeof a) == 0;
  return strcmp(name, "TidalField") == 0 && external_read_tide(one, &s, &unread) == 0 &&
         external_read_tide(other, &t, &unread) == 0 && memcmp(&s, &t, sizeof s) == 0;
}

/* --- units -------------------------------------------------------------------------------------------------------- */

/* The kind of value of a number, ""; NULL: there is no number of this name. */
static const char *measure_name(const char *name)
{
  if (strcmp(name, "A") == 0 || strcmp(name, "B") == 0) return "frequency";
  if (strcmp(name, "centre") == 0) return "length";
  for (int i = 0; tide_keys[i].name; i++)
    if (strcmp(tide_keys[i].name, name) == 0) return tide_keys[i].measure;
  for (int k = 0; k < EXTERNAL_KINDS; k++)
    for (int i = 0; i < EXTERNAL_VALUES && kinds[k].key[i].name; i++)
      if (strcmp(kinds[k].key[i].name, name) == 0) return kinds[k].key[i].measure;
  return NULL;
}

/* The end of a value that begins at `at`: words that follow it and have no '=' belong to it. */
static const char *value_end(const char *at)
{
  const char *end = at + strcspn(at, " \t");
  for (;;) {
    const char *word = end + strspn(end, " \t");
    size_t n = strcspn(word, " \t");
    if (n == 0 || memchr(word, '=', n)) return end;
    end = word + n;
  }
}

/* Replace a number with a unit by that in units of the run. Returns 1, or 0 where it has no unit. */
static int convert_number(const struct run_units *run, const char *measure, char text[WORD], struct fault *fault)
{
  struct quantity quantity;
  double x = 0;
  int unit = quantity_read(measure_of(measure), text, &quantity, fault);
  if (unit <= 0) return unit;
  if (quantity_in_run(run, measure_of(measure), &quantity, &x, fault)) return -1;
  number_text(x, text, WORD);
  return 1;
}

/* The same for x,y,z, whose unit, behind the last number, is that of all. */
static int convert_centre(const struct run_units *run, char text[WORD], struct fault *fault)
{
  char parts[3][WORD], given[WORD];
  const char *at = text;
  snprintf(given, sizeof given, "%s", text);
  for (int c = 0; c < 3; c++) {
    size_t n = strcspn(at, c < 2 ? "," : "");
    snprintf(parts[c], WORD, "%.*s", (int)n, at);
    if (c < 2 && !at[n]) return 0; /* external_read refuses it */
    at += n + (c < 2);
  }
  const char *unit = parts[2] + strspn(parts[2], "0123456789+-.eE"), *end;
  double x;
  for (int c = 0; c < 2; c++) {
    if (number_of(parts[c], &end, &x) || *end) {
      if (!strpbrk(given, " \t") && !*unit) return 0;
      return fault_set(fault, "expected three numbers and one unit behind them, as in centre=8,0,0 kpc");
    }
    strncat(parts[c], unit, WORD - 1 - strlen(parts[c]));
  }
  for (int c = 0; c < 3; c++) {
    int changed = convert_number(run, "length", parts[c], fault);
    if (changed <= 0) return changed;
  }
  snprintf(text, WORD, "%.160s,%.160s,%.160s", parts[0], parts[1], parts[2]);
  return 1;
}

/* A number of a potential, or of a tidal field, as it was given. */
enum { NAME = 40, GIVEN = 16 }; /* no potential has so many */
struct given {
  char name[NAME];
  const char *measure;
  int unit; /* 1: it has one */
};

/* Numbers of one kind have units, or none has: omega=27 kappa=37 km/s/kpc looks as if the unit were that of both. */
static int check_alike(const struct given *given, int count, struct fault *fault)
{
  for (int i = 0; i < count; i++)
    for (int k = 0; k < count; k++)
      if (given[i].unit && !given[k].unit && given[i].measure[0] && strcmp(given[i].measure, given[k].measure) == 0)
        return fault_set(fault, "%s=: expected a number with a unit, as %s= has: each has its own", given[k].name,
                         given[i].name);
  return 0;
}

/* One NAME=value, whose value may have blanks. Returns 1 where it had a unit, 0, or -1. *given: what it is; centre=
 * and 0 are of no kind. */
static int convert_word(const struct run_units *run, char word[WORD], struct given *given, struct fault *fault)
{
  char value[WORD];
  const char *name = given->name;
  struct fault reason = {""};
  char *equals = strchr(word, '=');
  *given = (struct given){.measure = ""};
  if (!equals || equals - word >= NAME) return 0;
  memcpy(given->name, word, (size_t)(equals - word));
  snprintf(value, sizeof value, "%s", equals + 1);
  const char *measure = measure_name(name);
  if (!measure) return 0;
  int centre = strcmp(name, "centre") == 0,
      changed = centre ? convert_centre(run, value, &reason) : convert_number(run, measure, value, &reason);
  given->unit = changed > 0;
  given->measure = centre || strtod(value, NULL) == 0 ? "" : measure;
  if (changed < 0) return fault_set(fault, "%s=: %s", name, reason.text);
  if (changed) snprintf(equals + 1, (size_t)(WORD - (equals + 1 - word)), "%s", value);
  return changed;
}

int external_convert(const struct run_units *run, const char *name, char text[PARAM_TEXT], struct fault *fault)
{
  char out[PARAM_TEXT] = "", word[WORD];
  struct given given[GIVEN];
  int changed = 0, count = 0;
  if (strncmp(name, "Potential", 9) != 0 && strcmp(name, "TidalField") != 0) return 0;
  for (const char *at = text + strspn(text, " \t"); *at; at += strspn(at, " \t")) {
    size_t first = strcspn(at, " \t"), n = memchr(at, '=', first) ? (size_t)(value_end(at) - at) : first;
    snprintf(word, sizeof word, "%.*s", (int)n, at);
    int unit = convert_word(run, word, &given[count], fault);
    if (unit < 0) return -1;
    if (count < GIVEN - 1) count++; /* external_read refuses more */
    changed |= unit;
    if (strlen(out) + strlen(word) + 2 > sizeof out)
      return fault_set(fault, "expected at most %d characters in units of the run", PARAM_TEXT - 1);
    snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", out[0] ? " " : "", word);
    at += n;
  }
  if (changed && check_alike(given, count, fault)) return -1;
  if (changed) snprintf(text, PARAM_TEXT, "%s", out);
  return changed;
}
