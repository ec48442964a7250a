/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { ALIGNMENT = 64, LABELS_MAX = 64 };
#define SHARE_SHOWN 0.005   /* fraction of the peak; smaller labels are not reported */

struct label {
  const char *name;
  size_t current, peak;
};

/* In the 64 bytes before each block. */
struct head {
  size_t bytes;
  struct label *label;
};

static struct label labels[LABELS_MAX];
static int label_count;
static size_t total_current, total_peak;

static struct label *label_find(const char *name)
{
  for (int i = 0; i < label_count; i++)
    if (strcmp(labels[i].name, name) == 0) return &labels[i];
  if (label_count == LABELS_MAX) fatal("more than %d memory labels", LABELS_MAX);
  labels[label_count].name = name;
  return &labels[label_count++];
}

static struct head *head_of(void *block) { return (struct head *)((char *)block - ALIGNMENT); }

static void account(struct label *l, size_t plus, size_t minus)
{
  l->current += plus - minus;
  total_current += plus - minus;
  if (l->current > l->peak) l->peak = l->current;
  if (total_current > total_peak) total_peak = total_current;
}

void *memory_alloc(const char *name, size_t bytes)
{
  struct label *l = label_find(name);
  size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
  char *raw = whole < bytes ? NULL : aligned_alloc(ALIGNMENT, whole);
  if (!raw)
    fatal("out of memory: %zu bytes for '%s' (%zu bytes in use); use more nodes or fewer particles per rank", bytes, name,
          total_current);
  memset(raw, 0, whole);
  struct head *h = (struct head *)raw;
  h->bytes = bytes;
  h->label = l;
  account(l, bytes, 0);
  return raw + ALIGNMENT;
}

void *memory_resize(const char *name, void *block, size_t bytes)
{
  void *fresh = memory_alloc(name, bytes);
  if (block) {
    size_t old = head_of(block)->bytes;
    memcpy(fresh, block, old < bytes ? old : bytes);
    memory_free(block);
  }
  return fresh;
}

void memory_free(void *block)
{
  if (!block) return;
  struct head *h = head_of(block);
  account(h->label, 0, h->bytes);
  free(h);
}

void memory_note(const char *name, size_t plus, size_t minus) { account(label_find(name), plus, minus); }

size_t memory_current(void) { return total_current; }
size_t memory_peak(void) { return total_peak; }

void memory_report(FILE *out, double particles, const char *indent, int columns)
{
  int at = fprintf(out, "%s", indent), first = 1;
  for (int i = 0; i < label_count; i++) {
    const struct label *l = &labels[i];
    char text[128];
    if (l->peak < SHARE_SHOWN * total_peak || particles <= 0) continue;
    int length = snprintf(text, sizeof text, "%s %.1f", l->name, l->peak / particles);
    if (!first && at + length + 3 > columns) at = fprintf(out, ",\n%s", indent) - 2;   /* leaves space for ", " and a comma after it */
    else if (!first) at += fprintf(out, ", ");
    at += fprintf(out, "%s", text);
    first = 0;
  }
  fputc('\n', out);
}
