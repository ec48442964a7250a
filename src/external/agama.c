/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "external/agama.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "params/params.h"

typedef void *create_function(const char *parameters);
typedef void delete_function(void *potential);
typedef double eval_function(const void *potential, const double x[3], double time, double gradient[3],
                             double second[6]);
typedef const char *error_function(void);

struct agama {
  void *library, *potential;
  delete_function *delete;
  eval_function *eval;
};

/* A function of the library. POSIX guarantees that the conversion from void * works. */
static void take(void *library, const char *name, void *function, size_t size)
{
  void *found = dlsym(library, name);
  memcpy(function, &found, size);
}

static void *load(const char *library, struct fault *fault)
{
  const char *const names[] = {library[0] ? library : "libagama.so", library[0] ? NULL : "agama.so"};
  char why[300] = "";
  for (int k = 0; k < 2 && names[k]; k++) {
    struct stat st;
    if (strchr(names[k], '/') && stat(names[k], &st) == 0 && !S_ISREG(st.st_mode)) { /* opening a FIFO would wait */
      fault_set(fault, "AgamaLibrary = %.500s is not a regular file: give the file of the library", names[k]);
      return NULL;
    }
    void *found = dlopen(names[k], RTLD_LAZY | RTLD_LOCAL);
    if (found) return found;
    if (k == 0) snprintf(why, sizeof why, "%.290s", dlerror());
  }
  fault_set(fault,
            "Agama: the library cannot be loaded (%s): give its file as [External] AgamaLibrary, or its folder in "
            "LD_LIBRARY_PATH",
            why);
  return NULL;
}

struct agama *agama_open(const char *library, const char *text, struct fault *fault)
{
  create_function *create;
  error_function *error;
  struct agama a = {0}, *open;
  char parameters[PARAM_TEXT + 8];
  if (!(a.library = load(library, fault))) return NULL;
  take(a.library, "agama_createPotential", &create, sizeof create);
  take(a.library, "agama_deletePotential", &a.delete, sizeof a.delete);
  take(a.library, "agama_evalPotential", &a.eval, sizeof a.eval);
  take(a.library, "agama_getError", &error, sizeof error);
  if (!create || !a.delete || !a.eval) {
    fault_set(fault, "Agama: the library lacks agama_createPotential, agama_deletePotential or agama_evalPotential: "
                     "expected a version of 2021 "
                     "or later");
  } else {
    snprintf(parameters, sizeof parameters, "%s%s", strchr(text, '=') ? "" : "file=", text);
    a.potential = create(parameters);
    if (!a.potential)
      fault_set(fault, "Agama = %.200s: %.300s", text,
                error && error() ? error() : "the library refuses the potential");
  }
  if (!a.potential) {
    dlclose(a.library);
    return NULL;
  }
  open = memory_alloc("external field", sizeof *open);
  *open = a;
  return open;
}

void agama_close(struct agama *agama)
{
  if (!agama) return;
  agama->delete (agama->potential);
  dlclose(agama->library);
  memory_free(agama);
}

double agama_at(const struct agama *agama, const double x[3], double time, double gradient[3], double second[6])
{
  return agama->eval(agama->potential, x, time, gradient, second);
}
