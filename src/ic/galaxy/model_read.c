/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files. Lines are read by base/lines.h and split by inih. A line has no more than the 200 bytes that inih
 * takes. */
#include <config.h>
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/lines.h"
#include "base/memory.h"
#include "gravity/units.h"
#include "ic/galaxy/model.h"
#include "ic/ic.h"
#include "params/params_nearest.h"
#include "params/params_units.h"

enum { DEPTH = 4, NAMES = 64 }; /* models of models of models; names in a list */

static const char *const fixed[] = {"Units", "Model", "Orbit"};
enum { FIXED = 3 };

/* Keys of [Orbit] that are numbers. */
static const struct {
  const char *name, *unit;
  size_t offset;
  double low, high;
  int above; /* low is not in the range */
} orbit_keys[] = {
    {"Eccentricity", "", offsetof(struct galaxy_orbit, eccentricity), 0, 1e3, 0},
    {"Pericentre", "length", offsetof(struct galaxy_orbit, pericentre), 0, 1e30, 1},
    {"Separation", "length", offsetof(struct galaxy_orbit, separation), 0, 1e30, 1},
    {"Inclination1", "", offsetof(struct galaxy_orbit, inclination[0]), -360, 360, 0},
    {"Node1", "", offsetof(struct galaxy_orbit, node[0]), -360, 360, 0},
    {"Inclination2", "", offsetof(struct galaxy_orbit, inclination[1]), -360, 360, 0},
    {"Node2", "", offsetof(struct galaxy_orbit, node[1]), -360, 360, 0},
};
enum { ORBIT_KEYS = sizeof orbit_keys / sizeof *orbit_keys };

/* A number of a key, and what it may be. */
struct number {
  const char *key, *unit;
  double low, high;
  int above;
  double *at;
};
/* A number that is given with a unit: it is converted after [Units] is read, which may follow. */
struct given {
  struct number number;
  int line;
  char text[QUANTITY_TEXT];
};
enum { GIVEN = (GALAXY_COMPONENTS + 1) * NAMES };

struct source {
  struct lines lines;
  const char *path;
  struct fault *fault;
  struct params units;
  struct param_origin origin; /* of [Units] */
  struct galaxy galaxy;
  struct galaxy_orbit orbit;
  char member[2][512];                        /* files of the orbit */
  int section;                                /* index in fixed; FIXED + component; -1: before any */
  int fixed_line[FIXED];                      /* line of the section; 0: not given */
  int line[FIXED + GALAXY_COMPONENTS][NAMES]; /* line of each key */
  int64_t n;                                  /* [Model] N */
  double particle_mass[GALAXY_COMPONENTS];
  int given_count;
  struct given given[GIVEN];
};

