/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GADGET formats 1 and 2: Fortran records; in format 2 a record with a label precedes each. */
#include <config.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/input/input.h"
#include "io/input/set.h"

enum { HEADER_CLASSIC = 256, HEADER_WIDE = 192, LABEL_BYTES = 16 };
enum { POS, VEL, MASS, ID };

static const char *const labels[SET_COLUMNS] = {"POS ", "VEL ", "MASS", "ID  "};
static const char *const titles[SET_COLUMNS] = {"position", "velocity", "mass", "id"};

/* A position in the sequence of records. */
struct walk {
  struct input in;
  int swap, labelled;
  int64_t at;     /* offset of the next record, or of its label */
  int64_t blocks; /* offset of the first record after the header; labelled blocks may have any order */
};

/* The length that the record at offset `at` states; -1 with a fault if the file ends before it. */
static int64_t marker(const struct walk *walk, int64_t at, const char *what, struct fault *fault)
{
  char raw[4];
  if (at + 4 > walk->in.size)
    return fault_set(fault, "%s ends at byte %lld, before the %s: it is truncated", walk->in.path,
                     (long long)walk->in.size, what);
  if (input_bytes(&walk->in, at, raw, 4, fault) != 0) return -1;
  return bytes_u32(raw, walk->swap);
}

/* Whether a record of `bytes` bytes at offset `at` is in the file and both of its length markers are right (modulo 4
 * GiB). */
static int is_record(const struct walk *walk, int64_t at, int64_t bytes)
{
  char raw[4];
  struct fault none = {""};
  uint32_t low = (uint32_t)(uint64_t)bytes;
  if (bytes < 0 || bytes > walk->in.size - at - 8) return 0;
  if (input_bytes(&walk->in, at, raw, 4, &none) != 0 || bytes_u32(raw, walk->swap) != low) return 0;
  return input_bytes(&walk->in, at + 4 + bytes, raw, 4, &none) == 0 && bytes_u32(raw, walk->swap) == low;
}

/* Format 2: find the next block with this label. 1: found, walk->at is its record; 0: there is none; -1: fault. */
static int seek_label(struct walk *walk, const char *label, struct fault *fault)
{
  while (walk->at < walk->in.size) {
    char raw[LABEL_BYTES];
    if (walk->at + LABEL_BYTES + 4 > walk->in.size)
      return fault_set(fault, "%s ends at byte %lld, within a block's label: it is truncated", walk->in.path,
                       (long long)walk->in.size);
    if (input_bytes(&walk->in, walk->at, raw, LABEL_BYTES, fault) != 0) return -1;
    if (bytes_u32(raw, walk->swap) != 8 || bytes_u32(raw + 12, walk->swap) != 8)
      return fault_set(fault,
                       "%s: format 2 requires a block label at byte %lld, and there is none: the file is damaged",
                       walk->in.path, (long long)walk->at);
    walk->at += LABEL_BYTES;
    if (memcmp(raw + 4, label, 4) == 0) return 1;
    int64_t bytes = marker(walk, walk->at, "end of a block", fault);
    if (bytes < 0) return -1;
    if (!is_record(walk, walk->at, bytes))
      return fault_set(fault,
                       "%s: the record of block '%.4s' at byte %lld (%lld bytes) has no matching end: the file is "
                       "truncated or damaged",
                       walk->in.path, raw + 4, (long long)walk->at, (long long)bytes);
    walk->at += bytes + 8;
  }
  return 0;
}

/* Find the block of `column`: `numbers` numbers of 4 or 8 bytes. If an optional block is missing its width stays 0. */
static int find_block(struct walk *walk, int column, int64_t numbers, int optional, struct set_block *block,
                      struct fault *fault)
{
  char what[32];
  snprintf(what, sizeof what, "%s block", titles[column]);
  if (walk->labelled) {
    walk->at = walk->blocks;
    int found = seek_label(walk, labels[column], fault);
    if (found < 0) return -1;
    if (!found)
      return optional ? 0 : fault_set(fault, "%s has no block '%s' (format 2)", walk->in.path, labels[column]);
  } else if (optional && walk->at >= walk->in.size) {
    return 0;
  }
  for (int width = 4; width <= 8; width += 4) {
    if (!is_record(walk, walk->at, width * numbers)) continue;
    *block = (struct set_block){walk->at + 4, width};
    walk->at += width * numbers + 8;
    return 0;
  }
  int64_t stated = marker(walk, walk->at, what, fault);
  if (stated < 0) return -1;
  uint32_t low = (uint32_t)stated;
  if (low == (uint32_t)(4 * numbers) || low == (uint32_t)(8 * numbers))
    return fault_set(fault,
                     "%s: the %s of %lld bytes at byte %lld has no matching end (the file is %lld bytes long): it is "
                     "truncated or damaged",
                     walk->in.path, what, (long long)stated, (long long)walk->at, (long long)walk->in.size);
  return fault_set(fault, "%s: the %s at byte %lld has %lld bytes; expected %lld (4-byte numbers) or %lld (8-byte)",
                   walk->in.path, what, (long long)walk->at, (long long)stated, 4LL * numbers, 8LL * numbers);
}

