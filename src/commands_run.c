/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run, force, study: the commands that start from a parameter file; params, info: those that only print. */
#include <config.h>
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "commands.h"
#include "force.h"
#include "info.h"
#include "params.h"
#include "run.h"
#include "study.h"

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
  return command_misused(self, c, "option -P: expected Section:Name=value (at most %d times), found '%s'", OVERRIDE_LIMIT, text);
}

/* Rank 0 reads; everyone gets its verdict and its values. */
static int load_params(const struct comm *c, const char *file, const struct overrides *o, struct params *par, struct fault *f)
{
  struct param_origin origin;
  if (c->rank == 0 && params_read_origin(par, file, o->text, o->count, &origin, f) == 0) params_check_files(par, &origin, f);
  if (comm_verdict(c, f)) return -1;
  comm_broadcast(c, par, sizeof *par);
  return 0;
}

static int act_run(const struct command *self, const struct comm *c, int argc, char **argv)
{
  enum { CHECK = 256, OVERWRITE, SUBSTEPS };
  static const struct option longs[] = {
      {"check", no_argument, NULL, CHECK}, {"steps", required_argument, NULL, 'n'}, {"substeps", required_argument, NULL, SUBSTEPS},
      {"overwrite", no_argument, NULL, OVERWRITE}, COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct run_options options = {.steps = -1, .substeps = -1};
  int status = STATUS_OK, option;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "P:n:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case CHECK: options.check = 1; break;
    case OVERWRITE: options.overwrite = 1; break;
    case 'P':
      if (add_override(&overrides, optarg)) return bad_override(self, c, optarg);
      break;
    case 'n':
      if (command_whole(optarg, 0, INT64_MAX, &options.steps))
        return command_misused(self, c, "option -n: expected a number of steps, found '%s'", optarg);
      break;
    case SUBSTEPS:
      if (command_whole(optarg, 1, INT64_MAX, &options.substeps))
        return command_misused(self, c, "option --substeps: expected a number of block steps, found '%s'", optarg);
    }
  if (!(options.params_file = command_operand(self, c, argc, argv, "parameter file", &status))) return status;
  struct params par;
  struct fault f = {""};
  if (load_params(c, options.params_file, &overrides, &par, &f)) return command_failed(c, &f);
  return run(c, &par, &options);
}

const struct command command_run = {
    "run", "run [-P Section:Name=value]... [--check] [-n STEPS] [--substeps STEPS] [--overwrite] FILE.ini",
    "Run a simulation from its initial conditions to its end",
    "  -P Section:Name=value   another value for a parameter of the file; may be repeated\n"
    "      --check             read parameters and headers, estimate memory and disk, then stop\n"
    "  -n, --steps STEPS       stop after so many soft steps\n"
    "      --substeps STEPS    stop after the soft step in which so many block steps have been made; energies\n"
    "                          are computed at every soft step then, whatever TimeBetStatistics says\n"
    "      --overwrite         replace results that are in the output folder\n",
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

/* Numbers, and ranges FIRST:LAST or FIRST:LAST:STEP (else by 1), with commas between them; returns how many, or -1. */
static int read_ranges(const char *text, double *list, int most)
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
    if (command_real(word, &range[0])) return -1;
    range[1] = range[0];
    for (int k = 0; k < 2; k++)
      if (colon[k] && command_real(colon[k] + 1, &range[k + 1])) return -1;
    if (!(range[2] > 0) || range[1] < range[0]) return -1;
    double steps = floor((range[1] - range[0]) / range[2] + 1e-9);
    if (!(steps < most - count)) return -1;
    for (int k = 0; k <= (int)steps; k++) list[count++] = range[0] + k * range[2];
    at += length;
    if (!*at) return count;
  }
}

/* NULL where the values of --delta are some that the criterion's parameter could have; else which these are. */
static const char *check_deltas(const struct params *par, const struct force_options *o)
{
  static const char *const expected[] = {"powers from 0 to 60 (Delta = 2^-POWER)", "accelerations above 0", "angles above 0, at most 1"};
  int kind = par->TypeOfOpeningCriterion, good = 1;
  for (int k = 0; k < o->delta_count; k++) {
    double x = o->delta[k];
    good &= kind == OPENING_ACCELERATION ? x >= 0 && x <= 60 : kind == OPENING_ANGLE ? x > 0 && x <= 1 : x > 0;
  }
  return good ? NULL : expected[kind];
}

