/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stars of units that meet (gravity/unit_contacts.h): the log of a soft step, and the verb. */
#include <config.h>

#include "base/memory.h"
#include "cpu/lists/units.h"

void units_open_contacts(struct units *units, const struct list_request *request)
{
  if (!request->radii.on) return;
  units->contacts.capacity = list_collisions_max(units->set->n);
  units->contacts.at = memory_alloc("hard", sizeof *units->contacts.at * (size_t)units->contacts.capacity);
  units->rules.contacts = list_contact_rules(request, units->set->gravity, &units->contacts);
}

void units_close_contacts(struct units *units, const struct list_loop *loop)
{
  const struct contact_log *log = &units->contacts;
  const struct list_set *set = units->set;
  struct collision_list *list = loop->collisions;
  if (log->count > log->capacity) {
    list->n = log->count;
  } else if (log->count > 0) {
    list->at = memory_resize("hard", list->at, sizeof *list->at * (size_t)log->count);
    for (int32_t k = 0; k < log->count; k++) {
      const struct contact *contact = &log->at[k];
      const uint64_t id[2] = {set->id[contact->star[0]], set->id[contact->star[1]]};
      if (contact->root < set->own) list->at[list->n++] = list_collision_of(contact, id, set->gravity);
    }
  }
  memory_free(units->contacts.at);
}

const struct list_collision *cpu_lists_collisions(struct device *d, int64_t *n)
{
  *n = d->collisions.n;
  return d->collisions.at;
}
