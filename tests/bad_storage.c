/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HDF5 files whose values are elsewhere or nowhere: virtual datasets, external files, links, chunks. What HDF5 would
 * read as fill values, wait for, or crash on is refused with a sentence; what is whole is read. */
#include <config.h>
#include <math.h>
#include <mpi.h>
#include <sys/stat.h>

#include "io/input/initial.h"
#include "writers.h"

enum { N = 100 };
static struct comm c;
static char folder[256], path[512];

/* Read the file on all ranks. `word` NULL: it is read, with the right positions; else all ranks refuse it, with `word`
 * in the sentence. */
static void expect(const char *word, const char *what)
{
  struct particles p;
  struct initial_facts facts;
  struct fault f = {""};
  size_t before = memory_current();
  MPI_Barrier(c.mpi);
  particles_init(&p);
  alarm(60);
  int status = initial_read(&c, path, FORMAT_AUTO, &p, &facts, &f),
      ok = word ? status == -1 && strstr(f.text, word) : status == 0;
  alarm(0);
  for (int64_t i = 0; i < p.n && ok; i++)
    for (int k = 0; k < 3; k++) ok = p.pos[3 * i + k] == value((int64_t)p.id[i], k);
  particles_free(&p);
  ok = ok && memory_current() == before;
  if (!ok || (word && c.rank == 0)) printf("# %s\n", f.text);
  all_ok(&c, ok, what);
}

static void name(const char *file) { snprintf(path, sizeof path, "%s/%s", folder, file); }

/* Create a file with everything but Coordinates. Returns its group PartType1. */
static hid_t begin(const char *file, int64_t n)
{
  name(file);
  struct hdf h = {.g = {.format = 1, .real_width = 8, .count = {0, N}, .total = {0, N}, .files = 1, .table = {0, 1}},
                  .count_type = H5T_STD_U64LE};
  int64_t id[N], count[6] = {0, n};
  for (int i = 0; i < N; i++) id[i] = i;
  hdf_save(&h, path);
  hid_t f = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t header = H5Gopen2(f, "Header", H5P_DEFAULT), g = H5Gopen2(f, "PartType1", H5P_DEFAULT);
  static const char *const totals[] = {"NumPart_ThisFile", "NumPart_Total"};
  for (int k = 0; k < 2 && n != N; k++) {
    H5Adelete(header, totals[k]);
    attribute(header, totals[k], H5T_STD_U64LE, H5T_NATIVE_INT64, 6, count);
  }
  dataset(g, "ParticleIDs", H5T_STD_I64LE, H5T_NATIVE_INT64, N, 0, 0, id);
  H5Ldelete(g, "Coordinates", H5P_DEFAULT);
  H5Gclose(header);
  H5Fclose(f);
  return g;
}

static void end(hid_t group)
{
  hid_t f = H5Iget_file_id(group);
  H5Gclose(group);
  H5Fclose(f);
}

/* The positions, for others to map: all, by component, the first half. */
static void sources(void)
{
  double x[3 * N], column[3][N];
  for (int64_t i = 0; i < N; i++)
    for (int k = 0; k < 3; k++) x[3 * i + k] = column[k][i] = value(i, k);
  name("source.hdf5");
  hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  dataset(f, "all", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, N, 3, 0, x);
  dataset(f, "half", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, N / 2, 3, 0, x);
  dataset(f, "never", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, N, 3, 0, NULL);
  for (int k = 0; k < 3; k++)
    dataset(f, (const char *[]){"x", "y", "z"}[k], H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, N, 0, 0, column[k]);
  H5Fclose(f);
  name("fifo");
  if (mkfifo(path, 0600) != 0) abort();
}

/* A block of the rows first, first + stride, ... of some columns, or (rows 0) all. */
static hid_t rows_of(hsize_t n, hsize_t width, hsize_t first, hsize_t stride, hsize_t rows, hsize_t column,
                     hsize_t columns)
{
  hsize_t extent[2] = {n, width}, start[2] = {first, column}, step[2] = {stride, 1}, count[2] = {rows, columns};
  hid_t space = H5Screate_simple(width ? 2 : 1, extent, NULL);
  if (rows) H5Sselect_hyperslab(space, H5S_SELECT_SET, start, step, count, NULL);
  return space;
}

static void map(hid_t plist, hid_t to, const char *file, const char *name, hid_t from)
{
  if (H5Pset_virtual(plist, to, file, name, from) < 0) abort();
  H5Sclose(to);
  H5Sclose(from);
}

