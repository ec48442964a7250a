/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include <math.h>
#include <mpi.h>

#include "io/input/initial.h"
#include "writers.h"

static struct comm c;
static char folder[256];

static void name_in(char path[512], const char *name) { snprintf(path, 512, "%s/%s", folder, name); }

/* What a file should give, on rank 0. */
static void expect(struct particles *particles, const int64_t count[6], const double table[6], int ids)
{
  particles_init(particles);
  if (c.rank != 0) return;
  int64_t n = 0;
  for (int t = 0; t < 6; t++) n += count[t];
  particles_reserve(particles, n);
  for (int t = 0; t < 6; t++)
    for (int64_t i = 0; i < count[t]; i++) {
      int64_t row = particles->n++;
      for (int k = 0; k < 3; k++) {
        particles->pos[3 * row + k] = value(row, k);
        particles->vel[3 * row + k] = value(row, 3 + k);
      }
      particles->type[row] = (uint8_t)t;
      particles->mass[row] = (float)(table && table[t] > 0 ? table[t] : row_mass(row));
      particles->id[row] = ids ? row_id(row) : (uint64_t)row + 1;
    }
}

static void reads(const char *name, enum ic_format format, const char *title, double time, const int64_t count[6],
                  const double *table, int ids, const char *what)
{
  char path[512];
  struct particles p, q;
  struct initial_facts facts, headers;
  struct fault f = {""};
  name_in(path, name);
  MPI_Barrier(c.mpi);
  expect(&q, count, table, ids);
  particles_init(&p);
  int64_t n = 0, slice;
  int ok = initial_read(&c, path, format, &p, &facts, &f) == 0;
  for (int t = 0; t < 6; t++) n += count[t];
  slice = n / c.size + (c.rank < n % c.size);
  if (ok)
    ok = digest_all(&c, &p) == digest_all(&c, &q) && p.n == slice &&
         memcmp(facts.count, count, sizeof facts.count) == 0 && strcmp(facts.format, title) == 0 &&
         facts.time == time && !facts.own && initial_inspect(path, format, &headers, &f) == 0 &&
         memcmp(headers.count, count, sizeof headers.count) == 0;
  if (!ok)
    printf("# rank %d: %s (%s, time %g, %lld particles)\n", c.rank, f.text, facts.format, facts.time, (long long)p.n);
  all_ok(&c, ok, what);
  particles_free(&p);
  particles_free(&q);
}

static const int64_t mixed[6] = {5, 300, 200, 0, 41, 7};
static const double table[6] = {0, 0.5, 0, 0, 0.125, 0};

static struct gadget gadget_of(int format, int wide, int real_width, int id_width, const double *masses)
{
  struct gadget g = {
      .format = format, .wide = wide, .real_width = real_width, .id_width = id_width, .files = 1, .time = 1.5};
  memcpy(g.count, mixed, sizeof mixed);
  memcpy(g.total, mixed, sizeof mixed);
  if (masses) memcpy(g.table, masses, sizeof g.table);
  return g;
}

static void gadget_one(int format, int wide, int big, int real_width, int id_width, const double *masses)
{
  char what[128], title[64], path[512];
  struct bytes b = {.big = big};
  struct gadget g = gadget_of(format, wide, real_width, id_width, masses);
  name_in(path, "gadget");
  gadget_build(&b, &g);
  if (c.rank == 0) save(&b, path);
  drop(&b);
  snprintf(title, sizeof title, "GADGET %d, %s endian", format, big ? "big" : "little");
  snprintf(what, sizeof what, "%s, %d-byte reals, %d-byte ids, %s header, %s", title, real_width, id_width,
           wide ? "192-byte" : "256-byte", masses ? "mass table" : "mass block");
  reads("gadget", FORMAT_AUTO, title, 1.5, mixed, masses, id_width, what);
}

static void gadget_all(void)
{
  for (int format = 1; format <= 2; format++)
    for (int big = 0; big < 2; big++) {
      gadget_one(format, 0, big, 4, 4, NULL);
      gadget_one(format, 0, big, 8, 8, NULL);
      gadget_one(format, 0, big, 4, 8, table);
      gadget_one(format, 1, big, 8, 4, table);
    }
  static const double all_equal[6] = {1, 1, 1, 1, 1, 1};
  gadget_one(1, 0, 0, 4, 0, all_equal);
  gadget_one(2, 0, 1, 8, 0, table);
  reads("gadget", FORMAT_GADGET2, "GADGET 2, big endian", 1.5, mixed, table, 0, "the format may be named");
}

