/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "cli/gadget.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HUBBLE_CGS 3.2407789e-18 /* 100 km/s/Mpc in 1/s, as GADGET has it */
enum { TIMES_MAX = 100000 };

/* --- names ------------------------------------------------------------------------------------------------------- */

/* SAME: our parameter of the same name. KNOWN: the functions below read it. Others: why there is no counterpart. */
#define SAME NULL
static const char KNOWN[] = "";
#define NO_GAS "gas feels only gravity here"
#define MEMORY "memory is taken as it is needed"
#define FIXED_NAME "tables have fixed names in OutputDir: energy.csv, steps.csv, timers.csv"
#define NO_IC "'espalier ic' makes initial conditions, of isolated systems only"
#define NO_LIGHTCONE "there are no light cones"
#define NO_SUBFIND "Groups = on finds friends-of-friends groups, without substructure"
static const struct {
  const char *name, *reason;
} names[] = {
    {"InitCondFile", KNOWN},
    {"OutputDir", KNOWN},
    {"SnapshotFileBase", SAME},
    {"NumFilesPerSnapshot", SAME},
    {"ICFormat", KNOWN},
    {"SnapFormat", KNOWN},
    {"TimeBegin", SAME},
    {"TimeMax", SAME},
    {"MaxSizeTimestep", SAME},
    {"TimeBetStatistics", SAME},
    {"UnitLength_in_cm", SAME},
    {"UnitMass_in_g", SAME},
    {"UnitVelocity_in_cm_per_s", SAME},
    {"GravityConstantInternal", SAME},
    {"ErrTolTheta", SAME},
    {"ErrTolForceAcc", SAME},
    {"TypeOfOpeningCriterion", KNOWN},
    {"ErrTolIntAccuracy", KNOWN},
    {"TypeOfTimestepCriterion", KNOWN},
    {"ComovingIntegrationOn", KNOWN},
    {"PeriodicBoundariesOn", KNOWN},
    {"BoxSize", KNOWN},
    {"Omega0", KNOWN},
    {"OmegaLambda", KNOWN},
    {"HubbleParam", SAME},
    {"Hubble", KNOWN},
    {"OutputListOn", KNOWN},
    {"OutputListFilename", KNOWN},
    {"TimeBetSnapshot", KNOWN},
    {"TimeOfFirstSnapshot", KNOWN},
    {"TimeLimitCPU", KNOWN},
    {"CpuTimeBetRestartFile", KNOWN},
    {"MinSizeTimestep", KNOWN},
    {"SofteningGas", KNOWN},
    {"SofteningHalo", KNOWN},
    {"SofteningDisk", KNOWN},
    {"SofteningBulge", KNOWN},
    {"SofteningStars", KNOWN},
    {"SofteningBndry", KNOWN},
    {"SofteningGasMaxPhys", KNOWN},
    {"SofteningHaloMaxPhys", KNOWN},
    {"SofteningDiskMaxPhys", KNOWN},
    {"SofteningBulgeMaxPhys", KNOWN},
    {"SofteningStarsMaxPhys", KNOWN},
    {"SofteningBndryMaxPhys", KNOWN},
    {"EnergyFile", FIXED_NAME},
    {"InfoFile", FIXED_NAME},
    {"TimingsFile", FIXED_NAME},
    {"CpuFile", FIXED_NAME},
    {"RestartFile", "checkpoints are folders in OutputDir/checkpoints (CheckpointDir)"},
    {"ResubmitOn", "espalier-job continues runs (doc/job-scripts.md)"},
    {"ResubmitCommand", "espalier-job continues runs (doc/job-scripts.md)"},
    {"NumFilesWrittenInParallel", "all files of a snapshot are written at once"},
    {"MaxFilesWithConcurrentIO", "all files of a snapshot are written at once"},
    {"FlushCpuTimeDiff", "tables are flushed after each soft step"},
    {"PartAllocFactor", MEMORY},
    {"TreeAllocFactor", MEMORY},
    {"BufferSize", MEMORY},
    {"MaxMemSize", MEMORY},
    {"TreeDomainUpdateFrequency", "the tree is rebuilt as it pays (RebuildInterval)"},
    {"MaxRMSDisplacementFac", "MaxSizeTimestep limits d ln a of a soft step"},
    {"ErrTolThetaMax", "the acceleration criterion has no largest angle"},
    {"ActivePartFracForNewDomainDecomp", "domains follow the work of each soft step (Balance)"},
    {"ActivePartFracForPMinsteadOfEwald", "there is no particle mesh"},
    {"TopNodeFactor", "domains are cuboids (DomainGrid)"},
    {"OmegaBaryon", NO_GAS},
    {"DesNumNgb", NO_GAS},
    {"MaxNumNgbDeviation", NO_GAS},
    {"ArtBulkViscConst", NO_GAS},
    {"CourantFac", NO_GAS},
    {"InitGasTemp", NO_GAS},
    {"MinGasTemp", NO_GAS},
    {"MinGasHsmlFractional", NO_GAS},
    {"MinEgySpec", NO_GAS},
    {"ViscosityAlphaMin", NO_GAS},
    {"GasSoftFactor", NO_GAS},
    {"MinimumComovingHydroSoftening", NO_GAS},
    {"AdaptiveHydroSofteningSpacing", NO_GAS},
    {"CoolingOn", NO_GAS},
    {"StarformationOn", NO_GAS},
    {"TreecoolFile", NO_GAS},
    {"MaxSfrTimescale", NO_GAS},
    {"TempClouds", NO_GAS},
    {"TempSupernova", NO_GAS},
    {"FactorSN", NO_GAS},
    {"FactorEVP", NO_GAS},
    {"CritOverDensity", NO_GAS},
    {"CritPhysDensity", NO_GAS},
    {"DesLinkNgb", NO_SUBFIND},
    {"ErrTolThetaSubfind", NO_SUBFIND},
    {"LightConeDefinitionFile", NO_LIGHTCONE},
    {"LightConeMassMapsNside", NO_LIGHTCONE},
    {"LightConeMassMapThickness", NO_LIGHTCONE},
    {"LightConeMassMapMaxRedshift", NO_LIGHTCONE},
    {"NSample", NO_IC},
    {"GridSize", NO_IC},
    {"PowerSpectrumType", NO_IC},
    {"PowerSpectrumFile", NO_IC},
    {"ShapeGamma", NO_IC},
    {"InputSpectrum_UnitLength_in_cm", NO_IC},
    {"PrimordialIndex", NO_IC},
    {"Sigma8", NO_IC},
    {"ReNormalizeInputSpectrum", NO_IC},
    {"SphereMode", NO_IC},
    {"Seed", NO_IC},
};
enum { NAMES = sizeof names / sizeof *names };

