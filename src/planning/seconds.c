/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "planning/seconds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "forecast/counted_step.h"
#include "forecast/more_pairs.h"
#include "run/outputs.h"
#include "settings/choice.h"

/* Interactions of a GPU over those of a CPU, whose groups are other ones (doc/scaling.md). */
#define GPU_INTERACTIONS 0.64
/* Interactions in block steps of a GPU, which has a new tree for each, over those of full forces. */
#define GPU_BLOCK_INTERACTIONS 1.4
/* Most ranks for which full forces are walked on virtual ranks, as in `study time`. */
enum { WALKED_RANKS_MAX = 64 };
/* Fewest particles of a rank in a pilot whose messages are counted; of a pilot whose measurement takes long. */
enum { PARTICLES_MIN = 16, SAID_MIN = 4096 };

unsigned seconds_schemes(const struct params *params, const char **why)
{
  const unsigned hybrid = 1u << STUDY_HYBRID;
  unsigned allowed = choice_allowed(params), schemes = 0;
  *why = NULL;
  if (params->Comoving) *why = "soft steps in comoving coordinates change all the time";
  else if (params_neighbour_lists(params)) *why = "steps from neighbour lists follow close encounters";
  if (*why) return 0;
  if (!allowed) return 1u << study_scheme_of(params);
  if (allowed & 1u << CHOICE_SHARED) schemes |= 1u << STUDY_SHARED;
  if (allowed & 1u << CHOICE_BLOCK) schemes |= 1u << STUDY_BLOCK;
  if (allowed & (1u << CHOICE_HYBRID | 1u << CHOICE_HYBRID_NARROW)) schemes |= hybrid;
  return schemes;
}

/* Soft steps of this length, which outputs shorten. */
static double count_steps(const struct params *params, double begin, double step, struct fault *fault)
{
  enum { LIMIT = 1000000 };
  struct outputs outputs;
  double steps = 0, time = begin;
  if (outputs_open(&outputs, params, fault)) return 0;
  for (int k = 0; time < outputs.end && k < LIMIT; k++) {
    double next = outputs_next(&outputs, time);
    steps += fmax(ceil((next - time) / step * (1 - 1e-10)), 1);
    time = next;
  }
  outputs_close(&outputs);
  return steps;
}

/* The parameters of a pilot: the scheme, and Delta as for the planned number of particles. */
static struct params params_of(const struct seconds_wanted *wanted, enum study_scheme scheme)
{
  struct params p = *wanted->params;
  int on_device = wanted->machine->device == DEVICE_gpu;
  p.Tuning = TUNING_FROZEN;
  params_use_walks(&p);
  study_use_scheme(&p, scheme);
  study_use_order(&p, on_device);
  struct params run = params_of_run(&p, wanted->particles, on_device);
  p.ErrTolForceAcc = params_delta(&run);
  return p;
}

/* The power of the number of particles by which a softening that suits them becomes shorter. */
#define SOFTENING_POWER 0.26

/* Particles of a pilot are heavier than those of the run, and their pairs would have steps that those of the run have
 * not: where its softening does not suit so few particles, it grows as one that does. */
static void soften(struct params *params, const struct seconds_wanted *wanted, double particles)
{
  double *of[] = {&params->Softening,      &params->SofteningType0, &params->SofteningType1, &params->SofteningType2,
                  &params->SofteningType3, &params->SofteningType4, &params->SofteningType5};
  double suits = pilot_softening(wanted->half, particles), eps = params_softening(params, NULL);
  if (!(eps > 0 && eps < suits)) return;
  double factor = fmin(pow(wanted->particles / particles, SOFTENING_POWER), suits / eps);
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) *of[k] *= factor;
}

static int open_pilot(const struct seconds_wanted *wanted, const struct params *params, int k,
                      struct study_system *system, struct fault *fault)
{
  struct particles copy;
  struct params own = *params;
  const struct particles *from = &wanted->pilot[k];
  particles_init(&copy);
  particles_reserve(&copy, from->n);
  for (int64_t i = 0; i < from->n; i++) particles_copy(&copy, i, from, i);
  copy.n = from->n;
  soften(&own, wanted, (double)from->n);
  if (study_system_open_given(system, wanted->comm, &own, &copy, 1, fault)) return -1;
  if (wanted->machine->device == DEVICE_gpu) study_system_use_device(system);
  return 0;
}

/* --- from a pilot to the run ------------------------------------------------------------------------------------- */

static double let_bytes(const struct counted_step *counted)
{
  double sum = 0;
  for (int64_t k = 0; k < counted->lets; k++) sum += counted->let[k].bytes;
  return sum;
}

static uint32_t grown(uint32_t bytes, double more) { return (uint32_t)fmin(bytes * more, UINT32_MAX); }

/* Make a counted step of a pilot one of `more` times as many particles. */
static void scale(struct counted_step *counted, double more, double power)
{
  double lets = pow(more, power);
  for (int r = 0; r < counted->ranks; r++) {
    counted->local[r] = (int64_t)llround((double)counted->local[r] * more);
    for (int l = 0; l < SCHEDULE_LEVELS; l++)
      counted->level[r][l] = (int64_t)llround((double)counted->level[r][l] * more);
    for (int p = 0; p < SOFT_STEP_PART_COUNT; p++)
      counted->step.rank[r].sent[p].bytes = (int64_t)((double)counted->step.rank[r].sent[p].bytes * lets);
  }
  for (int64_t k = 0; k < counted->lets; k++) {
    struct soft_step_let *let = &counted->let[k];
    let->bytes = grown(let->bytes, lets);
    let->boxes = grown(let->boxes, lets);
    let->cells = grown(let->cells, lets);
    for (int l = 0; l < SCHEDULE_LEVELS; l++) let->deeper[l] = grown(let->deeper[l], lets);
  }
}

