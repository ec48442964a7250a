/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands force and study. */
#include <config.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/watchdog.h"
#include "cli/commands.h"
#include "cli/commands_trace.h"
#include "cli/overrides.h"
#include "forecast/time_study.h"
#include "forecast/time_text.h"
#include "params/params_nearest.h"
#include "study/force.h"
#include "study/study.h"
#include "study/study_text.h"

/* --- force ------------------------------------------------------------------------------------------------------- */

/* Read numbers separated by commas, each within [min_value, max_value]; `whole`: whole numbers. `list`: [STUDY_MAX].
 * Returns their number, or -1. */
static int read_list(const char *text, double min_value, double max_value, int whole, double *list)
{
  char word[32];
  int count = 0;
  for (const char *at = text;; at++) {
    size_t length = strcspn(at, ",");
    long long n = 0;
    if (count == STUDY_MAX || length == 0 || length >= sizeof word) return -1;
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    if (whole ? command_whole(word, (long long)min_value, (long long)max_value, &n) : command_real(word, &list[count]))
      return -1;
    if (whole) list[count] = (double)n;
    if (!(list[count] >= min_value && list[count] <= max_value)) return -1;
    count++;
    at += length;
    if (!*at) return count;
  }
}

/* Read a number or "2^NUMBER". `power`: the number is the exponent x of Delta = 2^-x. 0 or -1. */
static int read_delta(const char *word, int power, double *x)
{
  int of_two = strncmp(word, "2^", 2) == 0;
  if (command_real(of_two ? word + 2 : word, x)) return -1;
  if (of_two) *x = power ? -*x : exp2(*x);
  return isfinite(*x) ? 0 : -1;
}

/* Read numbers and ranges FIRST:LAST or FIRST:LAST:STEP (default step 1), separated by commas. `list`: [limit].
 * Returns the number of values, or -1. */
static int read_deltas(const char *text, int power, double *list, int limit)
{
  int count = 0;
  for (const char *at = text;; at++) {
    char word[96], *colon[2];
    double range[3] = {0, 0, 1};
    size_t length = strcspn(at, ",");
    if (length == 0 || length >= sizeof word) return -1;
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    colon[0] = strchr(word, ':');
    colon[1] = colon[0] ? strchr(colon[0] + 1, ':') : NULL;
    for (int k = 0; k < 2; k++)
      if (colon[k]) *colon[k] = 0;
    if (read_delta(word, power, &range[0])) return -1;
    range[1] = range[0];
    if (colon[0] && read_delta(colon[0] + 1, power, &range[1])) return -1;
    if (colon[1] && command_real(colon[1] + 1, &range[2])) return -1;
    if (!(range[2] > 0) || range[1] < range[0]) return -1;
    double steps = floor((range[1] - range[0]) / range[2] + 1e-9);
    if (!(steps < limit - count)) return -1;
    for (int k = 0; k <= (int)steps; k++) list[count++] = range[0] + k * range[2];
    at += length;
    if (!*at) return count;
  }
}

/* Whether the criterion's parameter can have this value. A power between 0 and 1 would give a Delta near 1; the user
 * meant Delta itself. */
static int good_delta(const struct criterion *criterion, double x)
{
  if (criterion->by_power) return x == 0 || (x >= 1 && x <= criterion->most);
  return x > 0 && x <= criterion->most;
}

static int bad_deltas(const struct command *self, const struct comm *comm, const char *text)
{
  return command_misused(
      self, comm,
      "option --delta: expected at most %d numbers and ranges as in 5:15 or 5:15:0.5 with commas between "
      "them, found '%s'",
      FORCE_DELTAS, text);
}

/* Read --delta for the criterion of the parameters. Returns STATUS_OK or STATUS_USAGE. */
static int take_deltas(const struct command *self, const struct comm *comm, const struct params *par, const char *text,
                       struct force_options *options)
{
  const struct criterion *criterion = criterion_of(par);
  int k = 0;
  options->delta_count = read_deltas(text, criterion->by_power, options->delta, FORCE_DELTAS);
  if (options->delta_count < 1) return bad_deltas(self, comm, text);
  while (k < options->delta_count && good_delta(criterion, options->delta[k])) k++;
  if (k == options->delta_count) return STATUS_OK;
  double x = options->delta[k];
  if (criterion->by_power && x > 0 && x < 1)
    return command_misused(
        self, comm,
        "option --delta: numbers are powers, Delta = 2^-POWER, and %g stands for Delta = %.4g; for Delta = "
        "%g give %.4g",
        x, exp2(-x), x, -log2(x));
  return command_misused(self, comm, "option --delta: expected %s, found %g", criterion->expected, x);
}

