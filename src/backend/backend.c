/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "backend/backend.h"
#include "backend/probe.h"

#include <string.h>

#include "params/params.h"

#ifndef ESP_HAVE_GPU
static int cuda_probe(char *why, size_t size)
{
  snprintf(why, size, "this build has no CUDA backend");
  return 0;
}
static const struct backend_probe cuda_probe_verbs = {.count = cuda_probe};
const struct backend backend_cuda = {.name = ESP_GPU_NAME, .probe = &cuda_probe_verbs};
#endif

static const struct backend *const all[] = {&backend_cpu, &backend_cuda};

int backend_list(const struct backend *const **list)
{
  *list = all;
  return sizeof all / sizeof *all;
}

int backend_walks(const struct backend *be, enum walk_method method, int ranks, char *why, size_t size)
{
  int alone = method == METHOD_DIRECT || method == METHOD_NEXT_MORE;
  if (!(be->methods >> method & 1)) {
    const char *elsewhere = ranks == 1 || !alone ? ", or Backend = cuda" : "";
    snprintf(why, size, "WalkMethod = %s: the backend %s does not have it; expected groups or auto%s",
             params_choice("WalkMethod", method), be->name, elsewhere);
    return 0;
  }
  if (ranks > 1 && !(be->let && be->exchange)) {
    snprintf(why, size, "the backend %s is for one rank, and this run has %d", be->name, ranks);
    return 0;
  }
  if (alone && ranks > 1) {
    snprintf(why, size, "WalkMethod = %s is for one rank, and this run has %d", params_choice("WalkMethod", method),
             ranks);
    return 0;
  }
  return 1;
}

const struct backend *backend_choose(int choice, char *why, size_t size)
{
  char reason[256] = "";
  const struct backend *be = &backend_cuda;
  why[0] = 0;
  if (choice == BACKEND_CPU) return &backend_cpu;
  const char *asked = choice == BACKEND_AUTO ? be->name : params_choice("Backend", choice);
  int other = strcmp(asked, be->name) != 0;
  if (!other && be->probe->count(reason, sizeof reason) > 0) return be;
  if (choice == BACKEND_AUTO) return &backend_cpu;
  if (!other) snprintf(why, size, "Backend = %s is not available: %s", asked, reason);
  else if (be->open) snprintf(why, size, "Backend = %s is not available: this build has cpu and %s", asked, be->name);
  else snprintf(why, size, "Backend = %s is not available: this build has the CPU backend only", asked);
  return NULL;
}
