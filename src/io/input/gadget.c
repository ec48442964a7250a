/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GADGET formats 1 and 2: Fortran records; in format 2 a record with a label precedes each. */
#include <config.h>
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
  int64_t at;       /* offset of the next record, or of its label */
  int64_t blocks;   /* offset of the first record after the header; labelled blocks may have any order */
};

/* The length that the record at offset `at` states; -1 with a fault if the file ends before it. */
static int64_t marker(const struct walk *w, int64_t at, const char *what, struct fault *f)
{
  char raw[4];
  if (at + 4 > w->in.size)
    return fault_set(f, "%s ends at byte %lld, before the %s: it is truncated", w->in.path, (long long)w->in.size, what);
  if (input_bytes(&w->in, at, raw, 4, f) != 0) return -1;
  return bytes_u32(raw, w->swap);
}

/* Whether a record of `bytes` bytes at offset `at` is in the file and both of its length markers are right (modulo 4 GiB). */
static int is_record(const struct walk *w, int64_t at, int64_t bytes)
{
  char raw[4];
  struct fault none = {""};
  uint32_t low = (uint32_t)(uint64_t)bytes;
  if (bytes < 0 || bytes > w->in.size - at - 8) return 0;
  if (input_bytes(&w->in, at, raw, 4, &none) != 0 || bytes_u32(raw, w->swap) != low) return 0;
  return input_bytes(&w->in, at + 4 + bytes, raw, 4, &none) == 0 && bytes_u32(raw, w->swap) == low;
}

/* Format 2: find the next block with this label. 1: found, w->at is its record; 0: there is none; -1: fault. */
static int seek_label(struct walk *w, const char *label, struct fault *f)
{
  while (w->at < w->in.size) {
    char raw[LABEL_BYTES];
    if (w->at + LABEL_BYTES + 4 > w->in.size)
      return fault_set(f, "%s ends at byte %lld, within a block's label: it is truncated", w->in.path, (long long)w->in.size);
    if (input_bytes(&w->in, w->at, raw, LABEL_BYTES, f) != 0) return -1;
    if (bytes_u32(raw, w->swap) != 8 || bytes_u32(raw + 12, w->swap) != 8)
      return fault_set(f, "%s: format 2 requires a block label at byte %lld, and there is none: the file is damaged", w->in.path,
                       (long long)w->at);
    w->at += LABEL_BYTES;
    if (memcmp(raw + 4, label, 4) == 0) return 1;
    int64_t bytes = marker(w, w->at, "end of a block", f);
    if (bytes < 0) return -1;
    if (!is_record(w, w->at, bytes))
      return fault_set(f, "%s: the record of block '%.4s' at byte %lld (%lld bytes) has no matching end: the file is "
                       "truncated or damaged", w->in.path, raw + 4, (long long)w->at, (long long)bytes);
    w->at += bytes + 8;
  }
  return 0;
}

/* Find the block of `column`: `numbers` numbers of 4 or 8 bytes. If an optional block is missing its width stays 0. */
static int find_block(struct walk *w, int column, int64_t numbers, int optional, struct set_block *b, struct fault *f)
{
  char what[32];
  snprintf(what, sizeof what, "%s block", titles[column]);
  if (w->labelled) {
    w->at = w->blocks;
    int found = seek_label(w, labels[column], f);
    if (found < 0) return -1;
    if (!found)
      return optional ? 0 : fault_set(f, "%s has no block '%s' (format 2)", w->in.path, labels[column]);
  } else if (optional && w->at >= w->in.size) {
    return 0;
  }
  for (int width = 4; width <= 8; width += 4) {
    if (!is_record(w, w->at, width * numbers)) continue;
    *b = (struct set_block){w->at + 4, width};
    w->at += width * numbers + 8;
    return 0;
  }
  int64_t stated = marker(w, w->at, what, f);
  if (stated < 0) return -1;
  uint32_t low = (uint32_t)stated;
  if (low == (uint32_t)(4 * numbers) || low == (uint32_t)(8 * numbers))
    return fault_set(f, "%s: the %s of %lld bytes at byte %lld has no matching end (the file is %lld bytes long): it is "
                     "truncated or damaged", w->in.path, what, (long long)stated, (long long)w->at, (long long)w->in.size);
  return fault_set(f, "%s: the %s at byte %lld has %lld bytes; expected %lld (4-byte numbers) or %lld (8-byte)", w->in.path,
                   what, (long long)w->at, (long long)stated, 4LL * numbers, 8LL * numbers);
}

