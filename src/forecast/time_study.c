/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/time_study.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/revision.h"
#include "base/timer.h"
#include "forecast/counted_step.h"
#include "forecast/laws.h"
#include "forecast/machine_file.h"
#include "forecast/more_pairs.h"
#include "forecast/time_text.h"
#include "study/result_file.h"
#include "study/study_system.h"

/* Fewest particles of a rank for which P is counted; fewest numbers of ranks to which a law is fitted, and largest one
 * of these that is counted for the laws alone. */
enum { PARTICLES_MIN = 16, LAW_MIN = 3, LAW_RANKS_MIN = 16, LAW_RANKS_MAX = 1024 };
/* Most ranks, and most interactions of full forces, for which these are counted on virtual ranks: minutes of a core. */
enum { WALKED_RANKS_MAX = 64 };
#define WALKED_PAIRS_MAX 2e11

struct time_study {
  const struct comm *c;
  struct time_options options;
  struct machine m;
  struct result_file out;
  struct law_point point[LAW_POINTS];
  int points;
  struct soft_step_together together; /* of the count with most ranks */
  int known_ranks;
  int split;          /* 1: the scheme under way is a hybrid */
  double pairs_alone; /* interactions of full forces on one virtual rank; 0: not counted yet */
  struct time_text text;
  int warned; /* 1: what a prediction for a device lacks */
  int said;   /* 1: how many particles there are for the numbers of ranks */
};

/* --- one number of ranks ----------------------------------------------------------------------------------------- */

/* Whether interactions of full forces are counted on so many virtual ranks. */
static int walks_counted(const struct study_system *system, int ranks)
{
  return ranks <= WALKED_RANKS_MAX && system->full_pairs * system->facts.particles <= WALKED_PAIRS_MAX;
}

/* How many more interactions full forces have on `ranks` ranks than on one. Collective. */
static double more_pairs(struct time_study *study, struct study_system *system, int ranks)
{
  if (ranks == 1 || !walks_counted(system, ranks)) return 1;
  if (study->pairs_alone == 0) study->pairs_alone = virtual_walk_pairs(study->c, &system->synchronised, 1);
  return virtual_walk_pairs(study->c, &system->synchronised, ranks) / study->pairs_alone;
}

/* The interactions of one rank from those of several processes, whose domains cut cells. Collective. */
static void count_alone(struct time_study *study, struct study_system *system)
{
  int processes = study->c->size;
  if (processes == 1 || !walks_counted(system, processes)) return;
  study->pairs_alone = virtual_walk_pairs(study->c, &system->synchronised, 1);
  double factor = study->pairs_alone / virtual_walk_pairs(study->c, &system->synchronised, processes);
  system->full_pairs *= factor;
  if (!system->input.split) system->hard_pairs *= factor;
}

/* Say what a prediction for a device lacks. */
static void warn_of_device(struct time_study *study, const struct study_system *system)
{
  if (study->warned || study->m.device != DEVICE_gpu || study->c->rank > 0) return;
  study->warned = 1;
  if (system->on_host)
    printf("# interactions were counted by a CPU: a GPU has down to two thirds of them, so walks are predicted too "
           "long\n");
  if (system->facts.particles <= DIRECT_MOST)
    printf("# on one rank a GPU takes direct sums for up to %d particles, which are not in the model\n", DIRECT_MOST);
}

/* Count a soft step and predict its times on rank 0. Collective. */
static void predict(struct time_study *study, struct study_system *system, int ranks, struct event_times *times)
{
  struct counted_step counted;
  counted_step_make(study->c, system, ranks, &counted);
  double more = more_pairs(study, system, ranks);
  memset(times, 0, sizeof *times);
  if (study->c->rank == 0) {
    struct event_input in = counted_step_input(&counted, system, more);
    event_model(&in, &study->m, times);
  }
  if (ranks > 1 && ranks >= study->known_ranks) {
    study->together = counted.step.together;
    study->known_ranks = ranks;
  }
  counted_step_free(&counted);
}

/* --- the table --------------------------------------------------------------------------------------------------- */

/* The most ranks that are counted. Without the split every pair of ranks exchanges LETs, whose list takes 1.5 kB for
 * each pair. */
static int counted_limit(const struct time_study *study, double particles)
{
  double most = fmax(floor(particles / PARTICLES_MIN), 1), limit = study->split ? TIME_COUNTED_MAX : LAW_RANKS_MAX;
  return (int)fmin(most, limit);
}

/* The machine's name as a field of the table. */
static const char *machine_field(const struct time_study *study, char field[sizeof study->m.name])
{
  snprintf(field, sizeof study->m.name, "%s", study->m.name);
  for (char *at = field; *at; at++)
    if (*at == ',' || *at == '"') *at = ';';
  return field;
}

