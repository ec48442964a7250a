/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that must be refused: on every rank, with a sentence, and without a hang (an alarm ends one). */
#include <config.h>
#include <math.h>
#include <mpi.h>
#include <sys/stat.h>

#include "io/input/initial.h"
#include "writers.h"

static struct comm c;
static char folder[256], path[512];

/* All ranks refuse `path`, with `word` in the sentence. */
static void refused(enum ic_format format, const char *word, const char *what)
{
  struct particles p;
  struct initial_facts facts;
  struct fault f = {""};
  size_t before = memory_current();
  MPI_Barrier(c.mpi);
  particles_init(&p);
  alarm(20);
  int ok = initial_read(&c, path, format, &p, &facts, &f) == -1 && strstr(f.text, word) && p.n == 0 &&
           memory_current() == before;
  alarm(0);
  if (!ok || c.rank == 0) printf("# %s\n", f.text);
  all_ok(&c, ok, what);
  if (p.n) particles_free(&p);
}

static void keep(struct bytes *bytes)
{
  if (c.rank == 0) save(bytes, path);
  drop(bytes);
}

static const struct gadget plain = {.format = 1,
                                    .real_width = 4,
                                    .id_width = 4,
                                    .count = {0, 60, 40, 0, 0, 0},
                                    .total = {0, 60, 40, 0, 0, 0},
                                    .files = 1};
/* Where the blocks' values begin in the plain file. */
enum {
  POS_AT = 264 + 4,
  VEL_AT = POS_AT + 1200 + 8,
  ID_AT = VEL_AT + 1200 + 8,
  MASS_AT = ID_AT + 400 + 8,
  END = MASS_AT + 404
};

static struct bytes good(int format)
{
  struct bytes b = {0};
  struct gadget g = plain;
  g.format = format;
  gadget_build(&b, &g);
  return b;
}

static void cut(int format, size_t size, const char *what)
{
  struct bytes b = good(format);
  b.n = size < b.n ? size : b.n - 1;
  keep(&b);
  refused(FORMAT_AUTO, "", what);
}

static void poke(size_t at, const void *bytes, size_t n, const char *word, const char *what)
{
  struct bytes b = good(1);
  memcpy(b.at + at, bytes, n);
  keep(&b);
  refused(FORMAT_AUTO, word, what);
}

static void gadget_truncated(void)
{
  static const size_t sizes[] = {2,           4,           100,           259,          262,
                                 266,         POS_AT + 1,  POS_AT + 1200, VEL_AT + 600, ID_AT + 399,
                                 MASS_AT - 4, MASS_AT + 4, END - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char what[64];
    snprintf(what, sizeof what, "GADGET 1 cut at byte %zu", sizes[i]);
    cut(1, sizes[i], what);
  }
  cut(2, 10, "GADGET 2 cut in its first label");
  cut(2, 300, "GADGET 2 cut after its header");
  cut(2, 99999, "GADGET 2 without its last byte");
}

static void gadget_values(void)
{
  const float nan_value = NAN, infinite = INFINITY, negative = -1;
  const uint32_t many = 0xfffffff0u, none[6] = {0}, one = 1;
  const double negative_mass = -1;
  poke(POS_AT + 36, &nan_value, 4, "particle 4 ", "NaN in a position names the particle");
  poke(VEL_AT + 1188, &infinite, 4, "particle 100 ", "infinite velocity of the last particle");
  poke(MASS_AT + 40, &nan_value, 4, "particle 11 ", "NaN as a mass");
  poke(MASS_AT + 40, &negative, 4, "mass -1", "negative mass");
  poke(24 + 4 + 8, &negative_mass, 8, "type 1", "negative mass in the mass table");
  poke(4 + 4, &many, 4, "4294967280", "a count of four thousand million");
  poke(4 + 4, &one, 4, "position block", "a count that is too small");
  poke(4, none, 24, "no particles", "zero particles");
  poke(POS_AT - 4, &one, 4, "position", "a wrong record length");
  poke(POS_AT + 1200, &one, 4, "end", "record lengths that differ");
  poke(260, &one, 4, "header", "a header without its end");
  poke(4 + 124, &many, 4, "files", "a negative number of files");
  uint32_t files = 7;
  poke(4 + 124, &files, 4, "NAME.K", "one file of seven under no such name");
}

