/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "cli/overrides.h"

#include <stdio.h>
#include <string.h>

#include "params/params_nearest.h"

int overrides_add(struct overrides *o, const char *text)
{
  const char *colon = strchr(text, ':');
  if (o->count == OVERRIDE_LIMIT || !colon || !strchr(colon, '=')) return -1;
  o->text[o->count++] = text;
  return 0;
}

int overrides_misused(const struct command *self, const struct comm *c, const char *text)
{
  char name[64] = "";
  size_t n = strcspn(text, "=:");
  if (text[n] == '=' && n < sizeof name) snprintf(name, sizeof name, "%.*s", (int)n, text);   /* the section was left out */
  int i = param_find(NULL, name);
  if (i >= 0)
    return command_misused(self, c, "option -P: expected Section:Name=value, found '%s'; did you mean -P %s:%s?", text,
                           param_table[i].section, text);
  return command_misused(self, c, "option -P: expected Section:Name=value (at most %d times), found '%s'", OVERRIDE_LIMIT, text);
}

int command_load_params(const struct comm *c, const char *file, const struct overrides *o, int input, struct params *par,
                        struct param_origin *origin, struct fault *f)
{
  if (c->rank == 0 && params_read_origin(par, file, o->text, o->count, origin, f) == 0) params_check_files(par, origin, input, f);
  if (comm_verdict(c, f)) return -1;
  comm_broadcast(c, par, sizeof *par);
  return 0;
}
