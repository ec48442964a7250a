/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "checkpoint/files_changed.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "file."

int files_items(struct external_file *file, int count, struct item *item)
{
  for (int k = 0; k < count; k++) item[k] = (struct item){file[k].entry, ITEM_LONG, 2, file[k].number};
  return count;
}

/* The parameter that names a file: "Agama" of "file.Agama.2". */
static const char *parameter_of(const struct external_file *file, char name[32])
{
  snprintf(name, 32, "%s", file->entry + strlen(PREFIX));
  name[strcspn(name, ".")] = 0;
  return name;
}

/* One file; what the manifest has of it: `before`. */
static int compare(const struct external_file *file, const long long before[2], double time, struct fault *fault)
{
  char name[32], until[64] = "";
  if (file->number[0] == before[0] && file->number[1] == before[1]) return 0;
  const char *unit = file->table ? "rows" : "bytes";
  if (file->table) snprintf(until, sizeof until, " up to time %.9g, that of the checkpoint,", time);
  return fault_set(fault,
                   "%s (%s)%s differs from what the run was made with: %lld %s with the checksum %016llx, before %lld "
                   "%s with %016llx: give the %s of before%s, or start a new run from a snapshot",
                   file->path, parameter_of(file, name), until, file->number[0], unit,
                   (unsigned long long)file->number[1], before[0], unit, (unsigned long long)before[1],
                   file->table ? "table" : "file", file->table ? ", to which rows may be added at its end" : "");
}

int files_changed(const char *manifest, const struct external_file *file, int count, double time, struct fault *fault)
{
  for (int k = 0; k < count; k++) {
    size_t length;
    long long before[2];
    const struct item item = {file[k].entry, ITEM_LONG, 2, before};
    if (!manifest_value(manifest, NULL, file[k].entry, &length)) continue;
    if (items_read(manifest, &item, 1, fault) || compare(&file[k], before, time, fault)) return -1;
  }
  for (int k = 1; k < EXTERNAL_FILES; k++) { /* a file that Agama's names is missing now */
    char entry[32];
    size_t length;
    int found = 0;
    snprintf(entry, sizeof entry, PREFIX "Agama.%d", k);
    if (!manifest_value(manifest, NULL, entry, &length)) return 0;
    for (int i = 0; i < count; i++) found |= strcmp(file[i].entry, entry) == 0;
    if (!found)
      return fault_set(fault,
                       "Agama: a file that the potential names is missing (the checkpoint has the checksums of "
                       "%d or more): put it back, or start a new run from a snapshot",
                       k + 1);
  }
  return 0;
}
