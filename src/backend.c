/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "backend.h"

#include "params.h"

#ifndef ESP_HAVE_CUDA
static int cuda_probe(char *why, size_t size)
{
  snprintf(why, size, "this build has no CUDA backend");
  return 0;
}
const struct backend backend_cuda = {.name = "cuda", .probe = cuda_probe};
#endif

static const struct backend *const all[] = {&backend_cpu, &backend_cuda};

int backend_list(const struct backend *const **list)
{
  *list = all;
  return sizeof all / sizeof *all;
}

int backend_walks(const struct backend *be, enum walk_method method, int ranks, char *why, size_t size)
{
  static const char *const names[] = {"groups", "next-more", "direct", "auto"};
  int alone = method == METHOD_DIRECT || method == METHOD_NEXT_MORE;
  if (!(be->methods >> method & 1)) {
    int elsewhere = ranks == 1 || (!alone && (backend_cuda.ranks_most == 0 || ranks <= backend_cuda.ranks_most));
    snprintf(why, size, "WalkMethod = %s: the backend %s does not have it; expected groups or auto%s", names[method], be->name,
             elsewhere ? ", or Backend = cuda" : "");
    return 0;
  }
  if (alone && ranks > 1) {
    snprintf(why, size, "WalkMethod = %s is for one rank, and this run has %d", names[method], ranks);
    return 0;
  }
  return 1;
}

const struct backend *backend_choose(int choice, int ranks, char *why, size_t size)
{
  char reason[256] = "";
  const struct backend *be = &backend_cuda;
  why[0] = 0;
  if (choice == BACKEND_CPU) return &backend_cpu;
  int there = be->probe(reason, sizeof reason) > 0, serves = be->ranks_most == 0 || ranks <= be->ranks_most;
  if (there && serves) return be;
  if (there) snprintf(reason, sizeof reason, "it runs on %d rank only so far, not on %d", be->ranks_most, ranks);
  if (choice == BACKEND_CUDA) {
    snprintf(why, size, "Backend = cuda was asked for, but %s", reason);
    return NULL;
  }
  if (there) snprintf(why, size, "the backend %s is left out: %s", be->name, reason);
  return &backend_cpu;
}
