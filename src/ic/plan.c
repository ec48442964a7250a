/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of models, and the tables that a model needs for drawing. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "ic/models.h"

static const struct {
  ic_draw *draw;
  const struct ic_sphere *sphere;
} models[] = {{plummer_draw, &plummer_sphere_shape},
              {hernquist_draw, &hernquist_sphere_shape},
              {king_draw, &king_sphere_shape},
              {uniform_draw, NULL},
              {merger_draw, NULL}};
const char *const ic_names[] = {"plummer", "hernquist", "king", "uniform", "merger"};
const int ic_count = sizeof ic_names / sizeof *ic_names;
_Static_assert(sizeof ic_names / sizeof *ic_names == sizeof models / sizeof *models, "a name for each model");

int ic_plan_open(struct ic_plan *plan, const struct ic_model *model, struct fault *fault)
{
  int i = 0;
  while (strcmp(ic_names[i], model->name) != 0) i++;
  memset(plan, 0, sizeof *plan);
  plan->m = model;
  plan->draw = models[i].draw;
  plan->sphere = models[i].sphere;
  plan->multiples = ic_multiples(model);
  plan->stars = 1 - model->central_mass;
  if (plan->sphere == &plummer_sphere_shape) plummer_plan(plan);
  if (plan->sphere == &hernquist_sphere_shape) hernquist_plan(plan);
  int failed = plan->sphere == &king_sphere_shape && king_plan(plan, fault);
  if (!failed && plan->sphere && model->central_mass > 0) {
    plan->draw = central_draw;
    failed = central_plan(plan, fault);
  }
  if (failed) ic_plan_close(plan);
  return failed ? -1 : 0;
}

void ic_plan_close(struct ic_plan *plan)
{
  king_free(plan->king);
  central_free(plan->central);
  plan->king = NULL;
  plan->central = NULL;
}
