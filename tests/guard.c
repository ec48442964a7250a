/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A system that is no longer sound is stopped with step, phase and ids: values that are not finite, lost particles, a
 * jump of the momentum; and small changes are let pass. */
#include <config.h>
#include <math.h>

#include "files.h"
#include "run/guard.h"

static struct comm c;
static struct device *device;
static struct guard guard;
static struct diagnostics now;
static const struct backend *const be = &backend_cpu;

/* Particles at rest but for small, opposite motions. */
static void make(struct particles *particles, int64_t total)
{
  particles_make(particles, &c, total, 3);
  for (int64_t i = 0; i < particles->n; i++) {
    particles->mass[i] = 1;
    for (int k = 0; k < 3; k++) particles->vel[3 * i + k] = particles->id[i] % 2 ? 1 : -1;
  }
}

static void begin(void)
{
  struct device_config config = {.gravity = 1, .softening = 1, .max_leaf = 16, .max_group = 64, .ranks = c.size};
  struct particles p;
  device = be->open(&config);
  make(&p, 4000);
  be->upload(device, &p);
  diagnostics_measure(&now, &c, be, device, &(struct field){0});
  guard_remember(&guard, &now, 1);
}

static void end(void)
{
  struct particles p;
  be->download(device, &p);
  particles_free(&p);
  be->close(device);
}

/* Change the particles of the last rank. */
static void change(void (*how)(struct particles *particles))
{
  struct particles p;
  be->download(device, &p);
  if (p.n > 0) how(&p);
  be->upload(device, &p);
  diagnostics_measure(&now, &c, be, device, &(struct field){0});
}

static void check(void (*how)(struct particles *particles), int sound, const char *first, const char *second,
                  const char *what)
{
  struct fault f = {""};
  begin();
  if (how) change(how);
  int status = guard_check(&guard, &now, &c, be, device, &(struct field){0}, 12, 0.5, 0.001, &f);
  if (c.rank == 0 && f.text[0]) printf("# %s\n", f.text);
  int ok = sound ? status == 0 && !f.text[0]
                 : status == -1 && strstr(f.text, first) && strstr(f.text, second) && strstr(f.text, "step 12");
  all_ok(&c, ok, what);
  end();
}

/* Particles of rank 0: their first has the id 1. */
static int is_first(const struct particles *particles) { return particles->id[0] == 1; }
static void bad_velocity(struct particles *particles)
{
  if (is_first(particles)) particles->vel[1] = NAN;
}
static void bad_force(struct particles *particles)
{
  if (is_first(particles)) {
    particles->acc[0] = INFINITY;
    particles->vel[0] = NAN;
  }
}
static void bad_place(struct particles *particles)
{
  if (is_first(particles)) particles->pos[2] = -INFINITY;
}
static void lose(struct particles *particles)
{
  if (is_first(particles)) particles->n--;
}
static void lose_mass(struct particles *particles)
{
  if (is_first(particles)) particles->mass[0] = 0.5f;
}
static void kicked(struct particles *particles)
{
  if (is_first(particles)) particles->vel[0] = 1e6;
}
static void nudged(struct particles *particles)
{
  for (int64_t i = 0; i < 3 * particles->n; i++) particles->vel[i] += 1e-4;
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  check(NULL, 1, "", "", "nothing has changed");
  check(nudged, 1, "", "", "a small change of the momentum");
  check(bad_velocity, 0, "phase kick: 1 particle has", "id 1 (velocity)", "a velocity that is not finite");
  check(bad_force, 0, "phase forces: 1 particle has", "id 1 (acceleration)",
        "an acceleration that is not finite, and what it does");
  check(bad_place, 0, "phase drift", "id 1 (position)", "a position that is not finite");
  check(lose, 0, "there are 3999 particles, but there were 4000 at the start", "phase domain", "a lost particle");
  check(lose_mass, 0, "the mass is 3999.5, but it was 4000 at the start", "phase domain", "lost mass");
  check(kicked, 0, "momentum jumped", "ids 1 (speed 1e+06)", "a jump of the momentum, and who it was");
  check(kicked, 0, "smaller Eta, a shorter soft step (SoftStep, or MaxSizeTimestep), or a larger Softening", "",
        "... and what to do about it");
  return ranks_end(&c);
}