/* Format 1 does not name its blocks: what cannot be told apart is refused. */
static void gadget_unnamed(void)
{
  enum { N = 100 };
  uint32_t numbers[N];
  float reals[N];
  for (int i = 0; i < N; i++) {
    numbers[i] = 1000000001u + (uint32_t)i; /* as a real 0.0047 */
    reals[i] = 0.01f * (float)(1 + i % 9);
  }
  for (int k = 0; k < 5; k++) {
    static const char *const word[] = {"2 blocks after the ids can be the masses", "GADGET format 2 or as HDF5",
                                       "can be ids as well as real numbers", "may be another block",
                                       "if these are masses"};
    static const char *const what[] = {
        "a block of ids between ids and masses", "a block of reals after the masses", "a block of reals and no ids",
        "masses in single precision after positions in double", "small whole numbers in place of masses"};
    struct bytes b = {0};
    struct gadget g = plain;
    if (k == 3) g.real_width = 8;
    gadget_header(&b, &g);
    if (k == 2) memcpy(b.at + 4 + 24 + 8, (double[]){1, 1}, 16); /* masses in the header */
    gadget_reals(&b, &g, "POS ", 0);
    gadget_reals(&b, &g, "VEL ", 3);
    if (k != 2) gadget_ids(&b, &g);
    if (k == 0) gadget_block(&b, &g, "CHID", N, numbers);
    for (int i = 0; i < N && k == 4; i++) memcpy(&reals[i], &(uint32_t){(uint32_t)i}, 4);
    gadget_block(&b, &g, "MASS", N, reals);
    if (k == 1) gadget_block(&b, &g, "TSTP", N, reals);
    keep(&b);
    refused(FORMAT_AUTO, word[k], what[k]);
  }
}

static void same_ids(void)
{
  struct bytes b = good(1);
  memcpy(b.at + ID_AT + 4 * 90, b.at + ID_AT + 4 * 3, 4);
  keep(&b);
  refused(FORMAT_AUTO, "particles 4 and 91", "two particles on different ranks with one id");
  b = good(1);
  memset(b.at + MASS_AT, 0, 400);
  keep(&b);
  refused(FORMAT_AUTO, "mass 0", "all masses zero");
  b = good(1);
  keep(&b);
  refused(FORMAT_HDF5, "GADGET format 1", "a GADGET file when HDF5 is asked for");
  refused(FORMAT_GADGET2, "GADGET format 1", "format 1 when format 2 is asked for");
  struct gadget g = plain;
  g.table[1] = g.table[2] = 1e-60;
  gadget_build(&b, &g);
  keep(&b);
  refused(FORMAT_AUTO, "single precision", "masses below single precision");
  char first[512];
  snprintf(first, sizeof first, "%s", path);
  snprintf(path, sizeof path, "%s/part.0", folder);
  g = plain;
  g.files = 2;
  gadget_build(&b, &g);
  keep(&b);
  refused(FORMAT_AUTO, "part.1", "the second file of a set is not there");
  snprintf(path, sizeof path, "%s", first);
}

static void wide_header(void)
{
  static const uint64_t huge[] = {(uint64_t)1 << 63, ((uint64_t)1 << 63) - 1, (uint64_t)1 << 61};
  for (int i = 0; i < 3; i++) {
    struct bytes b = {0};
    struct gadget g = plain;
    char what[64];
    g.wide = 1;
    gadget_build(&b, &g);
    memcpy(b.at + 4 + 8, &huge[i], 8);
    keep(&b);
    snprintf(what, sizeof what, "a 64-bit count of %llu", (unsigned long long)huge[i]);
    refused(FORMAT_AUTO, "particles of type 1", what);
  }
}

static void tipsy_bad(void)
{
  for (int i = 0; i < 4; i++) {
    static const char *const what[] = {"TIPSY cut in its last record", "TIPSY with a byte too many", "TIPSY with a NaN",
                                       "TIPSY cut in its header"};
    struct bytes b = {.big = i % 2};
    struct tipsy y = {.count = {3, 30, 7}, .header = 32, .real_width = 4};
    const unsigned char nan_value[4] = {0, 0, 0xc0, 0x7f};
    tipsy_build(&b, &y);
    if (i == 0) b.n -= 5;
    if (i == 1) put_zeros(&b, 1);
    if (i == 2) memcpy(b.at + 32 + 48 + 4, nan_value, 4);
    if (i == 3) b.n = 20;
    keep(&b);
    refused(i == 3 ? FORMAT_TIPSY : FORMAT_AUTO,
            i < 2    ? "TIPSY file of"
            : i == 2 ? "particle 2 "
                     : "truncated",
            what[i]);
  }
  struct bytes b = {0};
  struct tipsy y = {.count = {0, 1, 0}, .header = 32, .real_width = 8};
  tipsy_build(&b, &y);
  memset(b.at + 36, 0, 36); /* the body at the origin, at rest */
  keep(&b);
  refused(FORMAT_AUTO, "do not show which", "TIPSY whose values do not show what is in double precision");
}

