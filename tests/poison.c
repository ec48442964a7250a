/* SPDX-License-Identifier: GPL-3.0-or-later */
/* poison CHECKPOINT FIELD: the first value of a field of the first particle becomes NaN, and the checksums agree again:
 * what a run that goes on from it must notice by itself. For tests. */
#include <config.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/memory.h"
#include "checkpoint/manifest.h"
#include "checkpoint/sections.h"

static int fail(const char *what)
{
  fprintf(stderr, "poison: %s\n", what);
  return 99;
}

static uint64_t checksum(const char *path)
{
  struct stat st;
  FILE *in = fopen(path, "r");
  if (!in || fstat(fileno(in), &st)) return 0;
  char *all = memory_alloc("poison", (size_t)st.st_size);
  size_t n = fread(all, 1, (size_t)st.st_size, in);
  uint64_t sum = XXH64(all, n, 0);
  memory_free(all);
  fclose(in);
  return sum;
}

/* The manifest with another checksum for rank 0. */
static int save_checksum(const char *path, uint64_t sum)
{
  struct fault f = {""};
  struct manifest m;
  size_t length;
  char *text = manifest_load(path, &f);
  const char *line = text ? manifest_value(text, NULL, "rank_00000", &length) : NULL;
  if (!line) return -1;
  manifest_begin(&m);
  fwrite(text, 1, (size_t)(line - text) + length - 16, m.out);
  fprintf(m.out, "%016llx%s", (unsigned long long)sum, line + length);
  memory_free(text);
  return manifest_save(&m, path, &f);
}

int main(int argc, char **argv)
{
  char path[1024];
  struct sections in;
  struct fault f = {""};
  if (argc != 3) return fail("expected a checkpoint and a field");
  snprintf(path, sizeof path, "%s/rank_00000", argv[1]);
  if (sections_open(&in, path, &f)) return fail(f.text);
  int k = sections_find(&in, argv[2]);
  sections_close(&in);
  FILE *out = k < 0 ? NULL : fopen(path, "r+");
  if (!out || fseek(out, (long)in.at[k].offset, SEEK_SET)) return fail("no such field");
  double real = NAN;
  float single = NAN;
  int wide = strcmp(argv[2], "pos") == 0 || strcmp(argv[2], "vel") == 0;
  fwrite(wide ? (void *)&real : (void *)&single, wide ? sizeof real : sizeof single, 1, out);
  fclose(out);
  snprintf(path, sizeof path, "%s/rank_00000", argv[1]);
  uint64_t sum = checksum(path);
  snprintf(path, sizeof path, "%s/manifest", argv[1]);
  return save_checksum(path, sum) ? fail("the manifest cannot be changed") : 0;
}
