/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "params/params_nearest.h"

#include <ctype.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "params/params.h"

enum { FILES_LOOKED_AT = 1000 };

/* List the sections (`sections` 1), or the names in one section (NULL: all names), in the order of the table. Returns
 * their number. */
static int list_names(const char *section, int sections, const char **names)
{
  int count = 0;
  for (int i = 0; i < param_count; i++) {
    const struct param_entry *e = &param_table[i];
    int first = count == 0 || strcmp(names[count - 1], e->section) != 0;
    if (sections && first) names[count++] = e->section;
    if (!sections && (!section || strcmp(section, e->section) == 0)) names[count++] = e->name;
  }
  return count;
}

int section_known(const char *name)
{
  for (int i = 0; i < param_count; i++)
    if (strcmp(param_table[i].section, name) == 0) return 1;
  return 0;
}

static void list_all(const char *before, const char **names, int count, char *hint, size_t size)
{
  size_t at = (size_t)snprintf(hint, size, "; %s", before);
  for (int i = 0; i < count && at < size; i++)
    at += (size_t)snprintf(hint + at, size - at, "%s %s", i ? "," : "", names[i]);
}

void section_hint(const char *name, char *hint, size_t size)
{
  const char *names[PARAM_LIMIT] = {NULL};
  int count = list_names(NULL, 1, names);
  const char *near = nearest_name(name, names, count);
  if (near) snprintf(hint, size, "; did you mean [%s]?", near);
  else list_all("there are", names, count, hint, size);
}

/* Parameters of earlier versions, and the value that asks for nothing. */
static const struct {
  const char *name, *without_effect, *advice;
} removed[] = {
    {"Xdmf", "off", "it was removed: leave it out, and write .xmf files with espalier-xdmf SNAPSHOT... (tools/)"},
};

int param_without_effect(const char *name, const char *value)
{
  for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
    if (strcmp(removed[i].name, name) == 0 && strcmp(removed[i].without_effect, value) == 0) return 1;
  return 0;
}

/* Parameters of GADGET that have another name here or none. Names that both programs have are not here. */
#define NO_GAS "is for gas, which feels only gravity here: leave it out"
#define NO_COSMOLOGY "is not needed, MaxSizeTimestep limits d ln a of a soft step: leave it out"
#define NO_PERIODIC "is for periodic boxes; boundaries are open here: leave it out"
#define SOFTENING "is Softening or SofteningType0 ... SofteningType5 in [Gravity], one length for all times"
#define MEMORY "is not needed, memory is taken as it is needed: leave it out"
#define FIXED_NAME "is not needed, OutputDir has files of fixed names: leave it out"
static const struct {
  const char *name, *advice;
} gadget[] = {
    {"ErrTolIntAccuracy", "is Eta in [Steps], Eta = sqrt(2 ErrTolIntAccuracy)"},
    {"ErrTolThetaMax", "is not needed: ErrTolTheta in [Gravity] is for the first force"},
    {"MinSizeTimestep", "has no counterpart, time steps have no lower limit: leave it out"},
    {"TypeOfTimestepCriterion", "is Criterion in [Steps]"},
    {"MaxRMSDisplacementFac", NO_COSMOLOGY},
    {"Softening", SOFTENING},
    {"MinGravityOpeningAngle", "is not needed: leave it out"},
    {"BoxSize", NO_PERIODIC},
    {"PeriodicBoundariesOn", NO_PERIODIC},
    {"ComovingIntegrationOn", "is Comoving in [Cosmology], off or on"},
    {"OmegaBaryon", NO_GAS},
    {"Hubble", "is not needed, H_0 is 100 km/s/Mpc in units with factors of 1/h: leave it out"},
    {"TimeOfFirstSnapshot",
     "is not needed: the first snapshot is at TimeBegin; OutputListFilename in [Output] gives other times"},
    {"OutputListOn", "is not needed: OutputListFilename in [Output] is used where it is given"},
    {"SnapFormat", "is not needed, snapshots are HDF5: leave it out"},
    {"NumFilesWrittenInParallel", "is not needed: leave it out"},
    {"MaxFilesWithConcurrentIO", "is not needed: leave it out"},
    {"TimeLimitCPU", "is the option --walltime of run"},
    {"CpuTimeBetRestartFile", "is TimeBetCheckpoints in [Checkpoints], in minutes"},
    {"Resubmit", "is not needed: espalier-job (jobscripts/) continues runs"},
    {"RestartFile", "is not needed: checkpoints are in CheckpointDir in [Checkpoints]"},
    {"EnergyFile", FIXED_NAME},
    {"InfoFile", FIXED_NAME},
    {"TimingsFile", FIXED_NAME},
    {"CpuFile", FIXED_NAME},
    {"PartAllocFactor", MEMORY},
    {"TreeAllocFactor", MEMORY},
    {"BufferSize", MEMORY},
    {"MaxMemSize", MEMORY},
    {"TreeDomainUpdateFrequency", "is RebuildInterval in [Gravity], which is tuned where it is 0"},
    {"DesNumNgb", NO_GAS},
    {"MaxNumNgbDeviation", NO_GAS},
    {"ArtBulkVisc", NO_GAS},
    {"CourantFac", NO_GAS},
    {"InitGasTemp", NO_GAS},
    {"MinGasTemp", NO_GAS},
    {"MinGasHsmlFractional", NO_GAS},
    {"CoolingOn", NO_GAS},
    {"StarformationOn", NO_GAS},
};

