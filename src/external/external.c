/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "external/external.h"

#include <math.h>
#include <string.h>

/* A term of a potential. */
static struct field_term term_of(const struct external_potential *p, double gravity)
{
  static const int kinds[EXTERNAL_KINDS] = {FIELD_PLUMMER, FIELD_PLUMMER, FIELD_ISOCHRONE, FIELD_LOGARITHMIC,
                                            FIELD_NFW, FIELD_HERNQUIST, FIELD_MIYAMOTO_NAGAI};
  struct field_term t = {.kind = kinds[p->kind]};
  memcpy(t.centre, p->centre, sizeof t.centre);
  memcpy(t.number, p->value, sizeof p->value);
  if (p->kind == EXTERNAL_LOGARITHMIC) return t;
  t.number[0] = gravity * p->value[0];
  double c = p->value[2];
  if (p->kind == EXTERNAL_NFW && c > 0) t.number[0] /= c * c * c * field_nfw(c);   /* ln(1 + c) - c / (1 + c) */
  return t;
}

static int add_potential(struct external *e, const struct params *par, int number, struct fault *f)
{
  struct external_potential p;
  int at = e->field.count;
  if (!external_text(par, number)[0]) return 0;
  if (external_read(external_text(par, number), &p, f)) return -1;
  e->field.term[at] = term_of(&p, e->gravity);
  if (p.orbit[0]) {
    e->moves = 1;
    e->orbit_name[at] = external_text(par, number);
    e->orbit[at] = orbit_read(p.orbit, f);
    if (!e->orbit[at]) return -1;
  }
  e->field.count++;
  return 0;
}

static int add_tide(struct external *e, const struct params *par, struct fault *f)
{
  struct external_tide t;
  if (!par->TidalField[0]) return 0;
  if (external_read_tide(par->TidalField, &t, f)) return -1;
  struct field_term *term = &e->field.term[e->field.count++];
  *term = (struct field_term){.kind = FIELD_TIDAL, .number = {4 * t.omega * t.omega - t.kappa * t.kappa, t.nu * t.nu}};
  e->field.spin = t.omega;
  return 0;
}

int external_open(struct external *e, const struct params *par, double gravity, struct fault *f)
{
  _Static_assert(FIELD_TERMS >= EXTERNAL_POTENTIALS + 1, "a term for each potential and the tidal field");
  memset(e, 0, sizeof *e);
  e->gravity = gravity;
  e->given = external_given(par);
  for (int k = 0; k < EXTERNAL_POTENTIALS; k++)
    if (add_potential(e, par, k, f)) return -1;
  if (add_tide(e, par, f)) return -1;
  if (par->Agama[0] && !(e->agama = agama_open(par->AgamaLibrary, par->Agama, f))) return -1;
  return 0;
}

void external_close(struct external *e)
{
  for (int k = 0; k < FIELD_TERMS; k++) orbit_free(e->orbit[k]);
  agama_close(e->agama);
  memset(e, 0, sizeof *e);
}

int external_check_times(const struct external *e, double begin, double end, struct fault *f)
{
  for (int k = 0; k < e->field.count; k++) {
    double span[2];
    if (!e->orbit[k]) continue;
    orbit_span(e->orbit[k], span);
    if (span[0] > begin || span[1] < end)
      return fault_set(f, "[External] %.200s: the orbit is from %.15g to %.15g, and the run from %.15g to %.15g: expected a table "
                       "that covers the run",
                       e->orbit_name[k], span[0], span[1], begin, end);
  }
  return 0;
}

void external_field(const struct external *e, double time, struct field *field)
{
  *field = e->field;
  for (int k = 0; k < field->count; k++)
    if (e->orbit[k]) orbit_at(e->orbit[k], time, field->term[k].centre, field->term[k].motion);
}

void external_host(const struct external *e, int64_t n, const double *pos, double time, double *acceleration, double *potential,
                   double *rate)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double gradient[3], second[6], norm2 = 0;
    potential[i] = e->gravity * agama_at(e->agama, &pos[3 * i], time, gradient, second);
    for (int c = 0; c < 3; c++) acceleration[3 * i + c] = -e->gravity * gradient[c];
    for (int k = 0; k < 6; k++) norm2 += (k < 3 ? 1 : 2) * second[k] * second[k];
    rate[i] = e->gravity * sqrt(norm2);
  }
}
