/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer on the readers of files (tests/fuzz/README.md). FUZZ_READER names the reader. FUZZ_SEEDS: write files to
 * begin with into this folder, and end. A crash, a hang, a sanitizer's report, a result that contradicts the fault, or
 * memory that is kept is a finding. */
#include <config.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "checkpoint/checkpoint.h"
#include "io/input/initial.h"
#include "io/snapshot/snapshot.h"
#include "run/outputs.h"
#include "../writers.h"

static struct comm c;
static char folder[256], path[300];
static const char *reader;

static int is(const char *name) { return strcmp(reader, name) == 0; }

static void put(const char *name, const void *data, size_t size)
{
  FILE *f = fopen(name, "wb");
  if (!f || (size && fwrite(data, 1, size, f) != size) || fclose(f) != 0) abort();
}

/* A result of a reader: either it succeeded or there is a sentence, and no memory is kept. */
static void agree(int status, const struct fault *fault)
{
  if ((status == 0) != (fault->text[0] == 0) || memory_current() != 0) {
    fprintf(stderr, "status %d, fault '%s', %zu bytes kept\n", status, fault->text, memory_current());
    abort();
  }
}

static void input(enum ic_format format)
{
  struct particles p;
  struct initial_facts facts;
  struct fault f = {""};
  particles_init(&p);
  int status = initial_read(&c, path, format, &p, &facts, &f);
  particles_free(&p);
  agree(status, &f);
}

static void parameters(void)
{
  struct params p, back;
  struct fault f = {""};
  char copy[320];
  int status = params_read(&p, path, NULL, 0, &f);
  agree(status, &f);
  if (status != 0) return;
  snprintf(copy, sizeof copy, "%s.again", path);
  FILE *out = fopen(copy, "w");
  params_write_ini(out, &p, NULL);
  fclose(out);
  /* parameters-used.ini is the same run */
  if (params_read(&back, copy, NULL, 0, &f) != 0 || memcmp(&p, &back, sizeof p) != 0) abort();
}

static void list(void)
{
  struct params p;
  struct outputs o;
  struct fault f = {""};
  params_defaults(&p);
  snprintf(p.OutputListFilename, sizeof p.OutputListFilename, "%s", path);
  int status = outputs_open(&o, &p, &f);
  if (status == 0) outputs_close(&o);
  agree(status, &f);
}

