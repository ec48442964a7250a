/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flipped bytes and truncations where files keep their headers: never a crash (the process ends), never a hang (an
 * alarm), always 0 or -1 with a sentence. Each rank has its own share of the cases. ESPALIER_FUZZ sets the number of
 * flips and the first seed as N[:SEED]. */
#include <config.h>
#include <mpi.h>

#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"
#include "writers.h"

static struct comm c, self;
static char folder[256], path[512];
static int flips = 200;
static uint64_t seed = 1;

static uint64_t random_next(uint64_t *state) /* splitmix64 */
{
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* Read it alone: 1 when the outcome is a legal one. */
static int survives(const struct bytes *bytes, int64_t *accepted)
{
  struct particles p;
  struct initial_facts facts;
  struct fault f = {""};
  size_t before = memory_current();
  save(bytes, path);
  particles_init(&p);
  alarm(10);
  int status = initial_read(&self, path, FORMAT_AUTO, &p, &facts, &f);
  alarm(0);
  *accepted += status == 0;
  particles_free(&p);
  return (status == 0 && !f.text[0]) || (status == -1 && f.text[0] && memory_current() == before);
}

/* `region`: bytes from the start that are header, or all where 0. */
static void fuzz(struct bytes *bytes, size_t region, const char *name)
{
  char what[128];
  int64_t accepted = 0;
  int ok = 1;
  size_t whole = bytes->n;
  if (region == 0 || region > whole) region = whole;
  for (int i = c.rank; i < flips; i += c.size) {
    uint64_t state = seed + (uint64_t)i * 1000003;
    size_t at = random_next(&state) % region;
    unsigned char old = bytes->at[at];
    bytes->at[at] = (unsigned char)random_next(&state);
    int fine = survives(bytes, &accepted);
    if (!fine) printf("# %s: byte %zu as %d\n", name, at, bytes->at[at]);
    ok &= fine;
    bytes->at[at] = old;
  }
  for (int i = c.rank; i < flips / 4; i += c.size) {
    uint64_t state = seed + (uint64_t)i * 7368787;
    bytes->n = random_next(&state) % region;
    int fine = survives(bytes, &accepted);
    if (!fine) printf("# %s: cut at %zu\n", name, bytes->n);
    ok &= fine;
    bytes->n = whole;
  }
  comm_sum_int64(&c, &accepted, 1);
  snprintf(what, sizeof what, "%s: %d bytes changed, %d truncations", name, flips, flips / 4);
  if (c.rank == 0) printf("# %s: %lld of them read without a fault\n", name, (long long)accepted);
  all_ok(&c, ok, what);
}

/* Each `width` bytes in turn with this value: addresses that are undefined, from which HDF5's drivers of plain files
 * copy address 0; chunks without extent, by which HDF5 divides. */
static void overwrite(struct bytes *bytes, size_t width, int value, const char *name)
{
  char what[128];
  int64_t accepted = 0;
  int ok = 1;
  for (size_t at = width * (size_t)c.rank; at + width <= bytes->n; at += width * (size_t)c.size) {
    unsigned char old[8];
    memcpy(old, bytes->at + at, width);
    memset(bytes->at + at, value, width);
    int fine = survives(bytes, &accepted);
    if (!fine) printf("# %s: %d at %zu\n", name, value, at);
    ok &= fine;
    memcpy(bytes->at + at, old, width);
  }
  snprintf(what, sizeof what, "%s: each %zu bytes as %d", name, width, value);
  all_ok(&c, ok, what);
}

/* Each type of whole numbers of 4 bytes with 512 bits, which HDF5 would read from behind the numbers. */
static void too_many_bits(struct bytes *bytes, const char *name)
{
  static const unsigned char of_type[] = {4, 0, 0, 0, 0, 0, 32, 0};
  char what[128];
  int64_t accepted = 0;
  int ok = 1, types = 0;
  for (size_t at = 4; at + sizeof of_type <= bytes->n; at++) {
    if (memcmp(bytes->at + at, of_type, sizeof of_type) != 0 || bytes->at[at - 4] != 0x10) continue;
    bytes->at[at + 6] = 0;
    bytes->at[at + 7] = 2;
    ok &= survives(bytes, &accepted);
    memcpy(bytes->at + at, of_type, sizeof of_type);
    types++;
  }
  snprintf(what, sizeof what, "%s: numbers with more bits than their bytes have", name);
  all_ok(&c, ok && types > 2 && accepted == 0, what);
}

static struct bytes load(const char *name)
{
  struct bytes b = {0};
  char piece[4096];
  FILE *f = fopen(name, "rb");
  for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0;) put_raw(&b, piece, n);
  if (!f || fclose(f) != 0) abort();
  return b;
}

static void binary(void)
{
  struct gadget g = {
      .format = 1, .real_width = 4, .id_width = 4, .count = {2, 30, 20}, .total = {2, 30, 20}, .files = 1};
  struct tipsy y = {.count = {5, 20, 3}, .header = 32, .real_width = 4};
  struct bytes b = {0};
  gadget_build(&b, &g);
  fuzz(&b, 280, "GADGET 1");
  drop(&b);
  g.format = 2;
  gadget_build(&b, &g);
  fuzz(&b, 340, "GADGET 2");
  fuzz(&b, 0, "GADGET 2, anywhere");
  drop(&b);
  tipsy_build(&b, &y);
  fuzz(&b, 40, "TIPSY");
  drop(&b);
}

static void hdf(void)
{
  struct gadget g = {.format = 1, .real_width = 4, .id_width = 4, .count = {0, 4, 3}, .total = {0, 4, 3}, .files = 1};
  struct hdf h = {.g = g, .count_type = H5T_STD_U32LE};
  struct bytes b;
#ifdef __SANITIZE_ADDRESS__
  (void)h;
  if (c.rank == 0) tap_skip("HDF5 of GADGET's style", "HDF5 1.10 itself reads freed memory in some of these files");
#else
  hdf_save(&h, path);
  b = load(path);
  fuzz(&b, 0, "HDF5 of GADGET's style");
  overwrite(&b, 8, 0xff, "HDF5 of GADGET's style");
  too_many_bits(&b, "HDF5 of GADGET's style");
  drop(&b);
  h.chunk = 2;
  hdf_save(&h, path);
  b = load(path);
  overwrite(&b, 4, 0, "HDF5 in chunks");
  overwrite(&b, 8, 0xff, "HDF5 in chunks");
  drop(&b);
#endif

  struct particles p;
  struct params par;
  struct fault f = {""};
  struct snapshot_facts facts = {.params = &par, .time = 1};
  params_defaults(&par);
  particles_make(&p, &self, 10, 2);
  all_ok(&c, snapshot_write(&self, path, &p, &facts, &f) == 0, "a snapshot to begin with");
  particles_free(&p);
  b = load(path);
  fuzz(&b, 0, "snapshot");
  drop(&b);
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  comm_open(&c, MPI_COMM_WORLD);
  comm_open(&self, MPI_COMM_SELF);
  const char *more = getenv("ESPALIER_FUZZ");
  if (more) {
    flips = atoi(more);
    if (strchr(more, ':')) seed = (uint64_t)atoll(strchr(more, ':') + 1);
  }
  folder_make(&c, folder);
  snprintf(path, sizeof path, "%s/%d", folder, c.rank);
  binary();
  hdf();
  folder_remove(&c, folder);
  int failed = c.rank == 0 ? tap_end() : 0;
  comm_close(&self);
  comm_close(&c);
  MPI_Finalize();
  return failed;
}
