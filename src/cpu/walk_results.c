/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a walk stores, and the sums that are kept where a forest is walked in parts. */
#include <config.h>

#include "base/memory.h"
#include "cpu/walk_parts.h"

/* The potential of source i at its own place, without G, with the very rounding of the pair loops. `self`: of a unit
 * mass, where softenings are alike. */
static double self_potential(const struct device *d, int64_t i, float self)
{
  float m = d->tree.source.m[i];
  if (d->softening.classes > 1) {
    self = d->isa->inverse_root(d->softening.eps2[softening_class(m)]);
    m = softening_mass(m);
  }
  return m * self;
}

static void store_total(struct device *d, const struct visit *visit, const struct walk_request *request)
{
  const struct targets *t = &visit->w->targets;
  double g = d->config.gravity;
  float self = d->isa->inverse_root(visit->plain.eps2);
  for (int k = 0; k < t->n; k++) {
    int64_t i = visit->w->member[k];
    for (int c = 0; c < 3; c++) {
      d->p.acc[3 * i + c] = (float)(g * t->a[c][k]);
      d->p.acc_hard[3 * i + c] = request->split.on ? (float)(g * t->h[c][k]) : d->p.acc[3 * i + c];
    }
    if (request->potential) d->p.pot[i] = (float)(g * (t->pot[k] + self_potential(d, i, self)));
  }
}

static void store_soft(struct device *d, const struct visit *visit, const struct walk_request *request)
{
  const struct targets *t = &visit->w->targets;
  double g = d->config.gravity;
  for (int k = 0; k < t->n; k++) {
    int64_t i = visit->w->member[k];
    for (int c = 0; c < 3; c++) d->p.acc[3 * i + c] = d->p.acc_soft[3 * i + c] = (float)(g * t->a[c][k]);
    /* K = 1 at distance 0: no self energy */
    if (request->potential) d->p.pot[i] = (float)((request->add_potential ? d->p.pot[i] : 0) + g * t->pot[k]);
  }
}

static void store_potential(struct device *d, const struct visit *visit)
{
  const struct targets *t = &visit->w->targets;
  float self = d->isa->inverse_root(visit->plain.eps2);
  for (int k = 0; k < t->n; k++) {
    int32_t i = visit->w->member[k];
    d->potentials.fine[i] = d->config.gravity * (t->pot[k] + (visit->soft ? 0 : self_potential(d, i, self)));
  }
}

static void store_hard(struct device *d, const struct visit *visit, const struct walk_request *request)
{
  const struct targets *t = &visit->w->targets;
  for (int k = 0; k < t->n; k++)
    for (int c = 0; c < 3; c++)
      d->p.acc_hard[3 * (int64_t)visit->w->member[k] + c] =
          (float)(d->config.gravity * (request->split.on ? t->h[c][k] : t->a[c][k]));
}

/* The sums of targets that a walk stores in the end: acceleration, hard acceleration, potential. */
static int needed_sums(const struct walk_request *request, const struct targets *targets, double *sum[7])
{
  int n = 0, all = request->kind != WALK_HARD;
  if (request->kind == WALK_POTENTIAL) {
    sum[n++] = targets ? targets->pot : NULL;
    return n;
  }
  for (int c = 0; c < 3 && (all || !request->split.on); c++) sum[n++] = targets ? targets->a[c] : NULL;
  for (int c = 0; c < 3 && request->split.on && request->kind != WALK_SOFT; c++)
    sum[n++] = targets ? targets->h[c] : NULL;
  if (all && request->potential) sum[n++] = targets ? targets->pot : NULL;
  return n;
}

int32_t walk_group_count(const struct device *d, const struct walk_request *request)
{
  /* energies */
  if (request->kind == WALK_POTENTIAL) return (d->targets.massive_groups + request->stride - 1) / request->stride;
  return request->kind == WALK_HARD ? d->active.groups : d->targets.groups;
}

const struct group *walk_group_of(const struct device *d, const struct walk_request *request, int32_t k)
{
  if (request->kind == WALK_POTENTIAL) k *= request->stride;
  return &d->targets.group[request->kind == WALK_HARD ? d->active.group[k] : k];
}

/* The n sums of the first target of a walk's group k; those of the others follow. */
static double *kept(const struct device *d, const struct walk_request *request, int32_t k, int n)
{
  return d->forest.sum +
         (int64_t)n * (request->kind == WALK_HARD ? d->active.first[k] : walk_group_of(d, request, k)->begin);
}

/* Sums and interaction counts are kept between the parts of a forest that is walked in parts. */
void walk_keep_sums(struct device *d, const struct visit *visit, const struct walk_request *request, int32_t k,
                    int64_t pairs)
{
  double *sum[7];
  int n = needed_sums(request, &visit->w->targets, sum);
  double *to = kept(d, request, k, n);
  for (int i = 0; i < visit->w->targets.n; i++)
    for (int s = 0; s < n; s++) *to++ = sum[s][i];
  d->forest.pairs[k] = pairs;
}

int64_t walk_take_sums(const struct device *d, const struct visit *visit, const struct walk_request *request, int32_t k)
{
  double *sum[7];
  int n = needed_sums(request, &visit->w->targets, sum);
  const double *from = kept(d, request, k, n);
  for (int i = 0; i < visit->w->targets.n; i++)
    for (int s = 0; s < n; s++) sum[s][i] = *from++;
  return d->forest.pairs[k];
}

void walk_need_sums(struct device *d, const struct walk_request *request)
{
  double *sum[7];
  size_t targets = (size_t)(request->kind == WALK_HARD ? d->active.count : d->p.n),
         n = (size_t)needed_sums(request, NULL, sum);
  if (!request->local || request->last) return;
  cpu_reserve((void **)&d->forest.sum, &d->forest.sum_capacity, sizeof *d->forest.sum * n * targets, "sums");
  cpu_reserve((void **)&d->forest.pairs, &d->forest.pair_capacity,
              sizeof *d->forest.pairs * (size_t)walk_group_count(d, request), "sums");
}

void walk_need_potentials(struct device *d, const struct walk_request *request)
{
  struct potentials *p = &d->potentials;
  if (request->kind != WALK_POTENTIAL || !request->local) return;
  memory_free(p->fine);
  p->fine = memory_alloc("potentials", sizeof *p->fine * (size_t)(d->p.n + 1));
  p->stride = request->stride;
  p->soft = request->split.on;
}

/* Those of a synchronisation are longer than those of substeps, of which there are many. */
void walk_free_sums(struct device *d, const struct walk_request *request)
{
  if (!request->last || request->kind == WALK_HARD) return;
  memory_free(d->forest.sum);
  d->forest.sum = NULL;
  d->forest.sum_capacity = 0;
}

/* Every member is assigned the mean of the group. */
static void store_work(struct device *d, const struct workspace *workspace, int64_t pairs, int replace)
{
  float each = (float)((double)pairs / workspace->targets.n);
  for (int k = 0; k < workspace->targets.n; k++) {
    float *work = &d->p.work[workspace->member[k]];
    *work = (replace ? WORK_KEPT * *work : *work) + each;
  }
}

void walk_store(struct device *d, const struct visit *visit, const struct walk_request *request, int64_t pairs)
{
  if (request->kind != WALK_POTENTIAL) store_work(d, visit->w, pairs, request->kind != WALK_HARD);
  switch (request->kind) {
  case WALK_TOTAL: store_total(d, visit, request); break;
  case WALK_SOFT: store_soft(d, visit, request); break;
  case WALK_HARD: store_hard(d, visit, request); break;
  case WALK_POTENTIAL: store_potential(d, visit); break;
  }
}
