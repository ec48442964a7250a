/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "forecast/time_study.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/revision.h"
#include "base/timer.h"
#include "forecast/laws.h"
#include "forecast/machine_file.h"
#include "forecast/more_pairs.h"
#include "forecast/time_text.h"
#include "study/result_file.h"
#include "study/study_system.h"

/* Fewest particles of a rank for which P is counted; fewest numbers of ranks to which a law is fitted, and largest one of these that is
 * counted for the laws alone. */
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
  struct soft_step_together together;   /* of the count with most ranks */
  int known_ranks;
  int split;   /* 1: the scheme under way is a hybrid */
  double pairs_alone;   /* interactions of full forces on one virtual rank; 0: not counted yet */
  struct time_text text;
  int warned; /* 1: what a prediction for a device lacks */
  int said;   /* 1: how many particles there are for the numbers of ranks */
};

/* --- one number of ranks ----------------------------------------------------------------------------------------- */

struct let_list {
  struct soft_step_let *let;
  int64_t count, room;
};

/* Callback of soft_step_count. */
static void keep_let(void *of, const struct soft_step_let *let)
{
  struct let_list *list = of;
  if (list->count == list->room) {
    list->room = (int64_t)memory_grown((size_t)list->room, sizeof *list->let);
    list->let = memory_resize("study", list->let, sizeof *list->let * (size_t)list->room);
  }
  list->let[list->count++] = *let;
}

