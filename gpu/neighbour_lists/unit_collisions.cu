/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stars of units that meet (gravity/unit_contacts.h): the logs of a soft step, of the device and of the host, which
 * ends the steps of some units, and the verb. */
#include <config.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gpu/neighbour_lists/units.cuh"

static const char *const label = "device collisions";

void units_open_contacts(struct device *d, const struct list_request *request, int32_t places,
                         struct unit_rules *device, struct unit_rules *host)
{
  struct collision_state *state = &d->lists.unit.collision;
  int64_t bytes = list_collisions_max(places) * (int64_t)sizeof(struct contact);
  state->count = 0;
  *host = *device;
  if (!request->radii.on) return;
  struct contact_log log = {0, list_collisions_max(places),
                            (struct contact *)array_reserve(&state->contact, label, bytes)};
  struct contact_log *there = (struct contact_log *)array_reserve(&state->log, label, (int64_t)sizeof log);
  CHECK(runtime_copy(there, &log, sizeof log, TO_DEVICE, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  log.at = (struct contact *)memory_resize("collisions", state->host.at, (size_t)bytes);
  state->host = log;
  device->contacts = list_contact_rules(request, d->config.gravity, there);
  host->contacts = list_contact_rules(request, d->config.gravity, &state->host);
}

/* Add those in units of this rank to the list. id: of all places. */
static void take(struct collision_state *state, const struct contact *contact, int32_t count, const uint64_t *id,
                 int64_t own, double gravity)
{
  for (int32_t k = 0; k < count; k++) {
    const uint64_t ids[2] = {id[contact[k].star[0]], id[contact[k].star[1]]};
    if (contact[k].root < own) state->list[state->count++] = list_collision_of(&contact[k], ids, gravity);
  }
}

void units_close_contacts(struct device *d, const struct units_job *job)
{
  struct collision_state *state = &d->lists.unit.collision;
  struct contact_log log;
  if (!job->rules.contacts.log) return;
  CHECK(runtime_copy(&log, job->rules.contacts.log, sizeof log, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  int64_t all = (int64_t)log.count + state->host.count;
  if (log.count > log.capacity || state->host.count > log.capacity) {
    state->count = all;
    return;
  }
  if (all == 0) return;
  size_t places = (size_t)job->loop.members, bytes = sizeof(struct contact) * (size_t)log.count;
  uint64_t *id = (uint64_t *)memory_alloc("collisions", sizeof *id * places);
  struct contact *contact = (struct contact *)memory_alloc("collisions", bytes + 1);
  state->list = (struct list_collision *)memory_resize("collisions", state->list, sizeof *state->list * (size_t)all);
  CHECK(runtime_copy(id, job->place.id, sizeof *id * places, TO_HOST, d->stream));
  if (log.count > 0) CHECK(runtime_copy(contact, log.at, bytes, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  take(state, contact, log.count, id, job->loop.own, d->config.gravity);
  take(state, state->host.at, state->host.count, id, job->loop.own, d->config.gravity);
  memory_free(id);
  memory_free(contact);
}

const struct list_collision *gpu_collisions(struct device *d, int64_t *n)
{
  *n = d->lists.unit.collision.count;
  return d->lists.unit.collision.list;
}

void units_collisions_free(struct collision_state *state)
{
  array_free(&state->log);
  array_free(&state->contact);
  memory_free(state->host.at);
  memory_free(state->list);
}
