/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "params/params_external.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = PARAM_TEXT, KEYS = 5 };
enum range { ABOVE_ZERO, FROM_ZERO };
/* of numbers, which may not be below its inverse, unless they are 0: so squares and products are finite */
#define LARGEST 1e100

/* A number of a potential or of a tidal field. */
struct key {
  const char *name;
  enum range range;
  double initial; /* negative: it must be given */
};

static const struct kind {
  const char *name;
  struct key key[EXTERNAL_VALUES + 1];
} kinds[] = {
    {"point", {{"mass", ABOVE_ZERO, -1}, {"softening", FROM_ZERO, 0}}},
    {"plummer", {{"mass", ABOVE_ZERO, -1}, {"scale", ABOVE_ZERO, -1}}},
    {"isochrone", {{"mass", ABOVE_ZERO, -1}, {"scale", ABOVE_ZERO, -1}}},
    {"logarithmic", {{"velocity", ABOVE_ZERO, -1}, {"core", FROM_ZERO, 0}, {"q", ABOVE_ZERO, 1}}},
    {"nfw", {{"mass", ABOVE_ZERO, -1}, {"scale", ABOVE_ZERO, -1}, {"concentration", FROM_ZERO, 0}}},
    {"hernquist", {{"mass", ABOVE_ZERO, -1}, {"scale", ABOVE_ZERO, -1}}},
    {"miyamoto-nagai", {{"mass", ABOVE_ZERO, -1}, {"a", FROM_ZERO, -1}, {"b", ABOVE_ZERO, -1}}},
};
_Static_assert(sizeof kinds / sizeof *kinds == EXTERNAL_KINDS, "a name for each kind");

static const struct key tide_keys[] = {
    {"omega", ABOVE_ZERO, 0}, {"kappa", FROM_ZERO, 0}, {"nu", FROM_ZERO, 0}, {NULL, FROM_ZERO, 0}};

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
