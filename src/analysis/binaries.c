/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/binaries.h"

#include <math.h>
#include <string.h>

#include "analysis/decimal.h"
#include "analysis/stars.h"
#include "base/memory.h"
#include "gravity/cosmology.h"
#include "gravity/units.h"

int binaries_wanted(const struct params *params, double particles)
{
  return params->Interval > 0 && stars_few(particles);
}

/* --- the tables -------------------------------------------------------------------------------------------------- */

void binaries_header(FILE *out)
{
  fprintf(out, "time,first,second,inner_first,inner_second,stars,a,e,period,mass_first,mass_second,tide,energy,x,y,z,"
               "vx,vy,vz\n");
}

void binaries_events_header(FILE *out)
{
  fprintf(out, "after,until,event,first,second,former_first,former_second,stars,mass,distance,speed\n");
}

/* Write a comma and numbers at `at`. Returns their end. */
static char *add_numbers(char *at, const double *x, int count)
{
  for (int k = 0; k < count; k++) {
    *at++ = ',';
    at += decimal_text(x[k], at);
  }
  return at;
}

static void write_system(FILE *out, double time, const struct multiple *row, const double place[3],
                         const double motion[3])
{
  char text[20 * (DECIMAL_TEXT + 1)], *at = text;
  double x[3], v[3];
  for (int k = 0; k < 3; k++) {
    x[k] = row->pos[k] + place[k];
    v[k] = row->vel[k] + motion[k];
  }
  at += decimal_text(time, at);
  at += sprintf(at, ",%lld,%lld,%d,%d,%d", (long long)row->first, (long long)row->second, row->inner[0], row->inner[1],
                row->stars);
  at = add_numbers(at, (const double[]){row->a, row->e, row->period, row->mass[0], row->mass[1]}, 5);
  at += sprintf(at, ",%.3g", row->tide);
  at = add_numbers(at, &row->energy, 1);
  at = add_numbers(at, x, 3);
  at = add_numbers(at, v, 3);
  *at++ = '\n';
  fwrite(text, 1, (size_t)(at - text), out);
}

/* Events between two times. */
struct between {
  FILE *out;
  double after, until;
};

static void write_pair_event(void *to, enum pair_event event, const struct star_pair *pair,
                             const struct star_pair *former)
{
  static const char *const names[] = {"formed", "dissolved", "exchanged"};
  const struct between *b = to;
  fprintf(b->out, "%.17g,%.17g,%s,%lld,%lld,", b->after, b->until, names[event], (long long)pair->id[0],
          (long long)pair->id[1]);
  if (former) fprintf(b->out, "%lld,%lld,,,,\n", (long long)former->id[0], (long long)former->id[1]);
  else fputs(",,,,,\n", b->out);
}

static void write_escape(const struct between *between, const struct escape *escape)
{
  fprintf(between->out, "%.17g,%.17g,escaped,%lld,", between->after, between->until, (long long)escape->id[0]);
  if (escape->stars > 1) fprintf(between->out, "%lld", (long long)escape->id[1]);
  fprintf(between->out, ",,,%d,%.17g,%.17g,%.17g\n", escape->stars, escape->mass, escape->distance, escape->speed);
}

/* --- one time ---------------------------------------------------------------------------------------------------- */

/* The stars of all ranks on rank 0; `place` and `motion` as in the facts. In an expanding universe x becomes a x, and
 * the velocity a v_pec of the run (gravity/cosmology.h) v_pec and that of the expansion. Collective. */
static struct star *gather(const struct comm *comm, const struct particles *particles,
                           const struct binaries_facts *facts, int32_t *stars, double place[3], double motion[3])
{
  const struct params *p = facts->params;
  double length = p->Comoving ? facts->time : 1, speed = p->Comoving ? 1 / facts->time : 1;
  double flow = p->Comoving ? cosmology_hubble0(p) * cosmology_rate(p->Omega0, p->OmegaLambda, facts->time) : 0;
  for (int k = 0; k < 3; k++) {
    place[k] = length * facts->place[k];
    motion[k] = speed * facts->motion[k] + flow * place[k];
  }
  return stars_gather(comm, particles, length, speed, flow, stars);
}

