/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STEP_COLUMNS_H
#define STEP_COLUMNS_H

/* The columns of steps.csv: X(name, format, value), with what logs_step has at hand: the sim `s`, the step_report `r`,
 * and `split` and `dE`. Before `level_K`. */
#define STEP_COLUMNS(X)                                                                 \
  X(step, "%lld", s->step)                                                              \
  X(time, "%.15g", s->time)                                                             \
  X(dt_soft, "%.9g", r->dt)                                                             \
  X(R1, "%.9g", split ? s->force.split.r1 : 0.0)                                        \
  X(R2, "%.9g", split ? s->force.split.r2 : 0.0)                                        \
  X(substeps, "%lld", (long long)s->counts.substeps)                                    \
  X(level_max, "%d", s->counts.level_max)                                               \
  X(evaluations_full, "%lld", (long long)r->full.targets)                               \
  X(evaluations_hard, "%lld", (long long)r->hard.targets)                               \
  X(pairs_full, "%.0f", pairs(&r->full))                                                \
  X(pairs_hard, "%.0f", pairs(&r->hard))                                                \
  X(list_full, "%.2f", r->list_full)                                                    \
  X(list_hard, "%.2f", r->list_hard)                                                    \
  X(h, "%.4f", r->h)                                                                    \
  X(imbalance, "%.4f", r->imbalance)                                                    \
  X(imbalance_particles, "%.4f", r->imbalance_particles)                                \
  X(imbalance_hard, "%.4f", r->imbalance_hard)                                          \
  X(imbalance_pairs_hard, "%.4f", r->imbalance_pairs_hard)                              \
  X(imbalance_seconds, "%.4f", r->imbalance_seconds)                                    \
  X(dE, "%s", dE)                                                                       \
  X(seconds, "%.6f", r->wall)                                                           \
  X(migrated, "%lld", (long long)s->counts.migrated)                                    \
  X(let_cells, "%.0f", r->cells)                                                        \
  X(let_particles, "%.0f", r->particles)                                                \
  X(let_bytes, "%.0f", r->bytes)                                                        \
  X(update_messages, "%lld", (long long)r->update_messages)                             \
  X(update_bytes, "%lld", (long long)r->update_bytes)                                   \
  X(strays, "%lld", (long long)r->violations)                                           \
  X(remakes, "%lld", (long long)s->counts.let_reselections)                             \
  X(neighbours, "%.3f", r->neighbours)                                                  \
  X(hard_steps, "%lld", (long long)r->lists.steps)                                      \
  X(binaries, "%lld", (long long)r->lists.pairs_bound)                                  \
  X(shortest_period, "%.6g", r->lists.pairs_bound > 0 ? r->lists.shortest_period : 0.0) \
  X(largest_eccentricity, "%.9g", r->lists.largest_eccentricity)
#endif
