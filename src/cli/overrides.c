/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "cli/overrides.h"

#include <stdio.h>
#include <string.h>

#include "checkpoint/recall.h"
#include "io/input/initial.h"
#include "params/params_nearest.h"

int overrides_add(struct overrides *overrides, const char *text)
{
  const char *colon = strchr(text, ':');
  if (overrides->count == OVERRIDE_LIMIT || !colon || !strchr(colon, '=')) return -1;
  overrides->text[overrides->count++] = text;
  return 0;
}

int overrides_misused(const struct command *self, const struct comm *comm, const char *text)
{
  char name[64] = "";
  size_t n = strcspn(text, "=:");
  /* the section was left out */
  if (text[n] == '=' && n < sizeof name) snprintf(name, sizeof name, "%.*s", (int)n, text);
  int i = param_find(NULL, name);
  if (i >= 0)
    return command_misused(self, comm, "option -P: expected Section:Name=value, found '%s'; did you mean -P %s:%s?",
                           text, param_table[i].section, text);
  return command_misused(self, comm, "option -P: expected Section:Name=value (at most %d times), found '%s'",
                         OVERRIDE_LIMIT, text);
}

/* Rank 0. */
static int load(const char *file, const struct overrides *overrides, int input, const struct run_options *options,
                struct params *par, struct param_origin *origin, struct fault *fault)
{
  if (params_gather(par, file, overrides->text, overrides->count, origin, fault)) return -1;
  if (options && options->restart) recall(par, options->from, origin);
  else if (input) initial_take_units(par, origin);
  return params_complete(par, origin, fault);
}

int command_load_params(const struct comm *comm, const char *file, const struct overrides *overrides, int input,
                        const struct run_options *options, struct params *par, struct param_origin *origin,
                        struct fault *fault)
{
  if (comm->rank == 0 && load(file, overrides, input, options, par, origin, fault) == 0)
    params_check_files(par, origin, input, fault);
  if (comm_verdict(comm, fault)) return -1;
  comm_broadcast(comm, par, sizeof *par);
  return 0;
}
