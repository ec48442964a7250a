/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STEP_COLUMNS_H
#define STEP_COLUMNS_H

/* The columns of steps.csv: X(name, format, value), with what logs_step has at hand: `sim`, `report`, `split` and `dE`.
 * Before `level_K`. */
#define STEP_COLUMNS(X)                                                                           \
  X(step, "%lld", sim->step)                                                                      \
  X(time, "%.15g", sim->time)                                                                     \
  X(dt_soft, "%.9g", report->dt)                                                                  \
  X(R1, "%.9g", split ? sim->force.split.r1 : 0.0)                                                \
  X(R2, "%.9g", split ? sim->force.split.r2 : 0.0)                                                \
  X(substeps, "%lld", (long long)sim->counts.substeps)                                            \
  X(level_max, "%d", sim->counts.level_max)                                                       \
  X(evaluations_full, "%lld", (long long)report->full.targets)                                    \
  X(evaluations_hard, "%lld", (long long)report->hard.targets)                                    \
  X(pairs_full, "%.0f", pairs(&report->full))                                                     \
  X(pairs_hard, "%.0f", pairs(&report->hard))                                                     \
  X(list_full, "%.2f", report->list_full)                                                         \
  X(list_hard, "%.2f", report->list_hard)                                                         \
  X(h, "%.4f", report->h)                                                                         \
  X(imbalance, "%.4f", report->imbalance)                                                         \
  X(imbalance_particles, "%.4f", report->imbalance_particles)                                     \
  X(imbalance_hard, "%.4f", report->imbalance_hard)                                               \
  X(imbalance_pairs_hard, "%.4f", report->imbalance_pairs_hard)                                   \
  X(imbalance_seconds, "%.4f", report->imbalance_seconds)                                         \
  X(dE, "%s", dE)                                                                                 \
  X(seconds, "%.6f", report->wall)                                                                \
  X(migrated, "%lld", (long long)sim->counts.migrated)                                            \
  X(let_cells, "%.0f", report->cells)                                                             \
  X(let_particles, "%.0f", report->particles)                                                     \
  X(let_bytes, "%.0f", report->bytes)                                                             \
  X(update_messages, "%lld", (long long)report->update_messages)                                  \
  X(update_bytes, "%lld", (long long)report->update_bytes)                                        \
  X(strays, "%lld", (long long)report->violations)                                                \
  X(remakes, "%lld", (long long)sim->counts.let_reselections)                                     \
  X(neighbours, "%.3f", report->neighbours)                                                       \
  X(hard_steps, "%lld", (long long)report->lists.steps)                                           \
  X(binaries, "%lld", (long long)report->lists.pairs_bound)                                       \
  X(shortest_period, "%.6g", report->lists.pairs_bound > 0 ? report->lists.shortest_period : 0.0) \
  X(largest_eccentricity, "%.9g", report->lists.largest_eccentricity)
#endif