/* --- what format 1 does not name --------------------------------------------------------------------------------- */

#define NAMED "write the file in GADGET format 2 or as HDF5, which name their blocks"
enum { PIECE = 2048 };
#define REAL_MIN 1e-12 /* numbers between these, and zeros, are taken for reals, */
#define REAL_MAX 1e12
#define DENSE 16 /* unless they are whole numbers of a range of so many times their count, as ids are */

/* Whether all bytes of a block of `count` whole numbers are reals of ordinary size too. */
static int looks_real(const struct walk *walk, const struct set_block *block, int64_t count)
{
  struct fault none = {""};
  uint64_t whole[PIECE], least = UINT64_MAX, most = 0;
  double real[PIECE];
  for (int64_t done = 0; done < count; done += PIECE) {
    int64_t piece = count - done < PIECE ? count - done : PIECE, at = block->offset + done * block->width;
    if (input_reals(&walk->in, at, block->width, walk->swap, piece, real, &none) != 0 ||
        input_wholes(&walk->in, at, block->width, walk->swap, piece, whole, &none) != 0)
      return 0;
    for (int64_t i = 0; i < piece; i++) {
      if (real[i] != 0 && !(fabs(real[i]) >= REAL_MIN && fabs(real[i]) <= REAL_MAX)) return 0;
      if (whole[i] < least) least = whole[i];
      if (whole[i] > most) most = whole[i];
    }
  }
  return most - least < (uint64_t)count - 1 || most - least >= DENSE * (uint64_t)count;
}

/* Whether a block can be masses: finite, not negative, not all zero, none denormal. */
static int can_be_masses(const struct walk *walk, const struct set_block *block, int64_t count)
{
  struct fault none = {""};
  double real[PIECE], sum = 0;
  for (int64_t done = 0; done < count; done += PIECE) {
    int64_t piece = count - done < PIECE ? count - done : PIECE;
    if (input_reals(&walk->in, block->offset + done * block->width, block->width, walk->swap, piece, real, &none) != 0)
      return 0;
    for (int64_t i = 0; i < piece; i++) {
      if (!(real[i] == 0 || (real[i] >= FLT_MIN && real[i] <= FLT_MAX))) return 0;
      sum += real[i];
    }
  }
  return sum > 0;
}

/* Whether nothing says that the block found as ids holds them. */
static int check_ids(const struct walk *walk, const struct set_block *block, int64_t n, struct fault *fault)
{
  if (block->width == 0 || !looks_real(walk, block, n)) return 0;
  return fault_set(
      fault,
      "%s: the block at byte %lld, after the velocities, can be ids as well as real numbers such as masses "
      "or potentials, and format 1 does not say which: " NAMED,
      walk->in.path, (long long)block->offset - 4);
}

/* The block found as masses: it has the precision of the positions or velocities, and no block after it can be the
 * masses as well. With gas alone having masses of its own, GADGET writes one other block of that size (internal
 * energies), or three (densities and smoothing lengths too). */
static int check_masses(const struct walk *walk, const struct set_file *file, int64_t own_mass, struct fault *fault)
{
  const struct set_block *mass = &file->block[MASS];
  int others = 0, gas = own_mass == file->count[0];
  if (mass->width != file->block[POS].width && mass->width != file->block[VEL].width)
    return fault_set(
        fault,
        "%s: the mass block at byte %lld has the length of %d-byte numbers, but the positions have %d bytes "
        "each, so it may be another block: " NAMED,
        walk->in.path, (long long)mass->offset - 4, mass->width, file->block[POS].width);
  for (int64_t at = walk->at; at + 8 <= walk->in.size;) {
    struct set_block other = {at + 4, mass->width};
    struct fault none = {""};
    int64_t bytes = mass->width * own_mass;
    if (is_record(walk, at, bytes)) others += can_be_masses(walk, &other, own_mass);
    else if ((bytes = marker(walk, at, "", &none)) < 0 || !is_record(walk, at, bytes)) break;
    at += bytes + 8;
  }
  if (others == 0 || (gas && (others == 1 || others == 3))) return 0;
  return fault_set(
      fault,
      "%s: %d blocks after the ids can be the masses by their length and values, and format 1 does not say "
      "which is: " NAMED,
      walk->in.path, others + 1);
}