static void time_bad(void)
{
  double never = NAN;
  poke(4 + 24 + 48, &never, sizeof never, "the time in the header is not a finite number", "a time that is NaN");
}

static void text_bad(const char *content, const char *word, const char *what)
{
  struct bytes b = {0};
  put_raw(&b, content, strlen(content));
  keep(&b);
  refused(FORMAT_AUTO, word, what);
}

/* The same for a text with NULs; `format` may be named. */
static void text_damaged(enum ic_format format, const char *content, size_t size, const char *word, const char *what)
{
  struct bytes b = {0};
  put_raw(&b, content, size);
  keep(&b);
  refused(format, word, what);
}

/* After a power failure files may end in NULs, and their last line may have lost its end. */
static void text_nuls(void)
{
  static const char line[] = "1 2 3 4 5 6 7\n";
  enum { LINE = sizeof line - 1, LINES = 500 };
  static const enum ic_format formats[] = {FORMAT_AUTO, FORMAT_ASCII};
  char text[LINES * LINE + 100] = "", word[64];
  for (int k = 0; k < LINES; k++) memcpy(text + k * LINE, line, LINE);
  for (int k = 0; k < 2; k++) {
    snprintf(word, sizeof word, ":%d: a NUL byte (byte %d of the file)", LINES + 1, LINES * LINE + 1);
    text_damaged(formats[k], text, LINES * LINE + 90, word, "a text that ends in NULs");
    snprintf(word, sizeof word, ":%d: a NUL byte (byte %d of the file)", LINES, LINES * LINE);
    text[LINES * LINE - 1] = 0;
    text_damaged(formats[k], text, LINES * LINE + 90, word, "... in place of the end of its last line too");
    text_damaged(formats[k], text, LINES * LINE, word, "... there only");
    text[LINES * LINE - 1] = '\n';
    text_damaged(formats[k], "1 2 3 4 5 6 7\0\0\0", LINE + 2, ":1: a NUL byte", "a line and NULs");
    text_damaged(formats[k], "1 2 3 4 5 6 7 # a\0b\n", LINE + 7, ":1: a NUL byte", "a NUL in a comment");
    text_damaged(formats[k],
                 "\xff\xfe"
                 "1\0 \0",
                 6, "text in UTF-16: save it as UTF-8", "text in UTF-16");
    text_damaged(formats[k], "\0001\0 \0002", 6, "text in UTF-16: save it as UTF-8", "text in UTF-16 without a mark");
  }
  memset(text, '#', 6000);
  text[5000] = 0;
  text[5500] = '\n';
  text_damaged(FORMAT_ASCII, text, 6000, ":1: a NUL byte (byte 5001 of the file)", "a NUL in a long comment");
}