/* The first four bytes determine byte order and format. */
static int begin(struct walk *w, struct fault *f)
{
  char raw[4];
  if (input_bytes(&w->in, 0, raw, 4, f) != 0) return -1;
  for (w->swap = 0; w->swap < 2; w->swap++) {
    uint32_t first = bytes_u32(raw, w->swap);
    w->labelled = first == 8;
    if (first == 8 || first == HEADER_CLASSIC || first == HEADER_WIDE) return 0;
  }
  return fault_set(f, "%s is not a GADGET file: its first number is not 8, 192 or 256 in either byte order", w->in.path);
}

static int counts_of(const struct walk *w, const char *raw, int wide, struct set_header *h, struct set_file *file,
                     struct fault *f)
{
  for (int t = 0; t < PARTICLE_TYPES; t++) {
    file->mass[t] = bytes_f64(raw + (wide ? 96 : 24) + 8 * t, w->swap);
    if (wide) {
      file->count[t] = (int64_t)bytes_u64(raw + 8 * t, w->swap);
      h->total[t] = (int64_t)bytes_u64(raw + 48 + 8 * t, w->swap);
    } else {
      file->count[t] = bytes_u32(raw + 4 * t, w->swap);
      h->total[t] = (int64_t)(bytes_u32(raw + 96 + 4 * t, w->swap) | (uint64_t)bytes_u32(raw + 168 + 4 * t, w->swap) << 32);
    }
    if (file->count[t] < 0 || file->count[t] > w->in.size)
      return fault_set(f, "%s: its header states %lld particles of type %d, more than a file of %lld bytes can hold",
                       w->in.path, (long long)file->count[t], t, (long long)w->in.size);
    if (file->count[t] && !(file->mass[t] >= 0 && file->mass[t] <= 1e300))
      return fault_set(f, "%s: its header gives type %d the mass %g; expected a finite number >= 0", w->in.path, t,
                       file->mass[t]);
  }
  return 0;
}

static int header(struct walk *w, struct set_header *h, struct set_file *file, struct fault *f)
{
  char raw[HEADER_CLASSIC];
  if (w->labelled && seek_label(w, "HEAD", f) != 1)
    return fault_set(f, "%s: no block 'HEAD' at its start (format 2)", w->in.path);
  int64_t bytes = marker(w, w->at, "header", f);
  if (bytes < 0) return -1;
  if ((bytes != HEADER_CLASSIC && bytes != HEADER_WIDE) || !is_record(w, w->at, bytes))
    return fault_set(f, "%s: the header record (%lld bytes) has no matching end or is neither 192 nor 256 bytes: the file is "
                     "truncated or damaged", w->in.path, (long long)bytes);
  if (input_bytes(&w->in, w->at + 4, raw, bytes, f) != 0) return -1;
  w->at += bytes + 8;
  int wide = bytes == HEADER_WIDE;
  if (counts_of(w, raw, wide, h, file, f) != 0) return -1;
  h->facts.time = bytes_f64(raw + (wide ? 144 : 72), w->swap);
  h->facts.has_time = 1;
  h->facts.redshift = bytes_f64(raw + (wide ? 152 : 80), w->swap);
  h->facts.box = bytes_f64(raw + (wide ? 160 : 128), w->swap);
  if (!wide) {
    h->facts.omega0 = bytes_f64(raw + 136, w->swap);
    h->facts.omega_lambda = bytes_f64(raw + 144, w->swap);
    h->facts.hubble = bytes_f64(raw + 152, w->swap);
  }
  h->files = (int32_t)bytes_u32(raw + (wide ? 168 : 124), w->swap);
  h->has_total = h->files > 1;   /* many programs leave the totals of a single file empty */
  snprintf(h->facts.format, sizeof h->facts.format, "GADGET %d, %s endian", w->labelled ? 2 : 1, w->swap ? "big" : "little");
  return 0;
}