/* Three files; the second has no particle, the set's order is file by file. */
static void gadget_split(void)
{
  static const int64_t parts[3][6] = {{0, 100, 0, 0, 0, 0}, {0}, {0, 50, 0, 0, 0, 0}};
  static const int64_t whole[6] = {0, 150, 0, 0, 0, 0};
  int64_t first = 0;
  for (int k = 0; k < 3; k++) {
    char name[32], path[512];
    struct bytes b = {0};
    struct gadget g = gadget_of(1, 0, 4, 4, NULL);
    memcpy(g.count, parts[k], sizeof g.count);
    memcpy(g.total, whole, sizeof whole);
    g.files = 3;
    g.first = first;
    first += gadget_n(&g);
    snprintf(name, sizeof name, "split.%d", k);
    name_in(path, name);
    gadget_build(&b, &g);
    if (c.rank == 0) save(&b, path);
    drop(&b);
  }
  reads("split", FORMAT_AUTO, "GADGET 1, little endian", 1.5, whole, NULL, 1, "three files by their common name");
  reads("split.0", FORMAT_AUTO, "GADGET 1, little endian", 1.5, whole, NULL, 1, "three files by the first one's name");
}

static void tipsy_all(void)
{
  static const int64_t count[6] = {9, 130, 0, 0, 77, 0};
  for (int big = 0; big < 2; big++)
    for (int header = 28; header <= 32; header += 4)
      for (int widths = 0; widths < 4; widths++) {
        char what[128], title[64], path[512];
        struct bytes b = {.big = big};
        struct tipsy y = {.count = {9, 130, 77},
                          .header = header,
                          .real_width = widths & 1 ? 8 : 4,
                          .velocity_width = widths & 2 ? 8 : 4};
        name_in(path, "tipsy");
        tipsy_build(&b, &y);
        if (c.rank == 0) save(&b, path);
        drop(&b);
        snprintf(title, sizeof title, "TIPSY, %s endian", big ? "big" : "little");
        snprintf(what, sizeof what, "%s, header of %d bytes, %d-byte positions, %d-byte velocities", title, header,
                 y.real_width, y.velocity_width);
        reads("tipsy", FORMAT_AUTO, title, 2.5, count, NULL, 0, what);
      }
}

/* Blocks after the ids that cannot be the masses, or that GADGET writes for gas alone. */
static void gadget_others(void)
{
  static const int64_t stars[6] = {0, 80, 0, 0, 0, 0}, gas[6] = {80, 0, 0, 0, 0, 0};
  for (int k = 0; k < 3; k++) {
    char path[512];
    struct bytes b = {0};
    struct gadget g = gadget_of(1, 0, 4, 4, NULL);
    float block[80];
    memcpy(g.count, k == 2 ? gas : stars, sizeof g.count);
    memcpy(g.total, g.count, sizeof g.total);
    gadget_build(&b, &g); /* with internal energies of gas */
    for (int i = 0; i < 80; i++) block[i] = k == 0 ? -1.0f - (float)i : 0.5f;
    if (k == 1) gadget_block(&b, &g, "LONG", 60, block);
    else gadget_block(&b, &g, "POT ", 80, block);
    if (k == 2) gadget_block(&b, &g, "HSML", 80, block);
    name_in(path, "others");
    if (c.rank == 0) save(&b, path);
    drop(&b);
    reads("others", FORMAT_AUTO, "GADGET 1, little endian", 1.5, g.count, NULL, 1,
          k == 0   ? "GADGET 1: negative numbers after the masses"
          : k == 1 ? "GADGET 1: a shorter block after the masses"
                   : "GADGET 1: the three blocks of gas alone");
  }
}

