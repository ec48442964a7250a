/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "external/external.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A term of a potential. */
static struct field_term term_of(const struct external_potential *potential, double gravity)
{
  static const int kinds[EXTERNAL_KINDS] = {FIELD_PLUMMER, FIELD_PLUMMER,   FIELD_ISOCHRONE,     FIELD_LOGARITHMIC,
                                            FIELD_NFW,     FIELD_HERNQUIST, FIELD_MIYAMOTO_NAGAI};
  struct field_term t = {.kind = kinds[potential->kind]};
  memcpy(t.centre, potential->centre, sizeof t.centre);
  memcpy(t.number, potential->value, sizeof potential->value);
  if (potential->kind == EXTERNAL_LOGARITHMIC) return t;
  t.number[0] = gravity * potential->value[0];
  double c = potential->value[2];
  if (potential->kind == EXTERNAL_NFW && c > 0) t.number[0] /= c * c * c * field_nfw(c); /* ln(1 + c) - c / (1 + c) */
  return t;
}

static int add_potential(struct external *external, const struct params *par, int number, struct fault *fault)
{
  struct external_potential p;
  int at = external->field.count;
  if (!external_text(par, number)[0]) return 0;
  if (external_read(external_text(par, number), &p, fault)) return -1;
  external->field.term[at] = term_of(&p, external->gravity);
  if (p.orbit[0]) {
    external->moves = 1;
    external->orbit_name[at] = external_text(par, number);
    external->number[at] = number;
    external->orbit[at] = orbit_read(p.orbit, fault);
    if (!external->orbit[at]) return -1;
  }
  external->field.count++;
  return 0;
}

static int add_tide(struct external *external, const struct params *par, struct fault *fault)
{
  struct external_tide t;
  if (!par->TidalField[0]) return 0;
  if (external_read_tide(par->TidalField, &t, fault)) return -1;
  struct field_term *term = &external->field.term[external->field.count++];
  *term = (struct field_term){.kind = FIELD_TIDAL, .number = {4 * t.omega * t.omega - t.kappa * t.kappa, t.nu * t.nu}};
  external->field.spin = t.omega;
  return 0;
}

int external_open(struct external *external, const struct params *par, double gravity, struct fault *fault)
{
  _Static_assert(FIELD_TERMS >= EXTERNAL_POTENTIALS + 1, "a term for each potential and the tidal field");
  memset(external, 0, sizeof *external);
  external->gravity = gravity;
  external->given = external_given(par);
  for (int k = 0; k < EXTERNAL_POTENTIALS; k++)
    if (add_potential(external, par, k, fault)) return -1;
  if (add_tide(external, par, fault)) return -1;
  if (!par->Agama[0]) return 0;
  external->agama_files = agama_files(par->Agama, external->agama_file, EXTERNAL_FILES - EXTERNAL_POTENTIALS);
  external->agama = agama_open(par->AgamaLibrary, par->Agama, fault);
  return external->agama ? 0 : -1;
}

void external_close(struct external *external)
{
  for (int k = 0; k < FIELD_TERMS; k++) orbit_free(external->orbit[k]);
  agama_close(external->agama);
  memset(external, 0, sizeof *external);
}

int external_check_times(const struct external *external, double begin, double end, struct fault *fault)
{
  for (int k = 0; k < external->field.count; k++) {
    double span[2];
    if (!external->orbit[k]) continue;
    orbit_span(external->orbit[k], span);
    if (span[0] > begin || span[1] < end)
      return fault_set(
          fault,
          "[External] %.200s: the orbit is from %.15g to %.15g, and the run from %.15g to %.15g: expected a table "
          "that covers the run",
          external->orbit_name[k], span[0], span[1], begin, end);
  }
  return 0;
}

int external_files(const struct external *external, double time, struct external_file file[EXTERNAL_FILES])
{
  int count = 0;
  for (int k = 0; k < external->field.count; k++) {
    struct fault unread = {""};
    struct external_potential p;
    if (!external->orbit[k] || external_read(external->orbit_name[k], &p, &unread)) continue;
    struct external_file *one = &file[count++];
    *one = (struct external_file){.table = 1};
    snprintf(one->entry, sizeof one->entry, "file.Potential%d", external->number[k] + 1);
    memcpy(one->path, p.orbit, sizeof one->path);
    orbit_sum(external->orbit[k], time, one->number);
  }
  memcpy(&file[count], external->agama_file, sizeof *file * (size_t)external->agama_files);
  return count + external->agama_files;
}

void external_field(const struct external *external, double time, struct field *field)
{
  *field = external->field;
  for (int k = 0; k < field->count; k++)
    if (external->orbit[k]) orbit_at(external->orbit[k], time, field->term[k].centre, field->term[k].motion);
}

void external_host(const struct external *external, int64_t n, const double *pos, double time, double *acceleration,
                   double *potential, double *rate)
{
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double gradient[3], second[6], norm2 = 0;
    potential[i] = external->gravity * agama_at(external->agama, &pos[3 * i], time, gradient, second);
    for (int c = 0; c < 3; c++) acceleration[3 * i + c] = -external->gravity * gradient[c];
    for (int k = 0; k < 6; k++) norm2 += (k < 3 ? 1 : 2) * second[k] * second[k];
    rate[i] = external->gravity * sqrt(norm2);
  }
}