static int by_class(const void *a, const void *b)
{
  const struct soft_step_let *x = a, *y = b;
  if (x->class != y->class) return x->class - y->class;
  return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* Count the particles of each rank and block level. */
static void count_levels(const struct study_system *y, int ranks, const struct comm *c, int64_t *local, int64_t (*level)[SCHEDULE_LEVELS])
{
  struct domain domain;
  struct global_particles *w = (struct global_particles *)(uintptr_t)&y->kicked;
  global_particles_open_domain(w, ranks, &domain);
  global_particles_cut(c, w, &domain);
  for (int64_t i = 0; i < w->all.n; i++) {
    int r = domain_owner(&domain, &w->all.pos[3 * i]);
    local[r]++;
    level[r][w->all.level[i] % SCHEDULE_LEVELS]++;
  }
  domain_close(&domain);
}

/* Whether interactions of full forces are counted on so many virtual ranks. */
static int walks_counted(const struct study_system *y, int ranks)
{
  return ranks <= WALKED_RANKS_MAX && y->full_pairs * y->facts.particles <= WALKED_PAIRS_MAX;
}

/* How many more interactions full forces have on `ranks` ranks than on one. Collective. */
static double more_pairs(struct time_study *t, struct study_system *y, int ranks)
{
  if (ranks == 1 || !walks_counted(y, ranks)) return 1;
  if (t->pairs_alone == 0) t->pairs_alone = virtual_walk_pairs(t->c, &y->synchronised, 1);
  return virtual_walk_pairs(t->c, &y->synchronised, ranks) / t->pairs_alone;
}

/* The interactions of one rank from those of several processes, whose domains cut cells. Collective. */
static void count_alone(struct time_study *t, struct study_system *y)
{
  int processes = t->c->size;
  if (processes == 1 || !walks_counted(y, processes)) return;
  t->pairs_alone = virtual_walk_pairs(t->c, &y->synchronised, 1);
  double factor = t->pairs_alone / virtual_walk_pairs(t->c, &y->synchronised, processes);
  y->full_pairs *= factor;
  if (!y->input.split) y->hard_pairs *= factor;
}

/* Say what a prediction for a device lacks. */
static void warn_of_device(struct time_study *t, const struct study_system *y)
{
  if (t->warned || t->m.device != DEVICE_gpu || t->c->rank > 0) return;
  t->warned = 1;
  if (y->on_host) printf("# interactions were counted by a CPU: a GPU has down to two thirds of them, so walks are predicted too long\n");
  if (y->facts.particles <= DIRECT_MOST) printf("# on one rank a GPU takes direct sums for up to %d particles, which are not in the model\n", DIRECT_MOST);
}

/* Count a soft step and predict its times on rank 0. Collective. */
static void predict(struct time_study *t, struct study_system *y, int ranks, struct event_times *times)
{
  struct let_list list = {.let = NULL};
  struct soft_step_wants wants = {.let = keep_let, .let_of = &list};
  size_t n = (size_t)ranks, bytes;
  struct virtual_rank *rows = memory_alloc("study", sizeof *rows * n);
  int64_t *local = memory_alloc("study", sizeof *local * n), (*level)[SCHEDULE_LEVELS] = memory_alloc("study", sizeof *level * n);
  struct soft_step step = soft_step_count(t->c, &y->synchronised, &y->kicked, &y->input, ranks, rows, &wants);
  count_levels(y, ranks, t->c, local, level);
  double more = more_pairs(t, y, ranks);
  struct soft_step_let *all = comm_gather_root(t->c, list.let, sizeof *all * (size_t)list.count, &bytes);
  memory_free(list.let);
  memset(times, 0, sizeof *times);
  if (t->c->rank == 0) {
    int64_t lets = (int64_t)(bytes / sizeof *all);
    qsort(all, (size_t)lets, sizeof *all, by_class);
    struct event_input in = {ranks, &step, local, (const int64_t (*)[SCHEDULE_LEVELS])level, all, lets, more * y->full_pairs, y->hard_pairs, y->input.split};
    event_model(&in, &t->m, times);
  }
  if (ranks > 1 && ranks >= t->known_ranks) {
    t->together = step.together;
    t->known_ranks = ranks;
  }
  soft_step_free(&step);
  memory_free(all);
  memory_free(level);
  memory_free(local);
  memory_free(rows);
}

/* --- the table --------------------------------------------------------------------------------------------------- */

/* The most ranks that are counted. Without the split every pair of ranks exchanges LETs, whose list takes 1.5 kB for each pair. */
static int counted_limit(const struct time_study *t, double particles)
{
  double most = fmax(floor(particles / PARTICLES_MIN), 1), limit = t->split ? TIME_COUNTED_MAX : LAW_RANKS_MAX;
  return (int)fmin(most, limit);
}

/* The machine's name as a field of the table. */
static const char *machine_field(const struct time_study *t, char field[sizeof t->m.name])
{
  snprintf(field, sizeof t->m.name, "%s", t->m.name);
  for (char *at = field; *at; at++)
    if (*at == ',' || *at == '"') *at = ';';
  return field;
}

static void row(struct time_study *t, const struct study_facts *f, const struct time_row *r)
{
  char machine[sizeof t->m.name];
  double all = event_total(r->times.critical);
  time_text_row(&t->text, f, r);
  if (!t->out.file) return;
  fprintf(t->out.file, "%s,%s,%.0f,%.0f,%.15g,%s,%.15g,%.15g,%.15g", machine_field(t, machine), f->scheme, r->per_rank * r->ranks, r->ranks,
          r->per_rank, r->by, f->soft_step, all, all / f->soft_step);
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) fprintf(t->out.file, ",%.9g,%.9g", r->times.mean[p], r->times.critical[p]);
  fputc('\n', t->out.file);
  fflush(t->out.file);
}

static void file_header(const struct time_study *t)
{
  FILE *out = t->out.file;
  if (!out) return;
  fprintf(out, "# espalier %s (%s), study time, machine file %s\n", PACKAGE_VERSION, revision, t->options.machine);
  fprintf(out, "# by: count: messages were counted for so many ranks; law: by laws fitted to smaller numbers, see the terminal for their range\n");
  fprintf(out, "# soft_step_seconds, unit_seconds: of a soft step, and of a unit of simulated time\n"
               "# PHASE_mean: seconds, mean over ranks; PHASE_critical: of the ranks that come last to collectives\n");
  fprintf(out, "machine,scheme,particles,ranks,per_rank,by,dt_soft,soft_step_seconds,unit_seconds");
  for (int p = 0; p < EVENT_PHASES_COUNT; p++) fprintf(out, ",%s_mean,%s_critical", event_phase_names[p], event_phase_names[p]);
  fputc('\n', out);
}

