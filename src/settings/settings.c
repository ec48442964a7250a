/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "settings/settings.h"

#include <string.h>

#include "base/memory.h"
#include "scheme/schemes.h"
#include "settings/parts.h"
#include "step/effects.h"
#include "step/effort.h"
#include "step/timed.h"

void settings_make(struct sim *sim, const struct params *asked)
{
  if (!sim->settings) sim->settings = memory_alloc("settings", sizeof *sim->settings);
  struct settings *settings = sim->settings;
  settings->asked = *asked;
  if (sim->par != &settings->in_use) settings->in_use = *sim->par;
  sim->par = &settings->in_use;
}

/* Forces by opening angle, which need no a_old, and their sums. Collective. */
static void force_by_angle(struct sim *sim, int potential)
{
  struct mac angle = sim_criterion(sim, MAC_ANGLE);
  sim_force(sim, &angle, potential);
  sim_measure(sim);
}

void settings_first_force(struct sim *sim)
{
  settings_make(sim, sim->par);
  choice_take_only(sim);
  effects_at(sim, sim->time);
  sim_arrange(sim, 1);
  timed_sources(sim);
  timed_moments(sim, &sim->force.mac, 0, 0);
  scheme_measure_radius(sim, 1);
  if (radii_are_open(
          sim->par)) { /* a first force gives the energy; after that the run begins as with the values found */
    force_by_angle(sim, 1);
    radii_find(sim);
    scheme_measure_radius(sim, 1);
  }
  if (choice_is_open(sim)) {
    scheme_use_no_split(sim);
    force_by_angle(sim, 1);
    sim_note_energy(sim);
    choice_first(sim);
    scheme_measure_radius(sim, 1);
  }
  if (mac_uses_a_old(&sim->force.mac)) force_by_angle(sim, 0);
  sim->scheme->hard_part(sim);
  double began = effort_clock(sim);
  sim_force(sim, &sim->force.mac, 1);
  choice_note_forces(sim, effort_clock(sim) - began);
  sim_measure(sim);
  effects_account(sim);
  memcpy(sim->effects.v_com, sim->now.v_com, sizeof sim->effects.v_com);
  sim_note_energy(sim);
  sim->system.first_profile = sim->system.change = 0;
  plan_note_profile(sim->par, &sim->now, &sim->system);
}

void settings_resume(struct sim *sim, const struct params *asked)
{
  settings_make(sim, asked);
  choice_resume(sim);
}

void settings_resumed(struct sim *sim)
{
  struct params *in_use = &sim->settings->in_use;
  if (in_use->Mode == MODE_AUTO) in_use->Mode = scheme_split(sim) ? MODE_HYBRID : MODE_TREE;
  if (in_use->Scheme == SCHEME_AUTO) in_use->Scheme = SCHEME_BLOCK;
  choice_resume(sim);
}

void settings_use_folders(struct sim *sim, const struct params *params)
{
  struct params *in_use = &sim->settings->in_use;
  memcpy(in_use->OutputDir, params->OutputDir, sizeof in_use->OutputDir);
  memcpy(in_use->CheckpointDir, params->CheckpointDir, sizeof in_use->CheckpointDir);
}

void settings_extend(struct sim *sim, double end)
{
  sim->settings->in_use.TimeMax = end;
  sim->settings->asked.TimeMax = end;
}
