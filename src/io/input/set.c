/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of files with initial conditions: found, and checked for consistency. */
#include <config.h>
#include "io/input/set.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

#define UNITS_DIFFER 1e-6 /* units of the files of a set that differ by less are the same */
enum { FILES_MAX = 1 << 20 };

static const struct set_format *const formats[] = {[FORMAT_GADGET1] = &format_gadget,
                                                   [FORMAT_GADGET2] = &format_gadget,
                                                   [FORMAT_HDF5] = &format_hdf5,
                                                   [FORMAT_TIPSY] = &format_tipsy,
                                                   [FORMAT_ASCII] = &format_ascii};
static const char *const format_titles[] = {"unknown", "GADGET format 1", "GADGET format 2", "HDF5", "TIPSY", "ASCII"};

const struct set_format *set_format_of(const struct set *set) { return formats[set->format]; }

/* If `path` is not a file but the common name of a set, `found` is the first file of the set. */
static void first_file(const char *path, char found[SET_PATH])
{
  static const char *const tails[] = {"", ".0", ".0.hdf5"};
  struct stat st;
  for (int i = 0; i < 3; i++) {
    snprintf(found, SET_PATH, "%.4000s%s", path, tails[i]);
    if (stat(found, &st) == 0) return;
  }
  snprintf(found, SET_PATH, "%s", path);
}

/* Split NAME.K or NAME.K.hdf5 into base and suffix. */
static int split_name(struct set *set, const char *path, int64_t files, struct fault *fault)
{
  size_t n = strlen(path);
  snprintf(set->base, sizeof set->base, "%s", path);
  if (n > 5 && strcmp(path + n - 5, ".hdf5") == 0) {
    strcpy(set->suffix, ".hdf5");
    set->base[n -= 5] = 0;
  }
  size_t digits = n;
  while (digits > 0 && isdigit((unsigned char)set->base[digits - 1])) digits--;
  if (digits == n || digits < 2 || set->base[digits - 1] != '.')
    return fault_set(fault,
                     "%s states that it is one of %lld files; then its name must be NAME.K%s with K from 0 to %lld",
                     path, (long long)files, set->suffix, (long long)files - 1);
  set->base[digits - 1] = 0;
  set->numbered = 1;
  return 0;
}

/* Whether a file states the units of the one that is read first, where it states any: values are read as they are. */
static int check_units(const char *path, const struct initial_facts *facts, const struct initial_facts *first,
                       struct fault *fault)
{
  const double here[] = {facts->units.length_cm, facts->units.mass_g, facts->units.velocity_cm_s},
               there[] = {first->units.length_cm, first->units.mass_g, first->units.velocity_cm_s};
  if (facts->has_units && !first->has_units)
    return fault_set(fault, "%s states units, but the file that is read first states none: give all files the same",
                     path);
  for (int k = 0; k < 3 && facts->has_units; k++)
    if (!(fabs(here[k] / there[k] - 1) < UNITS_DIFFER))
      return fault_set(
          fault,
          "%s states units of %.7g cm, %.7g g, %.7g cm/s, but the file that is read first %.7g cm, %.7g g, "
          "%.7g cm/s: give all files the same",
          path, here[0], here[1], here[2], there[0], there[1], there[2]);
  return 0;
}