/* How many more interactions full forces have on the ranks than on one. */
static double more_pairs(const struct seconds_wanted *wanted, struct study_system *system)
{
  if (wanted->ranks == 1 || wanted->ranks > WALKED_RANKS_MAX) return 1;
  return virtual_walk_pairs(wanted->comm, &system->synchronised, wanted->ranks) /
         virtual_walk_pairs(wanted->comm, &system->synchronised, 1);
}

static void say(const struct particles *pilot, const char *scheme)
{
  if (pilot->n < SAID_MIN) return;
  fprintf(stderr, "%s: plan: a soft step of %lld particles, %s\n", PACKAGE_NAME, (long long)pilot->n, scheme);
}

/* What the pilots show; of the smaller one zeros where there is none. */
struct measured {
  double particles[PILOTS];
  double full[PILOTS], hard[PILOTS]; /* interactions of a particle */
  double lets[PILOTS];               /* bytes */
  double nearer; /* the distances between particles by both pilots over those by the larger one, scaled by N^(-1/3) */
};

/* Measure the smaller pilot. `distance`: between its particles. 0 or -1. */
static int measure_smaller(const struct seconds_wanted *wanted, const struct params *params, struct measured *measured,
                           double *distance, struct fault *fault)
{
  struct study_system system;
  struct counted_step counted;
  if (open_pilot(wanted, params, 0, &system, fault)) return -1;
  measured->full[0] = system.full_pairs;
  measured->hard[0] = system.hard_pairs;
  *distance = system.rules.distance;
  if (wanted->ranks > 1 && wanted->pilot[0].n >= (int64_t)PARTICLES_MIN * wanted->ranks) {
    counted_step_make(wanted->comm, &system, wanted->ranks, &counted);
    measured->lets[0] = let_bytes(&counted);
    counted_step_free(&counted);
  }
  study_system_close(&system);
  return 0;
}

/* Measure the pilots, of which the larger one stays open. 0 or -1. */
static int measure(const struct seconds_wanted *wanted, const struct params *params, const char *scheme,
                   struct measured *measured, struct study_system *system, struct fault *fault)
{
  double distance = 0;
  *measured = (struct measured){.nearer = 1};
  for (int k = 0; k < PILOTS; k++) measured->particles[k] = (double)wanted->pilot[k].n;
  if (measured->particles[0] > 0) {
    say(&wanted->pilot[0], scheme);
    if (measure_smaller(wanted, params, measured, &distance, fault)) return -1;
  }
  say(&wanted->pilot[1], scheme);
  if (open_pilot(wanted, params, 1, system, fault)) return -1;
  measured->full[1] = system->full_pairs;
  measured->hard[1] = system->hard_pairs;
  if (distance > 0 && system->rules.distance > 0) /* medians of few samples: the mean of both has less noise */
    measured->nearer = sqrt(distance * cbrt(measured->particles[0] / measured->particles[1]) / system->rules.distance);
  return 0;
}

/* Predict the time of a soft step from the larger pilot, whose schedule is that of the run. */
static void predict(const struct seconds_wanted *wanted, struct measured *measured, struct study_system *system,
                    struct seconds_planned *planned)
{
  struct counted_step counted;
  double n = wanted->particles,
         on_device = wanted->machine->device == DEVICE_gpu && system->on_host ? GPU_INTERACTIONS : 1;
  counted_step_make(wanted->comm, system, wanted->ranks, &counted);
  measured->lets[1] = let_bytes(&counted);
  planned->let_power = wanted->ranks > 1 ? let_power(measured->lets, measured->particles) : 0;
  scale(&counted, n / measured->particles[1], planned->let_power);
  system->full_pairs = on_device * interactions_at(measured->full, measured->particles, n, 0);
  system->hard_pairs = on_device < 1 && !system->input.split
                           ? GPU_BLOCK_INTERACTIONS * system->full_pairs
                           : interactions_at(measured->hard, measured->particles, n, 1);
  struct event_input in = counted_step_input(&counted, system, more_pairs(wanted, system));
  event_model(&in, wanted->machine, &planned->times);
  counted_step_free(&counted);
}

int seconds_plan(const struct seconds_wanted *wanted, enum study_scheme scheme, struct seconds_planned *planned,
                 struct fault *fault)
{
  struct params params = params_of(wanted, scheme), rules = params;
  struct study_system system;
  struct measured measured;
  struct system_at at;
  *planned = (struct seconds_planned){.scheme = study_scheme_names[scheme]};
  if (measure(wanted, &params, planned->scheme, &measured, &system, fault)) return -1;
  rules.run = system.used.run;
  rules.run.particles = wanted->particles;
  system.rules.distance *= measured.nearer;
  if (params.R1 == 0 && params.R2 == 0) system.rules.r2 *= measured.nearer;
  system_at(&system, &rules, wanted->particles, &at);
  system_at_levels(&system, &at);
  predict(wanted, &measured, &system, planned);
  planned->full_pairs = system.full_pairs;
  planned->hard_pairs = system.hard_pairs;
  planned->levels = scheme == STUDY_SHARED ? 0 : system.input.level_max;
  planned->soft_step = at.soft_step;
  planned->steps = count_steps(wanted->params, wanted->begin, at.soft_step, fault);
  planned->seconds = planned->steps * event_total(planned->times.critical);
  study_system_close(&system);
  return fault->text[0] ? -1 : 0;
}