static int at_fault(struct source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int at_fault(struct source *source, const char *format, ...)
{
  char text[700];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fault_set(source->fault, "%s:%lld: %s", source->path, (long long)source->lines.number, text);
}

/* Begin the section of the line "[NAME]". 0; -1 with a fault. */
static int begin_section(struct source *source, char *text)
{
  size_t n = strlen(text);
  if (strchr(text, ']') != text + n - 1)
    return at_fault(source, "expected [Section] and nothing else, found '%.60s'", text);
  char name[GALAXY_NAME];
  if (n - 2 >= sizeof name || n == 2)
    return at_fault(source, "expected a name of 1 to %d characters in [ ], found '%.60s'", GALAXY_NAME - 1, text);
  snprintf(name, sizeof name, "%.*s", (int)n - 2, text + 1);
  for (int i = 0; i < FIXED; i++) {
    if (strcasecmp(name, fixed[i]) != 0) continue;
    if (strcmp(name, fixed[i]) != 0)
      return at_fault(source, "unknown section [%s]; did you mean [%s]?", name, fixed[i]);
    if (source->fixed_line[i])
      return at_fault(source, "[%s] is given twice; the first is in line %d", name, source->fixed_line[i]);
    source->fixed_line[i] = (int)source->lines.number;
    source->section = i;
    return 0;
  }
  if (name[strcspn(name, ",\"%/\\")])
    return at_fault(source, "[%s]: a component's name must not have any of , \" %% / \\", name);
  if (strcasecmp(name, "total") == 0) return at_fault(source, "[%s]: this name is for the sum of all components", name);
  for (int i = 0; i < source->galaxy.count; i++)
    if (strcmp(name, source->galaxy.component[i].name) == 0)
      return at_fault(source, "[%s] is given twice; the first is in line %d", name, source->galaxy.component[i].line);
  if (source->galaxy.count == GALAXY_COMPONENTS)
    return at_fault(source, "[%s]: more than %d components", name, GALAXY_COMPONENTS);
  struct galaxy_component *c = &source->galaxy.component[source->galaxy.count];
  *c = (struct galaxy_component){
      .line = (int)source->lines.number, .profile = GALAXY_PROFILES_COUNT, .type = -1, .inner = -1};
  snprintf(c->name, sizeof c->name, "%s", name);
  source->section = FIXED + source->galaxy.count++;
  return 0;
}

/* Reader of inih. A fault ends the reading. */
static char *next_line(char *out, int capacity, void *stream)
{
  struct source *s = stream;
  if (s->fault->text[0] || lines_next(&s->lines, "'Key = value'", s->fault) != 1) return NULL;
  char *text = s->lines.text;
  if (strchr(text, ';')) *strchr(text, ';') = 0;
  while (isspace((unsigned char)*text)) text++;
  size_t n = strlen(text);
  while (n && isspace((unsigned char)text[n - 1])) text[--n] = 0;
  const char *equals = strpbrk(text, "=:");
  if (text[0] == '[') {
    if (begin_section(s, text)) return NULL;
  } else if (text[0] && (!equals || equals == text)) {
    at_fault(s, "expected 'Key = value', found '%.60s'", text);
    return NULL;
  }
  if (n + 2 < (size_t)capacity) return memcpy(out, text, n + 1);
  at_fault(s, "a line of more than %d characters", capacity - 3);
  return NULL;
}

/* Whether x, which is read from `text`, is in the range of a number. 0; -1 with a fault. */
static int check_real(struct source *source, const struct number *number, const char *text, double x)
{
  const char *from = number->above ? "above" : "from";
  if (isfinite(x) && x <= number->high && (number->above ? x > number->low : x >= number->low)) return 0;
  if (number->high >= 1e299)
    return at_fault(source, "%s: expected a number %s %g, found '%.60s'", number->key, from, number->low, text);
  return at_fault(source, "%s: expected a number %s %g %s %g, found '%.60s'", number->key, from, number->low,
                  number->above ? "and at most" : "to", number->high, text);
}

/* A number, which may have a unit where its key has a dimension. */
static int read_real(struct source *source, const struct number *number, const char *text)
{
  char *end;
  struct quantity quantity;
  struct fault reason = {""};
  int unit = quantity_read(measure_of(number->unit), text, &quantity, &reason);
  if (unit < 0) return at_fault(source, "%s: %s", number->key, reason.text);
  if (unit > 0 && source->given_count < GIVEN) {
    struct given *given = &source->given[source->given_count++];
    *given = (struct given){*number, (int)source->lines.number, ""};
    snprintf(given->text, sizeof given->text, "%s", text);
    return 0;
  }
  *number->at = strtod(text, &end);
  return check_real(source, number, text, end != text && !*end ? *number->at : NAN);
}

/* Numbers with units in those of the file. 0; -1 with a fault. */
static int convert_given(struct source *source)
{
  for (int k = 0; k < source->given_count; k++) {
    const struct given *given = &source->given[k];
    struct fault reason = {""};
    source->lines.number = given->line;
    if (params_in_units(&source->units, given->number.unit, given->text, given->number.at, &reason) < 0)
      return at_fault(source, "%s = %s: %s", given->number.key, given->text, reason.text);
    if (check_real(source, &given->number, given->text, *given->number.at)) return -1;
  }
  return 0;
}

static int read_count(struct source *source, const char *key, const char *text, int64_t *n)
{
  double x;
  char *end;
  x = strtod(text, &end);
  if (end == text || *end || !(x >= 1 && x <= (double)IC_MAX) || x != floor(x))
    return at_fault(source, "%s: expected a whole number of particles from 1 to 2^36, found '%.60s'", key, text);
  *n = (int64_t)x;
  return 0;
}

static int read_name(struct source *source, const char *key, const char *text, const char *const *names, int count,
                     int *value)
{
  char list[400] = "";
  for (int i = 0; i < count; i++) {
    if (strcmp(text, names[i]) == 0) {
      *value = i;
      return 0;
    }
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
             i == 0           ? ""
             : i == count - 1 ? " or "
                              : ", ",
             names[i]);
  }
  const char *near = nearest_name(text, names, count);
  if (near) return at_fault(source, "%s: unknown name '%.60s'; did you mean '%s'?", key, text, near);
  return at_fault(source, "%s: expected %s, found '%.60s'", key, list, text);
}

