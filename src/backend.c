/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "backend.h"

#include "params.h"

#ifndef ESP_CUDA_BACKEND
static int cuda_probe(char *why, size_t size)
{
  snprintf(why, size, "this build has no CUDA backend");
  return 0;
}
static const struct backend backend_cuda = {.name = "cuda", .probe = cuda_probe};
#endif

static const struct backend *const all[] = {&backend_cpu, &backend_cuda};

int backend_list(const struct backend *const **list)
{
  *list = all;
  return sizeof all / sizeof *all;
}

const struct backend *backend_choose(int choice, char *why, size_t size)
{
  char reason[256];
  if (choice != BACKEND_CPU && backend_cuda.probe(reason, sizeof reason) > 0) return &backend_cuda;
  if (choice == BACKEND_CUDA) {
    snprintf(why, size, "Backend = cuda was asked for, but %s", reason);
    return NULL;
  }
  return &backend_cpu;
}
