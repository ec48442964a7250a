/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gpu/tree/state.cuh"

void order_state_free(struct order_state *s)
{
  for (int k = 0; k < 2; k++) {
    array_free(&s->key[k]);
    array_free(&s->place[k]);
  }
  array_free(&s->bucket_key);
  array_free(&s->bucket_place);
  array_free(&s->bucket_count);
}

void tree_state_free(struct tree_state *s)
{
  array_free(&s->span);
  array_free(&s->tile_count);
  array_free(&s->tile_place);
  array_free(&s->node);
  array_free(&s->motion);
  array_free(&s->quad);
  array_free(&s->range);
  array_free(&s->cut);
  array_free(&s->big);
  array_free(&s->soften);
  array_free(&s->next);
  CHECK(cudaFreeHost(s->host_level_begin));
}

void source_state_free(struct source_state *s)
{
  array_free(&s->body);
  array_free(&s->motion_state);
  array_free(&s->present);
}

void target_state_free(struct target_state *s)
{
  array_free(&s->head);
  array_free(&s->head_count);
  array_free(&s->group_begin);
  array_free(&s->group);
  array_free(&s->group_of);
  array_free(&s->a_old);
  array_free(&s->supergroup);
  array_free(&s->supergroup_begin);
}

void active_state_free(struct active_state *s)
{
  array_free(&s->group);
  array_free(&s->listed);
  array_free(&s->supergroup);
  array_free(&s->supergroup_listed);
  array_free(&s->particle);
}