/* The path of a file that is named relative to the model file. */
static int read_path(struct source *source, const char *key, const char *text, char *out, size_t size)
{
  const char *slash = text[0] == '/' ? NULL : strrchr(source->path, '/');
  int folder = slash ? (int)(slash - source->path) + 1 : 0;
  if (!text[0]) return at_fault(source, "%s: expected the name of a file", key);
  if ((size_t)snprintf(out, size, "%.*s%s", folder, source->path, text) >= size)
    return at_fault(source, "%s: the path is too long", key);
  return 0;
}

/* "; did you mean ...?" for an unknown key of a section, or the list of its keys. */
static void key_hint(const struct source *source, const char *key, char *hint, size_t size)
{
  const char *names[NAMES] = {NULL};
  int count = 0;
  *hint = 0;
  if (param_find("Units", key) >= 0) {
    snprintf(hint, size, "; it belongs in [Units]");
    return;
  }
  if (source->section == 0)
    for (int i = 0; i < param_count; i++)
      if (strcmp(param_table[i].section, "Units") == 0) names[count++] = param_table[i].name;
  if (source->section == 1) names[count++] = "N";
  if (source->section == 2) {
    names[count++] = "First";
    names[count++] = "Second";
    for (int i = 0; i < ORBIT_KEYS; i++) names[count++] = orbit_keys[i].name;
  }
  if (source->section >= FIXED) {
    for (int i = 0; i < galaxy_key_count; i++) names[count++] = galaxy_keys[i].name;
    names[count++] = "ParticleMass";
  }
  const char *near = nearest_name(key, names, count);
  if (near) {
    snprintf(hint, size, "; did you mean '%s'?", near);
    return;
  }
  size_t at = (size_t)snprintf(hint, size, "; there are");
  for (int i = 0; i < count && at < size; i++)
    at += (size_t)snprintf(hint + at, size - at, "%s %s", i ? "," : "", names[i]);
}

/* One key of a component. */
static int take_component(struct source *source, int i, const struct galaxy_key *key, const char *text)
{
  struct galaxy_component *c = &source->galaxy.component[i];
  void *at = (char *)c + key->offset;
  double x = 0;
  int value = 0;
  static const char *const vertical[] = {"sech2", "isothermal"};
  switch (key->value) {
  case VALUE_REAL:
    return read_real(source, &(struct number){key->name, key->unit, key->low, key->high, key->above, at}, text);
  case VALUE_COUNT: return read_count(source, key->name, text, at);
  case VALUE_PATH: return read_path(source, key->name, text, at, sizeof c->table);
  case VALUE_PROFILE:
    if (read_name(source, key->name, text, galaxy_profile_names, GALAXY_PROFILES_COUNT, &value)) return -1;
    c->profile = (enum galaxy_profile)value;
    return 0;
  case VALUE_VERTICAL:
    if (read_name(source, key->name, text, vertical, 2, &value)) return -1;
    c->vertical = (enum galaxy_vertical)value;
    return 0;
  case VALUE_TYPE:
    if (read_real(source, &(struct number){key->name, "", 0, 5, 0, &x}, text)) return -1;
    if (x != floor(x))
      return at_fault(source, "%s: expected a particle type, a whole number from 0 to 5, found '%.60s'", key->name,
                      text);
    c->type = (int)x;
    return 0;
  }
  return -1;
}

