/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "external/agama.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

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

/* --- its files ---------------------------------------------------------------------------------------------------- */

enum { SCANNED_BYTES = 1 << 20 }; /* a larger file holds numbers, and names no others */

struct file_list {
  struct external_file *file;
  int count, most;
};

/* Bytes and checksum of a file, and its text where it is short: free with memory_free. NULL: it is no regular file, or
 * a long one; then number[0] tells. */
static char *read_whole(const char *path, long long number[2])
{
  enum { BLOCK = 1 << 16 };
  FILE *in = file_stream(path, "r");
  number[0] = -1;
  if (!in) return NULL;
  XXH64_state_t *state = XXH64_createState();
  char *text = memory_alloc("external field", SCANNED_BYTES + BLOCK + 1);
  if (!state) fatal("no memory for a checksum of %s", path);
  XXH64_reset(state, 0);
  number[0] = 0;
  for (;;) {
    char *to = text + (number[0] < SCANNED_BYTES ? number[0] : 0);
    size_t bytes = fread(to, 1, BLOCK, in);
    if (bytes == 0) break;
    XXH64_update(state, to, bytes);
    number[0] += (long long)bytes;
  }
  number[1] = (long long)XXH64_digest(state);
  XXH64_freeState(state);
  fclose(in);
  text[number[0] < SCANNED_BYTES ? number[0] : 0] = 0;
  return text;
}

static void scan(struct file_list *list, const char *text);

/* Add a file, and those that it names. */
static void add_file(struct file_list *list, const char *path)
{
  struct external_file one = {.table = 0};
  for (int k = 0; k < list->count; k++)
    if (strcmp(list->file[k].path, path) == 0) return;
  char *text = read_whole(path, one.number);
  if (!text) return;
  snprintf(one.path, sizeof one.path, "%s", path);
  if (list->count == 0) snprintf(one.entry, sizeof one.entry, "file.Agama");
  else snprintf(one.entry, sizeof one.entry, "file.Agama.%d", list->count);
  if (list->count < list->most) {
    list->file[list->count++] = one;
    scan(list, text);
  } else {
    long long *last = list->file[list->most - 1].number;
    last[1] = (long long)XXH64(one.number, sizeof one.number, (XXH64_hash_t)last[1]);
  }
  memory_free(text);
}

/* Add the files that are values of keys: what stands behind a '=', up to a comma or the end of the line. */
static void scan(struct file_list *list, const char *text)
{
  for (const char *at = strchr(text, '='); at; at = strchr(at + 1, '=')) {
    char path[PARAM_TEXT];
    const char *from = at + 1 + strspn(at + 1, " \t\"");
    size_t length = strcspn(from, ",;#=\r\n");
    while (length > 0 && strchr(" \t\"", from[length - 1])) length--;
    if (length == 0 || length >= sizeof path) continue;
    snprintf(path, sizeof path, "%.*s", (int)length, from);
    add_file(list, path);
  }
}

int agama_files(const char *text, struct external_file *file, int most)
{
  struct file_list list = {file, 0, most};
  if (strchr(text, '=')) scan(&list, text);
  else add_file(&list, text);
  return list.count;
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