static void ascii_bad(void)
{
  text_bad("", "empty", "an empty file");
  text_bad("# nothing\n\n", "no particles", "ASCII with comments only");
  text_bad("1 2 3 4 5 6 7\n1 2 3 4 5 6\n", ":2:", "ASCII with six columns names the line");
  text_bad("1 2 3 4 5 6 7 8\n", "8 numbers", "ASCII with eight columns");
  text_bad("# c\nx y z vx vy vz m\n", ":2: 'x'", "ASCII with a title line");
  text_bad("1 2 3 4 5 6 7\n1 2 3 nan 5 6 7\n", ":2: column 4", "ASCII with a NaN");
  text_bad("1 2 3 4 5 6 -7\n", ":1: column 7", "ASCII with a negative mass");
  text_bad("1 2 3 4 5 6 7e80\n", "single precision", "ASCII with a mass beyond single precision");
  text_bad("1 2 3 4 5 6 7\n1 2 3 4 5 6 -7\n", ":2: column 7", "ASCII with the mass in column 1, perhaps");
  text_bad("1D 2 3 4 5 6 7\n", ":1: '1D' in column 1", "ASCII with half an exponent");
  text_bad("1D0D0 2 3 4 5 6 7\n", ":1: '1D0D0' in column 1", "ASCII with two exponents");
  text_bad("1 2 3 4 5 6 7\r1 2 3 4 5 6 7\r", ":1: a line ends with a carriage return alone", "ASCII of an old Mac");
  text_bad("# c\r1 2 3 4 5 6 7\r", ":1: a line ends with a carriage return alone", "... that begins with a comment");
  text_bad("1,0 2,0 3,0 4,0 5,0 6,0 7,0\n", ":1: 14 numbers; expected seven: x y z vx vy vz m, with decimal points",
           "ASCII with decimal commas");
  char same[20 * 16] = "";
  for (int k = 0; k < 20; k++) sprintf(same + strlen(same), "1 2 3 4 5 6 %d\n", k % 2 + 1);
  text_bad(same, "is the mass in column 1?", "ASCII whose column 1 is all the same");
  char many[6000] = "";
  memset(many, '1', 5000);
  text_bad(many, ":1: the line at byte 1 has more than 4094 characters; expected seven numbers",
           "ASCII with a long line");
  text_nuls();
  text_bad("\001\002 no format at all", "none of", "bytes of no format");
}

enum harm {
  CUT,
  FEWER_ROWS,
  SHAPE,
  INTEGERS,
  NO_HEADER,
  NO_COUNTS,
  UNWRITTEN,
  NEUTRINOS,
  SAME_IDS,
  SHORT_COUNTS,
  DANGLING,
  FILTER
};

/* A filter that the reader does not have. */
static size_t unchanged(unsigned flags, size_t count, const unsigned values[], size_t bytes, size_t *capacity,
                        void **buffer)
{
  (void)flags;
  (void)count;
  (void)values;
  (void)capacity;
  (void)buffer;
  return bytes;
}