/* The number of a key in its section, -1: unknown. */
static int find_key(const struct source *source, const char *key)
{
  if (source->section == 0) {
    int i = param_find("Units", key), first = 0;
    while (strcmp(param_table[first].section, "Units") != 0) first++;
    return i < 0 ? -1 : i - first;
  }
  if (source->section == 1) return strcmp(key, "N") == 0 ? 0 : -1;
  if (source->section == 2) {
    for (int i = 0; i < ORBIT_KEYS; i++)
      if (strcmp(key, orbit_keys[i].name) == 0) return i;
    return strcmp(key, "First") == 0 ? ORBIT_KEYS : strcmp(key, "Second") == 0 ? ORBIT_KEYS + 1 : -1;
  }
  for (int i = 0; i < galaxy_key_count; i++)
    if (strcmp(key, galaxy_keys[i].name) == 0) return i;
  return strcmp(key, "ParticleMass") == 0 ? galaxy_key_count : -1;
}

/* Handler of inih. Returns 1; 0 with a fault. */
static int take(void *user, const char *section, const char *key, const char *value)
{
  struct source *s = user;
  char hint[500];
  (void)section; /* inih cuts long names */
  if (!key) return 1;
  if (s->section < 0) return at_fault(s, "'%.60s' stands before any [Section]", key) == 0;
  int i = find_key(s, key);
  if (i < 0) {
    key_hint(s, key, hint, sizeof hint);
    const char *name = s->section < FIXED ? fixed[s->section] : s->galaxy.component[s->section - FIXED].name;
    return at_fault(s, "unknown key '%.60s' in [%s]%s", key, name, hint) == 0;
  }
  int *line = &s->line[s->section][i];
  if (*line) return at_fault(s, "%s is given twice; the first is in line %d", key, *line) == 0;
  *line = (int)s->lines.number;
  if (s->section == 0) {
    struct fault reason = {""};
    int unit = param_find("Units", key);
    s->origin.line[unit] = *line;
    return params_take(&s->units, unit, value, &s->origin, &reason) ? at_fault(s, "%s: %s", key, reason.text) == 0 : 1;
  }
  if (s->section == 1) return read_count(s, key, value, &s->n) == 0;
  if (s->section == 2) {
    if (i >= ORBIT_KEYS) return read_path(s, key, value, s->member[i - ORBIT_KEYS], sizeof s->member[0]) == 0;
    const struct number number = {key,
                                  orbit_keys[i].unit,
                                  orbit_keys[i].low,
                                  orbit_keys[i].high,
                                  orbit_keys[i].above,
                                  (double *)((char *)&s->orbit + orbit_keys[i].offset)};
    return read_real(s, &number, value) == 0;
  }
  int component = s->section - FIXED;
  const struct number mass = {"ParticleMass", "mass", 0, 1e300, 1, &s->particle_mass[component]};
  if (i == galaxy_key_count) return read_real(s, &mass, value) == 0;
  return take_component(s, component, &galaxy_keys[i], value) == 0;
}

/* The units are given, by name or all three of them, or the model has none. What follows from them is set. */
static int check_units(struct source *source, struct fault *fault)
{
  static const char *const names[] = {"UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"};
  int given = 0;
  for (int k = 0; k < 3; k++) given += source->origin.line[param_find("Units", names[k])] != ORIGIN_DEFAULT;
  if (source->units.System == SYSTEM_GIVEN && given != 3 && !(given == 0 && source->units.GravityConstantInternal > 0))
    return fault_set(fault,
                     "%s: %s: expected in [Units] System = galaxy or cluster, or UnitLength_in_cm, UnitMass_in_g and "
                     "UnitVelocity_in_cm_per_s, or for a model without units System = nbody",
                     source->path, given ? "some units are missing" : "the units are missing");
  return params_convert(&source->units, &source->origin, fault);
}

/* The particle type of a component that gives none, as GADGET's types are used: halo 1, disc 2, bulge 3, stars 4. */
static int type_of(const struct galaxy_component *component)
{
  static const struct {
    const char *part;
    int type;
  } names[] = {{"bulge", 3}, {"star", 4}, {"stellar", 4}};
  if (component->profile == PROFILE_POINT) return 5;
  if (galaxy_is_disc(component->profile)) return 2;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (strcasestr(component->name, names[k].part)) return names[k].type;
  return 1;
}

