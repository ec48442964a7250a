/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units of stars on the device (gravity/unit.h): pairs and groups that form and dissolve at block times, by the rules
 * of gravity/unit_rules.h.
 *
 * A place is a particle, own or of the halo. A unit has the place of its star of the lowest id, its root; its other
 * stars are absorbed. Lists name the places of the begin of the soft step and never change: pairs that were bound then
 * have one place on them, their head's, which stands for both stars (the second one is its companion). What a place on
 * a list stands for is looked up: the unit that it belongs to now, or its two stars. The list of a unit is made of
 * those of its stars. */
#ifndef GPU_UNITS_CUH
#define GPU_UNITS_CUH
#include "gpu/neighbour_lists/loop.cuh"
#include "gpu/neighbour_lists/unit_mail.h"
#include "gravity/unit_field.h"
#include "gravity/unit_parts.h"

enum { CLASS_UNIT = CLASS_BLOCK }; /* units; no list of a star is summed up by a block here */
/* each of the two stars of a body may have two that have merged with it */
enum { UNIT_STARS = 2 * 3 * UNIT_BODIES, UNITS_OF_CHANGE = UNIT_BODIES / 2 };
/* What a place on a list stands for: a number >= 0: this unit; a star; something to be looked up. */
enum { TAG_STAR = -1, TAG_LOOK = -2 };
#define NO_CLAIM (~0ull)
#define DISTANCE_OF_LAST 3e38f /* of changes that others go before */

/* What others see of a unit from the begin of a step of its centre. */
struct unit_view {
  double quadrupole[3][3], rate[3][3], trace; /* trace: the largest, of a passing pair */
  int followed;                               /* 1: a pair that is followed along its orbit, */
  struct ks_pair ks;                          /* this one */
  struct unit_facts facts;
};

/* The places of the stars of a unit, ascending. */
struct unit_stars {
  int32_t count, place[UNIT_STARS];
};

/* CHANGE_OVER: its place has another change, and asks again as a new root. CHANGE_NONE: not found yet.
 * CHANGE_TO_HIERARCHY: a group becomes a hierarchy. */
enum unit_change_kind {
  CHANGE_OVER = -2,
  CHANGE_REFUSED = -1,
  CHANGE_NONE,
  CHANGE_JOIN,
  CHANGE_PART,
  CHANGE_TO_HIERARCHY
};

/* Two places that belong together, or one that no longer holds together (other < 0). */
struct unit_change {
  unsigned long long key; /* of those that want the same place, the lowest is carried out */
  int32_t place, other;
  int32_t kind, parts; /* found after the claims: enum unit_change_kind */
  int32_t divided;     /* place that parts */
  enum unit_form form; /* of those that join */
  int32_t part[UNIT_BODIES];
};

/* Counters that the thread blocks share. */
struct unit_numbers {
  int32_t proposed[2], begun, near, refused, need_units, full; /* near: to be brought to the tick */
  unsigned next_unit, next_spare;                              /* of the ring of spare units: taken, given back */
  unsigned long long need_entries, entries, requests;          /* requests: to the host */
};

/* Constants of places. [places] */
struct unit_places {
  const double *gm;
  const float *factor;
  const uint64_t *id;
  const int32_t *head, *companion; /* of a star its head, which may be itself; of a head the other star or -1 */
};

/* What belongs to what. [places], but where stated. */
struct unit_tables {
  int32_t *root, *at; /* place of the unit, or the star itself; unit with this root, or -1 */
  struct member_list *list;
  const struct member_list *list_of_head; /* as they were made: ascending */
  int32_t *entry;                         /* of all lists; new ones behind those that were made */
  unsigned long long entry_capacity;
  int32_t *partner;        /* the neighbour that belongs to it, or -1, */
  float *partner_distance; /* and its distance */
  uint8_t *waits;          /* steps of a star in which it does not ask again to join */
  unsigned long long *claim;
  struct list_source *source; /* the tag is its last member */
  struct unit *unit;          /* [units] */
  struct unit_field *field;   /* [units] at the end of the step */
  struct unit_view *view;     /* [2 units] for the two motions of the root */
  struct unit_stars *stars;   /* [units] */
  int32_t *spare;             /* [units] a ring */
  int32_t units;
  struct unit_change *change[2]; /* [places] of this round of changes, and of the next one */
  int32_t *begun;                /* [places] roots that have begun in this tick; before, those that are brought to it */
  int32_t *noted;                /* [places] the last tick to which a place was brought so */
  struct unit_numbers *numbers;
};

struct units_job {
  struct loop_job loop;
  struct unit_places place;
  struct unit_tables table;
  struct unit_rules rules;
  const struct list_body *body; /* at the begin, pairs as one */
  double far2, entry2; /* squared distances within which a neighbour may be a partner, for factor 1; within which two
                          stars are one unit, and a little more */
  int first, level_shift;
  int hosted_active;      /* where fewer places are active, or there are not more units, the host ends the steps of all
                        units; below 0: never */
  struct unit_mail *mail; /* as the device sees it */
};

/* Own lasting pairs: their number, the bits of the largest 1 / period and eccentricity; stars lent to other ranks. */
struct units_tally {
  unsigned long long pairs, frequency, eccentricity;
  int32_t lent;
};

/* The kernel of the loop over ticks, with units. */
void units_loop(struct device *d, const struct units_job *job, int blocks);
int units_loop_blocks(struct device *d, int64_t places);
/* Slots for units on their way to the host that so many thread blocks use. */
int32_t units_mail_slots(int blocks);
/* Everything of a soft step of the verb advance, where the request has units. */
void units_advance(struct device *d, const struct list_request *request, int64_t n, const struct halo_particle *halo,
                   struct list_tally *tally);
void units_state_free(struct list_state *state);

/* Make room for the contacts of a soft step, where the request asks for them, and set the rules of device and host. */
void units_open_contacts(struct device *d, const struct list_request *request, int32_t places,
                         struct unit_rules *device, struct unit_rules *host);
/* After the end of all units: those in units of this rank. The host waits. */
void units_close_contacts(struct device *d, const struct units_job *job);
void units_collisions_free(struct collision_state *state);
#endif
