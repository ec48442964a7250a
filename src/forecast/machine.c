/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/machine.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/lines.h"

/* --- names ------------------------------------------------------------------------------------------------------- */

/* From WalkFill over this on, nearly all of WalkFill is added: a device waits for its slowest groups even where few are
 * walked. */
#define FILL_STEEPNESS 64

static const char *const device_names[DEVICES] = {"cpu", "gpu"};

enum {
  NUMBERS = 0
#define X(section, key, member, low, high, meaning) +1
  MACHINE_NUMBERS(X)
#undef X
};
static const struct number {
  const char *section, *key, *meaning;
  double low, high;
  size_t offset;
} numbers[NUMBERS] = {
#define X(section, key, member, low, high, meaning) \
  {#section, #key, meaning, low, high, offsetof(struct machine, member)},
    MACHINE_NUMBERS(X)
#undef X
};
/* Keys that a file may lack: they have the value of another one, or the one that costs no time, which is the largest of
 * a rate or factor and the smallest of others. */
enum free_value { LARGEST, SMALLEST };
static const struct optional {
  const char *key, *as;
  enum free_value free;
} optional[] = {
    {"StepFloor", NULL, SMALLEST},       {"StepRate", NULL, LARGEST},          {"TreeFloor", NULL, SMALLEST},
    {"WalkFill", NULL, SMALLEST},        {"SplitRate", "WalkRate", LARGEST},   {"BlockRate", "WalkRate", LARGEST},
    {"BlockFill", "WalkFill", SMALLEST}, {"UpdateRate", "BuildRate", LARGEST}, {"CorrectRate", NULL, LARGEST},
    {"NodeFactor", NULL, LARGEST},       {"RanksFloor", NULL, SMALLEST},       {"RanksSubstepFloor", NULL, SMALLEST},
    {"DomainRate", NULL, LARGEST},       {"LetFloor", NULL, SMALLEST},         {"HardLetFloor", "LetFloor", SMALLEST},
    {"MessageDelay", NULL, SMALLEST},    {"HardTargetRate", NULL, LARGEST},    {"MigrateRate", "DomainRate", LARGEST},
    {"LetWalkRate", NULL, LARGEST},      {"RebuildRate", NULL, LARGEST},       {"HardLetRate", NULL, LARGEST},
    {"LetRate", NULL, LARGEST},          {"DeviceMemory", NULL, SMALLEST},     {"NodeMemory", NULL, SMALLEST}};

/* Words, whose lines follow those of the numbers. */
enum { NAME = NUMBERS, TOPOLOGY, SIDES, DEVICE, KEYS };
static const struct word {
  const char *section, *key;
} words[] = {{"Machine", "Name"}, {"Network", "Topology"}, {"Network", "Sides"}, {"Device", "Kind"}};

/* --- reading ----------------------------------------------------------------------------------------------------- */

struct source {
  const char *path;
  struct fault *fault;
  struct machine *m;
  struct lines lines;
  int line[KEYS]; /* of the file; 0: the key has not been met */
};

/* Callback of inih: the next line of the file. */
static char *next_line(char *line, int size, void *stream)
{
  struct source *s = stream;
  if (s->fault->text[0] || lines_next(&s->lines, "Key = value, [Section] or a comment", s->fault) != 1) return NULL;
  snprintf(line, (size_t)size, "%.*s", size - 1, s->lines.text);
  return line;
}

static int bad(struct source *source, const char *section, const char *key, const char *what, const char *value)
{
  fault_set(source->fault, "%s:%lld: [%s] %s: %s, found '%.60s'", source->path, (long long)source->lines.number,
            section, key, what, value);
  return 0;
}

/* Find a word of a list; bad choices list them. */
static int take_word(struct source *source, const struct word *word, const char *const *names, int count,
                     const char *value, int *found)
{
  char what[160] = "expected";
  for (*found = 0; *found < count; ++*found) {
    if (strcmp(value, names[*found]) == 0) return 1;
    size_t used = strlen(what);
    snprintf(what + used, sizeof what - used, "%s %s", *found ? (*found == count - 1 ? " or" : ",") : "",
             names[*found]);
  }
  return bad(source, word->section, word->key, what, value);
}

static int take_number(struct source *source, const struct number *number, const char *value)
{
  char *end, what[160];
  double x = strtod(value, &end);
  if (end == value || *end || !isfinite(x))
    return bad(source, number->section, number->key, "expected a number", value);
  if (strcmp(number->key, "RanksPerNode") == 0 && x != floor(x))
    return bad(source, number->section, number->key, "expected a whole number", value);
  if (x >= number->low && x <= number->high) {
    *(double *)((char *)source->m + number->offset) = x;
    return 1;
  }
  snprintf(what, sizeof what, "expected a number from %g to %g", number->low, number->high);
  return bad(source, number->section, number->key, what, value);
}

static int take_key(struct source *source, int k, const char *value)
{
  int found;
  if (k < NUMBERS) return take_number(source, &numbers[k], value);
  const struct word *w = &words[k - NUMBERS];
  if (k == NAME) {
    snprintf(source->m->name, sizeof source->m->name, "%.127s", value);
    return 1;
  }
  if (k == TOPOLOGY) {
    if (!take_word(source, w, topology_names, TOPOLOGIES, value, &found)) return 0;
    source->m->network.topology = (enum topology)found;
    return 1;
  }
  if (k == SIDES) {
    if (network_sides(source->m->network.side, value, &found) == 0 && !value[found]) return 1;
    return bad(source, w->section, w->key, "expected X,Y,Z, three whole numbers of at most ten million nodes", value);
  }
  if (!take_word(source, w, device_names, DEVICES, value, &found)) return 0;
  source->m->device = (enum machine_device)found;
  return 1;
}

static const char *section_of(int k) { return k < NUMBERS ? numbers[k].section : words[k - NUMBERS].section; }
static const char *key_of(int k) { return k < NUMBERS ? numbers[k].key : words[k - NUMBERS].key; }

/* An unknown key or section: the one that was meant, where a name is near. Returns 0. */
static int unknown(struct source *source, const char *section, const char *key, int section_known)
{
  const char *here[KEYS], *all[KEYS], *sections[KEYS], *near_key = NULL, *near = NULL;
  char hint[120] = "";
  int count = 0, at = 0;
  for (int k = 0; k < KEYS; k++) {
    all[k] = key_of(k);
    sections[k] = section_of(k);
    if (strcmp(section, section_of(k)) == 0) here[count++] = key_of(k);
  }
  if (section_known) near = near_key = nearest_name(key, here, count);
  if (section_known && !near) near_key = nearest_name(key, all, KEYS);
  while (near_key && all[at] != near_key) at++;
  if (near) snprintf(hint, sizeof hint, "; did you mean '%s'?", near);
  else if (near_key) snprintf(hint, sizeof hint, "; did you mean '%s' in [%s]?", near_key, section_of(at));
  else if (!section_known && (near = nearest_name(section, sections, KEYS)))
    snprintf(hint, sizeof hint, "; did you mean [%s]?", near);
  fault_set(source->fault, "%s:%lld: [%.40s] %.40s: the %s is not one of machine files%s", source->path,
            (long long)source->lines.number, section, key, section_known ? "key" : "section", hint);
  return 0;
}

/* Callback of inih. */
static int take(void *user, const char *section, const char *key, const char *value)
{
  struct source *s = user;
  int sections = 0;
  if (s->fault->text[0]) return 0;
  for (int k = 0; k < KEYS; k++) {
    if (strcmp(section, section_of(k)) != 0) continue;
    sections++;
    if (strcmp(key, key_of(k)) != 0) continue;
    if (s->line[k]) {
      fault_set(s->fault, "%s:%lld: [%s] %s: given before, in line %d", s->path, (long long)s->lines.number, section,
                key, s->line[k]);
      return 0;
    }
    s->line[k] = (int)s->lines.number;
    return take_key(s, k, value);
  }
  return unknown(s, section, key, sections > 0);
}

static double *number_of(struct machine *machine, const char *key)
{
  int k = 0;
  while (strcmp(numbers[k].key, key) != 0) k++;
  return (double *)((char *)machine + numbers[k].offset);
}

static int may_lack(int k)
{
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
    if (strcmp(numbers[k].key, optional[i].key) == 0) return 1;
  return 0;
}

/* Set the keys that the file lacks and may lack. */
static void fill(struct source *source)
{
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
    for (int k = 0; k < NUMBERS; k++)
      if (!source->line[k] && strcmp(numbers[k].key, optional[i].key) == 0) {
        double none = optional[i].free == LARGEST ? numbers[k].high : numbers[k].low;
        *number_of(source->m, optional[i].key) = optional[i].as ? *number_of(source->m, optional[i].as) : none;
        source->line[k] = -1;
      }
}

int machine_read(const char *path, struct machine *machine, struct fault *fault)
{
  struct stat st;
  struct source s = {.path = path, .fault = fault, .m = machine};
  memset(machine, 0, sizeof *machine);
  if (stat(path, &st) != 0) return fault_set(fault, "%s: expected a machine file: %s", path, strerror(errno));
  if (lines_open(&s.lines, path, fault)) return -1;
  int rc = ini_parse_stream(next_line, &s, take, &s);
  lines_close(&s.lines);
  if (fault->text[0]) return -1;
  if (rc) return fault_set(fault, "%s:%d: cannot be read as an ini file", path, rc);
  if (s.line[SIDES] && s.line[TOPOLOGY] && machine->network.topology != TOPOLOGY_torus)
    return fault_set(fault, "%s:%d: [Network] Sides: only Topology = torus has sides: remove the line", path,
                     s.line[SIDES]);
  s.line[SIDES] = -1;
  fill(&s);
  for (int k = 0; k < KEYS; k++)
    if (!s.line[k]) {
      const char *meaning = k < NUMBERS     ? numbers[k].meaning
                            : k == NAME     ? "the name of the machine"
                            : k == TOPOLOGY ? "flat, fat-tree, dragonfly or torus"
                                            : "cpu or gpu";
      return fault_set(fault, "%s: [%s] %s is missing: %s", path, section_of(k), key_of(k), meaning);
    }
  return 0;
}

void machine_write(FILE *out, const struct machine *machine, const char *source)
{
  const char *section = "";
  while (*source) {
    size_t length = strcspn(source, "\n");
    fprintf(out, "# %.*s\n", (int)length, source);
    source += length + (source[length] == '\n');
  }
  fprintf(out, "[Machine]\nName = %s\n", machine->name);
  for (int k = 0; k < NUMBERS; k++) {
    const struct number *n = &numbers[k];
    if (strcmp(section, n->section) != 0) {
      fprintf(out, "\n[%s]\n", n->section);
      if (strcmp(n->section, "Network") == 0)
        fprintf(out, "Topology = %s\n", topology_names[machine->network.topology]);
      else fprintf(out, "Kind = %s\n", device_names[machine->device]);
    }
    section = n->section;
    double value = *(const double *)((const char *)machine + n->offset);
    if (may_lack(k) && n->high == MACHINE_NO_RATE && (value >= MACHINE_NO_RATE || value == 0)) continue;
    fprintf(out, "# %s\n%s = %.6g\n", n->meaning, n->key, value);
  }
}

/* --- the device ------------------------------------------------------------------------------------------------- */

/* Bytes of LETs that are made in the time in which the tree of one particle is built, on machines without LetRate. */
enum { BYTES_PER_PARTICLE = 64 };

struct machine machine_shared(const struct machine *machine, double ranks)
{
  struct machine own = *machine;
  double beside = fmin(ranks, machine->network.ranks_per_node) - 1, most = machine->network.ranks_per_node - 1;
  double factor = ranks <= 1 ? 1 : most > 0 ? 1 + (machine->node_factor - 1) * beside / most : machine->node_factor;
  double *rates[] = {&own.step_rate,    &own.walk_rate,     &own.split_rate,    &own.block_rate,
                     &own.hard_rate,    &own.order_rate,    &own.build_rate,    &own.update_rate,
                     &own.correct_rate, &own.domain_rate,   &own.hard_let_rate, &own.hard_target_rate,
                     &own.rebuild_rate, &own.let_walk_rate, &own.migrate_rate,  &own.let_rate};
  for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
    if (*rates[k] < MACHINE_NO_RATE) *rates[k] *= factor;
  return own;
}

/* So many interactions and those that take as long as waiting for the slowest groups. */
static double filled(double fill, double pairs)
{
  return pairs + (fill > 0 ? fill * -expm1(-FILL_STEEPNESS * pairs / fill) : 0);
}

double machine_walk(const struct machine *machine, double pairs, double rate)
{
  return filled(machine->walk_fill, pairs) / rate;
}

double machine_block_walk(const struct machine *machine, double pairs, int apart)
{
  if (apart) return machine_walk(machine, pairs, machine->walk_rate);
  return filled(machine->block_fill, pairs) / machine->block_rate;
}

double machine_tree(const struct machine *machine, double particles)
{
  return machine->tree_floor + particles / machine->order_rate + particles / machine->build_rate;
}

double machine_rebuild(const struct machine *machine, double particles)
{
  return machine->rebuild_rate < MACHINE_NO_RATE ? machine->tree_floor + particles / machine->rebuild_rate
                                                 : machine_tree(machine, particles);
}

double machine_let(const struct machine *machine, double bytes)
{
  return bytes / (machine->let_rate < MACHINE_NO_RATE ? machine->let_rate : BYTES_PER_PARTICLE * machine->build_rate);
}

double machine_let_update(const struct machine *machine, double bytes)
{
  return machine->let_rate < MACHINE_NO_RATE ? bytes / machine->let_rate : 0;
}