/* Format 2: masses in the file that contradict those of the header, which are used. */
static int find_doubt(struct walk *walk, const struct set_file *file, struct initial_doubts *doubts,
                      struct fault *fault)
{
  double real[PIECE];
  struct set_block block = {0};
  int64_t row = 0;
  walk->at = walk->blocks;
  int found = seek_label(walk, labels[MASS], fault);
  if (found <= 0) return found;
  for (block.width = 8; block.width && !is_record(walk, walk->at, block.width * set_file_total(file)); block.width -= 4)
    ;
  block.offset = walk->at + 4;
  for (int t = 0; t < PARTICLE_TYPES && block.width; row += file->count[t++])
    for (int64_t done = 0; done < file->count[t]; done += PIECE) {
      int64_t piece = file->count[t] - done < PIECE ? file->count[t] - done : PIECE;
      if (input_reals(&walk->in, block.offset + (row + done) * block.width, block.width, walk->swap, piece, real,
                      fault) != 0)
        return -1;
      for (int64_t i = 0; i < piece; i++) set_doubt_mass(doubts, t, file->mass[t], real[i]);
    }
  return 0;
}

/* The first four bytes determine byte order and format. */
static int begin(struct walk *walk, struct fault *fault)
{
  char raw[4];
  if (input_bytes(&walk->in, 0, raw, 4, fault) != 0) return -1;
  for (walk->swap = 0; walk->swap < 2; walk->swap++) {
    uint32_t first = bytes_u32(raw, walk->swap);
    walk->labelled = first == 8;
    if (first == 8 || first == HEADER_CLASSIC || first == HEADER_WIDE) return 0;
  }
  return fault_set(fault, "%s is not a GADGET file: its first number is not 8, 192 or 256 in either byte order",
                   walk->in.path);
}

static int counts_of(const struct walk *walk, const char *raw, int wide, struct set_header *header,
                     struct set_file *file, struct fault *fault)
{
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    file->mass[t] = bytes_f64(raw + (wide ? 96 : 24) + 8 * t, walk->swap);
    if (wide) {
      file->count[t] = (int64_t)bytes_u64(raw + 8 * t, walk->swap);
      header->total[t] = (int64_t)bytes_u64(raw + 48 + 8 * t, walk->swap);
    } else {
      file->count[t] = bytes_u32(raw + 4 * t, walk->swap);
      header->total[t] =
          (int64_t)(bytes_u32(raw + 96 + 4 * t, walk->swap) | (uint64_t)bytes_u32(raw + 168 + 4 * t, walk->swap) << 32);
    }
    if (file->count[t] < 0 || file->count[t] > walk->in.size)
      return fault_set(fault,
                       "%s: its header states %lld particles of type %d, more than a file of %lld bytes can hold",
                       walk->in.path, (long long)file->count[t], t, (long long)walk->in.size);
    if (file->count[t] && !(file->mass[t] >= 0 && file->mass[t] <= 1e300))
      return fault_set(fault, "%s: its header gives type %d the mass %g; expected a finite number >= 0", walk->in.path,
                       t, file->mass[t]);
  }
  return 0;
}

static int header(struct walk *walk, struct set_header *header, struct set_file *file, struct fault *fault)
{
  char raw[HEADER_CLASSIC];
  if (walk->labelled && seek_label(walk, "HEAD", fault) != 1)
    return fault_set(fault, "%s: no block 'HEAD' at its start (format 2)", walk->in.path);
  int64_t bytes = marker(walk, walk->at, "header", fault);
  if (bytes < 0) return -1;
  if ((bytes != HEADER_CLASSIC && bytes != HEADER_WIDE) || !is_record(walk, walk->at, bytes))
    return fault_set(
        fault,
        "%s: the header record (%lld bytes) has no matching end or is neither 192 nor 256 bytes: the file is "
        "truncated or damaged",
        walk->in.path, (long long)bytes);
  if (input_bytes(&walk->in, walk->at + 4, raw, bytes, fault) != 0) return -1;
  walk->at += bytes + 8;
  int wide = bytes == HEADER_WIDE;
  if (counts_of(walk, raw, wide, header, file, fault) != 0) return -1;
  header->facts.time = bytes_f64(raw + (wide ? 144 : 72), walk->swap);
  header->facts.has_time = 1;
  header->facts.redshift = bytes_f64(raw + (wide ? 152 : 80), walk->swap);
  header->facts.box = bytes_f64(raw + (wide ? 160 : 128), walk->swap);
  if (!wide) {
    header->facts.omega0 = bytes_f64(raw + 136, walk->swap);
    header->facts.omega_lambda = bytes_f64(raw + 144, walk->swap);
    header->facts.hubble = bytes_f64(raw + 152, walk->swap);
  }
  header->files = (int32_t)bytes_u32(raw + (wide ? 168 : 124), walk->swap);
  header->has_total = header->files > 1; /* many programs leave the totals of a single file empty */
  snprintf(header->facts.format, sizeof header->facts.format, "GADGET %d, %s endian", walk->labelled ? 2 : 1,
           walk->swap ? "big" : "little");
  return 0;
}

