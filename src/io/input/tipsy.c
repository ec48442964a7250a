/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TIPSY: a header, then records of gas (type 0), dark matter (type 1) and stars (type 4), without ids. */
#include <config.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/input/input.h"
#include "io/input/set.h"

enum { HEADER_BYTES = 28, KINDS = 3 };

static const int kind_type[KINDS] = {0, 1, 4};
static const int kind_bytes[KINDS] = {48, 36, 44}; /* all in single precision */
/* by which positions in double precision make a record longer, and velocities too */
enum { DOUBLE_EXTRA = 12 };
enum { POS, VEL };

static int64_t record_bytes(const struct set_file *file, int kind)
{
  return kind_bytes[kind] + ((file->block[POS].width == 8) + (file->block[VEL].width == 8)) * DOUBLE_EXTRA;
}

#define PLAUSIBLE_MIN 1e-15
#define PLAUSIBLE_MAX 1e15

/* Position and velocity of a record. */
static void take_phase(const char *raw, const struct set_file *file, double x[3], double v[3])
{
  double *to[2] = {x, v};
  raw += 4;
  for (int k = 0; k < 2; k++)
    for (int c = 0; c < 3; c++, raw += file->block[k].width)
      to[k][c] = file->block[k].width == 8 ? bytes_f64(raw, file->swap) : bytes_f32(raw, file->swap);
}

/* How many of the numbers of a record can hardly be positions and velocities. */
static int odd_numbers(const char *raw, const struct set_file *file)
{
  double y[6];
  int odd = 0;
  take_phase(raw, file, y, y + 3);
  for (int c = 0; c < 6; c++) odd += y[c] != 0 && !(fabs(y[c]) >= PLAUSIBLE_MIN && fabs(y[c]) <= PLAUSIBLE_MAX);
  return odd;
}

/* Records are as long with double positions as with double velocities. Read as the wrong ones, lower halves of doubles
 * are numbers of any size: the first records show it. */
static int choose_doubles(const struct input *in, struct set_file *file, struct fault *fault)
{
  enum { RECORDS = 1024, BYTES_MAX = 48 + DOUBLE_EXTRA, CLEARLY = 10 };
  char raw[BYTES_MAX];
  struct set_file other = *file;
  int64_t offset = file->header_bytes, odd = 0, odd_other = 0;
  other.block[POS].width = 4;
  other.block[VEL].width = 8;
  for (int k = 0; k < KINDS; k++) {
    int64_t n = file->count[kind_type[k]], bytes = record_bytes(file, k);
    for (int64_t i = 0; i < n && i < RECORDS; i++) {
      if (input_bytes(in, offset + i * bytes, raw, bytes, fault) != 0) return -1;
      odd += odd_numbers(raw, file);
      odd_other += odd_numbers(raw, &other);
    }
    offset += n * bytes;
  }
  if (CLEARLY * odd < odd_other) return 0;
  if (CLEARLY * odd_other >= odd)
    return fault_set(
        fault,
        "%s: by its size the TIPSY file has positions or velocities in double precision, and its values do "
        "not show which: write both in the same precision, or HDF5",
        in->path);
  *file = other;
  return 0;
}

/* The size of the file determines the size of the header and the precision of positions and velocities. */
static int sizes_fit(const struct input *in, struct set_file *file, struct fault *fault)
{
  int64_t expected[3] = {0, 0, 0};
  for (int wide = 0; wide < 3; wide++) {
    file->block[POS].width = wide > 0 ? 8 : 4;
    file->block[VEL].width = wide > 1 ? 8 : 4;
    for (int k = 0; k < KINDS; k++) expected[wide] += file->count[kind_type[k]] * record_bytes(file, k);
    for (int pad = 0; pad <= 4; pad += 4)
      if (in->size == HEADER_BYTES + pad + expected[wide]) {
        file->header_bytes = HEADER_BYTES + pad;
        return wide == 1 ? choose_doubles(in, file, fault) : 0;
      }
  }
  return fault_set(
      fault,
      "%s: a TIPSY file of %lld gas, %lld dark and %lld star particles has %lld bytes after a header of 28 or 32 "
      "(%lld with double positions or velocities, %lld with both), but the file has %lld in all: it is truncated or "
      "damaged",
      in->path, (long long)file->count[0], (long long)file->count[1], (long long)file->count[4], (long long)expected[0],
      (long long)expected[1], (long long)expected[2], (long long)in->size);
}

