/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models do not depend on the number of ranks: the slices together are what one rank makes alone. */
#include <config.h>
#include <stdio.h>

#include "ic/ic.h"
#include "ranks.h"

static void check_model(const struct comm *world, const struct comm *alone, const char *name, int64_t n, int stars)
{
  struct ic_model m;
  struct fault f = {""};
  struct particles slice, whole;
  particles_init(&slice);
  particles_init(&whole);
  ic_defaults(&m);
  snprintf(m.name, sizeof m.name, "%s", name);
  m.n = n;
  m.seed = 42;
  m.virial_ratio = 0.3;
  if (stars) {
    m.masses = stars == 2 ? IC_TWO : IC_KROUPA;
    m.heavy_fraction = 0.2;
    m.binaries = stars == 3 ? IC_OBSERVED : 0.4;
    m.triples = stars == 3 ? 0.5 : 0;
    m.central_mass = 0.05;
  }
  int made = ic_make(world, &m, &slice, NULL, &f) == 0 && ic_make(alone, &m, &whole, NULL, &f) == 0;
  /* the rank's own slice, element by element, then all slices together */
  int64_t below = comm_exscan_int64(world, slice.n), same = 1, facts[3];
  for (int64_t i = 0; made && i < slice.n; i++) {
    same &= slice.id[i] == whole.id[below + i] && slice.type[i] == whole.type[below + i] &&
            slice.mass[i] == whole.mass[below + i];
    for (int c = 0; c < 3; c++)
      same &= slice.pos[3 * i + c] == whole.pos[3 * (below + i) + c] &&
              slice.vel[3 * i + c] == whole.vel[3 * (below + i) + c];
  }
  facts[0] = slice.n;
  facts[1] = (int64_t)particles_digest(&slice);
  facts[2] = !made || !same;
  comm_sum_int64(world, facts, 3);
  int even = comm_max_int64(world, slice.n) - comm_min_int64(world, slice.n) <= 1;
  char what[200];
  snprintf(what, sizeof what, "%s%s, N = %lld: bit-identical, in nearly equal slices", name,
           stars == 0   ? ""
           : stars == 1 ? " of Kroupa's stars and binaries"
           : stars == 2 ? " of two masses and binaries"
                        : " of observed binaries and triples",
           (long long)n);
  if (world->rank == 0)
    tap_ok(facts[0] == n && facts[1] == (int64_t)particles_digest(&whole) && facts[2] == 0 && even, what);
  particles_free(&slice);
  particles_free(&whole);
}

int main(int argc, char **argv)
{
  struct comm world, alone;
  ranks_begin(&world, &argc, &argv);
  comm_open(&alone, MPI_COMM_SELF);
  for (int i = 0; i < ic_count; i++) {
    check_model(&world, &alone, ic_names[i], 2, 0);
    check_model(&world, &alone, ic_names[i], 4001, 0);
  }
  check_model(&world, &alone, "plummer", 1, 0);
  for (int stars = 1; stars <= 3; stars++) {
    check_model(&world, &alone, "plummer", 4001, stars);
    check_model(&world, &alone, "hernquist", 1000, stars);
    check_model(&world, &alone, "king", 7, stars);
  }
  comm_close(&alone);
  return ranks_end(&world);
}
