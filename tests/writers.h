/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writers of the formats that are read, in the tests' own words: nothing here comes from the readers. */
#ifndef TEST_WRITERS_H
#define TEST_WRITERS_H
#include <hdf5.h>

#include "files.h"

/* Bytes of a file to be. */
struct bytes {
  unsigned char *at;
  size_t n, capacity;
  int big; /* big endian */
};

static inline void put_raw(struct bytes *bytes, const void *from, size_t n)
{
  if (n == 0) return;
  if (bytes->n + n > bytes->capacity) {
    bytes->capacity = 2 * (bytes->n + n);
    bytes->at = realloc(bytes->at, bytes->capacity);
  }
  memcpy(bytes->at + bytes->n, from, n);
  bytes->n += n;
}

static inline void put_swapped(struct bytes *bytes, const void *from, size_t n)
{
  unsigned char turned[8];
  for (size_t i = 0; i < n; i++) turned[i] = ((const unsigned char *)from)[bytes->big ? n - 1 - i : i];
  put_raw(bytes, turned, n);
}

static inline void put_u32(struct bytes *bytes, uint32_t x) { put_swapped(bytes, &x, 4); }
static inline void put_u64(struct bytes *bytes, uint64_t x) { put_swapped(bytes, &x, 8); }
static inline void put_f64(struct bytes *bytes, double x) { put_swapped(bytes, &x, 8); }
static inline void put_real(struct bytes *bytes, double x, int width)
{
  float single = (float)x;
  put_swapped(bytes, width == 8 ? (void *)&x : (void *)&single, (size_t)width);
}
static inline void put_zeros(struct bytes *bytes, size_t n)
{
  for (size_t i = 0; i < n; i++) put_raw(bytes, "", 1);
}

static inline void save(const struct bytes *bytes, const char *path)
{
  FILE *f = fopen(path, "wb");
  if (!f || (bytes->n && fwrite(bytes->at, 1, bytes->n, f) != bytes->n) || fclose(f) != 0) abort();
}
static inline void drop(struct bytes *bytes)
{
  free(bytes->at);
  memset(bytes, 0, sizeof *bytes);
}

/* The particles that all of these files hold, in file order: values that single precision holds exactly. */
static inline double row_mass(int64_t row) { return 0.25 * (double)(1 + row % 7); }
static inline uint64_t row_id(int64_t row) { return (uint64_t)(1000 - 3 * (row % 300) + 1000 * (row / 300)); }

struct gadget {
  int format, wide, real_width, id_width; /* id_width 0: no ids */
  int64_t count[6], total[6];
  double table[6]; /* mass table */
  int files;
  int64_t first; /* row of the set that this file begins with */
  double time, redshift, box, hubble;
};

static inline int64_t gadget_n(const struct gadget *gadget)
{
  int64_t n = 0;
  for (int t = 0; t < 6; t++) n += gadget->count[t];
  return n;
}

static inline void gadget_label(struct bytes *bytes_, const struct gadget *gadget, const char *label, uint32_t bytes)
{
  if (gadget->format != 2) return;
  put_u32(bytes_, 8);
  put_raw(bytes_, label, 4);
  put_u32(bytes_, bytes + 8);
  put_u32(bytes_, 8);
}

static inline void gadget_header(struct bytes *bytes, const struct gadget *gadget)
{
  uint32_t size = gadget->wide ? 192 : 256;
  gadget_label(bytes, gadget, "HEAD", size);
  put_u32(bytes, size);
  size_t start = bytes->n;
  if (gadget->wide) {
    for (int t = 0; t < 6; t++) put_u64(bytes, (uint64_t)gadget->count[t]);
    for (int t = 0; t < 6; t++) put_u64(bytes, (uint64_t)gadget->total[t]);
  } else {
    for (int t = 0; t < 6; t++) put_u32(bytes, (uint32_t)gadget->count[t]);
  }
  for (int t = 0; t < 6; t++) put_f64(bytes, gadget->table[t]);
  put_f64(bytes, gadget->time);
  put_f64(bytes, gadget->redshift);
  if (gadget->wide) {
    put_f64(bytes, gadget->box);
    put_u32(bytes, (uint32_t)gadget->files);
  } else {
    put_zeros(bytes, 8);
    for (int t = 0; t < 6; t++) put_u32(bytes, (uint32_t)gadget->total[t]);
    put_zeros(bytes, 4);
    put_u32(bytes, (uint32_t)gadget->files);
    put_f64(bytes, gadget->box);
    put_f64(bytes, 0.3);
    put_f64(bytes, 0.7);
    put_f64(bytes, gadget->hubble);
  }
  put_zeros(bytes, size - (bytes->n - start));
  put_u32(bytes, size);
}

/* A block of `components` reals a particle, from value() with numbers from `k`. */
static inline void gadget_reals(struct bytes *bytes, const struct gadget *gadget, const char *label, int k)
{
  uint32_t size = (uint32_t)(gadget_n(gadget) * 3 * gadget->real_width);
  gadget_label(bytes, gadget, label, size);
  put_u32(bytes, size);
  for (int64_t i = 0; i < gadget_n(gadget); i++)
    for (int c = 0; c < 3; c++) put_real(bytes, value(gadget->first + i, k + c), gadget->real_width);
  put_u32(bytes, size);
}

