/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run, force, study: the commands that start from a parameter file; params, info: those that only print. */
#include <config.h>
#include <getopt.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "control.h"
#include "force.h"
#include "info.h"
#include "manual.h"
#include "params.h"
#include "params_nearest.h"
#include "run.h"
#include "study.h"
#include "transport.h"

enum { OVERRIDE_LIMIT = PARAM_LIMIT };

struct overrides {
  const char *text[OVERRIDE_LIMIT];
  int count;
};

static int add_override(struct overrides *o, const char *text)
{
  const char *colon = strchr(text, ':');
  if (o->count == OVERRIDE_LIMIT || !colon || !strchr(colon, '=')) return -1;
  o->text[o->count++] = text;
  return 0;
}

static int bad_override(const struct command *self, const struct comm *c, const char *text)
{
  char name[64] = "";
  size_t n = strcspn(text, "=:");
  if (text[n] == '=' && n < sizeof name) snprintf(name, sizeof name, "%.*s", (int)n, text);   /* the section was left out */
  int i = param_find(NULL, name);
  if (i >= 0)
    return command_misused(self, c, "option -P: expected Section:Name=value, found '%s'; did you mean -P %s:%s?", text, param_table[i].section, text);
  return command_misused(self, c, "option -P: expected Section:Name=value (at most %d times), found '%s'", OVERRIDE_LIMIT, text);
}

/* Rank 0 reads, and keeps the origin; everyone gets its verdict and its values. `input`: the initial conditions must be there. */
static int load_params(const struct comm *c, const char *file, const struct overrides *o, int input, struct params *par,
                       struct param_origin *origin, struct fault *f)
{
  if (c->rank == 0 && params_read_origin(par, file, o->text, o->count, origin, f) == 0) params_check_files(par, origin, input, f);
  if (comm_verdict(c, f)) return -1;
  comm_broadcast(c, par, sizeof *par);
  return 0;
}

/* The word behind -r, where it is one: "last", a number, a folder (that rank 0 sees: others may be in other working folders, and
 * all must take the words alike). (getopt takes optional values only without a blank.) Collective. */
static const char *restart_word(const struct comm *c, int argc, char **argv)
{
  struct stat st;
  if (optarg) return optarg;
  if (optind >= argc) return NULL;
  const char *word = argv[optind];
  int number = word[0] && word[strspn(word, "0123456789")] == 0;
  int is_one = number || strcmp(word, "last") == 0 || (c->rank == 0 && stat(word, &st) == 0 && S_ISDIR(st.st_mode));
  comm_broadcast(c, &is_one, sizeof is_one);
  if (!is_one) return NULL;
  optind++;
  return word;
}

/* A checkpoint of this run's own, by all that the command line tells. */
static int goes_on(const struct run_options *o)
{
  return o->restart && (!o->from || strcmp(o->from, "last") == 0 || o->from[strspn(o->from, "0123456789")] == 0);
}

static int act_run(const struct command *self, const struct comm *c, int argc, char **argv)
{
  enum { CHECK = 256, NO_OUTPUT, OVERWRITE, SUBSTEPS, WALLTIME };   /* beside the letters */
  static const struct option longs[] = {
      {"check", no_argument, NULL, CHECK}, {"steps", required_argument, NULL, 'n'}, {"substeps", required_argument, NULL, SUBSTEPS},
      {"restart", optional_argument, NULL, 'r'}, {"walltime", required_argument, NULL, WALLTIME},
      {"overwrite", no_argument, NULL, OVERWRITE}, {"no-output", no_argument, NULL, NO_OUTPUT}, {"quiet", no_argument, NULL, 'q'},
      COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct run_options options = {.steps = -1, .substeps = -1, .walltime = -1};
  int status = STATUS_OK, option;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "P:n:qr::", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case CHECK: options.check = 1; break;
    case OVERWRITE: options.overwrite = 1; break;
    case NO_OUTPUT: options.no_output = 1; break;
    case 'q': options.quiet = 1; break;
    case 'P':
      if (add_override(&overrides, optarg)) return bad_override(self, c, optarg);
      break;
    case 'n':
      if (command_whole(optarg, 0, INT64_MAX, &options.steps))
        return command_misused(self, c, "option -n: expected a number of steps, found '%s'", optarg);
      break;
    case 'r':
      options.restart = 1;
      options.from = restart_word(c, argc, argv);
      break;
    case WALLTIME:
      if (control_walltime(optarg, &options.walltime))
        return command_misused(self, c, "option --walltime: expected minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS or UNLIMITED, "
                               "found '%s'", optarg);
      break;
    case SUBSTEPS:
      if (command_whole(optarg, 1, INT64_MAX, &options.substeps))
        return command_misused(self, c, "option --substeps: expected a number of block steps, found '%s'", optarg);
    }
  if (options.restart && !options.from && argc - optind == 2)
    return command_misused(self, c, "option -r: expected last, the number of a checkpoint, or its folder, found '%s'", argv[optind]);
  if (goes_on(&options) && options.overwrite)
    return command_misused(self, c, "options -r and --overwrite: a run goes on with its results, or replaces them; give one of the two");
  const char *file = command_operand(self, c, argc, argv, "parameter file", &status);
  if (!file) return status;
  struct params par;
  struct fault f = {""};
  struct param_origin origin;
  if (load_params(c, file, &overrides, !options.restart, &par, &origin, &f)) return command_failed(c, &f);
  if (c->rank == 0) options.origin = &origin;
  return run(c, &par, &options);
}

