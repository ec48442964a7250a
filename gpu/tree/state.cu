/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "gpu/tree/state.cuh"

void order_state_free(struct order_state *state)
{
  for (int k = 0; k < 2; k++) {
    array_free(&state->key[k]);
    array_free(&state->place[k]);
  }
  array_free(&state->bucket_key);
  array_free(&state->bucket_place);
  array_free(&state->bucket_count);
}

void tree_state_free(struct tree_state *state)
{
  array_free(&state->span);
  array_free(&state->tile_count);
  array_free(&state->tile_place);
  array_free(&state->node);
  array_free(&state->motion);
  array_free(&state->quad);
  array_free(&state->range);
  array_free(&state->cut);
  array_free(&state->big);
  array_free(&state->soften);
  array_free(&state->next);
  CHECK(runtime_free_host(state->host_level_begin));
}

void source_state_free(struct source_state *state)
{
  array_free(&state->body);
  array_free(&state->motion_state);
  array_free(&state->present);
}

void target_state_free(struct target_state *state)
{
  array_free(&state->head);
  array_free(&state->head_count);
  array_free(&state->group_begin);
  array_free(&state->group);
  array_free(&state->group_of);
  array_free(&state->a_old);
  array_free(&state->supergroup);
  array_free(&state->supergroup_begin);
}

void active_state_free(struct active_state *state)
{
  array_free(&state->group);
  array_free(&state->listed);
  array_free(&state->supergroup);
  array_free(&state->supergroup_listed);
  array_free(&state->particle);
}