static inline void gadget_ids(struct bytes *bytes, const struct gadget *gadget)
{
  uint32_t size = (uint32_t)(gadget_n(gadget) * gadget->id_width);
  if (!size) return;
  gadget_label(bytes, gadget, "ID  ", size);
  put_u32(bytes, size);
  for (int64_t i = 0; i < gadget_n(gadget); i++)
    if (gadget->id_width == 8) put_u64(bytes, row_id(gadget->first + i));
    else put_u32(bytes, (uint32_t)row_id(gadget->first + i));
  put_u32(bytes, size);
}

static inline void gadget_masses(struct bytes *bytes, const struct gadget *gadget)
{
  uint32_t size = 0;
  for (int t = 0; t < 6; t++)
    if (gadget->table[t] == 0) size += (uint32_t)(gadget->count[t] * gadget->real_width);
  if (!size) return;
  gadget_label(bytes, gadget, "MASS", size);
  put_u32(bytes, size);
  int64_t row = gadget->first;
  for (int t = 0; t < 6; row += gadget->count[t++])
    for (int64_t i = 0; i < gadget->count[t] && gadget->table[t] == 0; i++)
      put_real(bytes, row_mass(row + i), gadget->real_width);
  put_u32(bytes, size);
}

/* Another block of `n` numbers of 4 bytes. */
static inline void gadget_block(struct bytes *bytes, const struct gadget *gadget, const char *label, int64_t n,
                                const void *from)
{
  uint32_t size = (uint32_t)(4 * n);
  gadget_label(bytes, gadget, label, size);
  put_u32(bytes, size);
  for (int64_t i = 0; i < n; i++) put_swapped(bytes, (const char *)from + 4 * i, 4);
  put_u32(bytes, size);
}

static inline void gadget_build(struct bytes *bytes, const struct gadget *gadget)
{
  gadget_header(bytes, gadget);
  gadget_reals(bytes, gadget, "POS ", 0);
  gadget_reals(bytes, gadget, "VEL ", 3);
  gadget_ids(bytes, gadget);
  gadget_masses(bytes, gadget);
  if (gadget->count[0] && gadget->id_width) { /* internal energies of the gas, which a reader here does not want */
    uint32_t size = (uint32_t)(gadget->count[0] * gadget->real_width);
    gadget_label(bytes, gadget, "U   ", size);
    put_u32(bytes, size);
    for (int64_t i = 0; i < gadget->count[0]; i++) put_real(bytes, 1, gadget->real_width);
    put_u32(bytes, size);
  }
}

struct tipsy {
  int64_t count[3]; /* gas, dark, star */
  int header, real_width, velocity_width;
};

static inline void tipsy_build(struct bytes *bytes, const struct tipsy *tipsy)
{
  static const int extra[3] = {5, 2, 4};
  int64_t row = 0;
  put_f64(bytes, 2.5);
  put_u32(bytes, (uint32_t)(tipsy->count[0] + tipsy->count[1] + tipsy->count[2]));
  put_u32(bytes, 3);
  for (int k = 0; k < 3; k++) put_u32(bytes, (uint32_t)tipsy->count[k]);
  put_zeros(bytes, (size_t)tipsy->header - 28);
  for (int k = 0; k < 3; k++)
    for (int64_t i = 0; i < tipsy->count[k]; i++, row++) {
      put_real(bytes, row_mass(row), 4);
      for (int c = 0; c < 3; c++) put_real(bytes, value(row, c), tipsy->real_width);
      for (int c = 0; c < 3; c++) put_real(bytes, value(row, 3 + c), tipsy->velocity_width == 8 ? 8 : 4);
      put_zeros(bytes, 4 * (size_t)extra[k]);
    }
}

static inline void attribute(hid_t at, const char *name, hid_t type, hid_t memory, hsize_t n, const void *from)
{
  hid_t space = n ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
  hid_t a = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(a, memory, from);
  H5Aclose(a);
  H5Sclose(space);
}

static inline void dataset(hid_t at, const char *name, hid_t type, hid_t memory, hsize_t n, hsize_t width,
                           hsize_t chunk, const void *from)
{
  hsize_t extent[2] = {n, width}, chunks[2] = {chunk < n ? chunk : n, width};
  hid_t space = H5Screate_simple(width ? 2 : 1, extent, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
  if (chunk) H5Pset_chunk(plist, width ? 2 : 1, chunks);
  if (chunk) H5Pset_deflate(plist, 4);
  hid_t set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  if (from) H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, from);
  H5Dclose(set);
  H5Pclose(plist);
  H5Sclose(space);
}

struct hdf {
  struct gadget g;
  int swift;            /* seven types, length-1 attributes, units by name */
  int comoving, vacuum; /* SWIFT's cosmological run; GADGET's ComovingIntegrationOn; SWIFT's box is not periodic */
  int big, no_velocities, chunk;
  int all_masses;   /* Masses also of types that the mass table has */
  double factor;    /* of these; 0: the masses of the table */
  hid_t count_type; /* of NumPart attributes */
};