/* Write what has happened since the last time, and remember this one. */
static void write_events(struct binaries *binaries, double time, const struct multiples *found, const struct star *star,
                         int32_t stars, double gravity, FILE *events)
{
  int32_t pairs, escapes;
  struct star_pair *pair = multiples_pairs(found, &pairs);
  struct escape *escape = escapes_find(star, stars, found, gravity, &binaries->escaped, &escapes);
  struct between between = {events, binaries->time, time};
  if (binaries->known && events) {
    multiples_events(binaries->pair, binaries->pairs, pair, pairs, write_pair_event, &between);
    for (int32_t k = 0; k < escapes; k++) write_escape(&between, &escape[k]);
  }
  memory_free(escape);
  memory_free(binaries->pair);
  binaries->pair = pair;
  binaries->pairs = pairs;
  binaries->time = time;
  binaries->known = 1;
}

void binaries_scan(struct binaries *binaries, const struct comm *comm, const struct particles *particles,
                   const struct binaries_facts *facts, FILE *table, FILE *events)
{
  int32_t stars;
  double place[3], motion[3], gravity = units_gravity(facts->params);
  struct star *star = gather(comm, particles, facts, &stars, place, motion);
  if (comm->rank == 0) {
    struct multiples found;
    stars = multiples_arrange(star, stars);
    multiples_find(&found, star, stars, gravity, facts->params->Limit);
    for (int32_t k = 0; k < found.count && table; k++) write_system(table, facts->time, &found.row[k], place, motion);
    write_events(binaries, facts->time, &found, star, stars, gravity, events);
    if (table) fflush(table);
    if (events) fflush(events);
    multiples_close(&found);
  }
  memory_free(star);
}

/* --- checkpoints ------------------------------------------------------------------------------------------------- */

/* Words of 8 bytes: these, two ids of each pair, the ids of stars that have escaped. */
struct head {
  int64_t known, pairs, escaped;
  double time;
};

void *binaries_pack(const struct binaries *binaries, uint64_t *bytes)
{
  const struct head head = {binaries->known, binaries->pairs, binaries->escaped.count, binaries->time};
  size_t pairs = sizeof *binaries->pair * (size_t)binaries->pairs,
         escaped = sizeof *binaries->escaped.id * (size_t)binaries->escaped.count;
  char *text = memory_alloc("systems", sizeof head + pairs + escaped);
  memcpy(text, &head, sizeof head);
  if (pairs) memcpy(text + sizeof head, binaries->pair, pairs);
  if (escaped) memcpy(text + sizeof head + pairs, binaries->escaped.id, escaped);
  *bytes = sizeof head + pairs + escaped;
  return text;
}

int binaries_unpack(struct binaries *binaries, const void *text, uint64_t bytes)
{
  struct head head;
  const char *from = text;
  if (bytes < sizeof head) return -1;
  memcpy(&head, from, sizeof head);
  if (head.pairs < 0 || head.pairs > INT32_MAX || head.escaped < 0 || head.escaped > INT32_MAX) return -1;
  size_t pairs = sizeof *binaries->pair * (size_t)head.pairs,
         escaped = sizeof *binaries->escaped.id * (size_t)head.escaped;
  if (bytes != sizeof head + pairs + escaped) return -1;
  binaries_close(binaries);
  binaries->known = head.known != 0;
  binaries->time = head.time;
  binaries->pairs = (int32_t)head.pairs;
  binaries->escaped.count = (int32_t)head.escaped;
  binaries->pair = memory_alloc("systems", pairs + 1);
  binaries->escaped.id = memory_alloc("escapes", escaped + 1);
  memcpy(binaries->pair, from + sizeof head, pairs);
  memcpy(binaries->escaped.id, from + sizeof head + pairs, escaped);
  return 0;
}

void binaries_close(struct binaries *binaries)
{
  memory_free(binaries->pair);
  memory_free(binaries->escaped.id);
  *binaries = (struct binaries){0};
}