static int act_force(const struct command *self, const struct comm *c, int argc, char **argv)
{
  enum { DIRECT = 256, BENCH, DELTA, OVERWRITE };
  static const struct option longs[] = {{"direct", required_argument, NULL, DIRECT}, {"bench", no_argument, NULL, BENCH},
                                        {"delta", required_argument, NULL, DELTA},   {"overwrite", no_argument, NULL, OVERWRITE},
                                        {"output", required_argument, NULL, 'o'},    COMMAND_LONG};
  struct overrides overrides = {.count = 0};
  struct force_options options = {.direct = 0};
  long long direct;
  int status = STATUS_OK, option;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "P:o:", longs, &status)) != -1) switch (option) {
    case COMMAND_DONE: return status;
    case BENCH: options.bench = 1; break;
    case OVERWRITE: options.overwrite = 1; break;
    case DELTA:
      options.delta_count = read_ranges(optarg, options.delta, FORCE_DELTAS);
      if (options.delta_count < 1)
        return command_misused(self, c, "option --delta: expected at most %d numbers and ranges as in 5:15 or 5:15:0.5 with commas between them, found '%s'",
                               FORCE_DELTAS, optarg);
      break;
    case 'o': options.output = optarg; break;
    case 'P':
      if (add_override(&overrides, optarg)) return bad_override(self, c, optarg);
      break;
    case DIRECT:
      if (command_whole(optarg, 1, INT64_MAX, &direct))
        return command_misused(self, c, "option --direct: expected a number of particles, found '%s'", optarg);
      options.direct = direct;
    }
  const char *file = command_operand(self, c, argc, argv, "parameter file", &status);
  if (!file) return status;
  struct params par;
  struct fault f = {""};
  if (load_params(c, file, &overrides, &par, &f)) return command_failed(c, &f);
  const char *wrong = check_deltas(&par, &options);
  if (wrong) return command_misused(self, c, "option --delta: expected %s", wrong);
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
    "                          powers: 5:15 is Delta = 2^-5, 2^-6, ... 2^-15\n"
    "  -o, --output OUT        write accelerations and potentials (HDF5), or the curve (CSV)\n"
    "      --overwrite         replace the curve's file where it is there\n",
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
  if (load_params(c, file, &overrides, &par, &f)) return command_failed(c, &f);
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

static int act_params(const struct command *self, const struct comm *c, int argc, char **argv)
{
  static const struct option longs[] = {{"ini", no_argument, NULL, 'i'}, {"markdown", no_argument, NULL, 'm'}, COMMAND_LONG};
  int status = STATUS_OK, option, markdown = 0;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT, longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    markdown = option == 'm';
  }
  if (optind != argc) return command_misused(self, c, "unexpected '%s'", argv[optind]);
  if (c->rank == 0 && markdown) params_write_markdown(stdout);
  if (c->rank == 0 && !markdown) params_write_ini(stdout, NULL);
  return STATUS_OK;
}

const struct command command_params = {
    "params", "params [--ini|--markdown]", "Every parameter with unit, default, range and meaning",
    "      --ini               as a parameter file (default)\n"
    "      --markdown          as tables\n",
    act_params};

static int act_info(const struct command *self, const struct comm *c, int argc, char **argv)
{
  static const struct option longs[] = {{"rates", no_argument, NULL, 'r'}, COMMAND_LONG};
  int status = STATUS_OK, option, rates = 0;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT, longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    rates = 1;
  }
  if (optind != argc) return command_misused(self, c, "unexpected '%s'", argv[optind]);
  if (c->rank == 0) info_print(stdout);
  if (c->rank == 0 && rates) info_rates(stdout);
  return STATUS_OK;
}

const struct command command_info = {"info", "info [--rates]", "Backends and devices that are there, or why they are not",
    "      --rates             and how fast they are at direct sums\n", act_info};
