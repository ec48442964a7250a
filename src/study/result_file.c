/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "study/result_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/start.h"

int result_open(struct result_file *file, const char *name, int overwrite, const struct params *par,
                struct fault *fault)
{
  *file = (struct result_file){.name = name};
  if (!name) return 0;
  int exists = access(name, F_OK) == 0;
  if (check_result(par, name, overwrite, fault)) return -1;
  file->file = fopen(name, "a");
  if (!file->file) return fault_set(fault, "%s: cannot be written: %s", name, strerror(errno));
  file->made = !exists;
  return 0;
}

int result_begin(struct result_file *file, struct fault *fault)
{
  struct stat st;
  file->begun = 1;
  /* devices and pipes cannot be truncated */
  if (file->file && fstat(fileno(file->file), &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fileno(file->file), 0))
    return fault_set(fault, "%s: cannot be replaced: %s", file->name, strerror(errno));
  return 0;
}

void result_close(struct result_file *file, struct fault *fault)
{
  if (!file->file) return;
  int bad = ferror(file->file);
  if (fclose(file->file) || bad)
    fault_set(fault, "%s: could not be written completely: %s", file->name, strerror(errno));
  if (file->made && !file->begun) unlink(file->name);
  file->file = NULL;
}
