/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How one particle of each model is drawn. Used inside src/ic only. */
#ifndef IC_MODELS_H
#define IC_MODELS_H
#include <stdint.h>

#include "ic/ic.h"
#include "ic/random.h"

struct ic_point {
  double pos[3], vel[3];
  uint8_t type;
};

/* Particle `index` (from 0) of the model; total mass 1, G = 1. */
void plummer_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);
void hernquist_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);
void uniform_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);
void merger_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);

/* A Plummer sphere of another mass and scale radius, at rest at the origin. */
void plummer_sphere(double mass, double scale, struct ic_random *r, struct ic_point *point);
/* Particles of the merger's first sphere. */
int64_t merger_first(const struct ic_model *m);
#endif
