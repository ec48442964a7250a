/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "params/params.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "params/quantities.h"

#define CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define CHOICE_NAME(value, name, ...) name,
#define CHOICES_OF(table) ((const char *const[]){table(CHOICE_NAME) NULL})
#define PARAM_REAL(section, name, initial, min_value, max_value, min_excluded, unit, meaning)              \
  {#section, #name, KIND_REAL, offsetof(struct params, name), initial, min_value, max_value, min_excluded, \
   NULL,     unit,  meaning},
#define PARAM_WHOLE(section, name, initial, min_value, max_value, unit, meaning) \
  {#section, #name, KIND_WHOLE, offsetof(struct params, name), initial, min_value, max_value, 0, NULL, unit, meaning},
#define PARAM_CHOICE(section, name, initial, choices, meaning) \
  {#section, #name, KIND_CHOICE, offsetof(struct params, name), initial, 0, 0, 0, choices, "", meaning},
#define PARAM_STRING(section, name, initial, meaning) \
  {#section, #name, KIND_STRING, offsetof(struct params, name), initial, 0, 0, 0, NULL, "", meaning},
const struct param_entry param_table[] = {
#include "params/params.def"
};
#undef PARAM_REAL
#undef PARAM_WHOLE
#undef PARAM_CHOICE
#undef PARAM_STRING
const int param_count = sizeof param_table / sizeof *param_table;
_Static_assert(sizeof param_table / sizeof *param_table <= PARAM_LIMIT, "raise PARAM_LIMIT");

/* Larger bounds only keep arithmetic finite and are not shown. */
static int is_bound(double x) { return fabs(x) < 1e300; }

/* GADGET-2's names. */
static const struct {
  const char *name, *also;
} synonyms[] = {{"SofteningGas", "SofteningType0"},   {"SofteningHalo", "SofteningType1"},
                {"SofteningDisk", "SofteningType2"},  {"SofteningBulge", "SofteningType3"},
                {"SofteningStars", "SofteningType4"}, {"SofteningBndry", "SofteningType5"}};

int param_find(const char *section, const char *name)
{
  for (size_t k = 0; k < sizeof synonyms / sizeof *synonyms; k++)
    if (strcmp(synonyms[k].name, name) == 0) name = synonyms[k].also;
  for (int i = 0; i < param_count; i++)
    if (strcmp(param_table[i].name, name) == 0 && (!section || strcmp(param_table[i].section, section) == 0)) return i;
  return -1;
}

const char *param_text(const struct params *params, const struct param_origin *origin, int i, char text[PARAM_TEXT])
{
  if (origin->given[i][0]) snprintf(text, PARAM_TEXT, "%s", origin->given[i]);
  else params_format(params, &param_table[i], text, PARAM_TEXT);
  return text;
}

int param_is_default(const struct param_origin *origin, const char *name)
{
  return origin && origin->line[param_find(NULL, name)] == ORIGIN_DEFAULT;
}

const char *params_choice(const char *name, int value)
{
  int k = param_find(NULL, name);
  if (k < 0 || param_table[k].kind != KIND_CHOICE) fatal("%s is not a parameter with choices", name);
  return param_table[k].choices[value];
}

static void *place_of(const struct params *params, const struct param_entry *entry)
{
  return (char *)(uintptr_t)params + entry->offset;
}

static void join_choices(const struct param_entry *entry, char *text, size_t size)
{
  size_t at = 0;
  for (int i = 0; entry->choices[i] && at < size; i++) {
    const char *before = i == 0 ? "" : entry->choices[i + 1] ? ", " : " or ";
    at += (size_t)snprintf(text + at, size - at, "%s%s", before, entry->choices[i]);
  }
}

void param_range(const struct param_entry *entry, char *text, size_t size)
{
  char lower[40];
  snprintf(lower, sizeof lower, entry->min_excluded ? "above %g" : "at least %g", entry->min_value);
  if (entry->kind == KIND_CHOICE) join_choices(entry, text, size);
  else if (entry->kind == KIND_STRING) *text = 0;
  else if (is_bound(entry->min_value) && is_bound(entry->max_value) && entry->min_excluded)
    snprintf(text, size, "above %g, at most %g", entry->min_value, entry->max_value);
  else if (is_bound(entry->min_value) && is_bound(entry->max_value))
    snprintf(text, size, "from %g to %g", entry->min_value, entry->max_value);
  else if (is_bound(entry->min_value)) snprintf(text, size, "%s", lower);
  else snprintf(text, size, "any");
}

static int set_fault(const struct param_entry *entry, const char *text, struct fault *fault)
{
  char range[200];
  param_range(entry, range, sizeof range);
  const char *what = entry->kind == KIND_WHOLE ? "a whole number " : entry->kind == KIND_REAL ? "a number " : "one of ";
  int any = strcmp(range, "any") == 0;
  char unit[60] = "";
  if (entry->unit[0]) snprintf(unit, sizeof unit, " (%s)", entry->unit);
  const char *near = NULL;
  if (entry->kind == KIND_CHOICE) {
    int count = 0;
    while (entry->choices[count]) count++;
    near = nearest_name(text, entry->choices, count);
  }
  return fault_set(fault, "expected %s%s%s, found '%.60s'%s%s%s", what,
                   any ? "that is finite, 0 or of size 1e-300 to 1e300" : range, unit, text,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* A number with a unit, where the parameter has a fixed one. 1, 0: it has no unit, or -1 with the fault set. */
static int set_quantity(double *x, const struct param_entry *entry, const char *text, struct fault *fault)
{
  const struct measure *measure = measure_of(entry->unit);
  struct quantity quantity;
  int unit = quantity_read(measure, text, &quantity, fault);
  if (unit <= 0) return unit;
  if (measure->fixed == 0) return set_fault(entry, text, fault);
  *x = quantity_fixed(measure, &quantity);
  return 1;
}

static int set_real(void *place, const struct param_entry *entry, const char *text, struct fault *fault)
{
  char *end;
  errno = 0;
  double x = strtod(text, &end);
  int unit = set_quantity(&x, entry, text, fault);
  if (unit < 0) return -1;
  /* strtod also accepts nan, inf and hexadecimal numbers, which are mistakes in a parameter file */
  int bad = end == text || *end || errno || strspn(text, "0123456789+-.eE") != strlen(text);
  if ((bad && !unit) || !isfinite(x) || x < entry->min_value || x > entry->max_value ||
      (entry->min_excluded && x <= entry->min_value))
    return set_fault(entry, text, fault);
  *(double *)place = x;
  return 0;
}

static int set_whole(void *place, const struct param_entry *entry, const char *text, struct fault *fault)
{
  char *end;
  errno = 0;
  long x = strtol(text, &end, 10);
  if (end == text || *end || errno || (double)x < entry->min_value || (double)x > entry->max_value)
    return set_fault(entry, text, fault);
  *(int *)place = (int)x;
  return 0;
}

static int set_choice(void *place, const struct param_entry *entry, const char *text, struct fault *fault)
{
  for (int i = 0; entry->choices[i]; i++)
    if (strcmp(entry->choices[i], text) == 0) {
      *(int *)place = i;
      return 0;
    }
  return set_fault(entry, text, fault);
}

static int set_string(void *place, const char *text, struct fault *fault)
{
  size_t length = strlen(text);
  if (length >= PARAM_TEXT)
    return fault_set(fault, "expected at most %d characters, found %zu ('%.40s...')", PARAM_TEXT - 1, length, text);
  for (size_t i = 0; i < length; i++) {
    int comment = (text[i] == ';' || text[i] == '#') && (i == 0 || isspace((unsigned char)text[i - 1]));
    if (iscntrl((unsigned char)text[i]) || comment)
      return fault_set(fault, "expected text that can stand in a parameter file, found %s at character %zu",
                       comment ? "the start of a comment" : "a control character", i + 1);
  }
  memset(place, 0, PARAM_TEXT); /* struct params is compared and sent as bytes, so none may be stale */
  memcpy(place, text, length);
  return 0;
}

int params_set(struct params *params, const struct param_entry *entry, const char *text, struct fault *fault)
{
  void *place = place_of(params, entry);
  switch (entry->kind) {
  case KIND_REAL: return set_real(place, entry, text, fault);
  case KIND_WHOLE: return set_whole(place, entry, text, fault);
  case KIND_CHOICE: return set_choice(place, entry, text, fault);
  case KIND_STRING: return set_string(place, text, fault);
  }
  fatal("parameter %s has no kind", entry->name);
}

void params_defaults(struct params *params)
{
  memset(params, 0, sizeof *params);
  for (int i = 0; i < param_count; i++) {
    struct fault f = {""};
    if (params_set(params, &param_table[i], param_table[i].initial, &f))
      fatal("the default of %s: %s", param_table[i].name, f.text);
  }
}

void params_format(const struct params *params, const struct param_entry *entry, char *text, size_t size)
{
  const void *place = place_of(params, entry);
  switch (entry->kind) {
  case KIND_REAL: number_text(*(const double *)place, text, size); break;
  case KIND_WHOLE: snprintf(text, size, "%d", *(const int *)place); break;
  case KIND_CHOICE: snprintf(text, size, "%s", entry->choices[*(const int *)place]); break;
  case KIND_STRING: snprintf(text, size, "%s", (const char *)place); break;
  }
}

int params_neighbour_lists(const struct params *params)
{
  return params->Integrator != INTEGRATOR_OF_WALKS || params->Criterion == CRITERION_PAIRS;
}

int params_mode(const struct params *params)
{
  if (params->Mode != MODE_AUTO) return params->Mode;
  if (params_neighbour_lists(params) || params->R1 > 0 || params->R2 > 0 || params->SoftStep > 0) return MODE_HYBRID;
  return params->FixedStep > 0 || params->Comoving ? MODE_TREE : MODE_AUTO;
}

int params_shared(const struct params *params)
{
  return params->Scheme == SCHEME_SHARED || (params->Scheme == SCHEME_AUTO && params->FixedStep > 0);
}