/* --- laws -------------------------------------------------------------------------------------------------------- */

static void add_point(struct time_study *t, double ranks, double particles, const struct event_times *times)
{
  if (ranks < LAW_RANKS_MIN || t->points == LAW_POINTS) return;
  t->point[t->points++] = (struct law_point){ranks, particles / ranks, *times};
}

/* Whether a number of ranks is left to the laws. */
static int by_law(const struct time_study *t, int which, double particles)
{
  return t->options.weak > 0 || t->options.ranks[which] > counted_limit(t, particles);
}

static int needs_laws(const struct time_study *t, double particles)
{
  int needs = 0;
  for (int k = 0; k < t->options.rank_count; k++) needs |= by_law(t, k, particles);
  return needs;
}

/* Count numbers of ranks for the laws that have not been counted yet. Collective. */
static void count_for_laws(struct time_study *t, struct study_system *y)
{
  double particles = y->facts.particles;
  for (int ranks = LAW_RANKS_MIN; ranks <= LAW_RANKS_MAX && ranks <= counted_limit(t, particles); ranks *= 4) {
    struct event_times times;
    int known = 0;
    for (int i = 0; i < t->points; i++) known |= t->point[i].ranks == ranks && fabs(t->point[i].per_rank * ranks - particles) < 1;
    if (known) continue;
    predict(t, y, ranks, &times);
    add_point(t, ranks, particles, &times);
  }
}

/* One rank has no messages and does not wait. */
static void without_others(struct event_times *times)
{
  static const enum event_phase none[] = {EVENT_migration, EVENT_let_select, EVENT_hard_let, EVENT_wait};
  for (size_t k = 0; k < sizeof none / sizeof *none; k++) times->mean[none[k]] = times->critical[none[k]] = 0;
}

/* The rows of numbers of ranks that are left to the laws. */
static void rows_by_law(struct time_study *t, const struct study_facts *f)
{
  const struct time_options *o = &t->options;
  struct laws laws;
  laws_fit(&laws, t->point, t->points);
  for (int k = 0; k < o->rank_count; k++) {
    struct time_row r = {.which = k, .ranks = o->ranks[k], .per_rank = o->weak > 0 ? o->weak : f->particles / o->ranks[k]};
    if (!by_law(t, k, f->particles)) continue;
    laws_predict(&laws, r.ranks, r.per_rank, &r.times);
    if (r.ranks == 1) without_others(&r.times);
    double collective = event_collectives(&t->together, t->known_ranks, r.ranks, &t->m);
    r.times.mean[EVENT_collective] = r.times.critical[EVENT_collective] = collective;
    r.by = laws_reach(&laws, r.ranks, r.per_rank) ? "law" : "law*";
    row(t, f, &r);
  }
  time_text_laws(&laws);
}

/* --- schemes ----------------------------------------------------------------------------------------------------- */

/* Whether there are enough particles for laws. */
static int laws_possible(const struct time_study *t, double particles) { return counted_limit(t, particles) >= LAW_RANKS_MIN << 2 * (LAW_MIN - 1); }

/* Leave out the numbers of ranks that cannot be predicted, where any will do. */
static void leave_out(struct time_study *t, double particles)
{
  int count = t->options.rank_count, limit = counted_limit(t, particles);
  if (!t->options.any_ranks || t->options.weak > 0 || laws_possible(t, particles)) return;
  while (t->options.rank_count > 1 && t->options.ranks[t->options.rank_count - 1] > limit) t->options.rank_count--;
  if (t->options.rank_count < count && t->c->rank == 0)
    printf("# P = %d and more: left out, since messages of %.0f particles are counted for at most %d ranks\n", t->options.ranks[t->options.rank_count], particles, limit);
}

