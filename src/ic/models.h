/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One particle of each model is drawn. For this room only. All functions are local. */
#ifndef IC_MODELS_H
#define IC_MODELS_H
#include <stdint.h>

#include "ic/ic.h"
#include "ic/random.h"

/* Henon units. */
struct ic_point {
  double pos[3], vel[3];
  uint8_t type;
};

/* Draw particle `index` (from 0) of the model with total mass 1, G = 1, from its random numbers `r`. */
void plummer_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);
void hernquist_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);
void uniform_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);
void merger_draw(const struct ic_model *m, int64_t index, struct ic_random *r, struct ic_point *point);

/* Draw position and velocity in a Plummer sphere of this mass and scale radius, at rest at the origin. The type is not set. */
void plummer_sphere(double mass, double scale, struct ic_random *r, struct ic_point *point);
/* The number of particles of the merger's first sphere. */
int64_t merger_first(const struct ic_model *m);
#endif
