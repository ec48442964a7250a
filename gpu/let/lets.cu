/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of LETs: opening and closing. */
#include <config.h>
#include "base/memory.h"
#include "gpu/let/choice.cuh"

void device_lets_open(struct device *d)
{
  size_t ranks = (size_t)(d->config.ranks > 0 ? d->config.ranks : 1);
  struct let_state *l = d->let = (struct let_state *)memory_alloc("LETs", sizeof *l);
  for (int k = 0; k < LET_SETS; k++) {
    l->out[k] = (struct outgoing_let *)memory_alloc("LETs", sizeof **l->out * ranks);
    l->in[k] = (struct incoming_let *)memory_alloc("LETs", sizeof **l->in * ranks);
  }
  l->waiting.root = (int32_t *)memory_alloc("LETs", sizeof *l->waiting.root * (size_t)roots_max(d));
  l->host_roots = (int32_t *)memory_alloc("LETs", sizeof *l->host_roots * (size_t)roots_max(d));
  CHECK(runtime_stream_create(&l->stream));
  CHECK(runtime_event_create_untimed(&l->arrived));
  CHECK(runtime_event_create_untimed(&l->walked));
  CHECK(runtime_event_create_untimed(&l->boxes.counted));
  CHECK(runtime_event_create(&l->joined.first_done));
  CHECK(runtime_event_create(&l->joined.remainder_began));
}

static void free_kind(struct device *d, int kind)
{
  struct let_state *l = d->let;
  for (int p = 0; p < d->config.ranks; p++) {
    struct outgoing_let *out = &l->out[kind][p];
    array_free(&out->packed);
    array_free(&out->cells);
    array_free(&l->in[kind][p].arriving);
    array_free(&l->in[kind][p].update);
    array_free(&out->node_from);
    array_free(&out->body_from);
    pinned_free(&out->host_results);
    pinned_free(&out->update);
    pinned_free(&l->in[kind][p].message);
  }
  memory_free(l->out[kind]);
  memory_free(l->in[kind]);
}

static void free_watch(struct let_watch *watch)
{
  array_free(&watch->from);
  array_free(&watch->found);
  array_free(&watch->packed);
  array_free(&watch->numbers);
  array_free(&watch->trajectory);
  array_free(&watch->limit);
  pinned_free(&watch->host_results);
  pinned_free(&watch->host_packed);
}

void device_lets_close(struct device *d)
{
  struct let_state *l = d->let;
  CHECK(runtime_stream_sync(l->stream));
  for (int k = 0; k < LET_SETS; k++) free_kind(d, k);
  free_watch(&l->watch);
  device_choose_close(d);
  array_free(&l->boxes.begin);
  array_free(&l->boxes.rows);
  array_free(&l->staging);
  array_free(&l->root);
  pinned_free(&l->boxes.numbers);
  pinned_free(&l->boxes.top);
  pinned_free(&l->staged);
  CHECK(runtime_event_destroy(l->joined.first_done));
  CHECK(runtime_event_destroy(l->joined.remainder_began));
  CHECK(runtime_event_destroy(l->boxes.counted));
  CHECK(runtime_event_destroy(l->arrived));
  CHECK(runtime_event_destroy(l->walked));
  CHECK(runtime_stream_destroy(l->stream));
  memory_free(l->waiting.root);
  memory_free(l->host_roots);
  memory_free(l);
}
