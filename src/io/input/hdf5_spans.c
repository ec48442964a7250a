/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "io/input/hdf5_spans.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

enum { SPANS_MAX = 1 << 20, COLUMNS_MAX = 64 };

/* Rows [begin, end) of some columns. */
struct span {
  hsize_t begin, end;
  uint64_t columns; /* bit c: column c */
};

struct spans {
  struct span *at;
  int64_t n, capacity;
};

/* 0; -1 where there are too many. */
static int append(struct spans *spans, hsize_t begin, hsize_t end, uint64_t columns)
{
  if (spans->n == SPANS_MAX) return -1;
  if (spans->n == spans->capacity)
    spans->at =
        memory_resize("file set", spans->at, sizeof *spans->at * (size_t)(spans->capacity = 2 * spans->capacity + 64));
  spans->at[spans->n++] = (struct span){begin, end, columns};
  return 0;
}

static uint64_t columns_of(hsize_t first, hsize_t end)
{
  uint64_t bits = 0;
  for (hsize_t c = first; c < end && c < COLUMNS_MAX; c++) bits |= (uint64_t)1 << c;
  return bits;
}

enum { FINE = 0, TOO_MANY = -1, UNLIMITED = -2, UNKNOWN = -3 };

static int append_regular(struct spans *spans, hid_t space, int rank)
{
  hsize_t start[2] = {0}, stride[2] = {1, 1}, count[2] = {1, 1}, block[2] = {1, 1};
  if (H5Sget_regular_hyperslab(space, start, stride, count, block) < 0) return UNKNOWN;
  uint64_t columns = 0;
  for (int r = 0; r < rank; r++)
    if (count[r] == H5S_UNLIMITED || block[r] == H5S_UNLIMITED) return UNLIMITED;
  for (hsize_t k = 0, at = start[1]; k < count[1] && k < COLUMNS_MAX; k++, at += stride[1])
    columns |= columns_of(at, at + block[1]);
  if (stride[0] == block[0]) {
    block[0] *= count[0];
    count[0] = 1;
  }
  for (hsize_t k = 0; k < count[0]; k++)
    if (append(spans, start[0] + k * stride[0], start[0] + k * stride[0] + block[0], columns) != 0) return TOO_MANY;
  return FINE;
}

static int append_blocks(struct spans *spans, hid_t space, int rank)
{
  hssize_t n = H5Sget_select_hyper_nblocks(space);
  if (n < 0) return UNKNOWN;
  for (hssize_t k = 0; k < n; k++) {
    hsize_t corner[4] = {0}; /* the first and the last element */
    if (H5Sget_select_hyper_blocklist(space, (hsize_t)k, 1, corner) < 0) return UNKNOWN;
    uint64_t columns = rank == 2 ? columns_of(corner[1], corner[3] + 1) : 1;
    if (append(spans, corner[0], corner[rank] + 1, columns) != 0) return TOO_MANY;
  }
  return FINE;
}

static int append_selection(struct spans *spans, hid_t space, int rank, const hsize_t extent[2])
{
  if (H5Sget_simple_extent_ndims(space) != rank) return UNKNOWN;
  switch (H5Sget_select_type(space)) {
  case H5S_SEL_NONE: return FINE;
  case H5S_SEL_ALL: return append(spans, 0, extent[0], columns_of(0, extent[1]));
  case H5S_SEL_HYPERSLABS:
    return H5Sis_regular_hyperslab(space) > 0 ? append_regular(spans, space, rank) : append_blocks(spans, space, rank);
  default: return UNKNOWN;
  }
}

static int by_begin(const void *a, const void *b)
{
  hsize_t x = ((const struct span *)a)->begin, y = ((const struct span *)b)->begin;
  return (x > y) - (x < y);
}

/* The first row without a source, or extent[0]. */
static hsize_t first_gap(struct spans *spans, const hsize_t extent[2])
{
  hsize_t reached[COLUMNS_MAX] = {0}, gap = extent[0];
  if (spans->n > 0) qsort(spans->at, (size_t)spans->n, sizeof *spans->at, by_begin);
  for (int64_t i = 0; i < spans->n; i++)
    for (hsize_t c = 0; c < extent[1]; c++)
      if (spans->at[i].columns >> c & 1 && spans->at[i].begin <= reached[c] && spans->at[i].end > reached[c])
        reached[c] = spans->at[i].end;
  for (hsize_t c = 0; c < extent[1]; c++)
    if (reached[c] < gap) gap = reached[c];
  return gap;
}

/* The extent that mappings were defined for. The extent of a dataset with unlimited mappings would open its sources. */
static int extent_of(hid_t plist, size_t count, hsize_t extent[2])
{
  hid_t space = count > 0 ? H5Pget_virtual_vspace(plist, 0) : -1;
  int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
  extent[1] = 1;
  if (rank == 1 || rank == 2) H5Sget_simple_extent_dims(space, extent, NULL);
  if (space >= 0) H5Sclose(space);
  return rank;
}

int spans_cover(hid_t set, hid_t plist, size_t count, char reason[256])
{
  struct spans s = {NULL, 0, 0};
  hsize_t extent[2] = {0, 1};
  int rank = extent_of(plist, count, extent), status = FINE;
  if (count == 0 || (rank != 1 && rank != 2) || extent[1] > COLUMNS_MAX) {
    snprintf(reason, 256, "%s",
             count == 0 ? "without sources" : "of a shape that is not read: expected rows of at most 64 numbers");
    return -1;
  }
  for (size_t k = 0; k < count && status == FINE; k++) {
    hid_t space = H5Pget_virtual_vspace(plist, k);
    status = space < 0 ? UNKNOWN : append_selection(&s, space, rank, extent);
    if (space >= 0) H5Sclose(space);
  }
  hsize_t own[H5S_MAX_RANK] = {0}, gap = status == FINE ? first_gap(&s, extent) : 0;
  hid_t space = status == FINE ? H5Dget_space(set) : -1;
  if (space >= 0 && H5Sget_simple_extent_ndims(space) == rank) H5Sget_simple_extent_dims(space, own, NULL);
  if (space >= 0) H5Sclose(space);
  memory_free(s.at);
  if (status == UNLIMITED)
    snprintf(reason, 256, "with a mapping of unlimited size, which is not read: copy its values into the file");
  else if (status == TOO_MANY) snprintf(reason, 256, "whose mappings have more than %d pieces", SPANS_MAX);
  else if (status != FINE) snprintf(reason, 256, "whose mappings cannot be read: the file is damaged");
  else if (gap < extent[0] || own[0] != extent[0] || (rank == 2 && own[1] != extent[1]))
    snprintf(reason, 256, "of %llu rows; row %llu has no source", (unsigned long long)own[0],
             (unsigned long long)gap + 1);
  else return 0;
  return -1;
}
