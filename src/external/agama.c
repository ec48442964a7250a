/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "external/agama.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
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

enum { SHORT_BYTES = 1 << 16 }; /* a longer file holds numbers, and names no others */

/* A fault where the text names something that is no regular file, which the library would wait for: the whole text, or
 * values of keys up to a comma or the end of the line; `depth` 0: also in a file that it names. */
static int check_files(const char *text, int depth, struct fault *fault)
{
  const char *at = strchr(text, '='), *from = at ? at + 1 : text;
  for (; from; from = at ? at + 1 : NULL) {
    char path[PARAM_TEXT], *more;
    struct stat st;
    from += strspn(from, " \t\"");
    size_t length = at ? strcspn(from, ",;#=\r\n") : strlen(text);
    while (length > 0 && strchr(" \t\"", from[length - 1])) length--;
    snprintf(path, sizeof path, "%.*s", (int)length, from);
    at = at ? strchr(at + 1, '=') : NULL;
    if (length == 0 || length >= sizeof path || stat(path, &st)) continue;
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
      return fault_set(fault, "Agama: %.500s is not a regular file: give a file, or the potential itself", path);
    FILE *in = depth == 0 ? file_stream(path, "r") : NULL;
    if (!in) continue;
    more = memory_alloc("external field", SHORT_BYTES + 1);
    more[fread(more, 1, SHORT_BYTES, in)] = 0;
    fclose(in);
    int bad = check_files(more, 1, fault);
    memory_free(more);
    if (bad) return -1;
  }
  return 0;
}

struct agama *agama_open(const char *library, const char *text, struct fault *fault)
{
  create_function *create;
  error_function *error;
  struct agama a = {0}, *open;
  char parameters[PARAM_TEXT + 8];
  if (check_files(text, 0, fault) || !(a.library = load(library, fault))) return NULL;
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