static int act_force(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  enum { DIRECT = 256, BENCH, DELTA, OVERWRITE, AT, EXACT };
  static const struct option longs[] = {
      {"direct", required_argument, NULL, DIRECT}, {"bench", no_argument, NULL, BENCH},
      {"delta", required_argument, NULL, DELTA},   {"overwrite", no_argument, NULL, OVERWRITE},
      {"at", required_argument, NULL, AT},         {"exact", no_argument, NULL, EXACT},
      {"output", required_argument, NULL, 'o'},    COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct force_options options = {.direct = 0};
  const char *deltas = NULL;
  long long direct;
  int status = STATUS_OK, option;
  while ((option = command_option(self, comm, argc, argv, COMMAND_SHORT "P:o:", longs, &status)) != -1)
    switch (option) {
    case COMMAND_DONE: return status;
    case BENCH: options.bench = 1; break;
    case OVERWRITE: options.overwrite = 1; break;
    case DELTA:
      deltas = optarg;
      if (read_deltas(deltas, 1, options.delta, FORCE_DELTAS) < 1 &&
          read_deltas(deltas, 0, options.delta, FORCE_DELTAS) < 1)
        return bad_deltas(self, comm, deltas);
      break;
    case AT: options.at = optarg; break;
    case EXACT: options.exact = 1; break;
    case 'o': options.output = optarg; break;
    case 'P':
      if (overrides_add(&overrides, optarg)) return overrides_misused(self, comm, optarg);
      break;
    case DIRECT:
      if (command_whole(optarg, 1, FORCE_DIRECT_MAX, &direct))
        return command_misused(self, comm,
                               "option --direct: expected a whole number of particles, at most %d, found '%s'",
                               FORCE_DIRECT_MAX, optarg);
      options.direct = direct;
    }
  if (options.exact && !options.at)
    return command_misused(self, comm, "option --exact: give the points with --at POINTS too");
  if (options.at && (options.direct > 0 || options.bench || deltas))
    return command_misused(
        self, comm,
        "option --at: not together with --direct, --bench or --delta; --exact gives direct sums at the points");
  const char *file = command_operand(self, comm, argc, argv, "parameter file", &status);
  if (!file) return status;
  struct params par;
  struct fault f = {""};
  struct param_origin origin;
  if (command_load_params(comm, file, &overrides, 1, NULL, &par, &origin, &f)) return command_failed(comm, &f);
  if (deltas && (status = take_deltas(self, comm, &par, deltas, &options)) != STATUS_OK) return status;
  watchdog_start(par.WatchdogMinutes);
  status = force(comm, &par, &options);
  watchdog_stop();
  return status;
}

const struct command command_force = {
    "force",
    "force [-P Section:Name=value]... [--direct M] [--bench] [--delta LIST] [--at POINTS [--exact]] [-o OUT] FILE.ini",
    "Compute the forces of the initial state and print their times, interactions and errors",
    "  -P Section:Name=value   replace the value of a parameter of the file, which may have a unit\n"
    "                          (Gravity:Softening='50 pc'); may be repeated\n"
    "      --direct M          print errors against the direct sum, for M particles spread evenly over the ids\n"
    "      --bench             compute the forces twice as warm-up, then print medians of five repeats\n"
    "      --delta LIST        print a curve of error against time: a table with a row for each of these values of "
    "the\n"
    "                          criterion's parameter, with --bench and --direct (M is 4096 where it is not given). "
    "LIST has\n"
    "                          numbers and ranges FIRST:LAST or FIRST:LAST:STEP, separated by commas. With the "
    "acceleration\n"
    "                          criterion numbers are powers: 5:15 (or 2^-5:2^-15) is Delta = 2^-5, 2^-6, ... 2^-15\n"
    "      --at POINTS         compute acceleration and potential at points alone, with the forces of a run. POINTS is "
    "text with\n"
    "                          lines x y z, or FILE.hdf5:/DATASET of shape N x 3; in the units and the frame of the "
    "input\n"
    "      --exact             with --at: by direct sums in double precision\n"
    "  -o, --output OUT        write accelerations and potentials (HDF5), or the curve (CSV); of points: HDF5 where "
    "OUT ends\n"
    "                          in .hdf5 or .h5, else CSV [the terminal]\n"
    "      --overwrite         replace OUT if it exists\n",
    act_force};

/* --- study ------------------------------------------------------------------------------------------------------- */

static int take_ranks(const char *text, struct study_options *options)
{
  double list[STUDY_MAX];
  options->rank_count = read_list(text, 1, STUDY_RANKS_MAX, 1, list);
  for (int k = 0; k < options->rank_count; k++) options->ranks[k] = (int)list[k];
  return options->rank_count;
}

/* Read names of schemes separated by commas. 0 or -1. */
static int take_schemes(const char *text, enum study_scheme *scheme, int *count)
{
  for (*count = 0;;) {
    size_t length = strcspn(text, ",");
    int k = 0;
    while (k < STUDY_SCHEMES &&
           (strlen(study_scheme_names[k]) != length || strncmp(text, study_scheme_names[k], length) != 0))
      k++;
    if (k == STUDY_SCHEMES || *count == STUDY_SCHEMES) return -1;
    scheme[(*count)++] = (enum study_scheme)k;
    if (!text[length]) return 0;
    text += length + 1;
  }
}

/* The number of the study after "study" in `names`, or -1 with *status set. */
static int take_study(const struct command *self, const struct comm *comm, int argc, char **argv, int *status)
{
  static const char *const names[] = {"let", "time", "machine", "trace"};
  static const struct option longs[] = {COMMAND_LONG};
  for (int k = 0; k < 4; k++)
    if (argc > 1 && strcmp(argv[1], names[k]) == 0) return k;
  int asks = argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-V") ||
                          !strcmp(argv[1], "--version"));
  if (asks && command_option(self, comm, argc, argv, COMMAND_SHORT, longs, status) == COMMAND_DONE) return -1;
  if (argc == 1 || argv[1][0] == '-')
    *status = command_misused(self, comm, "a study is missing: let, time, machine or trace");
  else {
    const char *near = nearest_name(argv[1], names, 4);
    *status = near ? command_misused(self, comm, "unknown study '%s'; did you mean '%s'?", argv[1], near)
                   : command_misused(self, comm, "unknown study '%s'; expected let, time, machine or trace", argv[1]);
  }
  return -1;
}

