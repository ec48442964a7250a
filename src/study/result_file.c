/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/result_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/start.h"

int result_open(struct result_file *r, const char *name, int overwrite, const struct params *par, struct fault *f)
{
  *r = (struct result_file){.name = name};
  if (!name) return 0;
  int exists = access(name, F_OK) == 0;
  if (check_result(par, name, overwrite, f)) return -1;
  r->file = fopen(name, "a");
  if (!r->file) return fault_set(f, "%s: cannot be written: %s", name, strerror(errno));
  r->made = !exists;
  return 0;
}

int result_begin(struct result_file *r, struct fault *f)
{
  struct stat st;
  r->begun = 1;
  /* devices and pipes cannot be truncated */
  if (r->file && fstat(fileno(r->file), &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fileno(r->file), 0))
    return fault_set(f, "%s: cannot be replaced: %s", r->name, strerror(errno));
  return 0;
}

void result_close(struct result_file *r, struct fault *f)
{
  if (!r->file) return;
  int bad = ferror(r->file);
  if (fclose(r->file) || bad) fault_set(f, "%s: could not be written completely: %s", r->name, strerror(errno));
  if (r->made && !r->begun) unlink(r->name);
  r->file = NULL;
}