static void create(hid_t group, hid_t plist, hsize_t n, hsize_t most)
{
  hsize_t extent[2] = {n, 3}, limit[2] = {most, 3};
  hid_t space = H5Screate_simple(2, extent, limit);
  hid_t set = H5Dcreate2(group, "Coordinates", H5T_IEEE_F64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  if (set < 0) abort();
  H5Dclose(set);
  H5Pclose(plist);
  H5Sclose(space);
  end(group);
}

/* A virtual dataset that maps the whole dataset `name` of `file`. */
static void whole(const char *own, const char *file, const char *name)
{
  if (c.rank != 0) return;
  hid_t g = begin(own, N), plist = H5Pcreate(H5P_DATASET_CREATE);
  map(plist, rows_of(N, 3, 0, 1, 0, 0, 3), file, name, rows_of(N, 3, 0, 1, 0, 0, 3));
  create(g, plist, N, N);
}

static void mapped(void)
{
  char target[700];
  whole("a.hdf5", "source.hdf5", "all");
  name("a.hdf5");
  expect(NULL, "a virtual dataset beside its source");
  snprintf(target, sizeof target, "%s/source.hdf5", folder);
  whole("b.hdf5", target, "/all");
  name("b.hdf5");
  expect(NULL, "an absolute name");
  snprintf(target, sizeof target, "/nowhere/source.hdf5");
  whole("b.hdf5", target, "all");
  expect(NULL, "an absolute name of another machine: HDF5 looks beside the file");
  whole("9%.hdf5", "source.hdf5", "all");
  whole("b.hdf5", "9%%.hdf5", "PartType1/Coordinates");
  expect(NULL, "a virtual dataset of a virtual dataset");
  if (c.rank == 0) {
    hid_t g = begin("b.hdf5", N), plist = H5Pcreate(H5P_DATASET_CREATE);
    for (hsize_t k = 0; k < 3; k++)
      map(plist, rows_of(N, 3, 0, 1, N, k, 1), "source.hdf5", (const char *[]){"x", "y", "z"}[k],
          rows_of(N, 0, 0, 1, 0, 0, 0));
    create(g, plist, N, N);
  }
  expect(NULL, "three columns from three datasets");
  if (c.rank == 0) {
    hid_t g = begin("b.hdf5", N), plist = H5Pcreate(H5P_DATASET_CREATE);
    map(plist, rows_of(N, 3, 1, 2, N / 2, 0, 3), "source.hdf5", "all", rows_of(N, 3, 1, 2, N / 2, 0, 3));
    map(plist, rows_of(N, 3, 0, 2, N / 2, 0, 3), "source.hdf5", "all", rows_of(N, 3, 0, 2, N / 2, 0, 3));
    create(g, plist, N, N);
  }
  expect(NULL, "odd and even rows");
}

static void missing(void)
{
  name("c.hdf5");
  whole("c.hdf5", "nosuch.hdf5", "all");
  expect("/PartType1/Coordinates is a virtual dataset with rows in the file nosuch.hdf5, which is missing",
         "a source file that is missing");
  whole("d.hdf5", "c.hdf5", "PartType1/Coordinates");
  name("d.hdf5");
  expect("the file nosuch.hdf5, which is missing", "... of a source that is virtual itself");
  whole("d.hdf5", "source.hdf5", "nosuch");
  expect("there is no dataset nosuch", "a source dataset that is missing");
  whole("d.hdf5", "source.hdf5", "never");
  expect("not all values of the dataset never that it maps are in the file", "a source that was never written");
  whole("d.hdf5", "source.hdf5", "half");
  expect("whose dataset half has another shape", "a source with fewer rows");
  whole("d.hdf5", "fifo", "all");
  expect("fifo, which is not a regular file", "a FIFO as source file");
}

static void gaps(void)
{
  name("e.hdf5");
  if (c.rank == 0) {
    hid_t g = begin("e.hdf5", N), plist = H5Pcreate(H5P_DATASET_CREATE);
    map(plist, rows_of(N, 3, 0, 1, N / 2, 0, 3), "source.hdf5", "half", rows_of(N / 2, 3, 0, 1, 0, 0, 3));
    create(g, plist, N, N);
  }
  expect("100 rows; row 51 has no source", "half of the rows without a source");
  if (c.rank == 0) {
    hid_t g = begin("e.hdf5", N), plist = H5Pcreate(H5P_DATASET_CREATE);
    for (hsize_t k = 0; k < 2; k++)
      map(plist, rows_of(N, 3, 0, 1, N, k, 1), "source.hdf5", k ? "y" : "x", rows_of(N, 0, 0, 1, 0, 0, 0));
    create(g, plist, N, N);
  }
  expect("row 1 has no source", "a column without a source");
  if (c.rank == 0) {
    hid_t g = begin("e.hdf5", N), plist = H5Pcreate(H5P_DATASET_CREATE);
    map(plist, rows_of(N, 3, 0, 2, N / 2, 0, 3), "source.hdf5", "all", rows_of(N, 3, 0, 2, N / 2, 0, 3));
    map(plist, rows_of(N, 3, 1, 2, N / 2 - 1, 0, 3), "source.hdf5", "all", rows_of(N, 3, 1, 2, N / 2 - 1, 0, 3));
    create(g, plist, N, N);
  }
  expect("row 100 has no source", "the last odd row without a source");
}

static void endless(void)
{
  const int64_t huge = 1000000000000000;
  name("f.hdf5");
  whole("f.hdf5", ".", "/PartType1/Coordinates");
  expect("leads to itself", "a virtual dataset that maps itself");
  whole("f.hdf5", "f.hdf5", "PartType1/Coordinates");
  expect("leads to itself", "... by the name of its file");
  whole("g.hdf5", "f.hdf5", "PartType1/Coordinates");
  whole("f.hdf5", "g.hdf5", "PartType1/Coordinates");
  expect("leads to itself", "two files that map each other");
  if (c.rank == 0) {
    hid_t g = begin("f.hdf5", huge), plist = H5Pcreate(H5P_DATASET_CREATE);
    map(plist, rows_of(huge, 3, 0, 1, N, 0, 3), "source.hdf5", "all", rows_of(N, 3, 0, 1, 0, 0, 3));
    create(g, plist, huge, huge);
  }
  expect("1000000000000000 rows; row 101 has no source", "a virtual dataset of 10^15 rows");
  if (c.rank == 0) {
    hid_t g = begin("f.hdf5", N), plist = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t extent[2] = {N, 3}, limit[2] = {H5S_UNLIMITED, 3}, start[2] = {0, 0}, one[2] = {1, 1},
            block[2] = {H5S_UNLIMITED, 3};
    hid_t to = H5Screate_simple(2, extent, limit), from = H5Screate_simple(2, extent, limit);
    H5Sselect_hyperslab(to, H5S_SELECT_SET, start, NULL, one, block);
    H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, one, block);
    map(plist, to, ".", "/PartType1/Coordinates", from);
    create(g, plist, N, H5S_UNLIMITED);
  }
  expect("unlimited", "a mapping of itself of unlimited size");
}