static void ascii_all(void)
{
  static const int64_t count[6] = {0, 97, 0, 0, 0, 0};
  char path[512];
  name_in(path, "text");
  if (c.rank == 0) {
    FILE *f = fopen(path, "w");
    fprintf(f, "\xef\xbb\xbf# x y z vx vy vz m\n\n");
    for (int row = 0; row < 97; row++) {
      const char *gap = row % 3 == 0 ? " " : row % 3 == 1 ? ", " : ";\t";
      for (int k = 0; k < 6; k++) fprintf(f, "%.17g%s", value(row, k), gap);
      fprintf(f, "%.17g%s", row_mass(row),
              row % 5 == 0   ? "  # a comment\n"
              : row == 96    ? ""
              : row % 5 == 1 ? "\r\n"
                             : "\n");
      if (row == 50) fprintf(f, "#%05000d\n   \n", 0);
    }
    fclose(f);
  }
  reads("text", FORMAT_AUTO, "ASCII, 7 columns", 0, count, NULL, 0,
        "ASCII with a byte order mark, comments, separators, no last line end");
}

/* Exponents as Fortran writes them. */
static void ascii_fortran(void)
{
  static const int64_t count[6] = {0, 97, 0, 0, 0, 0};
  char path[512];
  name_in(path, "fortran");
  if (c.rank == 0) {
    FILE *f = fopen(path, "w");
    for (int row = 0; row < 97; row++)
      for (int k = 0; k < 7; k++) {
        char text[64];
        snprintf(text, sizeof text, "%.17e", k < 6 ? value(row, k) : row_mass(row));
        *strchr(text, 'e') = row % 2 ? 'D' : 'd';
        fprintf(f, "%s%c", text, k < 6 ? ' ' : '\n');
      }
    fclose(f);
  }
  reads("fortran", FORMAT_AUTO, "ASCII, 7 columns", 0, count, NULL, 0, "ASCII with Fortran's exponents");
}

static void hdf_one(const struct hdf *hdf, int ids, const char *name, const char *what)
{
  char path[512];
  name_in(path, name);
  if (c.rank == 0) hdf_save(hdf, path);
  reads(name, FORMAT_AUTO, "HDF5", 1.5, mixed, hdf->g.table, ids, what);
}

static void hdf_all(void)
{
  struct hdf h = {.g = gadget_of(1, 0, 4, 4, table), .count_type = H5T_STD_U32LE};
  hdf_one(&h, 1, "a.hdf5", "HDF5: GADGET-2 style, 32-bit counts, single precision, mass table");
  h = (struct hdf){.g = gadget_of(1, 0, 8, 8, NULL), .count_type = H5T_STD_U64LE, .chunk = 64};
  hdf_one(&h, 1, "b.hdf5", "HDF5: 64-bit counts, double precision, compressed chunks");
  h = (struct hdf){.g = gadget_of(1, 0, 4, 0, NULL), .count_type = H5T_STD_I32BE, .big = 1};
  hdf_one(&h, 0, "c.hdf5", "HDF5: big endian, no ids");
  h = (struct hdf){.g = gadget_of(1, 0, 4, 8, NULL), .count_type = H5T_STD_U32LE, .swift = 1};
  hdf_one(&h, 1, "d.hdf5", "HDF5: SWIFT style, seven types, attributes of length 1");
  h = (struct hdf){.g = gadget_of(1, 0, 4, 8, NULL), .count_type = H5T_IEEE_F64LE};
  hdf_one(&h, 1, "e.hdf5", "HDF5: counts written as reals");
}

static void hdf_units(void)
{
  char path[512];
  struct initial_facts facts;
  struct params par;
  struct fault f = {""};
  name_in(path, "d.hdf5");
  params_defaults(&par);
  int ok = initial_inspect(path, FORMAT_AUTO, &facts, &f) == 0 && facts.has_units && facts.units.length_cm == 3e21 &&
           facts.units.mass_g == 2e43 && fabs(facts.units.velocity_cm_s - 1e5) < 1e-3;
  all_ok(&c, ok, "SWIFT's units are found");
  all_ok(&c, initial_check_units(path, &facts, &par, &f) == -1 && strstr(f.text, "UnitLength_in_cm"),
         "units that contradict the parameters are named");
  par.UnitLength_in_cm = 3.001e21;
  par.UnitMass_in_g = 2.001e43;
  f.text[0] = 0;
  all_ok(&c, initial_check_units(path, &facts, &par, &f) == 0, "units within 1e-3 agree");
}

