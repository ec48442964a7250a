/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap */
#endif
#include <config.h>
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fault.h"

/* Blocks of at least MAPPED_MIN bytes, the size of a huge page, are mappings of their own: freeing returns their pages
 * to the system at once, pages that are never used take no memory, and new pages are zero already. With huge pages they
 * cost few faults. */
enum { ALIGNMENT = 64, LABELS_MAX = 64, MAPPED_MIN = 2 << 20, PAGE = 65536 }; /* PAGE: a multiple of every system's */
#define SHARE_SHOWN 0.005 /* fraction of the peak; smaller labels are not reported */

struct label {
  const char *name;
  size_t current, at_peak; /* bytes now, and when the sum over the labels was largest */
};

/* In the 64 bytes before each block. */
struct head {
  size_t bytes;
  size_t mapped; /* bytes of the block's own mapping; 0: the block is on the heap */
  struct label *label;
};
_Static_assert(sizeof(struct head) <= ALIGNMENT, "the head precedes the block");

static struct label labels[LABELS_MAX];
static int label_count;
static size_t total_current, total_peak;
static int at_peak; /* the sum is the largest so far */

static struct label *label_find(const char *name)
{
  struct label *found = NULL;
#pragma omp critical(memory)
  {
    for (int i = 0; i < label_count && !found; i++)
      if (strcmp(labels[i].name, name) == 0) found = &labels[i];
    if (!found && label_count < LABELS_MAX) {
      labels[label_count].name = name;
      found = &labels[label_count++];
    }
  }
  if (!found) fatal("more than %d memory labels", LABELS_MAX);
  return found;
}

static struct head *head_of(void *block) { return (struct head *)((char *)block - ALIGNMENT); }

static void record_peak(void)
{
  for (int i = 0; i < label_count && at_peak; i++) labels[i].at_peak = labels[i].current;
  at_peak = 0;
}

static void account(struct label *label, size_t plus, size_t minus)
{
#pragma omp critical(memory)
  {
    if (minus) record_peak();
    label->current += plus - minus;
    total_current += plus - minus;
    if (total_current > total_peak) {
      total_peak = total_current;
      at_peak = 1;
    }
  }
}

static void exhausted(const char *name, size_t bytes)
{
  fatal("out of memory: %zu bytes for '%s' (%zu bytes in use); use more nodes or fewer particles per rank", bytes, name,
        total_current);
}

/* A mapping of `bytes` bytes, which begins at a huge page; NULL if there is no room. */
static char *map(size_t bytes)
{
  char *at = mmap(NULL, bytes + MAPPED_MIN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
  size_t before = (MAPPED_MIN - (uintptr_t)at % MAPPED_MIN) % MAPPED_MIN;
  if (before) munmap(at, before);
  if (before < MAPPED_MIN) munmap(at + before + bytes, MAPPED_MIN - before);
#ifdef MADV_HUGEPAGE
  madvise(at + before, bytes, MADV_HUGEPAGE);
#endif
  return at + before;
}

/* Bytes of the mapping of a block; 0: it is on the heap. */
static size_t mapped_bytes(size_t bytes)
{
  return bytes < MAPPED_MIN ? 0 : (bytes + ALIGNMENT + PAGE - 1) / PAGE * PAGE;
}

void *memory_alloc(const char *name, size_t bytes)
{
  struct label *l = label_find(name);
  size_t mapped = mapped_bytes(bytes), whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT;
  char *raw = bytes > SIZE_MAX / 2 ? NULL : mapped ? map(mapped) : aligned_alloc(ALIGNMENT, whole);
  if (!raw) exhausted(name, bytes);
  if (!mapped) memset(raw, 0, whole);
  *(struct head *)raw = (struct head){bytes, mapped, l};
  account(l, bytes, 0);
  return raw + ALIGNMENT;
}

/* Change the length of a block that is and stays a mapping; its pages are moved, not copied. Returns NULL where that
 * cannot be done. */
static void *remap(const char *name, void *block, size_t bytes)
{
#ifdef MREMAP_MAYMOVE
  struct head *h = head_of(block);
  size_t mapped = mapped_bytes(bytes), old = h->bytes;
  if (!h->mapped || !mapped || bytes > SIZE_MAX / 2) return NULL;
  char *raw = mremap(h, h->mapped, mapped, MREMAP_MAYMOVE);
  if (raw == MAP_FAILED) return NULL;
  h = (struct head *)raw;
  if (bytes < old) memset(raw + ALIGNMENT + bytes, 0, mapped - ALIGNMENT - bytes);
  account(h->label, 0, old);
  *h = (struct head){bytes, mapped, label_find(name)};
  account(h->label, bytes, 0);
  return raw + ALIGNMENT;
#else
  (void)name;
  (void)block;
  (void)bytes;
  return NULL;
#endif
}

void *memory_resize(const char *name, void *block, size_t bytes)
{
  void *moved = block ? remap(name, block, bytes) : NULL;
  if (moved) return moved;
  void *fresh = memory_alloc(name, bytes);
  if (block) {
    size_t old = head_of(block)->bytes;
    memcpy(fresh, block, old < bytes ? old : bytes);
    memory_free(block);
  }
  return fresh;
}

size_t memory_grown(size_t count, size_t size)
{
  return count * size >= MAPPED_MIN ? count + count / 8 : 2 * count + 256;
}

void memory_free(void *block)
{
  if (!block) return;
  struct head *h = head_of(block);
  account(h->label, 0, h->bytes);
  if (h->mapped) munmap(h, h->mapped);
  else free(h);
}

void memory_note(const char *name, size_t plus, size_t minus) { account(label_find(name), plus, minus); }

size_t memory_current(void) { return total_current; }
size_t memory_peak(void) { return total_peak; }

void memory_report(FILE *out, double particles, const char *indent, int columns)
{
  int at = fprintf(out, "%s", indent), first = 1;
  record_peak();
  for (int i = 0; i < label_count; i++) {
    const struct label *l = &labels[i];
    char text[128];
    if (l->at_peak < SHARE_SHOWN * total_peak || particles <= 0) continue;
    int length = snprintf(text, sizeof text, "%s %.1f", l->name, l->at_peak / particles);
    /* leaves space for ", " and a comma after it */
    if (!first && at + length + 3 > columns) at = fprintf(out, ",\n%s", indent) - 2;
    else if (!first) at += fprintf(out, ", ");
    at += fprintf(out, "%s", text);
    first = 0;
  }
  fputc('\n', out);
}