/* What replaces a parameter of GADGET; NULL where the name is none. Entries of the table are beginnings: GADGET numbers
 * its softenings. */
static const char *gadget_advice(const char *name)
{
  for (size_t i = 0; i < sizeof gadget / sizeof *gadget; i++)
    if (strncmp(name, gadget[i].name, strlen(gadget[i].name)) == 0 && param_find(NULL, name) < 0)
      return gadget[i].advice;
  return NULL;
}

void gadget_hint(const char *line, int in_section, char *hint, size_t size)
{
  char name[64];
  size_t length = strcspn(line, " \t");
  snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), line);
  const char *advice = gadget_advice(name);
  int own = param_find(NULL, name),
      of_gadget = line[0] == '%' || (isalpha((unsigned char)line[0]) && line[length] && !in_section);
  *hint = 0;
  if (!of_gadget) return;
  size_t at = (size_t)snprintf(
      hint, size,
      "; this looks like a parameter file of GADGET, which must be rewritten: '%s-convert FILE' "
      "does it, and '%s params --ini > run.ini' writes a file with sections in which many names are GADGET's "
      "(InitCondFile, OutputDir, TimeMax, ErrTolForceAcc); comments begin with #",
      PACKAGE_NAME, PACKAGE_NAME);
  if (at < size && own >= 0)
    snprintf(hint + at, size - at, "; %s = value belongs in [%s]", name, param_table[own].section);
  else if (at < size && advice) snprintf(hint + at, size - at, "; %s %s", name, advice);
}

void param_hint(const char *section, const char *name, char *hint, size_t size)
{
  const char *names[PARAM_LIMIT] = {NULL};
  int at = param_find(NULL, name);
  if (at >= 0) {
    snprintf(hint, size, "; it belongs in [%s]", param_table[at].section);
    return;
  }
  for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
    if (strcmp(removed[i].name, name) == 0) {
      snprintf(hint, size, "; %s", removed[i].advice);
      return;
    }
  const char *advice = gadget_advice(name);
  if (advice) {
    snprintf(hint, size, "; a parameter of GADGET, which %s", advice);
    return;
  }
  int here = section_known(section), count = list_names(here ? section : NULL, 0, names);
  const char *near = nearest_name(name, names, count);
  if (!near) near = nearest_name(name, names, list_names(NULL, 0, names));
  at = near ? param_find(NULL, near) : -1;
  if (at >= 0 && strcmp(param_table[at].section, section) == 0) snprintf(hint, size, "; did you mean '%s'?", near);
  else if (at >= 0) snprintf(hint, size, "; did you mean '%s' in [%s]?", near, param_table[at].section);
  else if (!here) snprintf(hint, size, "; doc/parameters.md has all");
  else list_all("there are", names, list_names(section, 0, names), hint, size);
}

/* Whether folder/name and `b` (may be NULL) are the same file. */
static int same_file(const char *folder, const char *name, const char *b)
{
  char path[2048];
  struct stat one, other;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return b && stat(path, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Whether two names have the same ending or the same stem, or one of them has no ending. */
static int may_be_meant(const char *name, const char *word)
{
  const char *a = strrchr(name, '.'), *b = strrchr(word, '.');
  return !a || !b || strcmp(a, b) == 0 || (a - name == b - word && strncmp(name, word, (size_t)(a - name)) == 0);
}

void file_hint(const char *path, const char *but, char *hint, size_t size)
{
  const char *slash = strrchr(path, '/');
  char folder[1024];
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  *hint = 0;
  DIR *dir = opendir(folder);
  if (!dir) return;
  const char **names = malloc(sizeof *names * FILES_LOOKED_AT);
  const char *word = slash ? slash + 1 : path, *near = NULL;
  int count = 0;
  for (struct dirent *d; names && count < FILES_LOOKED_AT && (d = readdir(dir));)
    if (d->d_name[0] != '.' && strcmp(d->d_name, word) != 0 && may_be_meant(d->d_name, word) &&
        !same_file(folder, d->d_name, but) && (names[count] = strdup(d->d_name)))
      count++;
  for (int i = 0; i < count && !near; i++) /* the user left out the ending */
    if (strncmp(names[i], word, strlen(word)) == 0 && names[i][strlen(word)] == '.') near = names[i];
  if (!near && names) near = nearest_name(word, names, count);
  if (near) snprintf(hint, size, "; did you mean '%s%s'?", slash ? folder : "", near);
  for (int i = 0; i < count; i++) free((char *)(uintptr_t)names[i]);
  free(names);
  closedir(dir);
}