/* A usage error where options of "study let" exclude each other. */
static int check_let_options(const struct command *self, const struct comm *comm, const struct study_options *options)
{
  if (options->domains && !options->output)
    return command_misused(self, comm,
                           "option --domains: rows of domains are written to a table only: give -o TABLE.csv too");
  if ((options->trace.ti || options->trace.goal || options->trace.events) &&
      (options->rank_count != 1 || options->r1_count > 1 || options->scheme_count > 1))
    return command_misused(self, comm,
                           "option --trace: give one number of ranks with --ranks, and at most one --r1 and --scheme");
  return STATUS_OK;
}

static int run_let(const struct comm *comm, const char *file, const struct overrides *overrides,
                   const struct study_options *options)
{
  struct params par;
  struct fault f = {""};
  struct param_origin origin;
  if (command_load_params(comm, file, overrides, 1, NULL, &par, &origin, &f)) return command_failed(comm, &f);
  watchdog_start(par.WatchdogMinutes);
  int status = study_let(comm, &par, options);
  watchdog_stop();
  return status;
}

static int act_let(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  enum { RANKS = 256, RADII, DOMAINS, OVERWRITE, SCHEME, PAIRS, TRACE, DEVICE };
  static const struct option longs[] = {
      {"ranks", required_argument, NULL, RANKS},   {"r1", required_argument, NULL, RADII},
      {"domains", no_argument, NULL, DOMAINS},     {"overwrite", no_argument, NULL, OVERWRITE},
      {"output", required_argument, NULL, 'o'},    {"scheme", required_argument, NULL, SCHEME},
      {"pairs", required_argument, NULL, PAIRS},   {"trace", required_argument, NULL, TRACE},
      {"device", required_argument, NULL, DEVICE}, COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct study_options options = {.output = NULL};
  int status = STATUS_OK, option;
  take_ranks("2,4,8,16,32,64,128", &options);
  while ((option = command_option(self, comm, argc - 1, argv + 1, COMMAND_SHORT "P:o:", longs, &status)) != -1)
    switch (option) {
    case COMMAND_DONE: return status;
    case DOMAINS: options.domains = 1; break;
    case OVERWRITE: options.overwrite = 1; break;
    case 'o': options.output = optarg; break;
    case 'P':
      if (overrides_add(&overrides, optarg)) return overrides_misused(self, comm, optarg);
      break;
    case RANKS:
      if (take_ranks(optarg, &options) < 1)
        return command_misused(
            self, comm,
            "option --ranks: expected at most %d whole numbers from 1 to %d with commas between them, found "
            "'%s'",
            STUDY_MAX, STUDY_RANKS_MAX, optarg);
      break;
    case PAIRS: options.pairs = optarg; break;
    case DEVICE:
      if (strcmp(optarg, "cpu") != 0 && strcmp(optarg, "gpu") != 0)
        return command_misused(self, comm, "option --device: expected cpu or gpu, found '%s'", optarg);
      options.as_device = strcmp(optarg, "gpu") == 0;
      break;
    case TRACE:
      if (take_trace_output(self, comm, argc - 1, argv + 1, &options.trace)) return STATUS_USAGE;
      break;
    case SCHEME:
      if (take_schemes(optarg, options.scheme, &options.scheme_count))
        return command_misused(
            self, comm,
            "option --scheme: expected shared, block or hybrid, or several with commas between them, found '%s'",
            optarg);
      break;
    case RADII:
      options.r1_count = read_list(optarg, 1e-3, 100, 0, options.r1);
      if (options.r1_count < 1)
        return command_misused(
            self, comm,
            "option --r1: expected at most %d numbers from 0.001 to 100 with commas between them, found '%s'",
            STUDY_MAX, optarg);
    }
  status = check_let_options(self, comm, &options);
  if (status != STATUS_OK) return status;
  const char *file = command_operand(self, comm, argc - 1, argv + 1, "parameter file", &status);
  return file ? run_let(comm, file, &overrides, &options) : status;
}

/* --- study time, study machine ----------------------------------------------------------------------------------- */

static int take_many_ranks(const char *text, struct time_options *options)
{
  double list[STUDY_MAX];
  options->rank_count = read_list(text, 1, TIME_RANKS_MAX, 1, list);
  for (int k = 0; k < options->rank_count; k++) options->ranks[k] = (int)list[k];
  return options->rank_count;
}

/* The options of study time but those of the parameters. Returns STATUS_OK or STATUS_USAGE. */
static int take_time_option(const struct command *self, const struct comm *comm, int option,
                            struct time_options *options, const char *also[], int *files)
{
  switch (option) {
  case 'm': options->machine = optarg; break;
  case 'o': options->output = optarg; break;
  case 'a':
    if (*files == TIME_FILES) return command_misused(self, comm, "option --also: at most %d times", TIME_FILES - 1);
    also[(*files)++] = optarg;
    break;
  case 'w':
    if (command_real(optarg, &options->weak) || !(options->weak >= 1 && options->weak <= 1e12))
      return command_misused(
          self, comm, "option --weak: expected a number of particles per rank from 1 to 1e12, found '%s'", optarg);
    break;
  case 's':
    if (take_schemes(optarg, options->scheme, &options->scheme_count))
      return command_misused(
          self, comm,
          "option --scheme: expected shared, block or hybrid, or several with commas between them, found '%s'", optarg);
    break;
  case 'r':
    if (take_many_ranks(optarg, options) < 1)
      return command_misused(
          self, comm,
          "option --ranks: expected at most %d whole numbers from 1 to %d with commas between them, found '%s'",
          STUDY_MAX, TIME_RANKS_MAX, optarg);
    options->any_ranks = 0;
    break;
  case 'O': options->overwrite = 1;
  }
  return STATUS_OK;
}

static int act_time(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  static const struct option longs[] = {
      {"machine", required_argument, NULL, 'm'}, {"scheme", required_argument, NULL, 's'},
      {"ranks", required_argument, NULL, 'r'},   {"weak", required_argument, NULL, 'w'},
      {"also", required_argument, NULL, 'a'},    {"overwrite", no_argument, NULL, 'O'},
      {"output", required_argument, NULL, 'o'},  COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct time_options options = {.scheme = {STUDY_SHARED, STUDY_BLOCK, STUDY_HYBRID}, .scheme_count = STUDY_SCHEMES};
  const char *path[TIME_FILES];
  int status = STATUS_OK, option, files = 1;
  take_many_ranks("1,2,4,16,64,256,1024", &options);
  options.any_ranks = 1;
  while ((option = command_option(self, comm, argc - 1, argv + 1, COMMAND_SHORT "P:o:", longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    if (option == 'P' && overrides_add(&overrides, optarg)) return overrides_misused(self, comm, optarg);
    if (option != 'P' && take_time_option(self, comm, option, &options, path, &files)) return STATUS_USAGE;
  }
  if (!options.machine)
    return command_misused(self, comm,
                           "option --machine NAME is missing: the name of a machine that comes with the program, such "
                           "as cpu-node, or a machine file");
  if (!(path[0] = command_operand(self, comm, argc - 1, argv + 1, "parameter file", &status))) return status;
  static struct params par[TIME_FILES];
  struct fault f = {""};
  for (int k = 0; k < files; k++) {
    struct param_origin origin;
    if (command_load_params(comm, path[k], &overrides, 1, NULL, &par[k], &origin, &f)) return command_failed(comm, &f);
  }
  watchdog_start(par[0].WatchdogMinutes);
  status = time_study(comm, par, files, &options);
  watchdog_stop();
  return status;
}

static int act_machine(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  static const struct option longs[] = {
      {"overwrite", no_argument, NULL, 'O'}, {"output", required_argument, NULL, 'o'}, COMMAND_LONG};
  static struct params par;
  struct overrides overrides = {.count = 0};
  struct param_origin origin;
  struct fault f = {""};
  const char *output = NULL, *file = NULL;
  int status = STATUS_OK, option, overwrite = 0;
  while ((option = command_option(self, comm, argc - 1, argv + 1, COMMAND_SHORT "P:o:", longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    if (option == 'P' && overrides_add(&overrides, optarg)) return overrides_misused(self, comm, optarg);
    if (option == 'o') output = optarg;
    if (option == 'O') overwrite = 1;
  }
  params_defaults(&par);
  if (optind >= argc - 1 && overrides.count > 0)
    return command_misused(self, comm, "study machine: -P replaces values of a parameter file: give FILE.ini too");
  if (optind < argc - 1 && !(file = command_operand(self, comm, argc - 1, argv + 1, "parameter file", &status)))
    return status;
  if (file && command_load_params(comm, file, &overrides, 0, NULL, &par, &origin, &f)) return command_failed(comm, &f);
  watchdog_start(par.WatchdogMinutes);
  status = machine_study(comm, &par, output, overwrite);
  watchdog_stop();
  return status;
}

static int act_study(const struct command *self, const struct comm *comm, int argc, char **argv)
{
  int status = STATUS_OK, which = take_study(self, comm, argc, argv, &status);
  if (which < 0) return status;
  if (which == 3) return act_study_trace(self, comm, argc - 1, argv + 1);
  return which == 0   ? act_let(self, comm, argc, argv)
         : which == 1 ? act_time(self, comm, argc, argv)
                      : act_machine(self, comm, argc, argv);
}

/* Lines of legends in the help. */
#define LET_PART(name, phase, meaning) "  " #name ": " meaning " (" #phase ")\n"
#define TIME_PART(name, meaning) "  " #name ": " meaning "\n"

const struct command command_study = {
    "study", "study let|time|machine|trace [OPTION]... [FILE.ini|DIR]",
    "Study communication; let: LETs and messages of a soft step, counted with virtual ranks; time: seconds on a "
    "machine; machine: measure this one; trace: a recording of messages",
    "study let [--ranks P,...] [--r1 X,...] [--scheme S,...] [--device cpu|gpu] [-o TABLE.csv] [--pairs PAIRS.csv] "
    "[--trace KIND NAME] FILE.ini\n"
    "study time --machine NAME [--ranks P,...] [--scheme S,...] [--weak N] [-o TABLE.csv] FILE.ini\n"
    "study machine [-o MACHINE.ini] [FILE.ini]\n"
    "study trace [--steps FIRST:LAST] [--trace KIND NAME]... [--latency S] [--bandwidth B] [--topology NAME] DIR\n"
    "\n"
    "study let cuts the particles into P domains as real ranks would. For every domain it counts the cells and "
    "particles that\n"
    "the rank receives in soft and hard locally essential trees (LETs), the messages and the bytes. It does not need "
    "P\n"
    "processes. Where the number of processes is P, they exchange their LETs too, and the counts must agree.\n"
    "It then counts the messages and bytes of a whole soft step that no output shortens, as comm.csv of a run has "
    "them.\n"
    "      --ranks P,P,...     numbers of ranks [2,4,8,16,32,64,128]; Domain:DomainGrid applies where its product is "
    "P\n"
    "      --r1 X,X,...        R1 in units of R0, one study for each value [Split:R1OverR0]\n"
    "      --scheme S,S,...    schemes, one study each: shared and block (steps without the split), hybrid [the "
    "file's]\n"
    "      --device cpu|gpu    LETs, bytes, multipole order and schedule of this backend, which the count does not "
    "need [cpu]\n"
    "  -P Section:Name=value   replace the value of a parameter of the file, which may have a unit\n"
    "                          (Gravity:Softening='50 pc'); may be repeated\n"
    "      --pairs PAIRS.csv   write messages and bytes of a soft step by phase and pair of ranks\n"
    "  -o, --output TABLE.csv  write a table with a row for every P; its first lines explain the columns\n"
    "      --domains           write a row for every domain instead\n"
    "      --overwrite         replace the tables if they exist\n"
    "      --trace KIND NAME   write the messages of a soft step for a network simulator, with one P; may be repeated. "
    "ti DIR: time-\n"
    "                          independent traces of SimGrid; goal FILE: LogGOPSim; events DIR: a recording as of "
    "CommTrace = on\n"
    "Columns on the terminal; most is the maximum over ranks:\n" STUDY_TEXT_SIZES STUDY_TEXT_MESSAGES STUDY_TEXT_STEP
        SOFT_STEP_PARTS(
            LET_PART) "\n"
                      "study time predicts the seconds of a soft step and of a unit of simulated time from counted "
                      "messages and a machine file\n"
                      "(some come with the program), by an event model without a global clock. Numbers of ranks beyond "
                      "4096\n"
                      "(1024 without the split), or with fewer than 16 particles each, follow laws that are fitted to "
                      "smaller ones; rows with law*\n"
                      "are beyond the range of the fit.\n"
                      "      --machine NAME      the machine: the name of one that comes with the program, such as "
                      "fugaku or cpu-node (all names are\n"
                      "                          in doc/scaling.md, and in the message about one that is not known), "
                      "or the path of a machine file\n"
                      "      --ranks P,P,...     numbers of ranks, up to 1048576 [of 1,2,4,16,64,256,1024 those that "
                      "can be predicted]\n"
                      "      --weak N            N particles on each rank, for all P, by the laws\n"
                      "      --also FILE.ini     another number of particles, for laws with exponents of P and N/P; "
                      "may be repeated\n"
                      "      --scheme S,S,...    [shared,block,hybrid]\n"
                      "  -o, --output TABLE.csv  write the rows, with means over ranks too\n"
                      "Columns on the terminal, after which the fastest scheme of each P is named:\n" TIME_TEXT_COLUMNS
                          TIME_TEXT_PARTS EVENT_PHASES(
                              TIME_PART) "\n"
                                         "study machine measures messages between ranks and soft steps of a Plummer "
                                         "sphere, of few particles and of many, on one rank\n"
                                         "and on all, and writes a machine file. With FILE.ini, whose particles are "
                                         "not read: by its accuracy, opening criterion,\n"
                                         "order of multipoles, kernel, R1OverR0, xs, ys and Eta.\n"
                                         "  -o, --output FILE.ini   write it here [the terminal]\n"
                                         "\n"
                                         "study trace reads such a recording, OutputDir/trace_STEP of a run with "
                                         "CommTrace = on, and prints messages, work, and the\n"
                                         "time on a network with latency and bandwidth, by phase and on the critical "
                                         "path.\n"
                                         "      --steps FIRST:LAST  these soft steps only [all]\n"
                                         "      --trace KIND NAME   write it for a network simulator, as above\n"
                                         "      --latency S         seconds of a message beside its bytes [1e-6]\n"
                                         "      --topology NAME     flat, fat-tree:RANKS_PER_SWITCH, "
                                         "dragonfly:RANKS_PER_SWITCH, torus:X,Y,Z or "
                                         "torus:X,Y,Z:PORTS: the latency is that of a link, of\n"
                                         "                          which a message passes several; a rank of a torus "
                                         "sends on PORTS of its six links at once [flat; 6]\n"
                                         "      --bandwidth B       bytes per second of a link, into and out of a "
                                         "rank; 0: unlimited [1e10]\n"
                                         "      --overhead S        processor seconds for each message sent or "
                                         "received [0]\n"
                                         "      --speed X           work takes its seconds divided by X [1]\n",
    act_study};
