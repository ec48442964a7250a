/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verbs of the backend and operations of mpi/ in the phases of timers, ledger and recorder, which step/ and scheme/
 * enter here only. All else counts as PHASE_correct until the substeps end, then as PHASE_other. */
#ifndef TIMED_H
#define TIMED_H
#include "step/sim.h"

/* Do `call`, a statement, in a phase; the phase before follows. */
#define TIMED(sim, during, call)           \
  do {                                     \
    enum phase before_ = (sim)->timer.now; \
    timer_phase(&(sim)->timer, during);    \
    call;                                  \
    timer_phase(&(sim)->timer, before_);   \
  } while (0)

/* Functions: name, phase, call, parameters. What they do is said where the verb, or the function of mpi/, is declared.
 * timed_halo comes before verbs of neighbour lists. */
#define TIMED_VERBS(X)                                                                                              \
  X(timed_sources, PHASE_moments, sim->be->tree.sources(sim->dev), struct sim *sim)                                 \
  X(timed_moments, PHASE_moments, sim->be->tree.moments(sim->dev, mac, tick, tick_length), struct sim *sim,         \
    const struct mac *mac, int32_t tick, double tick_length)                                                        \
  X(timed_max, PHASE_wait, comm_max_double(sim->comm, x, n), struct sim *sim, double *x, int n)                     \
  X(timed_sum, PHASE_wait, comm_sum_double(sim->comm, x, n), struct sim *sim, double *x, int n)                     \
  X(timed_select_lets, PHASE_hard_let, let_exchange(sim->ranks.lets, kind, &sim->lattice, *request, next, sent),    \
    struct sim *sim, enum let_kind kind, const struct let_request *request, int32_t next, struct let_traffic *sent) \
  X(timed_begin_request, PHASE_hard_let, let_begin_request(sim->ranks.lets, request), struct sim *sim,              \
    const struct let_request *request)                                                                              \
  X(timed_send_request, PHASE_hard_let, let_send_request(sim->ranks.lets, &sim->lattice, *request, sent),           \
    struct sim *sim, const struct let_request *request, struct let_traffic *sent)                                   \
  X(timed_take_updates, PHASE_hard_let, let_take_updates(sim->ranks.lets, tick, &sim->counts.updates),              \
    struct sim *sim, int32_t tick)                                                                                  \
  X(timed_send_updates, PHASE_hard_let, let_send_updates(sim->ranks.lets, tick, scope, next, &sim->counts.updates), \
    struct sim *sim, int32_t tick, enum let_update_scope scope, int32_t next)                                       \
  X(timed_hard_walk, PHASE_hard_walk, let_walk(sim->ranks.lets, *request, &sim->counts.hard, &sim->counts.updates), \
    struct sim *sim, const struct walk_request *request)                                                            \
  X(timed_add_fields, PHASE_hard_walk, effects_add(sim, WALK_HARD, 0, tick), struct sim *sim, int32_t tick)         \
  X(timed_halo, PHASE_hard_let, halo_exchange(&sim->lists.halo, sim->comm, sim->be, sim->dev, request),             \
    struct sim *sim, const struct list_request *request)                                                            \
  X(timed_lists_potential, PHASE_hard_walk,                                                                         \
    sim->be->neighbour_lists->potential(sim->dev, request, sim->lists.halo.n, sim->lists.halo.particle),            \
    struct sim *sim, const struct list_request *request)                                                            \
  X(timed_lists_advance, PHASE_hard_walk, advance(sim, request, tally), struct sim *sim,                            \
    const struct list_request *request, struct list_tally *tally)                                                   \
  X(timed_pair_kinetic, PHASE_hard_walk, pair_kinetic(sim, request, sum), struct sim *sim,                          \
    const struct list_request *request, double *sum)

#define X(name, phase, call, ...) void name(__VA_ARGS__);
TIMED_VERBS(X)
#undef X
/* PHASE_hard_let: let_any_violation. */
int timed_any_violation(struct sim *sim, int64_t mine, int begin);
/* PHASE_hard_let: the collisions that the verbs of all ranks tell, in no order; *n: their number. Owner: caller
 * (memory_free). */
struct list_collision *timed_collisions(struct sim *sim, int64_t *n);
/* The verb next_tick, in the phase whose work it waits for. */
int32_t timed_next_tick(struct sim *sim, enum phase awaited);
#endif
