/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flipped bytes and truncations where files keep their headers: never a crash (the process ends), never a hang (an
 * alarm), always 0 or -1 with a sentence. Each rank has its own share of the cases. ESPALIER_FUZZ sets the number of
 * flips and the first seed as N[:SEED]. */
#include <config.h>
#include <mpi.h>

#include "io/h5.h"
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

/* Each 8 bytes in turn as the undefined address of HDF5, from which HDF5's drivers of plain files copy address 0. */
static void without_addresses(struct bytes *bytes, const char *name)
{
  enum { ADDRESS = 8 };
  char what[128];
  int64_t accepted = 0;
  int ok = 1;
  for (size_t at = ADDRESS * (size_t)c.rank; at + ADDRESS <= bytes->n; at += ADDRESS * (size_t)c.size) {
    unsigned char old[ADDRESS];
    memcpy(old, bytes->at + at, ADDRESS);
    memset(bytes->at + at, 0xff, ADDRESS);
    int fine = survives(bytes, &accepted);
    if (!fine) printf("# %s: no address at %zu\n", name, at);
    ok &= fine;
    memcpy(bytes->at + at, old, ADDRESS);
  }
  snprintf(what, sizeof what, "%s: addresses that are undefined", name);
  all_ok(&c, ok, what);
}

/* Types with more bits than their bytes have, which HDF5 would read from behind the numbers. */
static void too_many_bits(void)
{
  static const hid_t *const types[] = {&H5T_STD_U32LE_g, &H5T_IEEE_F64LE_g};
  static const H5T_class_t kinds[] = {H5T_INTEGER, H5T_FLOAT};
  int ok = 1;
  for (int k = 0; k < 2; k++) {
    enum { AT = 12, MOST = 64 }; /* of the number of bits: behind two bytes, the class, size and offset */
    unsigned char bytes[MOST];
    size_t size = MOST;
    ok &= h5_is_number(*types[k], kinds[k]) && H5Tencode(*types[k], bytes, &size) >= 0 && bytes[AT] == (k ? 64 : 32);
    bytes[AT] = 0;
    bytes[AT + 1] = 2;
    hid_t wide = H5Tdecode(bytes);
    ok &= wide >= 0 && H5Tget_class(wide) == kinds[k] && !h5_is_number(wide, kinds[k]);
    if (wide >= 0) H5Tclose(wide);
  }
  all_ok(&c, ok, "HDF5: numbers with more bits than their bytes have");
}

/* Each layout of chunks with no dimensions, and with those of an element alone: HDF5 divides by their extents. */
static void without_dimensions(struct bytes *bytes, const char *name)
{
  enum { HEAD = 8, CHUNKED = 2 };
  char what[128];
  int64_t accepted = 0;
  int ok = 1, layouts = 0;
  for (size_t at = 0; at + 64 <= bytes->n; at += 8) {
    unsigned char *head = bytes->at + at, *layout = head + HEAD, old = layout[2];
    if (head[0] != 8 || head[1] || head[5] || head[6] || head[7] || layout[0] != 3 || layout[1] != CHUNKED) continue;
    layouts++;
    for (layout[2] = 0; layout[2] < 2; layout[2]++) ok &= survives(bytes, &accepted);
    layout[2] = old;
  }
  snprintf(what, sizeof what, "%s: without dimensions", name);
  all_ok(&c, ok && layouts > 2 && accepted == 0, what);
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
  without_addresses(&b, "HDF5 of GADGET's style");
  too_many_bits();
  drop(&b);
  h.chunk = 2;
  hdf_save(&h, path);
  b = load(path);
  without_dimensions(&b, "HDF5 in chunks");
  without_addresses(&b, "HDF5 in chunks");
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
  ranks_begin(&c, &argc, &argv);
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
  comm_close(&self);
  return ranks_end(&c);
}