/* Keys that a profile needs or does not have; numbers from masses. */
static int check_keys(struct source *source, int i, struct fault *fault)
{
  struct galaxy_component *c = &source->galaxy.component[i];
  const int *line = source->line[FIXED + i];
  if (c->profile == GALAXY_PROFILES_COUNT)
    return fault_set(fault, "%s:%d: [%s] Profile is missing", source->path, c->line, c->name);
  const char *profile = galaxy_profile_names[c->profile];
  for (int k = 0; k < galaxy_key_count; k++) {
    if (line[k] && !(galaxy_keys[k].profiles >> c->profile & 1))
      return fault_set(fault, "%s:%d: [%s] %s: the profile %s has no such key", source->path, line[k], c->name,
                       galaxy_keys[k].name, profile);
    if (!line[k] && galaxy_keys[k].needed >> c->profile & 1)
      return fault_set(
          fault, "%s:%d: [%s] %s is missing; the profile %s needs it%s", source->path, c->line, c->name,
          galaxy_keys[k].name, profile,
          strcmp(galaxy_keys[k].name, "Cutoff") == 0 ? ", since its mass is infinite without an outer cut-off" : "");
  }
  if (c->inner < 0) c->inner = c->profile == PROFILE_DOUBLE_POWER ? 1 : 0;
  c->type_by_name = c->type < 0;
  if (c->type < 0) c->type = type_of(c);
  if (!(source->particle_mass[i] > 0)) return 0;
  if (c->profile == PROFILE_POINT || c->n > 0)
    return fault_set(fault, "%s:%d: [%s] ParticleMass: %s", source->path, line[galaxy_key_count], c->name,
                     c->n > 0 ? "give it or N, not both" : "a black hole is one particle");
  double n = round(c->mass / source->particle_mass[i]);
  if (!(n >= 1 && n <= (double)IC_MAX))
    return fault_set(fault, "%s:%d: [%s] ParticleMass: Mass / ParticleMass is %g; expected from 1 to 2^36 particles",
                     source->path, line[galaxy_key_count], c->name, c->mass / source->particle_mass[i]);
  c->n = (int64_t)n;
  return 0;
}

/* Lines of the file, without their meaning together. */
static int read_lines(struct source *source, const char *path, struct fault *fault)
{
  struct stat st;
  char hint[400] = "";
  *source = (struct source){
      .path = path, .fault = fault, .origin = {.file = path}, .section = -1, .orbit = {.eccentricity = 1}};
  params_defaults(&source->units);
  if (stat(path, &st) != 0) {
    int error = errno;
    file_hint(path, NULL, hint, sizeof hint);
    return fault_set(fault, "%s: expected a model file: %s%s", path, strerror(error), hint);
  }
  if (lines_open(&source->lines, path, fault)) return -1;
  int rc = ini_parse_stream(next_line, source, take, source);
  lines_close(&source->lines);
  if (fault->text[0]) return -1;
  if (rc) return fault_set(fault, "%s:%d: cannot be read as an ini file", path, rc);
  return check_units(source, fault) || convert_given(source) ? -1 : 0;
}

static int read_model(const char *path, int depth, struct galaxy_model *model, int64_t *n, struct fault *fault);