static void row(struct time_study *study, const struct study_facts *facts, const struct time_row *row)
{
  char machine[sizeof study->m.name];
  double all = event_total(row->times.critical);
  time_text_row(&study->text, facts, row);
  if (!study->out.file) return;
  fprintf(study->out.file, "%s,%s,%.0f,%.0f,%.15g,%s,%.15g,%.15g,%.15g", machine_field(study, machine), facts->scheme,
          row->per_rank * row->ranks, row->ranks, row->per_rank, row->by, facts->soft_step, all,
          all / facts->soft_step);
  for (int p = 0; p < EVENT_PHASES_COUNT; p++)
    fprintf(study->out.file, ",%.9g,%.9g", row->times.mean[p], row->times.critical[p]);
  struct efficiency e = event_efficiency(&row->times);
  if (strcmp(row->by, "count") == 0)
    fprintf(study->out.file, ",%.9g,%.9g,%.9g", e.load_balance, e.serialisation, e.transfer);
  else fputs(",0,0,0", study->out.file);
  fputc('\n', study->out.file);
  fflush(study->out.file);
}

static void file_header(const struct time_study *study)
{
  FILE *out = study->out.file;
  if (!out) return;
  fprintf(out, "# espalier %s (%s), study time, machine file %s\n", PACKAGE_VERSION, revision, study->options.machine);
  fprintf(out, "# by: count: messages were counted for so many ranks; law: by laws fitted to smaller numbers, see the "
               "terminal for their range\n");
  fprintf(out, "# soft_step_seconds, unit_seconds: of a soft step, and of a unit of simulated time\n"
               "# PHASE_mean: seconds, mean over ranks; PHASE_critical: of the ranks that come last to collectives\n"
               "# load_balance, serialisation, transfer: POP's efficiencies; 0: by law, not known\n");
  fprintf(out, "machine,scheme,particles,ranks,per_rank,by,dt_soft,soft_step_seconds,unit_seconds");
  for (int p = 0; p < EVENT_PHASES_COUNT; p++)
    fprintf(out, ",%s_mean,%s_critical", event_phase_names[p], event_phase_names[p]);
  fputs(",load_balance,serialisation,transfer", out);
  fputc('\n', out);
}

/* --- laws -------------------------------------------------------------------------------------------------------- */

static void add_point(struct time_study *study, double ranks, double particles, const struct event_times *times)
{
  if (ranks < LAW_RANKS_MIN || study->points == LAW_POINTS) return;
  study->point[study->points++] = (struct law_point){ranks, particles / ranks, *times};
}

/* Whether a number of ranks is left to the laws. */
static int by_law(const struct time_study *study, int which, double particles)
{
  return study->options.weak > 0 || study->options.ranks[which] > counted_limit(study, particles);
}

static int needs_laws(const struct time_study *study, double particles)
{
  int needs = 0;
  for (int k = 0; k < study->options.rank_count; k++) needs |= by_law(study, k, particles);
  return needs;
}

/* Count numbers of ranks for the laws that have not been counted yet. Collective. */
static void count_for_laws(struct time_study *study, struct study_system *system)
{
  double particles = system->facts.particles;
  for (int ranks = LAW_RANKS_MIN; ranks <= LAW_RANKS_MAX && ranks <= counted_limit(study, particles); ranks *= 4) {
    struct event_times times;
    int known = 0;
    for (int i = 0; i < study->points; i++)
      known |= study->point[i].ranks == ranks && fabs(study->point[i].per_rank * ranks - particles) < 1;
    if (known) continue;
    predict(study, system, ranks, &times);
    add_point(study, ranks, particles, &times);
  }
}

/* One rank has no messages and does not wait. */
static void without_others(struct event_times *times)
{
  static const enum event_phase none[] = {EVENT_migration, EVENT_let_select, EVENT_hard_let, EVENT_wait};
  for (size_t k = 0; k < sizeof none / sizeof *none; k++) times->mean[none[k]] = times->critical[none[k]] = 0;
}

/* The rows of numbers of ranks that are left to the laws. */
static void rows_by_law(struct time_study *study, const struct study_facts *facts)
{
  const struct time_options *o = &study->options;
  struct laws laws;
  laws_fit(&laws, study->point, study->points);
  for (int k = 0; k < o->rank_count; k++) {
    struct time_row r = {
        .which = k, .ranks = o->ranks[k], .per_rank = o->weak > 0 ? o->weak : facts->particles / o->ranks[k]};
    if (!by_law(study, k, facts->particles)) continue;
    laws_predict(&laws, r.ranks, r.per_rank, &r.times);
    if (r.ranks == 1) without_others(&r.times);
    double collective = event_collectives(&study->together, study->known_ranks, o->ranks[k], &study->m.network);
    r.times.mean[EVENT_collective] = r.times.critical[EVENT_collective] = collective;
    r.by = laws_reach(&laws, r.ranks, r.per_rank) ? "law" : "law*";
    row(study, facts, &r);
  }
  time_text_laws(&laws);
}

/* --- schemes ----------------------------------------------------------------------------------------------------- */

/* Whether there are enough particles for laws. */
static int laws_possible(const struct time_study *study, double particles)
{
  return counted_limit(study, particles) >= LAW_RANKS_MIN << 2 * (LAW_MIN - 1);
}