const struct command command_run = {
    "run", "run [-P Section:Name=value]... [--check] [-n STEPS] [--substeps STEPS] [-r [last|N|PATH]] [--walltime TIME] [--overwrite] [--no-output] [-q] FILE.ini",
    "Run a simulation from its initial conditions, or from a checkpoint, to its end",
    "  -P Section:Name=value   another value for a parameter of the file; may be repeated\n"
    "      --check             read parameters and headers, with -r verify the checkpoint instead; estimate memory and disk,\n"
    "                          then stop\n"
    "  -n, --steps STEPS       stop after so many soft steps, counted from the beginning of the simulation\n"
    "      --substeps STEPS    stop after the soft step in which so many block steps have been made; energies\n"
    "                          are computed at every soft step then, whatever TimeBetStatistics says\n"
    "  -r, --restart [WHICH]   go on from a checkpoint: last (the newest good one; also without WHICH), the number of\n"
    "                          one, or its folder\n"
    "      --walltime TIME     stop, with a checkpoint, before so much time has passed: minutes, MM:SS, HH:MM:SS, D-HH,\n"
    "                          D-HH:MM, D-HH:MM:SS or UNLIMITED [until SLURM_JOB_END_TIME, where that is set]\n"
    "      --overwrite         replace results that are in the output folder; remove the earlier run's snapshots and checkpoints\n"
    "                          (with -r PATH, a checkpoint from elsewhere, snapshots stay)\n"
    "      --no-output         write tables only: no snapshots, no checkpoints, also where the run is stopped (for timings)\n"
    "  -q, --quiet             no line for every soft step, only what begins, ends, is written or is amiss\n"
    "SIGUSR1, SIGTERM, SIGHUP, SIGINT, or a file 'stop' in OutputDir: write a checkpoint and stop (exit status 0); SIGUSR2, or a\n"
    "file 'checkpoint': write a checkpoint and go on. OutputDir/status says how it went. Under mpirun, Ctrl-C and SIGTERM leave\n"
    "ranks two seconds until they are killed: too short for a checkpoint where soft steps take longer. There use\n"
    "'touch OUTPUTDIR/stop'.\n",
    act_run};

/* Numbers with commas between them, each within [least, most]; returns how many, or -1. */
static int read_list(const char *text, double least, double most, int whole, double *list)
{
  char word[32];
  int count = 0;
  for (const char *at = text;; at++) {
    size_t length = strcspn(at, ",");
    long long n = 0;
    if (count == STUDY_MOST || length == 0 || length >= sizeof word) return -1;
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    if (whole ? command_whole(word, (long long)least, (long long)most, &n) : command_real(word, &list[count])) return -1;
    if (whole) list[count] = (double)n;
    if (!(list[count] >= least && list[count] <= most)) return -1;
    count++;
    at += length;
    if (!*at) return count;
  }
}

/* Where `power`: a power of a half, which may be given as a power of two. */
static int read_delta(const char *word, int power, double *x)
{
  int of_two = strncmp(word, "2^", 2) == 0;
  if (command_real(of_two ? word + 2 : word, x)) return -1;
  if (of_two) *x = power ? -*x : exp2(*x);
  return isfinite(*x) ? 0 : -1;
}

