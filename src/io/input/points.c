/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "io/input/points.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/lines.h"
#include "base/memory.h"
#include "io/h5.h"
#include "io/input/hdf5_storage.h"

enum { NAME_BYTES = 4096, POINTS_MAX = 1 << 28 };
static const char separators[] = " \t,;\r\n\v\f", expected[] = "three numbers x y z";

void points_free(struct points *points)
{
  memory_free(points->at);
  *points = (struct points){0, NULL};
}

/* --- text -------------------------------------------------------------------------------------------------------- */

static int parse(const struct lines *lines, double x[3], struct fault *fault)
{
  const char *at = lines->text;
  int n = 0;
  for (at += strspn(at, separators); *at; at += strspn(at, separators), n++) {
    double value = 0;
    int length = (int)strcspn(at, separators);
    if (lines_number(at, length, &value) != 0 || !isfinite(value))
      return fault_set(fault, "%s:%lld: '%.*s' in column %d is not a finite number; expected %s", lines->path,
                       (long long)lines->number, length < 40 ? length : 40, at, n + 1, expected);
    if (n < 3) x[n] = value;
    at += length;
  }
  if (n != 3)
    return fault_set(fault, "%s:%lld: %d number%s; expected %s", lines->path, (long long)lines->number, n, plural(n),
                     expected);
  return 0;
}

static int read_text(const char *path, struct points *points, struct fault *fault)
{
  struct lines l;
  size_t capacity = 0;
  if (lines_open(&l, path, fault) != 0) return -1;
  while (lines_next(&l, expected, fault) == 1) {
    double x[3];
    if (!l.text[strspn(l.text, separators)]) continue;
    if (points->n == POINTS_MAX) fault_set(fault, "%s has more than %d points", path, POINTS_MAX);
    if (fault->text[0] || parse(&l, x, fault) != 0) break;
    if ((size_t)points->n == capacity) {
      capacity = memory_grown(capacity, sizeof *points->at);
      points->at = memory_resize("points", points->at, sizeof *points->at * capacity);
    }
    memcpy(points->at[points->n++], x, sizeof x);
  }
  lines_close(&l);
  return fault->text[0] ? -1 : 0;
}

/* --- HDF5 -------------------------------------------------------------------------------------------------------- */

/* Read the dataset `set`; `name`: of it with its file. */
static int read_dataset(hid_t set, const char *name, struct points *points, struct fault *fault)
{
  char cause[256];
  hsize_t extent[2] = {0, 0};
  if (storage_check(set, name, fault) != 0) return -1;
  hid_t space = H5Dget_space(set), type = H5Dget_type(set);
  int numbers = type >= 0 && (h5_is_number(type, H5T_FLOAT) || h5_is_number(type, H5T_INTEGER));
  int dimensions = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
  if (dimensions == 2) H5Sget_simple_extent_dims(space, extent, NULL);
  if (!numbers) fault_set(fault, "%s does not hold numbers; expected coordinates of points", name);
  else if (dimensions != 2 || extent[1] != 3)
    fault_set(fault, "%s has not the shape N x 3: expected coordinates of points", name);
  else if (extent[0] > POINTS_MAX) fault_set(fault, "%s has more than %d points", name, POINTS_MAX);
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  if (fault->text[0]) return -1;
  points->n = (int64_t)extent[0];
  points->at = memory_alloc("points", sizeof *points->at * (size_t)(points->n + 1));
  if (H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, points->at) < 0)
    return fault_set(fault, "%s cannot be read: %s", name, h5_cause(cause));
  for (int64_t i = 0; i < points->n; i++)
    if (!isfinite(points->at[i][0] + points->at[i][1] + points->at[i][2]))
      return fault_set(fault, "%s: point %lld is (%g, %g, %g); expected finite numbers", name, (long long)i + 1,
                       points->at[i][0], points->at[i][1], points->at[i][2]);
  return 0;
}