/* GADGET-4's softenings, with the number of a type or of a class behind the name (ClassN was TypeN in its first
 * version). */
static const char *const numbered[] = {"SofteningClassOfPartType", "SofteningComovingClass", "SofteningComovingType",
                                       "SofteningMaxPhysClass", "SofteningMaxPhysType"};
enum { CLASS_OF_TYPE, NUMBERED = sizeof numbered / sizeof *numbered };

/* The number behind `word`, or -1 where the name is another one. */
static int number_of(const char *name, const char *word)
{
  size_t n = strlen(word);
  int digits = strncmp(name, word, n) == 0 && name[n] && strspn(name + n, "0123456789") == strlen(name + n) &&
               strlen(name + n) < 4;
  return digits ? atoi(name + n) : -1;
}

static int is_numbered(const char *name)
{
  for (int k = 0; k < NUMBERED; k++)
    if (number_of(name, numbered[k]) >= 0) return 1;
  return 0;
}

/* Index in the table, or -1. */
static int find_name(const char *name)
{
  for (int k = 0; k < NAMES; k++)
    if (strcmp(names[k].name, name) == 0) return k;
  return -1;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static int bad_line(const struct gadget_file *file, int line, struct fault *fault, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int bad_line(const struct gadget_file *file, int line, struct fault *fault, const char *format, ...)
{
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return fault_set(fault, "%.500s:%d: %s", file->path, line, text);
}

static int check_name(const struct gadget_file *file, const char *name, int line, struct fault *fault)
{
  const char *all[NAMES];
  if (name[0] == '[')
    return bad_line(file, line, fault,
                    "found '%.60s': expected a parameter file of GADGET (lines 'Name value'), not an ini", name);
  for (int k = 0; k < file->count; k++)
    if (strcmp(file->line[k].name, name) == 0)
      return bad_line(file, line, fault, "%s is given twice; the first is in line %d", name, file->line[k].line);
  if (find_name(name) >= 0 || is_numbered(name)) return 0;
  for (int k = 0; k < NAMES; k++) all[k] = names[k].name;
  const char *near = nearest_name(name, all, NAMES);
  return bad_line(file, line, fault,
                  "%.60s is no parameter of GADGET-2 or GADGET-4%s%s%s (a line of another code: put %% before it)",
                  name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Read a line of text. 0 or -1. */
static int take_line(struct gadget_file *file, char *text, int line, struct fault *fault)
{
  for (char *c = text; *c; c++)
    if (iscntrl((unsigned char)*c) && !isspace((unsigned char)*c))
      return bad_line(file, line, fault, "found a byte (%d) that is no text", (unsigned char)*c);
  char *rest, *name = strtok_r(text, " \t\r\n", &rest), *value = name ? strtok_r(NULL, " \t\r\n", &rest) : NULL;
  if (!name || name[0] == '%' || name[0] == '#') return 0;
  if (check_name(file, name, line, fault)) return -1;
  if (!value || value[0] == '%' || value[0] == '#')
    return bad_line(file, line, fault, "%s: expected a value behind the name", name);
  if (value[0] == '=') return bad_line(file, line, fault, "%s: expected a value behind the name, found '='", name);
  if (strlen(value) >= GADGET_TEXT)
    return bad_line(file, line, fault, "%s: the value is longer than %d characters", name, GADGET_TEXT - 1);
  if (file->count == GADGET_LINES) return bad_line(file, line, fault, "more than %d parameters", GADGET_LINES);
  struct gadget_line *l = &file->line[file->count++];
  snprintf(l->name, sizeof l->name, "%s", name);
  snprintf(l->value, sizeof l->value, "%s", value);
  l->line = line;
  return 0;
}

int gadget_read(struct gadget_file *gadget_file, const char *path, struct fault *fault)
{
  char text[4096];
  struct stat st;
  gadget_file->path = path;
  gadget_file->count = 0;
  int other = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
  FILE *file = other ? NULL : fopen(path, "r");
  if (!file)
    return fault_set(fault, "%s: expected a parameter file of GADGET: %s", path,
                     other ? "this is no file" : strerror(errno));
  for (int line = 1; !fault->text[0] && fgets(text, sizeof text, file); line++) {
    if (!strchr(text, '\n') && !feof(file))
      bad_line(gadget_file, line, fault, "a line of more than %zu characters", sizeof text - 2);
    else take_line(gadget_file, text, line, fault);
  }
  if (ferror(file)) fault_set(fault, "%s: %s", path, strerror(errno));
  fclose(file);
  if (!fault->text[0] && gadget_file->count == 0)
    fault_set(fault, "%s: expected a parameter file of GADGET, found no parameter", path);
  return fault->text[0] ? -1 : 0;
}

/* --- values ------------------------------------------------------------------------------------------------------ */

struct conversion {
  const struct gadget_file *g;
  struct gadget_run *r;
  struct fault *f;
};

static const struct gadget_line *find(const struct conversion *conversion, const char *name)
{
  for (int k = 0; k < conversion->g->count; k++)
    if (strcmp(conversion->g->line[k].name, name) == 0) return &conversion->g->line[k];
  return NULL;
}

/* The number of a parameter, `absent` where it is not given. A value that is no number is a fault. */
static double number(const struct conversion *conversion, const char *name, double absent)
{
  const struct gadget_line *l = find(conversion, name);
  char *end;
  if (!l) return absent;
  double x = strtod(l->value, &end);
  if (*end || end == l->value || !isfinite(x)) {
    bad_line(conversion->g, l->line, conversion->f, "%s: expected a number, found '%.60s'", name, l->value);
    return absent;
  }
  return x;
}

/* A flag or a choice: a whole number from 0 to `largest`. */
static int choice(const struct conversion *conversion, const char *name, int absent, int smallest, int largest)
{
  const struct gadget_line *l = find(conversion, name);
  double x = number(conversion, name, absent);
  if (l && !conversion->f->text[0] && !(x >= smallest && x <= largest && x == floor(x)))
    bad_line(conversion->g, l->line, conversion->f, "%s: expected a whole number from %d to %d, found '%.60s'", name,
             smallest, largest, l->value);
  return conversion->f->text[0] ? absent : (int)x;
}

/* Set our parameter from a line of the file. `note`: for the ini; NULL: that which is there. */
static void set(const struct conversion *conversion, const char *name, const char *value,
                const struct gadget_line *from, const char *note)
{
  int i = param_find(NULL, name);
  struct fault reason = {""};
  if (conversion->f->text[0]) return;
  if (params_set(&conversion->r->par, &param_table[i], value, &reason)) {
    bad_line(conversion->g, from->line, conversion->f, "%s: %.300s", from->name, reason.text);
    return;
  }
  conversion->r->origin.line[i] = from->line;
  if (note) snprintf(conversion->r->note[i], sizeof conversion->r->note[i], "%s", note);
}

static void set_number(const struct conversion *conversion, const char *name, double x, const struct gadget_line *from,
                       const char *note)
{
  char text[40];
  snprintf(text, sizeof text, "%.10g", x);
  set(conversion, name, text, from, note);
}

static void without(const struct conversion *conversion, const struct gadget_line *line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void without(const struct conversion *conversion, const struct gadget_line *gadget_line, const char *format, ...)
{
  va_list args;
  if (!gadget_line || conversion->r->notes == GADGET_LINES) return;
  int n = conversion->r->notes, line = (int)(gadget_line - conversion->g->line), known = 0;
  conversion->r->without[n].line = line;
  va_start(args, format);
  vsnprintf(conversion->r->without[n].text, sizeof conversion->r->without[n].text, format, args);
  va_end(args);
  for (int k = 0; k < n; k++)
    known |= conversion->r->without[k].line == line &&
             strcmp(conversion->r->without[k].text, conversion->r->without[n].text) == 0;
  conversion->r->notes += !known; /* a class of softenings serves several types */
}

/* --- meanings ---------------------------------------------------------------------------------------------------- */

static void convert_files(const struct conversion *conversion)
{
  static const char *const formats[] = {"auto", "gadget1", "gadget2", "hdf5"};
  char path[GADGET_TEXT + 16];
  const struct gadget_line *input = find(conversion, "InitCondFile"), *output = find(conversion, "OutputDir"), *l;
  int format = choice(conversion, "ICFormat", 0, 1, 3);
  if ((l = find(conversion, "ICFormat"))) set(conversion, "ICFormat", formats[format], l, "");
  if (input) { /* GADGET adds the ending of HDF5 files, here that of sets of files only is added */
    size_t n = strlen(input->value);
    int has = n > 5 && strcmp(input->value + n - 5, ".hdf5") == 0;
    snprintf(path, sizeof path, "%s.0.hdf5", input->value);
    int several = access(path, F_OK) == 0;
    snprintf(path, sizeof path, "%s%s", input->value, format == 3 && !has && !several ? ".hdf5" : "");
    set(conversion, "InitCondFile", path, input, "");
  }
  if (output) {
    snprintf(path, sizeof path, "%s", output->value);
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--) path[n - 1] = 0;
    set(conversion, "OutputDir", path, output, "");
  }
  if ((l = find(conversion, "SnapFormat")) && choice(conversion, "SnapFormat", 3, 1, 3) != 3)
    without(conversion, l, "snapshots are HDF5, in GADGET-4's layout");
  if ((l = find(conversion, "CpuTimeBetRestartFile")))
    set_number(conversion, "TimeBetCheckpoints", number(conversion, l->name, 0) / 60, l,
               "minutes; in GADGET CpuTimeBetRestartFile, in seconds");
  if ((l = find(conversion, "TimeLimitCPU"))) {
    double t = number(conversion, l->name, 0);
    if (!(t > 0 && t < 1e9))
      bad_line(conversion->g, l->line, conversion->f, "%s: expected seconds from above 0 to 1e9, found '%.60s'",
               l->name, l->value);
    else
      without(conversion, l,
              "give it to the command: espalier run --walltime %d:%02d:%02d (GADGET stopped after 85 %% of it)",
              (int)(t / 3600), (int)(t / 60) % 60, (int)fmod(t, 60));
  }
}

static void convert_cosmology(const struct conversion *conversion)
{
  const struct gadget_line *l, *box = find(conversion, "BoxSize");
  int comoving = choice(conversion, "ComovingIntegrationOn", 0, 0, 1);
  if (choice(conversion, "PeriodicBoundariesOn", 0, 0, 1)) {
    bad_line(conversion->g, find(conversion, "PeriodicBoundariesOn")->line, conversion->f,
             "PeriodicBoundariesOn = 1: periodic boxes have no counterpart, boundaries are open here");
    return;
  }
  if (box && number(conversion, "BoxSize", 0) > 0)
    without(conversion, box, "boundaries are open here; a run of GADGET-4 with PERIODIC has no counterpart");
  if (comoving) {
    set(conversion, "Comoving", "on", find(conversion, "ComovingIntegrationOn"),
        "GADGET: ComovingIntegrationOn; a sphere about the origin, vacuum around it");
    if ((l = find(conversion, "Omega0"))) set(conversion, "Omega0", l->value, l, "");
    if ((l = find(conversion, "OmegaLambda"))) set(conversion, "OmegaLambda", l->value, l, "");
    double expected = HUBBLE_CGS * number(conversion, "UnitLength_in_cm", 0) /
                      number(conversion, "UnitVelocity_in_cm_per_s", 1),
           h = number(conversion, "Hubble", expected);
    if (!conversion->f->text[0] && !(fabs(h - expected) <= 1e-3 * expected))
      bad_line(conversion->g, find(conversion, "Hubble")->line, conversion->f,
               "Hubble: H_0 is 100 km/s/Mpc in units with factors of 1/h here: expected %.6g, found '%.60s'", expected,
               find(conversion, "Hubble")->value);
  } else if (number(conversion, "OmegaLambda", 0) != 0) {
    without(conversion, find(conversion, "OmegaLambda"),
            "without comoving coordinates there is no cosmological constant");
  }
}

static void convert_outputs(const struct conversion *conversion)
{
  const struct gadget_line *list = find(conversion, "OutputListFilename"),
                           *between = find(conversion, "TimeBetSnapshot"),
                           *first = find(conversion, "TimeOfFirstSnapshot");
  int comoving = choice(conversion, "ComovingIntegrationOn", 0, 0, 1),
      from_list = choice(conversion, "OutputListOn", 0, 0, 1);
  if (from_list && !list)
    bad_line(conversion->g, find(conversion, "OutputListOn")->line, conversion->f,
             "OutputListOn = 1: OutputListFilename is missing");
  else if (from_list) set(conversion, "OutputListFilename", list->value, list, "");
  if (from_list || !between || conversion->f->text[0]) return;
  double begin = number(conversion, "TimeBegin", 0), end = number(conversion, "TimeMax", 0),
         step = number(conversion, "TimeBetSnapshot", 0), at = number(conversion, "TimeOfFirstSnapshot", begin);
  if (comoving && !(step > 1 && at > 0)) {
    bad_line(conversion->g, between->line, conversion->f,
             "TimeBetSnapshot: expected a factor above 1 between expansion factors, of which the first "
             "(TimeOfFirstSnapshot) is above 0, found '%.60s'",
             between->value);
    return;
  }
  if (!comoving && step < 0)
    bad_line(conversion->g, between->line, conversion->f,
             "TimeBetSnapshot: expected a time of at least 0, found '%.60s'", between->value);
  double number_of_steps = step > 0 ? (at - begin) / step : 0;
  int regular = !comoving && (step == 0 || fabs(number_of_steps - round(number_of_steps)) < 1e-6);
  if (regular) {
    set(conversion, "TimeBetSnapshot", between->value, between, "");
    if (number_of_steps > 0.5) without(conversion, first, "snapshots begin at TimeBegin");
    return;
  }
  if ((comoving ? log(end / at) / log(step) : (end - at) / step) > TIMES_MAX) {
    bad_line(conversion->g, between->line, conversion->f, "TimeBetSnapshot = %.60s: more than %d snapshots",
             between->value, TIMES_MAX);
    return;
  }
  conversion->r->first = at;
  conversion->r->factor = comoving ? step : 0;
  conversion->r->interval = comoving ? 0 : step;
}

static void convert_accuracy(const struct conversion *conversion)
{
  const struct gadget_line *l;
  if ((l = find(conversion, "TypeOfOpeningCriterion")))
    set(conversion, "TypeOfOpeningCriterion", choice(conversion, l->name, 1, 0, 1) ? "acceleration" : "angle", l, "");
  if (find(conversion, "ErrTolForceAcc"))
    snprintf(conversion->r->note[param_find(NULL, "ErrTolForceAcc")], sizeof *conversion->r->note,
             "of the radius of a cell, in GADGET of its side; without this line by Accuracy");
  if ((l = find(conversion, "TypeOfTimestepCriterion")) && choice(conversion, l->name, 0, 0, 9) != 0)
    without(conversion, l, "only criterion 0 of GADGET, by the acceleration, is known here (Criterion = a)");
  if ((l = find(conversion, "MinSizeTimestep")) && number(conversion, l->name, 0) > 0)
    without(conversion, l, "time steps have no lower limit");
  if (!(l = find(conversion, "ErrTolIntAccuracy"))) return;
  double x = number(conversion, l->name, 0);
  if (!(x > 0))
    bad_line(conversion->g, l->line, conversion->f, "%s: expected a number above 0, found '%.60s'", l->name, l->value);
  set(conversion, "Scheme", "block", l, "individual time steps, as in GADGET");
  set(conversion, "Criterion", "a", l, "steps by the acceleration, as in GADGET; without these lines by Accuracy");
  set_number(conversion, "Eta", sqrt(2 * x), l, "GADGET: sqrt(2 ErrTolIntAccuracy)");
}

/* The line with the softening of a type: GADGET-2's names, or those of GADGET-4's classes; NULL: none. */
static const struct gadget_line *softening_line(const struct conversion *conversion, int type, int largest)
{
  static const char *const types[] = {"Gas", "Halo", "Disk", "Bulge", "Stars", "Bndry"};
  char name[64];
  snprintf(name, sizeof name, "Softening%s%s", types[type], largest ? "MaxPhys" : "");
  const struct gadget_line *l = find(conversion, name);
  if (l) return l;
  snprintf(name, sizeof name, "%s%d", numbered[CLASS_OF_TYPE], type);
  const struct gadget_line *of = find(conversion, name);
  int class = of ? choice(conversion, name, type, 0, 999) : type;
  for (int k = largest ? 3 : 1; k < (largest ? 5 : 3); k++) {
    snprintf(name, sizeof name, "%s%d", numbered[k], class);
    if ((l = find(conversion, name))) return l;
  }
  if (of && !largest)
    bad_line(conversion->g, of->line, conversion->f, "%s = %s: SofteningComovingClass%d is missing", of->name,
             of->value, class);
  return NULL;
}

static void convert_softenings(const struct conversion *conversion)
{
  enum { TYPES = 6 };
  const struct gadget_line *line[TYPES], *one = NULL;
  double length[TYPES], longest = 0;
  int differ = 0, comoving = choice(conversion, "ComovingIntegrationOn", 0, 0, 1);
  for (int t = 0; t < TYPES; t++) {
    line[t] = softening_line(conversion, t, 0);
    length[t] = line[t] ? number(conversion, line[t]->name, 0) : 0;
    if (length[t] < 0)
      bad_line(conversion->g, line[t]->line, conversion->f, "%s: expected a length of at least 0, found '%.60s'",
               line[t]->name, line[t]->value);
    if (length[t] > longest) {
      longest = length[t];
      one = line[t];
    }
  }
  if (conversion->f->text[0]) return;
  if (!one) {
    fault_set(conversion->f,
              "%s: no softening above 0 was found: SofteningHalo and others, or SofteningComovingClass0 and others, "
              "are missing",
              conversion->g->path);
    return;
  }
  set_number(conversion, "Softening", longest, one,
             "Plummer's; GADGET's spline of the same central potential is Newtonian beyond 2.8 of it");
  for (int t = 0; t < TYPES; t++) differ |= length[t] > 0 && length[t] < longest;
  for (int t = 0; t < TYPES; t++) {
    char name[32];
    snprintf(name, sizeof name, "SofteningType%d", t);
    if (differ && length[t] > 0) set(conversion, name, line[t]->value, line[t], "");
    if (line[t] && length[t] == 0)
      without(conversion, line[t],
              "forces are softened here: particles of such a type, if there are any, get Softening = %g", longest);
    const struct gadget_line *largest = comoving ? softening_line(conversion, t, 1) : NULL;
    if (largest && number(conversion, largest->name, 0) < length[t] * number(conversion, "TimeMax", 1) * (1 - 1e-9))
      without(conversion, largest, "the softening is one comoving length at all times");
  }
}

static int by_line(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static const char *const needed[] = {"InitCondFile",
                                     "OutputDir",
                                     "TimeBegin",
                                     "TimeMax",
                                     "UnitLength_in_cm",
                                     "UnitMass_in_g",
                                     "UnitVelocity_in_cm_per_s"};

int gadget_convert(struct gadget_run *run, const struct gadget_file *file, struct fault *fault)
{
  struct conversion c = {file, run, fault};
  memset(run, 0, sizeof *run);
  params_defaults(&run->par);
  run->origin.file = file->path;
  for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
    if (!find(&c, needed[k])) return fault_set(fault, "%s: %s is missing", file->path, needed[k]);
  convert_files(&c);
  convert_cosmology(&c);
  convert_outputs(&c);
  convert_accuracy(&c);
  convert_softenings(&c);
  for (int k = 0; k < file->count && !fault->text[0]; k++) {
    const struct gadget_line *l = &file->line[k];
    int at = find_name(l->name);
    /* the default, and nothing depends on it */
    if (!run->par.Comoving && strcmp(l->name, "HubbleParam") == 0 && number(&c, l->name, 0) == 1) continue;
    if (at >= 0 && names[at].reason == SAME) set(&c, l->name, l->value, l, NULL);
    else if (at >= 0 && names[at].reason != KNOWN) without(&c, l, "%s", names[at].reason);
  }
  if (fault->text[0]) return -1;
  qsort(run->without, (size_t)run->notes, sizeof *run->without, by_line);
  if (!(run->par.TimeMax > run->par.TimeBegin))
    return bad_line(file, find(&c, "TimeMax")->line, fault, "TimeMax = %g: expected a time after TimeBegin = %g",
                    run->par.TimeMax, run->par.TimeBegin);
  return params_check_rules(&run->par, &run->origin, fault);
}