/* Leave out the numbers of ranks that cannot be predicted, where any will do. */
static void leave_out(struct time_study *study, double particles)
{
  int count = study->options.rank_count, limit = counted_limit(study, particles);
  if (!study->options.any_ranks || study->options.weak > 0 || laws_possible(study, particles)) return;
  while (study->options.rank_count > 1 && study->options.ranks[study->options.rank_count - 1] > limit)
    study->options.rank_count--;
  if (study->options.rank_count < count && study->c->rank == 0)
    printf("# P = %d and more: left out, since messages of %.0f particles are counted for at most %d ranks\n",
           study->options.ranks[study->options.rank_count], particles, limit);
}

static int open_system(struct time_study *study, const struct params *par, enum study_scheme scheme,
                       struct study_system *system, struct fault *fault)
{
  struct params own = *par;
  own.Tuning = TUNING_FROZEN;
  params_use_walks(&own);
  study_use_scheme(&own, scheme);
  study_use_order(&own, study->m.device == DEVICE_gpu);
  if (study_system_open(system, study->c, &own, 1, fault)) return -1;
  if (study->m.device == DEVICE_gpu) study_system_use_device(system);
  study->split = system->input.split;
  study->pairs_alone = 0;
  double particles = system->facts.particles;
  leave_out(study, particles);
  warn_of_device(study, system);
  if (study->c->rank == 0 && study->options.weak == 0 && !study->said) {
    study_text_few_particles(study->options.ranks, study->options.rank_count, particles);
    study->said = 1;
  }
  if (needs_laws(study, particles) && !laws_possible(study, particles)) {
    fault_set(fault,
              "--ranks: %d particles can be counted on at most %d ranks (%d particles each); other numbers need laws, "
              "which need at least %d "
              "particles: give smaller numbers of ranks, or a file with more particles",
              (int)particles, counted_limit(study, particles), PARTICLES_MIN,
              PARTICLES_MIN * (LAW_RANKS_MIN << 2 * (LAW_MIN - 1)));
    study_system_close(system);
    return -1;
  }
  return 0;
}

static int one_scheme(struct time_study *study, const struct params *par, int files, enum study_scheme scheme,
                      struct fault *fault)
{
  const struct time_options *o = &study->options;
  struct study_system y;
  if (open_system(study, par, scheme, &y, fault)) return -1;
  struct study_facts facts = y.facts;
  study->points = study->known_ranks = 0;
  count_alone(study, &y);
  if (study->c->rank == 0) time_text_begin(&study->text, &facts, &study->m, o->weak > 0);
  for (int k = 0; k < o->rank_count; k++) {
    struct time_row r = {.which = k, .ranks = o->ranks[k], .per_rank = facts.particles / o->ranks[k], .by = "count"};
    if (by_law(study, k, facts.particles)) continue;
    predict(study, &y, o->ranks[k], &r.times);
    add_point(study, r.ranks, facts.particles, &r.times);
    if (study->c->rank == 0) row(study, &facts, &r);
  }
  int laws = needs_laws(study, facts.particles);
  if (laws) count_for_laws(study, &y);
  study_system_close(&y);
  struct soft_step_together own = study->together; /* those of the other files are not of this system */
  int own_ranks = study->known_ranks;
  for (int i = 1; laws && i < files; i++) {
    if (open_system(study, &par[i], scheme, &y, fault)) return -1;
    count_alone(study, &y);
    count_for_laws(study, &y);
    study_system_close(&y);
  }
  study->together = own;
  study->known_ranks = own_ranks;
  if (laws && study->c->rank == 0) rows_by_law(study, &facts);
  if (study->c->rank == 0) time_text_end(&study->text);
  return 0;
}

/* Whether the network has places for all numbers of ranks; else a fault. */
static int places_suffice(const struct time_study *study, struct fault *fault)
{
  for (int k = 0; k < study->options.rank_count && !fault->text[0]; k++) {
    struct network network = study->m.network;
    network_place(&network, study->options.ranks[k], fault);
  }
  return !fault->text[0];
}

int time_study(const struct comm *comm, const struct params *par, int files, const struct time_options *options)
{
  struct time_study *t = memory_alloc("study", sizeof *t);
  struct fault f = {""};
  t->c = comm;
  t->options = *options;
  char machine[2 * PATH_MAX];
  if (comm->rank == 0 && machine_file(options->machine, machine, sizeof machine, &f) == 0 &&
      machine_read(machine, &t->m, &f) == 0 && places_suffice(t, &f))
    result_open(&t->out, options->output, options->overwrite, par, &f);
  if (comm_verdict(comm, &f) == 0) {
    comm_broadcast(comm, &t->m, sizeof t->m);
    if (comm->rank == 0 && result_begin(&t->out, &f) == 0) file_header(t);
    for (int k = 0; k < options->scheme_count && !f.text[0]; k++)
      if (one_scheme(t, par, files, options->scheme[k], &f)) break;
    if (comm->rank == 0 && !f.text[0]) time_text_finish(&t->text, t->options.ranks, t->options.rank_count);
  }
  if (comm->rank == 0) result_close(&t->out, &f);
  comm_verdict(comm, &f);
  memory_free(t);
  comm_print_fault(comm, "error", &f);
  return f.text[0] != 0;
}