static int blocks(struct walk *walk, struct set_header *header, struct set_file *file, struct fault *fault)
{
  int64_t n = set_file_total(file), own_mass = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (file->mass[t] == 0) own_mass += file->count[t];
  if (n == 0) return 0;
  walk->blocks = walk->at;
  if (find_block(walk, POS, 3 * n, 0, &file->block[POS], fault) != 0) return -1;
  if (find_block(walk, VEL, 3 * n, 0, &file->block[VEL], fault) != 0) return -1;
  if (find_block(walk, ID, n, own_mass == 0 || walk->labelled, &file->block[ID], fault) != 0) return -1;
  if (!walk->labelled && check_ids(walk, &file->block[ID], n, fault) != 0) return -1;
  if (own_mass && find_block(walk, MASS, own_mass, 0, &file->block[MASS], fault) != 0) return -1;
  if (own_mass && !walk->labelled && check_masses(walk, file, own_mass, fault) != 0) return -1;
  if (!own_mass && walk->labelled && find_doubt(walk, file, &header->facts.doubts, fault) != 0) return -1;
  file->has_ids = file->block[ID].width != 0;
  return 0;
}

static int inspect(const char *path, struct set_header *set_header, struct set_file *file, struct fault *fault)
{
  struct walk w = {.at = 0};
  if (input_open(&w.in, path, fault) != 0) return -1;
  int bad =
      begin(&w, fault) != 0 || header(&w, set_header, file, fault) != 0 || blocks(&w, set_header, file, fault) != 0;
  file->swap = w.swap;
  input_close(&w.in);
  return bad ? -1 : 0;
}

/* Read the masses of `count` rows from row `first` on, all of type `t`; the rows of the type start at row `type_first`
 * of the file. */
static int masses(const struct input *in, const struct set_file *file, int t, int64_t type_first, int64_t first,
                  int64_t count, struct particles *particles, int64_t at, struct fault *fault)
{
  double buffer[PIECE];
  int64_t before = first - type_first; /* entries of the mass block before these */
  for (int u = 0; u < t; u++)
    if (file->mass[u] == 0) before += file->count[u];
  const struct set_block *b = &file->block[MASS];
  for (int64_t done = 0; done < count; done += PIECE) {
    int64_t piece = count - done < PIECE ? count - done : PIECE;
    if (file->mass[t] == 0 &&
        input_reals(in, b->offset + (before + done) * b->width, b->width, file->swap, piece, buffer, fault) != 0)
      return -1;
    for (int64_t i = 0; i < piece; i++)
      if (set_mass(particles, at + done + i, file->mass[t] == 0 ? buffer[i] : file->mass[t], in->path,
                   first + done + i + 1, fault) != 0)
        return -1;
  }
  return 0;
}

static int all_masses(const struct input *in, const struct set_file *file, int64_t first, int64_t count,
                      struct particles *particles, int64_t at, struct fault *fault)
{
  int64_t begins = 0;
  for (int t = 0; t < PARTICLE_TYPES; begins += file->count[t++]) {
    int64_t from = first > begins ? first : begins, end = begins + file->count[t];
    int64_t to = first + count < end ? first + count : end;
    if (from < to && masses(in, file, t, begins, from, to - from, particles, at + from - first, fault) != 0) return -1;
  }
  return 0;
}

static int read_rows(const struct set *set, int k, int64_t first, int64_t count, struct particles *particles,
                     int64_t at, struct fault *fault)
{
  char path[SET_PATH];
  struct input in;
  const struct set_file *file = &set->file[k];
  const struct set_block *b = file->block;
  set_path(set, k, path);
  if (input_open(&in, path, fault) != 0) return -1;
  int swap = file->swap;
  int64_t x = 3 * first;
  int bad = input_reals(&in, b[POS].offset + x * b[POS].width, b[POS].width, swap, 3 * count, particles->pos + 3 * at,
                        fault) != 0 ||
            input_reals(&in, b[VEL].offset + x * b[VEL].width, b[VEL].width, swap, 3 * count, particles->vel + 3 * at,
                        fault) != 0 ||
            all_masses(&in, file, first, count, particles, at, fault) != 0;
  if (!bad && file->has_ids)
    bad =
        input_wholes(&in, b[ID].offset + first * b[ID].width, b[ID].width, swap, count, particles->id + at, fault) != 0;
  input_close(&in);
  return bad ? -1 : 0;
}

const struct set_format format_gadget = {.inspect = inspect, .read = read_rows};
