/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays of which few elements are used: what they contain, their order, and their memory. */
#include <config.h>
#include "base/sparse.h"

#include <stdint.h>

#include "base/memory.h"
#include "tap.h"

enum { LENGTH = 65536, USED = 600 };

struct record {
  int64_t value[90];
};

/* Use some elements in an order that is neither ascending nor descending; each has its number. */
static int32_t element(int i) { return (int32_t)((int64_t)i * 40503 % LENGTH); }

static int elements_are_kept(struct sparse *sparse)
{
  for (int i = 0; i < USED; i++) {
    struct record *r = sparse_find(sparse, element(i));
    if (!r || r != sparse_at(sparse, element(i)) || r->value[0] != element(i) || r->value[89] != -element(i)) return 0;
  }
  return 1;
}

static int used_are_ascending(const struct sparse *sparse)
{
  for (int i = 0; i < sparse->count; i++)
    if (!sparse_find(sparse, sparse->used[i]) || (i > 0 && sparse->used[i - 1] >= sparse->used[i])) return 0;
  return sparse->count == USED;
}

int main(void)
{
  size_t before = memory_current();
  struct sparse s;
  sparse_open(&s, "test", LENGTH, sizeof(struct record));
  tap_ok(!sparse_find(&s, 0) && !sparse_find(&s, LENGTH - 1) && s.count == 0, "no element is in use at first");
  size_t empty = memory_current() - before;
  int zeroed = 1;
  for (int i = 0; i < USED; i++) {
    struct record *r = sparse_at(&s, element(i));
    zeroed &= r->value[0] == 0 && r->value[89] == 0;
    r->value[0] = element(i);
    r->value[89] = -element(i);
  }
  tap_ok(zeroed, "an element is zero at its first use");
  tap_ok(elements_are_kept(&s), "elements keep their contents and their addresses");
  tap_ok(used_are_ascending(&s), "the elements in use are listed in ascending order");
  size_t used = memory_current() - before - empty;
  tap_ok(empty <= LENGTH * sizeof(void *) + 64 && used < USED * (sizeof(struct record) + 128) + 8192,
         "an element takes memory when it is used, before only a pointer");
  printf("# %d elements of %zu bytes: %zu bytes; %d in use: %zu more\n", LENGTH, sizeof(struct record), empty, USED,
         used);
  sparse_close(&s);
  tap_ok(memory_current() == before, "all memory is given back");
  sparse_close(&s);
  return tap_end();
}