static int read_orbit(struct source *source, int depth, struct galaxy_model *model, struct fault *fault)
{
  int first = 0, line = source->fixed_line[2], begin = model->count;
  static const char *const needed[] = {"Pericentre", "Separation"};
  static const char *const members[] = {"First", "Second"};
  source->section = 2;
  if (source->galaxy.count > 0)
    return fault_set(fault, "%s:%d: [%s]: a file with [Orbit] has no components of its own", source->path,
                     source->galaxy.component[0].line, source->galaxy.component[0].name);
  for (int i = 0; i < 2; i++) {
    if (!source->member[i][0])
      return fault_set(fault, "%s:%d: [Orbit] %s is missing: the model file of a galaxy", source->path, line,
                       members[i]);
    if (!source->line[2][find_key(source, needed[i])])
      return fault_set(fault, "%s:%d: [Orbit] %s is missing", source->path, line, needed[i]);
  }
  if (depth == DEPTH)
    return fault_set(fault, "%s:%d: [Orbit] of [Orbit] more than %d times; does a file name itself?", source->path,
                     line, DEPTH);
  for (int i = 0; i < 2; i++) {
    int64_t own = 0;
    int before = model->count;
    if (read_model(source->member[i], depth + 1, model, &own, fault)) return -1;
    if (own > 0 && source->n > 0)
      return fault_set(fault, "%s: [Model] N: %s gives the number of all particles; leave one of them out",
                       source->member[i], source->path);
    if (own > 0 && galaxy_share(source->member[i], before, own, model, fault)) return -1;
    if (i == 0) first = model->count - begin;
  }
  struct galaxy_model *part = memory_alloc("ic tables", sizeof *part);
  part->count = model->count - begin;
  memcpy(part->galaxy, model->galaxy + begin, sizeof *model->galaxy * (size_t)part->count);
  memcpy(part->place, model->place + begin, sizeof *model->place * (size_t)part->count);
  struct fault reason = {""};
  int failed = orbit_place(&source->orbit, part, first, &reason);
  memcpy(model->place + begin, part->place, sizeof *model->place * (size_t)part->count);
  memory_free(part);
  return failed ? fault_set(fault, "%s:%d: %s", source->path, line, reason.text) : 0;
}

/* Whether all components have a number. */
static int galaxy_numbered(const struct galaxy_model *model)
{
  for (int i = 0; i < model->count; i++)
    for (int k = 0; k < model->galaxy[i].count; k++)
      if (model->galaxy[i].component[k].n == 0) return 0;
  return 1;
}

static int same_units(const struct params *a, const struct params *b)
{
  return a->UnitLength_in_cm == b->UnitLength_in_cm && a->UnitMass_in_g == b->UnitMass_in_g &&
         a->UnitVelocity_in_cm_per_s == b->UnitVelocity_in_cm_per_s &&
         a->GravityConstantInternal == b->GravityConstantInternal;
}

/* The galaxy of a file that has been read becomes the last one of the model. */
static int add_galaxy(struct source *source, struct galaxy_model *model, struct fault *fault)
{
  for (int i = 0; i < source->galaxy.count; i++)
    if (check_keys(source, i, fault)) return -1;
  source->galaxy.gravity = units_gravity(&source->units);
  if (galaxy_check(source->path, &source->galaxy, fault)) return -1;
  if (model->count == GALAXIES) return fault_set(fault, "%s: more than %d galaxies", source->path, GALAXIES);
  const char *slash = strrchr(source->path, '/'), *name = slash ? slash + 1 : source->path;
  snprintf(source->galaxy.name, sizeof source->galaxy.name, "%.*s", (int)strcspn(name, "."), name);
  model->place[model->count] = (struct galaxy_place){.rotation = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  model->galaxy[model->count++] = source->galaxy;
  return 0;
}

/* Append the galaxies of a file. *n: its [Model] N, which is not shared out yet. */
static int read_model(const char *path, int depth, struct galaxy_model *model, int64_t *n, struct fault *fault)
{
  struct source *s = memory_alloc("ic tables", sizeof *s);
  int failed = read_lines(s, path, fault);
  if (!failed && depth == 0) model->units = s->units;
  if (!failed && depth > 0 && !same_units(&s->units, &model->units))
    failed = fault_set(fault, "%s: [Units] differ from those of the file that names it; expected the same", path);
  if (!failed) failed = s->fixed_line[2] ? read_orbit(s, depth, model, fault) : add_galaxy(s, model, fault);
  *n = s->n;
  memory_free(s);
  return failed;
}

int galaxy_model_read(const char *path, int64_t n, struct galaxy_model *model, struct fault *fault)
{
  int64_t own = 0;
  memset(model, 0, sizeof *model);
  if (read_model(path, 0, model, &own, fault)) return -1;
  /* a file without any number, or in which some components have one: n is the number of all */
  int64_t total = own > 0 || galaxy_numbered(model) ? own : n;
  if (galaxy_share(path, 0, total, model, fault)) return -1;
  if (n > 0 && galaxy_rescale(path, n, model, fault)) return -1;
  return galaxy_check_masses(path, model, fault);
}
