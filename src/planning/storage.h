/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory and disk of a planned run. Bytes. */
#ifndef STORAGE_H
#define STORAGE_H
#include "check/need.h"
#include "planning/planning.h"

struct storage {
  struct memory_need host; /* of a rank */
  double most;             /* the upper bound of `run --check` */
  double device;           /* of a rank on its device; 0: it has none */
  double snapshot, snapshots;
  double checkpoint, checkpoints; /* checkpoints: at most at one time */
};

/* `on_device`: 1: devices compute. 0; -1 with a fault of the list of output times. */
int storage_plan(const struct params *params, const struct planning *planning, int on_device, enum need_scheme scheme,
                 struct storage *storage, struct fault *fault);
#endif
