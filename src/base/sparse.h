/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of some of many: an array of which few elements are used, such as states of peers among all ranks. An element takes memory at its
 * first use, any other the size of a pointer. Local. Of an array, first uses are for one thread at a time; elements that are in use may be
 * read and changed by others meanwhile. */
#ifndef SPARSE_H
#define SPARSE_H
#include <stddef.h>

#include "base/memory.h"

struct sparse {
  const char *label;
  size_t bytes;      /* of an element */
  int length;        /* elements 0 to length - 1 */
  int count, *used;  /* [count] the elements in use, ascending */
  int capacity;
  void **element;    /* [length] NULL: not used yet */
};

/* Open an array of `length` elements of `bytes` each; `label` of their memory (base/memory.h) must stay valid. Owner: caller (sparse_close). */
static inline void sparse_open(struct sparse *s, const char *label, int length, size_t bytes)
{
  *s = (struct sparse){.label = label, .bytes = bytes, .length = length};
  s->element = memory_alloc(label, sizeof *s->element * (size_t)length);
}

/* Free the elements and the array; what elements point to is the caller's. A zeroed struct is allowed. */
static inline void sparse_close(struct sparse *s)
{
  for (int i = 0; i < s->count; i++) memory_free(s->element[s->used[i]]);
  memory_free(s->used);
  memory_free(s->element);
  *s = (struct sparse){.count = 0};
}

/* Insert k into the ascending list. */
static inline void sparse_note(struct sparse *s, int k)
{
  if (s->count == s->capacity) {
    s->capacity = (int)memory_grown((size_t)s->capacity, sizeof *s->used);
    s->used = memory_resize(s->label, s->used, sizeof *s->used * (size_t)s->capacity);
  }
  int i = s->count++;
  for (; i > 0 && s->used[i - 1] > k; i--) s->used[i] = s->used[i - 1];
  s->used[i] = k;
}

/* Element k, zeroed at its first use. It stays where it is until sparse_close. */
static inline void *sparse_at(struct sparse *s, int k)
{
  if (s->element[k]) return s->element[k];
  sparse_note(s, k);
  return s->element[k] = memory_alloc(s->label, s->bytes);
}

/* Element k; NULL if it was not used yet. */
static inline void *sparse_find(const struct sparse *s, int k) { return s->element[k]; }
#endif