static int open_system(struct time_study *t, const struct params *par, enum study_scheme scheme, struct study_system *y, struct fault *f)
{
  struct params own = *par;
  own.Tuning = TUNING_FROZEN;
  params_use_walks(&own);
  study_use_scheme(&own, scheme);
  study_use_order(&own, t->m.device == DEVICE_gpu);
  if (study_system_open(y, t->c, &own, 1, f)) return -1;
  if (t->m.device == DEVICE_gpu) study_system_use_device(y);
  t->split = y->input.split;
  t->pairs_alone = 0;
  double particles = y->facts.particles;
  leave_out(t, particles);
  warn_of_device(t, y);
  if (t->c->rank == 0 && t->options.weak == 0 && !t->said) study_text_few_particles(t->options.ranks, t->options.rank_count, particles), t->said = 1;
  if (needs_laws(t, particles) && !laws_possible(t, particles)) {
    fault_set(f, "--ranks: %d particles can be counted on at most %d ranks (%d particles each); other numbers need laws, which need at least %d "
                 "particles: give smaller numbers of ranks, or a file with more particles", (int)particles, counted_limit(t, particles), PARTICLES_MIN, PARTICLES_MIN * (LAW_RANKS_MIN << 2 * (LAW_MIN - 1)));
    study_system_close(y);
    return -1;
  }
  return 0;
}

static int one_scheme(struct time_study *t, const struct params *par, int files, enum study_scheme scheme, struct fault *f)
{
  const struct time_options *o = &t->options;
  struct study_system y;
  if (open_system(t, par, scheme, &y, f)) return -1;
  struct study_facts facts = y.facts;
  t->points = t->known_ranks = 0;
  count_alone(t, &y);
  if (t->c->rank == 0) time_text_begin(&t->text, &facts, &t->m, o->weak > 0);
  for (int k = 0; k < o->rank_count; k++) {
    struct time_row r = {.which = k, .ranks = o->ranks[k], .per_rank = facts.particles / o->ranks[k], .by = "count"};
    if (by_law(t, k, facts.particles)) continue;
    predict(t, &y, o->ranks[k], &r.times);
    add_point(t, r.ranks, facts.particles, &r.times);
    if (t->c->rank == 0) row(t, &facts, &r);
  }
  int laws = needs_laws(t, facts.particles);
  if (laws) count_for_laws(t, &y);
  study_system_close(&y);
  struct soft_step_together own = t->together;   /* those of the other files are not of this system */
  int own_ranks = t->known_ranks;
  for (int i = 1; laws && i < files; i++) {
    if (open_system(t, &par[i], scheme, &y, f)) return -1;
    count_alone(t, &y);
    count_for_laws(t, &y);
    study_system_close(&y);
  }
  t->together = own;
  t->known_ranks = own_ranks;
  if (laws && t->c->rank == 0) rows_by_law(t, &facts);
  if (t->c->rank == 0) time_text_end(&t->text);
  return 0;
}

int time_study(const struct comm *c, const struct params *par, int files, const struct time_options *options)
{
  struct time_study *t = memory_alloc("study", sizeof *t);
  struct fault f = {""};
  t->c = c;
  t->options = *options;
  char machine[2 * PATH_MAX];
  if (c->rank == 0 && machine_file(options->machine, machine, sizeof machine, &f) == 0 && machine_read(machine, &t->m, &f) == 0)
    result_open(&t->out, options->output, options->overwrite, par, &f);
  if (comm_verdict(c, &f) == 0) {
    comm_broadcast(c, &t->m, sizeof t->m);
    if (c->rank == 0 && result_begin(&t->out, &f) == 0) file_header(t);
    for (int k = 0; k < options->scheme_count && !f.text[0]; k++)
      if (one_scheme(t, par, files, options->scheme[k], &f)) break;
    if (c->rank == 0 && !f.text[0]) time_text_finish(&t->text, t->options.ranks, t->options.rank_count);
  }
  if (c->rank == 0) result_close(&t->out, &f);
  comm_verdict(c, &f);
  memory_free(t);
  comm_print_fault(c, "error", &f);
  return f.text[0] != 0;
}