static int blocks(struct walk *w, struct set_file *file, struct fault *f)
{
  int64_t n = set_file_total(file), own_mass = 0;
  for (int t = 0; t < PARTICLE_TYPES; t++)
    if (file->mass[t] == 0) own_mass += file->count[t];
  if (n == 0) return 0;
  w->blocks = w->at;
  if (find_block(w, POS, 3 * n, 0, &file->block[POS], f) != 0) return -1;
  if (find_block(w, VEL, 3 * n, 0, &file->block[VEL], f) != 0) return -1;
  if (find_block(w, ID, n, own_mass == 0 || w->labelled, &file->block[ID], f) != 0) return -1;
  if (own_mass && find_block(w, MASS, own_mass, 0, &file->block[MASS], f) != 0) return -1;
  file->has_ids = file->block[ID].width != 0;
  return 0;
}

static int inspect(const char *path, struct set_header *h, struct set_file *file, struct fault *f)
{
  struct walk w = {.at = 0};
  if (input_open(&w.in, path, f) != 0) return -1;
  int bad = begin(&w, f) != 0 || header(&w, h, file, f) != 0 || blocks(&w, file, f) != 0;
  file->swap = w.swap;
  input_close(&w.in);
  return bad ? -1 : 0;
}

/* Read the masses of `count` rows from row `first` on, all of type `t`; the rows of the type start at row `type_first` of the file. */
static int masses(const struct input *in, const struct set_file *file, int t, int64_t type_first, int64_t first, int64_t count,
                  struct particles *p, int64_t at, struct fault *f)
{
  enum { PIECE = 2048 };
  double buffer[PIECE];
  int64_t before = first - type_first;   /* entries of the mass block before these */
  for (int u = 0; u < t; u++)
    if (file->mass[u] == 0) before += file->count[u];
  const struct set_block *b = &file->block[MASS];
  for (int64_t done = 0; done < count; done += PIECE) {
    int64_t piece = count - done < PIECE ? count - done : PIECE;
    if (file->mass[t] == 0 &&
        input_reals(in, b->offset + (before + done) * b->width, b->width, file->swap, piece, buffer, f) != 0)
      return -1;
    for (int64_t i = 0; i < piece; i++)
      if (set_mass(p, at + done + i, file->mass[t] == 0 ? buffer[i] : file->mass[t], in->path, first + done + i + 1, f) != 0)
        return -1;
  }
  return 0;
}

static int all_masses(const struct input *in, const struct set_file *file, int64_t first, int64_t count, struct particles *p,
                      int64_t at, struct fault *f)
{
  int64_t begins = 0;
  for (int t = 0; t < PARTICLE_TYPES; begins += file->count[t++]) {
    int64_t from = first > begins ? first : begins, end = begins + file->count[t];
    int64_t to = first + count < end ? first + count : end;
    if (from < to && masses(in, file, t, begins, from, to - from, p, at + from - first, f) != 0) return -1;
  }
  return 0;
}

static int read_rows(const struct set *s, int k, int64_t first, int64_t count, struct particles *p, int64_t at, struct fault *f)
{
  char path[SET_PATH];
  struct input in;
  const struct set_file *file = &s->file[k];
  const struct set_block *b = file->block;
  set_path(s, k, path);
  if (input_open(&in, path, f) != 0) return -1;
  int swap = file->swap;
  int64_t x = 3 * first;
  int bad = input_reals(&in, b[POS].offset + x * b[POS].width, b[POS].width, swap, 3 * count, p->pos + 3 * at, f) != 0 ||
            input_reals(&in, b[VEL].offset + x * b[VEL].width, b[VEL].width, swap, 3 * count, p->vel + 3 * at, f) != 0 ||
            all_masses(&in, file, first, count, p, at, f) != 0;
  if (!bad && file->has_ids)
    bad = input_wholes(&in, b[ID].offset + first * b[ID].width, b[ID].width, swap, count, p->id + at, f) != 0;
  input_close(&in);
  return bad ? -1 : 0;
}

const struct set_format format_gadget = {.inspect = inspect, .read = read_rows};