static int header(const struct input *in, struct set_header *header, struct set_file *file, struct fault *fault)
{
  char raw[HEADER_BYTES];
  if (input_bytes(in, 0, raw, HEADER_BYTES, fault) != 0) return -1;
  uint32_t dimensions = bytes_u32(raw + 12, 0);
  file->swap = dimensions < 1 || dimensions > 3;
  dimensions = bytes_u32(raw + 12, file->swap);
  if (dimensions < 1 || dimensions > 3)
    return fault_set(
        fault, "%s is not a TIPSY file: its header does not state 1, 2 or 3 dimensions in either byte order", in->path);
  int64_t n = (int32_t)bytes_u32(raw + 8, file->swap), sum = 0;
  for (int k = 0; k < KINDS; k++) {
    int64_t count = (int32_t)bytes_u32(raw + 16 + 4 * k, file->swap);
    if (count < 0)
      return fault_set(fault, "%s: the TIPSY header states %lld particles of a kind", in->path, (long long)count);
    file->count[kind_type[k]] = count;
    sum += count;
  }
  if (sum != n)
    return fault_set(fault, "%s: the TIPSY header states %lld particles in total, but %lld of the three kinds together",
                     in->path, (long long)n, (long long)sum);
  header->files = 1;
  header->facts.time = bytes_f64(raw, file->swap);
  header->facts.has_time = 1;
  snprintf(header->facts.format, sizeof header->facts.format, "TIPSY, %s endian", file->swap ? "big" : "little");
  return sizes_fit(in, file, fault);
}

static int inspect(const char *path, struct set_header *set_header, struct set_file *file, struct fault *fault)
{
  struct input in;
  if (input_open(&in, path, fault) != 0) return -1;
  int bad = header(&in, set_header, file, fault) != 0;
  input_close(&in);
  return bad ? -1 : 0;
}

/* One record: mass, position and velocity (single or double precision); the rest is not used. */
static int take(const char *raw, const struct set_file *file, struct particles *particles, int64_t at, const char *path,
                int64_t row, struct fault *fault)
{
  take_phase(raw, file, &particles->pos[3 * at], &particles->vel[3 * at]);
  return set_mass(particles, at, bytes_f32(raw, file->swap), path, row, fault);
}

/* Read `count` records from record `first` on of the kind whose records start at byte `offset`; `row` is the row of the
 * first one in the file, from 1. */
static int read_kind(const struct input *in, const struct set_file *file, int64_t offset, int64_t bytes, int64_t first,
                     int64_t count, struct particles *particles, int64_t at, int64_t row, struct fault *fault)
{
  enum { PIECE = 16384 };
  char *buffer = memory_alloc("file buffer", (size_t)bytes * PIECE);
  int bad = 0;
  for (int64_t done = 0; done < count && !bad; done += PIECE) {
    int64_t piece = count - done < PIECE ? count - done : PIECE;
    bad = input_bytes(in, offset + (first + done) * bytes, buffer, piece * bytes, fault) != 0;
    for (int64_t i = 0; i < piece && !bad; i++)
      bad = take(buffer + i * bytes, file, particles, at + done + i, in->path, row + done + i, fault) != 0;
  }
  memory_free(buffer);
  return bad ? -1 : 0;
}

static int read_rows(const struct set *set, int k, int64_t first, int64_t count, struct particles *particles,
                     int64_t at, struct fault *fault)
{
  char path[SET_PATH];
  struct input in;
  const struct set_file *file = &set->file[k];
  set_path(set, k, path);
  if (input_open(&in, path, fault) != 0) return -1;
  int bad = 0;
  int64_t begins = 0, offset = file->header_bytes;
  for (int kind = 0; kind < KINDS && !bad; kind++) {
    int64_t n = file->count[kind_type[kind]], bytes = record_bytes(file, kind);
    int64_t from = first > begins ? first : begins, to = first + count < begins + n ? first + count : begins + n;
    if (from < to)
      bad = read_kind(&in, file, offset, bytes, from - begins, to - from, particles, at + from - first, from + 1,
                      fault) != 0;
    begins += n;
    offset += n * bytes;
  }
  input_close(&in);
  return bad ? -1 : 0;
}

const struct set_format format_tipsy = {.inspect = inspect, .read = read_rows};
