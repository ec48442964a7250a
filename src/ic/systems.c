/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many systems have two and three stars. */
#include <config.h>
#include <math.h>

#include "ic/models.h"

static int64_t triples_among(const struct ic_model *model, int64_t multiples)
{
  return llrint((double)multiples * model->triples);
}

struct ic_multiples ic_multiples(const struct ic_model *model)
{
  double fraction = multiple_fraction(model);
  int64_t stars = model->n - (model->central_mass > 0),
          multiples = llrint((double)stars * fraction / (1 + fraction * (1 + model->triples)));
  while (2 * multiples + triples_among(model, multiples) > stars) multiples--;
  int64_t triples = triples_among(model, multiples);
  return (struct ic_multiples){multiples - triples, triples};
}