static void hdf_split(void)
{
  static const int64_t parts[2][6] = {{0, 100, 20, 0, 0, 0}, {0, 0, 30, 0, 0, 0}};
  char path[512];
  struct particles p;
  struct initial_facts facts;
  struct fault f = {""};
  for (int k = 0; k < 2 && c.rank == 0; k++) {
    char name[32];
    struct hdf h = {.g = gadget_of(1, 0, 4, 4, NULL), .count_type = H5T_STD_U32LE};
    memcpy(h.g.count, parts[k], sizeof h.g.count);
    for (int t = 0; t < 6; t++) h.g.total[t] = parts[0][t] + parts[1][t];
    h.g.files = 2;
    h.g.first = k ? 120 : 0;
    snprintf(name, sizeof name, "set.%d.hdf5", k);
    name_in(path, name);
    hdf_save(&h, path);
  }
  name_in(path, "set");
  MPI_Barrier(c.mpi);
  particles_init(&p);
  int ok = initial_read(&c, path, FORMAT_AUTO, &p, &facts, &f) == 0 && facts.count[1] == 100 && facts.count[2] == 50;
  for (int64_t i = 0; i < p.n && ok; i++) {
    int64_t share = 150 / c.size, rest = 150 % c.size;
    int64_t row = share * c.rank + (c.rank < rest ? c.rank : rest) + i;
    ok = p.id[i] == row_id(row) && p.pos[3 * i] == value(row, 0) && p.type[i] == (row < 100 ? 1 : 2);
  }
  if (!ok) printf("# %s\n", f.text);
  all_ok(&c, ok, "HDF5: two files by their common name, rows in file order");
  particles_free(&p);
}

/* The lines of initial_warn hold these words, one a line, in this order; no more lines. */
static void warns(const char *path, const char *words, const char *what)
{
  struct initial_facts facts;
  struct fault f = {""};
  char line[512], found[512] = "";
  static const char *const all[] = {"BoxSize = 50",
                                    "Redshift = 63",
                                    "comoving: ",
                                    "HubbleParam = 0.7",
                                    "gas particle",
                                    "masses of its own for them, of ",
                                    "group PartType4 has particles",
                                    "mass in column 1?"};
  static const char names[] = "BZChgML1";
  MPI_Barrier(c.mpi);
  FILE *said = tmpfile();
  int ok = initial_inspect(path, FORMAT_AUTO, &facts, &f) == 0;
  if (ok) initial_warn(path, &facts, said, "warning: ");
  rewind(said);
  for (size_t n = 0; fgets(line, sizeof line, said) && n < 9; n++) {
    char one[2] = "?";
    for (int k = 0; k < 8; k++)
      if (strncmp(line, "warning: ", 9) == 0 && strstr(line, path) && strstr(line, all[k])) one[0] = names[k];
    strcat(found, one);
  }
  fclose(said);
  if (!ok || strcmp(found, words)) printf("# expected '%s', found '%s' %s\n", words, found, f.text);
  all_ok(&c, ok && strcmp(found, words) == 0, what);
}

static void warns_gadget(int format, int wide, struct gadget like, const char *words, const char *what)
{
  char path[512];
  struct bytes b = {.big = format == 2};
  struct gadget g = gadget_of(format, wide, 4, 4, table);
  g.redshift = like.redshift;
  g.box = like.box;
  g.hubble = like.hubble;
  name_in(path, "physics");
  gadget_build(&b, &g);
  MPI_Barrier(c.mpi);
  if (c.rank == 0) save(&b, path);
  drop(&b);
  warns(path, words, what);
}

static void warns_hdf(struct hdf hdf, int gas, const char *words, const char *what)
{
  char path[512];
  struct gadget like = hdf.g;
  hdf.g = gadget_of(1, 0, 4, 4, table);
  hdf.g.redshift = like.redshift;
  hdf.g.box = like.box;
  hdf.g.hubble = like.hubble;
  hdf.count_type = H5T_STD_U32LE;
  if (!gas) {
    hdf.g.count[1] += hdf.g.count[0];
    hdf.g.total[1] += hdf.g.total[0];
    hdf.g.count[0] = hdf.g.total[0] = 0;
  }
  name_in(path, "physics.hdf5");
  MPI_Barrier(c.mpi);
  if (c.rank == 0) hdf_save(&hdf, path);
  warns(path, words, what);
}