static int read_hdf5(const char *path, const char *dataset, struct points *points, struct fault *fault)
{
  char cause[256], name[2 * NAME_BYTES + 8];
  snprintf(name, sizeof name, "%s: %s", path, dataset);
  h5_quiet();
  hid_t file = h5_open_read(path, cause), set = -1;
  if (file < 0) return fault_set(fault, "%s cannot be opened as an HDF5 file: %s", path, cause);
  if (storage_check_links(file, path, dataset, fault) == 0) {
    if (h5_exists(file, dataset) != 1)
      fault_set(fault, "%s has no dataset %s; name one as in FILE.hdf5:/DATASET", path, dataset);
    else if ((set = H5Dopen(file, dataset, H5P_DEFAULT)) < 0)
      fault_set(fault, "%s is not a dataset; expected one of the shape N x 3 with coordinates of points", name);
    else read_dataset(set, name, points, fault);
  }
  if (set >= 0) H5Dclose(set);
  h5_close(file);
  return fault->text[0] ? -1 : 0;
}

static int is_hdf5(const char *path)
{
  static const char signature[] = "\211HDF\r\n\032\n";
  char start[8];
  FILE *file = fopen(path, "rb");
  int is = file && fread(start, sizeof start, 1, file) == 1 && memcmp(start, signature, sizeof start) == 0;
  if (file) fclose(file);
  return is;
}

static int is_file(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int points_read(const char *name, struct points *points, struct fault *fault)
{
  char path[NAME_BYTES];
  const char *dataset = "Coordinates", *colon = strrchr(name, ':');
  *points = (struct points){0, NULL};
  if (strlen(name) >= sizeof path)
    return fault_set(fault, "the name of the file of points is longer than %d characters", NAME_BYTES - 1);
  strcpy(path, name);
  if (colon && !is_file(name)) {
    path[colon - name] = 0;
    dataset = colon + 1;
    if (is_file(path) && !is_hdf5(path))
      return fault_set(fault, "%s is no HDF5 file, and has no dataset '%s'", path, dataset);
  }
  if (is_file(path) && is_hdf5(path)) read_hdf5(path, dataset, points, fault);
  else read_text(path, points, fault);
  if (!fault->text[0] && points->n == 0) fault_set(fault, "%s has no points; expected lines with %s", name, expected);
  if (!fault->text[0]) return 0;
  points_free(points);
  return -1;
}

/* --- results ----------------------------------------------------------------------------------------------------- */

static int put_rows(hid_t file, const char *name, int64_t n, int components, const void *from)
{
  hsize_t extent[2] = {(hsize_t)n, (hsize_t)components};
  hid_t space = H5Screate_simple(components > 1 ? 2 : 1, extent, NULL);
  hid_t set = H5Dcreate(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  int bad = set < 0 || H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, from) < 0;
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
  return bad;
}

/* The file is made in memory: HDF5 crashes at the end of the program where it could not write a file. */
int points_write_hdf5(FILE *out, const struct points *points, const double (*acc)[3], const double *pot, double time,
                      const char *input, const char *method, struct fault *fault)
{
  char cause[256] = "";
  h5_quiet();
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 1 << 20, 0);
  hid_t file = H5Fcreate("points", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  int bad = file < 0 || put_rows(file, "Coordinates", points->n, 3, points->at) ||
            put_rows(file, "Acceleration", points->n, 3, acc) || put_rows(file, "Potential", points->n, 1, pot) ||
            h5_put_real(file, "Time", time) < 0 || h5_put_text(file, "InitCondFile", input) < 0 ||
            h5_put_text(file, "Method", method) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0;
  if (bad) fault_set(fault, "the HDF5 file of the points cannot be made: %s", h5_cause(cause));
  ssize_t bytes = bad ? 0 : H5Fget_file_image(file, NULL, 0);
  char *image = memory_alloc("points", (size_t)bytes + 1);
  if (bytes > 0 && H5Fget_file_image(file, image, (size_t)bytes) == bytes) fwrite(image, 1, (size_t)bytes, out);
  else if (!bad) fault_set(fault, "the HDF5 file of the points cannot be made: %s", h5_cause(cause));
  memory_free(image);
  if (file >= 0) H5Fclose(file);
  return fault->text[0] ? -1 : 0;
}
