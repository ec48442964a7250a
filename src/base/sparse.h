/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of some of many: an array of which few elements are used, such as states of peers among all ranks. An element
 * takes memory at its first use, any other the size of a pointer. Local. Of an array, first uses are for one thread at
 * a time; elements that are in use may be read and changed by others meanwhile. */
#ifndef SPARSE_H
#define SPARSE_H
#include <stddef.h>

#include "base/memory.h"

struct sparse {
  const char *label;
  size_t bytes;     /* of an element */
  int length;       /* elements 0 to length - 1 */
  int count, *used; /* [count] the elements in use, ascending */
  int capacity;
  void **element; /* [length] NULL: not used yet */
};

/* Open an array of `length` elements of `bytes` each; `label` of their memory (base/memory.h) must stay valid. Owner:
 * caller (sparse_close). */
static inline void sparse_open(struct sparse *sparse, const char *label, int length, size_t bytes)
{
  *sparse = (struct sparse){.label = label, .bytes = bytes, .length = length};
  sparse->element = memory_alloc(label, sizeof *sparse->element * (size_t)length);
}

/* Free the elements and the array; what elements point to is the caller's. A zeroed struct is allowed. */
static inline void sparse_close(struct sparse *sparse)
{
  for (int i = 0; i < sparse->count; i++) memory_free(sparse->element[sparse->used[i]]);
  memory_free(sparse->used);
  memory_free(sparse->element);
  *sparse = (struct sparse){.count = 0};
}

/* Insert k into the ascending list. */
static inline void sparse_note(struct sparse *sparse, int k)
{
  if (sparse->count == sparse->capacity) {
    sparse->capacity = (int)memory_grown((size_t)sparse->capacity, sizeof *sparse->used);
    sparse->used = memory_resize(sparse->label, sparse->used, sizeof *sparse->used * (size_t)sparse->capacity);
  }
  int i = sparse->count++;
  for (; i > 0 && sparse->used[i - 1] > k; i--) sparse->used[i] = sparse->used[i - 1];
  sparse->used[i] = k;
}

/* Element k, zeroed at its first use. It stays where it is until sparse_close. */
static inline void *sparse_at(struct sparse *sparse, int k)
{
  if (sparse->element[k]) return sparse->element[k];
  sparse_note(sparse, k);
  return sparse->element[k] = memory_alloc(sparse->label, sparse->bytes);
}

/* Element k; NULL if it was not used yet. */
static inline void *sparse_find(const struct sparse *sparse, int k) { return sparse->element[k]; }
#endif