static void filtered(hid_t at, const char *name, const double *x)
{
  const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS,
                               .id = 32000,
                               .encoder_present = 1,
                               .decoder_present = 1,
                               .name = "lzf",
                               .filter = unchanged};
  hsize_t extent[2] = {100, 3};
  H5Zregister(&filter);
  hid_t space = H5Screate_simple(2, extent, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(plist, 2, extent);
  H5Pset_filter(plist, filter.id, H5Z_FLAG_OPTIONAL, 0, NULL);
  hid_t set = H5Dcreate2(at, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
  H5Dclose(set);
  H5Pclose(plist);
  H5Sclose(space);
  H5Fflush(at, H5F_SCOPE_GLOBAL);
  H5Zunregister(filter.id);
}

static void harm_types(hid_t file, enum harm harm)
{
  double x[300] = {0};
  int64_t id[100] = {0};
  hid_t at = H5Gopen2(file, "PartType1", H5P_DEFAULT);
  const char *victim = harm == SAME_IDS ? "ParticleIDs" : "Velocities";
  H5Ldelete(at, victim, H5P_DEFAULT);
  if (harm == SHAPE) dataset(at, victim, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 100, 2, 0, x);
  if (harm == INTEGERS) dataset(at, victim, H5T_STD_I64LE, H5T_NATIVE_DOUBLE, 100, 3, 0, x);
  if (harm == FEWER_ROWS) dataset(at, victim, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 99, 3, 0, x);
  if (harm == UNWRITTEN) dataset(at, victim, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 100, 3, 0, NULL);
  if (harm == SAME_IDS) dataset(at, victim, H5T_STD_I64LE, H5T_NATIVE_INT64, 100, 0, 0, id);
  if (harm == FILTER) filtered(at, victim, x);
  if (harm == DANGLING) H5Lcreate_soft("/nowhere", at, victim, H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(at);
}

static void harm_header(hid_t file, enum harm harm)
{
  const int64_t seven[7] = {0, 100, 0, 0, 0, 0, 5};
  hid_t at = H5Gopen2(file, "Header", H5P_DEFAULT);
  H5Adelete(at, "NumPart_ThisFile");
  if (harm == NEUTRINOS) attribute(at, "NumPart_ThisFile", H5T_STD_I64LE, H5T_NATIVE_INT64, 7, seven);
  if (harm == SHORT_COUNTS) attribute(at, "NumPart_ThisFile", H5T_STD_I64LE, H5T_NATIVE_INT64, 3, seven);
  H5Gclose(at);
}

static void hdf_harm(enum harm harm, const char *word, const char *what)
{
  if (c.rank == 0) {
    struct hdf h = {.g = plain, .count_type = H5T_STD_U32LE};
    h.g.count[1] = h.g.total[1] = 100;
    h.g.count[2] = h.g.total[2] = 0;
    hdf_save(&h, path);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (harm == NO_HEADER) H5Ldelete(file, "Header", H5P_DEFAULT);
    else if (harm == NO_COUNTS || harm == NEUTRINOS || harm == SHORT_COUNTS) harm_header(file, harm);
    else if (harm != CUT) harm_types(file, harm);
    H5Fclose(file);
    struct stat st;
    stat(path, &st);
    if (harm == CUT && truncate(path, st.st_size / 2) != 0) abort();
  }
  refused(FORMAT_AUTO, word, what);
}

static void hdf_bad(void)
{
  hdf_harm(CUT, "truncated", "HDF5 cut in half");
  hdf_harm(SHAPE, "Velocities has the shape [100, 2]", "HDF5 with two columns");
  hdf_harm(FEWER_ROWS, "[99, 3]", "HDF5 with a row less than the header states");
  hdf_harm(INTEGERS, "Velocities should hold", "HDF5 with integers for reals");
  hdf_harm(NO_HEADER, "/Header", "HDF5 without a header");
  hdf_harm(NO_COUNTS, "NumPart_ThisFile", "HDF5 without counts");
  hdf_harm(SHORT_COUNTS, "NumPart_ThisFile", "HDF5 with three counts");
  hdf_harm(UNWRITTEN, "Velocities", "HDF5 with a dataset that was never written");
  hdf_harm(NEUTRINOS, "neutrino", "HDF5 with neutrinos");
  hdf_harm(SAME_IDS, "same id 0", "HDF5 with equal ids");
  hdf_harm(FILTER, "compressed with the filter 'lzf' (32000)", "HDF5 compressed with a filter that is not there");
  hdf_harm(DANGLING, "Velocities", "HDF5 with a link to nowhere");
}

static void names_bad(void)
{
  char file[512];
  snprintf(file, sizeof file, "%s", path);
  snprintf(path, sizeof path, "%s", folder);
  refused(FORMAT_AUTO, "directory", "a directory");
  snprintf(path, sizeof path, "%s/none", folder);
  refused(FORMAT_AUTO, "No such file", "a file that is not there");
  snprintf(path, sizeof path, "%.500s/x", file);
  refused(FORMAT_AUTO, "Not a directory", "a name below a regular file");
  snprintf(path, sizeof path, "/dev/null");
  refused(FORMAT_AUTO, "regular", "a device");
  snprintf(path, sizeof path, "%s/fifo", folder);
  if (c.rank == 0 && mkfifo(path, 0600) != 0) abort();
  for (enum ic_format format = FORMAT_AUTO; format <= FORMAT_ASCII; format++) refused(format, "regular", "a FIFO");
  snprintf(path, sizeof path, "%s/set.0.hdf5", folder);
  if (c.rank == 0) {
    struct hdf h = {.g = plain, .count_type = H5T_STD_U32LE};
    h.g.files = 2;
    hdf_save(&h, path);
    snprintf(path, sizeof path, "%s/set.1.hdf5", folder);
    if (mkfifo(path, 0600) != 0) abort();
  }
  snprintf(path, sizeof path, "%s/set", folder);
  refused(FORMAT_AUTO, "set.1.hdf5 is not a regular file", "a FIFO as the second file of a set");
  path[0] = 0;
  refused(FORMAT_AUTO, "InitCondFile", "no name");
  snprintf(path, sizeof path, "%s", file);
  if (c.rank == 0) chmod(path, 0);
  if (geteuid() != 0) refused(FORMAT_AUTO, "Permission", "a file that may not be read");
  else if (c.rank == 0) tap_skip("a file that may not be read", "root may read all");
}

int main(int argc, char **argv)
{
  ranks_begin(&c, &argc, &argv);
  folder_make(&c, folder);
  snprintf(path, sizeof path, "%s/bad", folder);
  gadget_truncated();
  time_bad();
  gadget_values();
  gadget_unnamed();
  same_ids();
  wide_header();
  tipsy_bad();
  ascii_bad();
  hdf_bad();
  names_bad();
  folder_remove(&c, folder);
  all_ok(&c, handles_left() == 0, "all handles of HDF5 are given back");
  return ranks_end(&c);
}