/* Read the header of file `k` and add it to the set. */
static int add_file(struct set *set, int k, const struct set_header *leader, struct fault *fault)
{
  char path[SET_PATH];
  struct set_header h = {0};
  struct set_file file = {0};
  set_path(set, k, path);
  if (formats[set->format]->inspect(path, &h, &file, fault) != 0) return -1;
  if (!isfinite(h.facts.time)) return fault_set(fault, "%s: the time in the header is not a finite number", path);
  if (h.files != leader->files || memcmp(h.total, leader->total, sizeof h.total) != 0 ||
      h.facts.time != leader->facts.time)
    return fault_set(fault,
                     "%s does not belong to the same set as file 0: the headers state different numbers of files "
                     "(%lld and %lld), particles or times",
                     path, (long long)h.files, (long long)leader->files);
  if (check_units(path, &h.facts, &leader->facts, fault)) return -1;
  set->file = memory_resize("file set", set->file, sizeof *set->file * (size_t)(k + 1));
  file.first = set->total;
  set->has_sums |= file.has_sums != 0;
  if (!set->facts.doubts.masses && h.facts.doubts.masses) {
    unsigned left_out = set->facts.doubts.left_out;
    set->facts.doubts = h.facts.doubts;
    set->facts.doubts.left_out |= left_out;
  }
  set->facts.doubts.left_out |= h.facts.doubts.left_out;
  set->file[k] = file;
  set->files = k + 1;
  set->total += set_file_total(&file);
  for (int t = 0; t < PARTICLE_TYPES; t++) set->facts.count[t] += file.count[t];
  return 0;
}

/* Check the files of the set against each other. */
static int check_set(const struct set *set, const struct set_header *header, const char *path, struct fault *fault)
{
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (header->has_total && set->facts.count[t] != header->total[t])
      return fault_set(fault, "%s: %lld particle%s of type %d in %d file%s, but the header states %lld in all", path,
                       (long long)set->facts.count[t], plural((double)set->facts.count[t]), t, set->files,
                       plural(set->files), (long long)header->total[t]);
  if (set->total == 0) return fault_set(fault, "%s has no particles", path);
  int with = 0, without = 0;
  for (int k = 0; k < set->files; k++)
    if (set_file_total(&set->file[k]) > 0) set->file[k].has_ids ? with++ : without++;
  if (with && without) return fault_set(fault, "%s: some files of the set have ids and others have none", path);
  return 0;
}

static int choose_format(struct set *set, const char *path, enum ic_format requested, struct fault *fault)
{
  char text[128];
  set->format = detect_format(path, text, fault);
  if (fault->text[0]) return -1;
  if (set->format == FORMAT_AUTO && (requested == FORMAT_TIPSY || requested == FORMAT_ASCII))
    set->format = requested; /* these two have no signature; their readers report what is wrong */
  if (set->format == FORMAT_AUTO) return fault_set(fault, "%s: %s", path, text);
  if (requested != FORMAT_AUTO && requested != set->format)
    return fault_set(fault, "%s is not a %s file, as ICFormat states, but looks like %s", path,
                     format_titles[requested], format_titles[set->format]);
  return 0;
}

int set_open(struct set *set, const char *path, enum ic_format format, struct fault *fault)
{
  char name[SET_PATH];
  memset(set, 0, sizeof *set);
  if (!path[0]) return fault_set(fault, "no file with initial conditions is named ([Input] InitCondFile)");
  if (strlen(path) > 4000)
    return fault_set(fault, "the name of the file with initial conditions is longer than 4000 characters");
  first_file(path, name);
  struct set_header h = {0};
  struct set_file file = {0};
  if (choose_format(set, name, format, fault) != 0 || formats[set->format]->inspect(name, &h, &file, fault) != 0)
    return -1;
  if (h.files > FILES_MAX || h.files < 0)
    return fault_set(fault, "%s: its header states %lld files; expected 1 to %d", name, (long long)h.files, FILES_MAX);
  set->facts = h.facts;
  memset(set->facts.count, 0, sizeof set->facts.count);
  if (h.files <= 1) snprintf(set->base, sizeof set->base, "%s", name);
  else if (split_name(set, name, h.files, fault) != 0) return -1;
  int bad = 0;
  for (int k = 0; k < (h.files > 1 ? h.files : 1) && !bad; k++) bad = add_file(set, k, &h, fault) != 0;
  if (bad || check_set(set, &h, path, fault) != 0) {
    set_close(set);
    return -1;
  }
  return 0;
}

void set_close(struct set *set)
{
  memory_free(set->file);
  set->file = NULL;
}