/* A checkpoint whose manifest has the right checksum; its first file is the rest after a NUL. */
static void checkpoint(const uint8_t *data, size_t size)
{
  struct params p;
  struct checkpoint k;
  struct particles q;
  struct fault f = {""};
  char name[400], last[128];
  const uint8_t *end = memchr(data, 0, size);
  size_t body = end ? (size_t)(end - data) : size, rest = end ? size - body - 1 : 0;
  snprintf(name, sizeof name, "%s/rank_00000", folder);
  put(name, end ? end + 1 : data, rest);
  struct bytes b = {0};
  put_raw(&b, data, body);
  put_raw(&b, "\n", 2);
  const char *stated = strstr((const char *)b.at, "particles = ");
  long long particles = stated ? strtoll(stated + 12, NULL, 10) : 0;
  b.n--;
  int n = snprintf(last, sizeof last, "rank_00000 = %lld %zu %llx\n", particles, rest,
                   (unsigned long long)XXH64(end ? end + 1 : data, rest, 0));
  put_raw(&b, last, (size_t)n);
  n = snprintf(last, sizeof last, "checksum = %016llx\n", (unsigned long long)XXH64(b.at, b.n, 0));
  put_raw(&b, last, (size_t)n);
  snprintf(name, sizeof name, "%s/manifest", folder);
  put(name, b.at, b.n);
  drop(&b);
  params_defaults(&p);
  int status = checkpoint_find(&c, &p, folder, &k, &f);
  if (status == 0) {
    particles_init(&q);
    struct fault reason = {""};
    checkpoint_particles(&c, &k, &q, &reason);
    particles_free(&q);
    checkpoint_close(&k);
  }
  agree(status, &f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (is("checkpoint")) {
    checkpoint(data, size);
    return 0;
  }
  put(path, data, size);
  if (is("ini")) parameters();
  else if (is("list")) list();
  else input(is("ascii") ? FORMAT_ASCII : is("tipsy") ? FORMAT_TIPSY : FORMAT_AUTO);
  return 0;
}

/* --- files to begin with ------------------------------------------------------------------------------------------ */

static void seed(const char *to, int k, struct bytes *bytes)
{
  char name[512];
  snprintf(name, sizeof name, "%s/%d", to, k);
  save(bytes, name);
  drop(bytes);
}

static void seed_text(const char *to, int k, const char *text)
{
  struct bytes b = {0};
  put_raw(&b, text, strlen(text));
  seed(to, k, &b);
}

static void seed_snapshot(const char *to)
{
  char name[512];
  struct particles p;
  struct params par;
  struct fault f = {""};
  params_defaults(&par);
  struct snapshot_facts facts = {.params = &par, .time = 1};
  snprintf(name, sizeof name, "%s/snapshot", to);
  particles_make(&p, &c, 3, 1);
  if (snapshot_write(&c, name, &p, &facts, &f) != 0) abort();
  particles_free(&p);
}

/* A checkpoint of three particles in the form that checkpoint() takes. */
static void seed_checkpoint(const char *to)
{
  char from[600], line[4096];
  struct params p;
  struct particles q;
  struct bytes b = {0};
  struct fault f = {""};
  params_defaults(&p);
  snprintf(p.OutputDir, sizeof p.OutputDir, "%s", to);
  snprintf(p.CheckpointDir, sizeof p.CheckpointDir, "%s", folder);
  particles_make(&q, &c, 3, 1);
  const struct checkpoint_content content = {.number = 3, .backend = "cpu"};
  if (checkpoint_write(&c, &p, &content, &q, &f) != 0) {
    fprintf(stderr, "%s\n", f.text);
    abort();
  }
  particles_free(&q);
  for (int k = 0; k < 2; k++) {
    snprintf(from, sizeof from, "%s/checkpoint_000003/%s", folder, k ? "rank_00000" : "manifest");
    FILE *in = fopen(from, "rb");
    if (!in) abort();
    if (k) put_zeros(&b, 1);
    while (k == 0 && fgets(line, sizeof line, in))
      if (strncmp(line, "rank_", 5) && strncmp(line, "checksum", 8)) put_raw(&b, line, strlen(line));
    for (size_t n; k && (n = fread(line, 1, sizeof line, in)) > 0;) put_raw(&b, line, n);
    fclose(in);
  }
  checkpoint_remove_all(&p);
  seed(to, 1, &b);
}

static void seeds(const char *to)
{
  struct bytes b = {0};
  char name[512];
  for (int k = 0; k < 4; k++) {
    struct gadget g = {.format = 1 + k % 2,
                       .wide = k / 2,
                       .real_width = 4,
                       .id_width = 4,
                       .count = {1, 3, 2},
                       .total = {1, 3, 2},
                       .files = 1};
    struct tipsy y = {.count = {1, 2, 1}, .header = k % 2 ? 32 : 28, .real_width = k / 2 ? 8 : 4};
    struct hdf h = {.g = g, .count_type = H5T_STD_U32LE, .swift = k % 2, .chunk = k / 2 * 2};
    b.big = k == 3;
    if (is("gadget")) {
      gadget_build(&b, &g);
      seed(to, k, &b);
    }
    if (is("tipsy")) {
      tipsy_build(&b, &y);
      seed(to, k, &b);
    }
    snprintf(name, sizeof name, "%s/%d", to, k);
    if (is("hdf5")) hdf_save(&h, name);
  }
  if (is("hdf5")) seed_snapshot(to);
  if (is("ascii")) seed_text(to, 0, "\xef\xbb\xbf# x\n1 2 3 4 5 6 7\n-1e3,2;3\t4 5 6 .7 # a\n");
  if (is("list")) seed_text(to, 0, "# times\n0.5\n 1.25e0 # a\n\n3\n");
  if (is("checkpoint")) seed_checkpoint(to);
  if (is("checkpoint")) seed_text(to, 0, "format = 1\nranks = 1\nparticles = 1\nnumber = 3\nbackend = cpu\n");
  if (is("ini")) {
    snprintf(name, sizeof name, "%s/0", to);
    FILE *out = fopen(name, "w");
    params_write_ini(out, NULL, NULL);
    fclose(out);
    seed_text(to, 1, "[Gravity]\nSoftening = 2 ; c\n[Output]\nOutputDir : a\n");
    seed_text(to, 2, "% GADGET\nInitCondFile  x\n");
  }
}

static void tidy(void)
{
  folder_remove(&c, folder);
  comm_close(&c);
  MPI_Finalize();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  reader = getenv("FUZZ_READER");
  if (!reader) {
    fprintf(stderr, "FUZZ_READER is not set\n");
    exit(99);
  }
  MPI_Init(argc, argv);
  comm_open(&c, MPI_COMM_SELF);
  folder_make(&c, folder);
  snprintf(path, sizeof path, "%s/file", folder);
  atexit(tidy);
  const char *to = getenv("FUZZ_SEEDS");
  if (to) {
    seeds(to);
    exit(0);
  }
  return 0;
}