static inline void hdf_header(hid_t file, const struct hdf *hdf)
{
  hid_t at = H5Gcreate2(file, "Header", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  int64_t count[7] = {0}, total[7] = {0}, zero[7] = {0};
  double table[7] = {0};
  hsize_t types = hdf->swift ? 7 : 6, one = hdf->swift ? 1 : 0;
  for (int t = 0; t < 6; t++) {
    count[t] = hdf->g.count[t];
    total[t] = hdf->g.total[t];
    table[t] = hdf->g.table[t];
  }
  attribute(at, "NumPart_ThisFile", hdf->count_type, H5T_NATIVE_INT64, types, count);
  attribute(at, "NumPart_Total", hdf->count_type, H5T_NATIVE_INT64, types, total);
  attribute(at, "NumPart_Total_HighWord", H5T_STD_U32LE, H5T_NATIVE_INT64, types, zero);
  attribute(at, "MassTable", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, types, table);
  attribute(at, "Time", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, one, &hdf->g.time);
  attribute(at, "NumFilesPerSnapshot", H5T_STD_I32LE, H5T_NATIVE_INT, one, &hdf->g.files);
  const double *g[] = {&hdf->g.redshift, &hdf->g.hubble};
  static const char *const names[] = {"Redshift", "HubbleParam"};
  for (int k = 0; k < 2; k++)
    if (*g[k] != 0) attribute(at, names[k], H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, one, g[k]);
  double box[3] = {hdf->g.box, hdf->g.box, hdf->g.box};
  if (hdf->g.box > 0) attribute(at, "BoxSize", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, hdf->swift ? 3 : 0, box);
  H5Gclose(at);
  int yes = 1, no = 0;
  if (hdf->comoving) {
    at = H5Gcreate2(file, hdf->swift ? "Cosmology" : "Parameters", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    attribute(at, hdf->swift ? "Cosmological run" : "ComovingIntegrationOn", H5T_STD_I32LE, H5T_NATIVE_INT, one, &yes);
    H5Gclose(at);
  }
  if (hdf->vacuum) {
    at = H5Gcreate2(file, "RuntimePars", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    attribute(at, "PeriodicBoundariesOn", H5T_STD_I32LE, H5T_NATIVE_INT, 1, &no);
    H5Gclose(at);
  }
  if (!hdf->swift) return;
  double length = 3e21, mass = 2e43, time = 3e16;
  at = H5Gcreate2(file, "Units", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  attribute(at, "Unit length in cgs (U_L)", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &length);
  attribute(at, "Unit mass in cgs (U_M)", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &mass);
  attribute(at, "Unit time in cgs (U_t)", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &time);
  H5Gclose(at);
}

static inline void hdf_type(hid_t file, const struct hdf *hdf, int t, int64_t row)
{
  char name[32];
  int64_t n = hdf->g.count[t];
  hid_t real = hdf->g.real_width == 8 ? (hdf->big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE)
               : hdf->big             ? H5T_IEEE_F32BE
                                      : H5T_IEEE_F32LE;
  double *x = malloc(sizeof *x * 3 * (size_t)n), *v = malloc(sizeof *v * 3 * (size_t)n),
         *m = malloc(sizeof *m * (size_t)n);
  uint64_t *id = malloc(sizeof *id * (size_t)n);
  for (int64_t i = 0; i < n; i++) {
    for (int c = 0; c < 3; c++) x[3 * i + c] = value(row + i, c);
    for (int c = 0; c < 3; c++) v[3 * i + c] = value(row + i, 3 + c);
    m[i] = hdf->g.table[t] == 0 ? row_mass(row + i) : hdf->factor > 0 ? hdf->factor * (double)(i + 1) : hdf->g.table[t];
    id[i] = row_id(row + i);
  }
  snprintf(name, sizeof name, "PartType%d", t);
  hid_t at = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hsize_t chunk = (hsize_t)hdf->chunk;
  dataset(at, "Coordinates", real, H5T_NATIVE_DOUBLE, (hsize_t)n, 3, chunk, x);
  if (!hdf->no_velocities) dataset(at, "Velocities", real, H5T_NATIVE_DOUBLE, (hsize_t)n, 3, chunk, v);
  if (hdf->g.table[t] == 0 || hdf->all_masses) dataset(at, "Masses", real, H5T_NATIVE_DOUBLE, (hsize_t)n, 0, chunk, m);
  if (hdf->g.id_width)
    dataset(at, "ParticleIDs", hdf->g.id_width == 8 ? H5T_STD_I64LE : H5T_STD_U32LE, H5T_NATIVE_UINT64, (hsize_t)n, 0,
            chunk, id);
  H5Gclose(at);
  free(x);
  free(v);
  free(m);
  free(id);
}

static inline void hdf_save(const struct hdf *hdf, const char *path)
{
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  int64_t row = hdf->g.first;
  hdf_header(file, hdf);
  for (int t = 0; t < 6; row += hdf->g.count[t++])
    if (hdf->g.count[t]) hdf_type(file, hdf, t, row);
  H5Fclose(file);
}
#endif