/* Numbers, and ranges FIRST:LAST or FIRST:LAST:STEP (else by 1), with commas between them; returns how many, or -1. */
static int read_deltas(const char *text, int power, double *list, int most)
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
    if (!(steps < most - count)) return -1;
    for (int k = 0; k <= (int)steps; k++) list[count++] = range[0] + k * range[2];
    at += length;
    if (!*at) return count;
  }
}

/* A value that the criterion's parameter can have. Between 0 and 1 powers give a Delta of nearly 1: a Delta itself was meant. */
static int good_delta(int kind, double x)
{
  if (kind == OPENING_ACCELERATION) return x == 0 || (x >= 1 && x <= 60);
  return x > 0 && (kind != OPENING_ANGLE || x <= 1);
}

static int bad_deltas(const struct command *self, const struct comm *c, const char *text)
{
  return command_misused(self, c, "option --delta: expected at most %d numbers and ranges as in 5:15 or 5:15:0.5 with commas between them, found '%s'",
                         FORCE_DELTAS, text);
}

/* --delta, when the criterion is known. STATUS_OK, or what command_misused returns. */
static int take_deltas(const struct command *self, const struct comm *c, const struct params *par, const char *text, struct force_options *o)
{
  static const char *const expected[] = {"powers from 0 to 60 (Delta = 2^-POWER)", "accelerations above 0", "angles above 0, at most 1"};
  int kind = par->TypeOfOpeningCriterion, k = 0;
  o->delta_count = read_deltas(text, kind == OPENING_ACCELERATION, o->delta, FORCE_DELTAS);
  if (o->delta_count < 1) return bad_deltas(self, c, text);
  while (k < o->delta_count && good_delta(kind, o->delta[k])) k++;
  if (k == o->delta_count) return STATUS_OK;
  double x = o->delta[k];
  if (kind == OPENING_ACCELERATION && x > 0 && x < 1)
    return command_misused(self, c, "option --delta: numbers are powers, Delta = 2^-POWER, and %g stands for Delta = %.4g; for Delta = %g give %.4g",
                           x, exp2(-x), x, -log2(x));
  return command_misused(self, c, "option --delta: expected %s, found %g", expected[kind], x);
}

static int act_force(const struct command *self, const struct comm *c, int argc, char **argv)
{
  enum { DIRECT = 256, BENCH, DELTA, OVERWRITE };
  static const struct option longs[] = {{"direct", required_argument, NULL, DIRECT}, {"bench", no_argument, NULL, BENCH},
                                        {"delta", required_argument, NULL, DELTA},   {"overwrite", no_argument, NULL, OVERWRITE},
                                        {"output", required_argument, NULL, 'o'},    COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct force_options options = {.direct = 0};
  const char *deltas = NULL;
  long long direct;
  int status = STATUS_OK, option;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "P:o:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case BENCH: options.bench = 1; break;
    case OVERWRITE: options.overwrite = 1; break;
    case DELTA:
      deltas = optarg;
      if (read_deltas(deltas, 1, options.delta, FORCE_DELTAS) < 1 && read_deltas(deltas, 0, options.delta, FORCE_DELTAS) < 1)
        return bad_deltas(self, c, deltas);
      break;
    case 'o': options.output = optarg; break;
    case 'P':
      if (add_override(&overrides, optarg)) return bad_override(self, c, optarg);
      break;
    case DIRECT:
      if (command_whole(optarg, 1, FORCE_DIRECT_MOST, &direct))
        return command_misused(self, c, "option --direct: expected a number of particles, at most %d, found '%s'", FORCE_DIRECT_MOST, optarg);
      options.direct = direct;
    }
  const char *file = command_operand(self, c, argc, argv, "parameter file", &status);
  if (!file) return status;
  struct params par;
  struct fault f = {""};
  struct param_origin origin;
  if (load_params(c, file, &overrides, 1, &par, &origin, &f)) return command_failed(c, &f);
  if (deltas && (status = take_deltas(self, c, &par, deltas, &options)) != STATUS_OK) return status;
  return force(c, &par, &options);
}

const struct command command_force = {
    "force", "force [-P Section:Name=value]... [--direct M] [--bench] [--delta LIST] [-o OUT] FILE.ini",
    "Forces of the initial state, once, and a table about them",
    "  -P Section:Name=value   another value for a parameter of the file; may be repeated\n"
    "      --direct M          errors against the direct sum, on M particles spread evenly over the ids\n"
    "      --bench             two warm-ups, then the median of five\n"
    "      --delta LIST        a curve of error against time: a row of a table for each of these values of the criterion's\n"
    "                          parameter, with --bench and (where M is not given) --direct 4096. LIST: numbers and ranges\n"
    "                          FIRST:LAST or FIRST:LAST:STEP with commas between them; with the acceleration criterion\n"
    "                          powers: 5:15 (or 2^-5:2^-15) is Delta = 2^-5, 2^-6, ... 2^-15\n"
    "  -o, --output OUT        write accelerations and potentials (HDF5), or the curve (CSV)\n"
    "      --overwrite         replace OUT where it is there\n",
    act_force};