/* What others' files ask for and is not done. */
static void physics(void)
{
  struct gadget cosmological = {.redshift = 63, .box = 50, .hubble = 0.7}, plain = {.hubble = 1};
  warns_gadget(1, 0, cosmological, "BZhg", "GADGET 1: box, redshift, h and gas meet warnings");
  warns_gadget(2, 0, cosmological, "BZhg", "GADGET 2: the same");
  warns_gadget(1, 1, cosmological, "BZg", "GADGET 1, wide header: the same without h");
  warns_gadget(1, 0, plain, "g", "GADGET 1: gas alone, h = 1");
  warns_hdf((struct hdf){.g = cosmological}, 1, "BZhg", "HDF5: all of them");
  warns_hdf((struct hdf){.g = cosmological, .swift = 1, .vacuum = 1}, 0, "Zh",
            "SWIFT: no gas, the box is not periodic");
  warns_hdf((struct hdf){.g = {.box = 50}, .swift = 1, .comoving = 1}, 0, "BC",
            "SWIFT at redshift 0: a box, and comoving");
  warns_hdf((struct hdf){.g = plain, .comoving = 1}, 0, "C", "HDF5 at redshift 0: ComovingIntegrationOn");
  warns_hdf((struct hdf){.g = plain}, 0, "", "HDF5: nothing to warn about");
}

/* What files say twice, and not alike. */
static void doubts(void)
{
  char path[512];
  const int64_t none[6] = {0, 300, 0, 0, 0, 0};
  for (int k = 0; k < 3; k++) {
    struct hdf h = {.g = gadget_of(1, 0, 4, 4, table), .count_type = H5T_STD_U32LE};
    h.g.count[0] = h.g.total[0] = 0;
    h.all_masses = 1;
    h.factor = k == 1 ? 0.001 : 0;
    if (k == 2) h.g.count[2] = h.g.count[5] = 0;
    name_in(path, "doubt.hdf5");
    if (c.rank == 0) hdf_save(&h, path);
    if (c.rank == 0 && k == 2) {
      hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), at = H5Gopen2(file, "Header", H5P_DEFAULT);
      H5Adelete(at, "NumPart_ThisFile");
      H5Adelete(at, "NumPart_Total");
      attribute(at, "NumPart_ThisFile", H5T_STD_U32LE, H5T_NATIVE_INT64, 6, none);
      H5Gclose(at);
      H5Fclose(file);
    }
    warns(path,
          k == 0   ? ""
          : k == 1 ? "M"
                   : "L",
          k == 0   ? "HDF5: Masses as in MassTable"
          : k == 1 ? "HDF5: Masses that contradict MassTable"
                   : "HDF5: a group that the counts leave out");
  }
  for (int k = 0; k < 2; k++) {
    struct bytes b = {0};
    struct gadget g = gadget_of(2, 0, 4, 4, NULL);
    float mass[300];
    memcpy(g.count, none, sizeof none);
    g.table[1] = 0.5;
    gadget_build(&b, &g);
    for (int i = 0; i < 300; i++) mass[i] = k ? 0.001f * (float)(i + 1) : 0.5f;
    gadget_block(&b, &g, "MASS", 300, mass);
    name_in(path, "doubt");
    if (c.rank == 0) save(&b, path);
    drop(&b);
    warns(path, k ? "M" : "", k ? "GADGET 2: masses that contradict the header" : "GADGET 2: masses as in the header");
  }
  name_in(path, "doubt.txt");
  if (c.rank == 0) {
    FILE *f = fopen(path, "w");
    for (int k = 0; k < 20; k++) fprintf(f, "%d %d %d %d 1 1 %d\n", k + 1, k - 7, 7 - k, k - 5, k % 3 + 1);
    fclose(f);
  }
  warns(path, "1", "ASCII: columns 1 and 7 may both be masses");
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  folder_make(&c, folder);
  gadget_all();
  gadget_split();
  gadget_others();
  tipsy_all();
  ascii_all();
  ascii_fortran();
  hdf_all();
  hdf_units();
  hdf_split();
  physics();
  doubts();
  folder_remove(&c, folder);
  all_ok(&c, handles_left() == 0, "all handles of HDF5 are given back");
  return ranks_end(&c);
}