static void elsewhere(void)
{
  static const char *const external[] = {"nosuch.raw", "/dev/null"};
  static const char *const word[] = {"nosuch.raw, which is missing", "/dev/null, which is not read"};
  for (int k = 0; k < 2; k++) {
    name("h.hdf5");
    if (c.rank == 0) {
      hid_t g = begin("h.hdf5", N), plist = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_external(plist, external[k], 0, N * 24);
      create(g, plist, N, N);
    }
    expect(word[k], "external storage");
  }
  const struct {
    const char *file, *object, *word;
  } links[] = {{"source.hdf5", "/all", NULL},
               {"nosuch.hdf5", "/all", "the file nosuch.hdf5, which is missing"},
               {"fifo", "/all", "fifo, which is not a regular file"},
               {"h.hdf5", "/PartType1/Coordinates", "leads to itself"},
               {"c.hdf5", "/PartType1/Coordinates", "the file nosuch.hdf5"}};
  for (size_t k = 0; k < sizeof links / sizeof *links; k++) {
    if (c.rank == 0) {
      hid_t g = begin("h.hdf5", N);
      H5Lcreate_external(links[k].file, links[k].object, g, "Coordinates", H5P_DEFAULT, H5P_DEFAULT);
      end(g);
    }
    expect(links[k].word, "an external link");
  }
  if (c.rank == 0) {
    hid_t g = begin("i.hdf5", N);
    H5Lcreate_external("source.hdf5", "/all", g, "Coordinates", H5P_DEFAULT, H5P_DEFAULT);
    end(g);
    hid_t f = H5Fcreate((name("h.hdf5"), path), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("i.hdf5", "/Header", f, "Header", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/there", f, "PartType1", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("i.hdf5", "/PartType1", f, "there", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(f);
  }
  name("h.hdf5");
  expect(NULL, "groups by soft and external links");
  if (c.rank == 0) {
    hid_t g = begin("h.hdf5", N);
    H5Lcreate_soft("deeper/x", g, "Coordinates", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("fifo", "/", g, "deeper", H5P_DEFAULT, H5P_DEFAULT);
    end(g);
  }
  expect("fifo, which is not a regular file", "a soft link through an external one");
}

/* A dataset in chunks, of which the last was not written. */
static void unwritten(void)
{
  if (c.rank == 0) {
    hid_t g = begin("h.hdf5", N), plist = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[2] = {10, 3}, start[2] = {0, 0}, part[2] = {N - 10, 3};
    double x[3 * N] = {0};
    H5Pset_chunk(plist, 2, chunk);
    hid_t f = H5Iget_file_id(g);
    create(g, plist, N, N);
    hid_t set = H5Dopen2(f, "PartType1/Coordinates", H5P_DEFAULT), space = H5Dget_space(set),
          rows = H5Screate_simple(2, part, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, rows, space, H5P_DEFAULT, x);
    H5Sclose(rows);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(f);
  }
  expect("not all values", "a chunk that was never written");
}

/* More particles than any node has memory for, in a file with holes. */
static void too_many(void)
{
  enum { TYPES = 6 };
  const int64_t each = 4000000000, n = TYPES * each;
  struct gadget g = {
      .format = 1, .files = 1, .count = {each, each, each, each, each, each}, .table = {1, 1, 1, 1, 1, 1}};
  struct bytes b = {0};
  int made = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) < 1e12;
  name("many");
  gadget_header(&b, &g);
  if (c.rank == 0) {
    uint32_t size = (uint32_t)(12 * n);
    off_t at = (off_t)b.n;
    save(&b, path);
    FILE *f = fopen(path, "r+b");
    for (int k = 0; k < 2; k++, at += 8 + 12 * n) {
      made = made && fseeko(f, at, SEEK_SET) == 0 && fwrite(&size, 4, 1, f) == 1 && fflush(f) == 0;
      made = made && fseeko(f, at + 4 + 12 * n, SEEK_SET) == 0 && fwrite(&size, 4, 1, f) == 1 && fflush(f) == 0;
    }
    fclose(f);
  }
  drop(&b);
  comm_broadcast(&c, &made, sizeof made);
  if (made) expect("use more nodes", "24 thousand million particles");
  else if (c.rank == 0)
    tap_skip("24 thousand million particles",
             "no file of 600 GB with holes can be made here, or there is a terabyte of memory");
}

static void units(void)
{
  static const struct {
    const char *name;
    double x;
    const char *word;
  } bad[] = {{"UnitLength_in_cm", 0, "/Units/UnitLength_in_cm is 0; expected a finite number above 0"},
             {"UnitMass_in_g", NAN, "/Units/UnitMass_in_g is nan"},
             {"UnitVelocity_in_cm_per_s", -1, "/Units/UnitVelocity_in_cm_per_s is -1"},
             {"Unit time in cgs (U_t)", INFINITY, "(U_t) is inf"},
             {"UnitMass_in_g", 2, NULL}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    name("units.hdf5");
    if (c.rank == 0) {
      double x[3 * N], one = 1;
      for (int i = 0; i < 3 * N; i++) x[i] = value(i / 3, i % 3);
      hid_t g = begin("units.hdf5", N), f = H5Iget_file_id(g),
            u = H5Gcreate2(f, "Units", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      dataset(g, "Coordinates", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, N, 3, 0, x);
      for (int i = 0; i < 4; i++) {
        const char *name = (const char *[]){"UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s",
                                            "Unit time in cgs (U_t)"}[i];
        attribute(u, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 0, strcmp(name, bad[k].name) ? &one : &bad[k].x);
      }
      H5Gclose(u);
      H5Fclose(f);
      end(g);
    }
    expect(bad[k].word, bad[k].word ? "a unit that is no positive finite number" : "... and units that are");
  }
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  folder_make(&c, folder);
  if (c.rank == 0) sources();
  mapped();
  missing();
  gaps();
  endless();
  elsewhere();
  unwritten();
  too_many();
  units();
  folder_remove(&c, folder);
  all_ok(&c, handles_left() == 0, "all handles of HDF5 are given back");
  return ranks_end(&c);
}