/* --- study ------------------------------------------------------------------------------------------------------- */

static int take_ranks(const char *text, struct study_options *o)
{
  double list[STUDY_MOST];
  o->rank_count = read_list(text, 1, STUDY_RANKS_MOST, 1, list);
  for (int k = 0; k < o->rank_count; k++) o->ranks[k] = (int)list[k];
  return o->rank_count;
}

/* The word after "study". 0, or -1 with *status set. */
static int take_study(const struct command *self, const struct comm *c, int argc, char **argv, int *status)
{
  static const char *const names[] = {"let"};
  static const struct option longs[] = {COMMAND_LONG};
  if (argc > 1 && strcmp(argv[1], names[0]) == 0) return 0;
  int asks = argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"));
  if (asks && command_option(self, c, argc, argv, COMMAND_SHORT, longs, status) == COMMAND_DONE) return -1;
  if (argc == 1 || argv[1][0] == '-')
    *status = command_misused(self, c, "a study is missing: 'let' is one");
  else
    *status = command_misused(self, c, "unknown study '%s'; %s", argv[1],
                              nearest_name(argv[1], names, 1) ? "did you mean 'let'?" : "'let' is one");
  return -1;
}

static int act_study(const struct command *self, const struct comm *c, int argc, char **argv)
{
  enum { RANKS = 256, RADII, DOMAINS, OVERWRITE };
  static const struct option longs[] = {{"ranks", required_argument, NULL, RANKS},   {"r1", required_argument, NULL, RADII},
                                        {"domains", no_argument, NULL, DOMAINS},     {"overwrite", no_argument, NULL, OVERWRITE},
                                        {"output", required_argument, NULL, 'o'},    COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct study_options options = {.output = NULL};
  int status = STATUS_OK, option;
  if (take_study(self, c, argc, argv, &status)) return status;
  take_ranks("2,4,8,16,32,64,128", &options);
  while ((option = command_option(self, c, argc - 1, argv + 1, COMMAND_SHORT "P:o:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case DOMAINS: options.domains = 1; break;
    case OVERWRITE: options.overwrite = 1; break;
    case 'o': options.output = optarg; break;
    case 'P':
      if (add_override(&overrides, optarg)) return bad_override(self, c, optarg);
      break;
    case RANKS:
      if (take_ranks(optarg, &options) < 1)
        return command_misused(self, c, "option --ranks: expected at most %d whole numbers from 1 to %d with commas between them, found '%s'",
                               STUDY_MOST, STUDY_RANKS_MOST, optarg);
      break;
    case RADII:
      options.r1_count = read_list(optarg, 1e-3, 100, 0, options.r1);
      if (options.r1_count < 1)
        return command_misused(self, c, "option --r1: expected at most %d numbers from 0.001 to 100 with commas between them, found '%s'",
                               STUDY_MOST, optarg);
    }
  if (options.domains && !options.output) return command_misused(self, c, "option --domains: the rows go to a table: give -o TABLE.csv too");
  const char *file = command_operand(self, c, argc - 1, argv + 1, "parameter file", &status);
  if (!file) return status;
  struct params par;
  struct fault f = {""};
  struct param_origin origin;
  if (load_params(c, file, &overrides, 1, &par, &origin, &f)) return command_failed(c, &f);
  return study_let(c, &par, &options);
}

const struct command command_study = {
    "study", "study let [--ranks 2,4,...] [--r1 1,2,...] [-P Section:Name=value]... [-o TABLE.csv] FILE.ini",
    "Studies of the initial state; let: how large trees between ranks become, by virtual ranks",
    "study let cuts the particles into P domains as real ranks would, and counts for every domain the cells and particles\n"
    "that locally essential trees (LETs) bring it, soft and hard, the messages and the bytes. It does not take P processes;\n"
    "where there are just as many, they exchange their LETs too, and must agree.\n"
    "      --ranks P,P,...     numbers of ranks [2,4,8,16,32,64,128]; Domain:DomainGrid holds for the P that it is for\n"
    "      --r1 X,X,...        R1 in units of R0, one study each [Split:R1OverR0]\n"
    "  -P Section:Name=value   another value for a parameter of the file; may be repeated\n"
    "  -o, --output TABLE.csv  write a table with a row for every P; its first lines say what the columns are\n"
    "      --domains           with a row for every domain instead\n"
    "      --overwrite         replace the table where it is there\n"
    "columns: N_soft and N_hard are entries (cells and particles) received, means over ranks; N_soft counts the roots that\n"
    "came with the ranks' cards, N_hard has none; most: the largest rank's; LETs: received by a rank; sent: messages of\n"
    "boxes and LETs, without the allgather of cards; update: megabytes of a substep in which all entries were corrected;\n"
    "h/s: N_hard / N_soft; l+h/s: (N_local + N_hard) / (N_local + N_soft)\n",
    act_study};

/* The values that a run would take, a line each. */
static int print_values(const struct comm *c, const char *file, const struct overrides *o, const int *wanted, int count)
{
  struct params par;
  struct fault f = {""};
  if (c->rank == 0) params_read(&par, file, o->text, o->count, &f);
  if (comm_verdict(c, &f)) return command_failed(c, &f);
  for (int k = 0; k < count && c->rank == 0; k++) {
    char value[PARAM_TEXT];
    params_format(&par, &param_table[wanted[k]], value, sizeof value);
    puts(value);
  }
  return STATUS_OK;
}

static int act_params(const struct command *self, const struct comm *c, int argc, char **argv)
{
  enum { GET = 256 };
  static const struct option longs[] = {
      {"ini", no_argument, NULL, 'i'}, {"markdown", no_argument, NULL, 'm'}, {"get", required_argument, NULL, GET}, COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  int status = STATUS_OK, option, markdown = 0, count = 0, wanted[PARAM_LIMIT];
  char hint[200];
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "P:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case 'i': markdown = 0; break;
    case 'm': markdown = 1; break;
    case 'P':
      if (add_override(&overrides, optarg)) return bad_override(self, c, optarg);
      break;
    case GET:
      if (count == PARAM_LIMIT) return command_misused(self, c, "option --get: given more than %d times", PARAM_LIMIT);
      wanted[count] = param_find(NULL, optarg);
      param_hint("", optarg, hint, sizeof hint);
      if (wanted[count++] < 0) return command_misused(self, c, "option --get: unknown parameter '%.60s'%s", optarg, hint);
    }
  if (count > 0) {
    const char *file = command_operand(self, c, argc, argv, "parameter file", &status);
    return file ? print_values(c, file, &overrides, wanted, count) : status;
  }
  if (optind != argc) return command_misused(self, c, "unexpected '%s'", argv[optind]);
  if (overrides.count > 0) return command_misused(self, c, "option -P: belongs to --get");
  if (c->rank == 0 && markdown) params_write_markdown(stdout);
  if (c->rank == 0 && !markdown) params_write_ini(stdout, NULL);
  return STATUS_OK;
}

const struct command command_params = {
    "params", "params [--ini|--markdown|--get NAME... [-P Section:Name=value]... FILE.ini]", "Every parameter with unit, default, range and meaning",
    "      --ini               as a parameter file (default)\n"
    "      --markdown          as tables\n"
    "      --get NAME          the value that a run of FILE.ini would take, alone on a line; may be repeated\n"
    "  -P Section:Name=value   with --get: another value for a parameter of the file; may be repeated\n",
    act_params};

static int act_info(const struct command *self, const struct comm *c, int argc, char **argv)
{
  static const struct option longs[] = {{"rates", no_argument, NULL, 'r'}, {"manual", no_argument, NULL, 'm'}, COMMAND_LONG};
  int status = STATUS_OK, option, rates = 0, manual = 0;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT, longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    rates |= option == 'r';
    manual |= option == 'm';
  }
  if (optind != argc) return command_misused(self, c, "unexpected '%s'", argv[optind]);
  if (c->rank == 0 && manual) manual_print(stdout);
  if (manual) return STATUS_OK;
  if (c->rank == 0) info_print(stdout);
  transport_info(c, stdout);
  if (c->rank == 0 && rates) info_rates(stdout);
  return STATUS_OK;
}

const struct command command_info = {"info", "info [--rates] [--manual]", "Backends and devices that are there, or why they are not",
    "      --rates             and how fast they are at direct sums\n"
    "      --manual            the manual page instead, for man -l -\n", act_info};
