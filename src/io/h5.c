/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HDF5: errors as text, files, attributes. */
#include <config.h>
#include "io/h5.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "io/h5_driver.h"

void h5_quiet(void) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

/* Of "file write failed: time = ..., error message = 'No space left on device', ..." keep "file write failed: No space
 * left on device". */
static herr_t take_first(unsigned n, const H5E_error2_t *e, void *to)
{
  if (n != 0 || !e->desc) return 0;
  const char *details = strstr(e->desc, ": time ="), *system = strstr(e->desc, "error message = '");
  if (details && system) {
    system += strlen("error message = '");
    snprintf(to, 256, "%.*s: %.*s", (int)(details - e->desc), e->desc, (int)strcspn(system, "'"), system);
  } else {
    snprintf(to, 256, "%.*s", (int)strcspn(e->desc, "\n"), e->desc);
  }
  return 0;
}

const char *h5_cause(char text[256])
{
  text[0] = 0;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, text);
  if (!text[0]) snprintf(text, 256, "HDF5 gives no cause");
  return text;
}

hid_t h5_open_read(const char *path, char cause[256])
{
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* opening a FIFO would wait */
    snprintf(cause, 256, "it is not a regular file");
    return -1;
  }
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access, 1, 1); /* continue on file systems without locks */
#endif
  hid_t file = h5_driver_use(access) < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY, access);
  if (file < 0) h5_cause(cause);
  H5Pclose(access);
  return file;
}

void h5_close(hid_t file) { H5Fclose(file); }

/* --- files in memory --------------------------------------------------------------------------------------------- */

enum {
  INCREMENT = 4096,      /* the image grows by multiples of this */
  LENGTH_AT = 28,        /* superblock of versions 2 and 3: offset of the end-of-file address, */
  SUPERBLOCK_BYTES = 48, /* and its size */
};

/* The callbacks of HDF5's core driver. `of`: the image. */
static void *resize_image(void *bytes, size_t size, H5FD_file_image_op_t why, void *of)
{
  struct h5_image *image = of;
  (void)why;
  image->bytes = memory_resize("snapshot", bytes, size);
  image->size = size;
  return image->bytes;
}

/* HDF5 has closed the file; its bytes stay. */
static herr_t keep_image(void *bytes, H5FD_file_image_op_t why, void *of)
{
  (void)bytes;
  (void)why;
  (void)of;
  return 0;
}

static void *same_image(void *of) { return of; }
static herr_t forget_image(void *of)
{
  (void)of;
  return 0;
}

hid_t h5_group(hid_t file, const char *name)
{
  hid_t plist = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(plist, 0);
  hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, plist, H5P_DEFAULT);
  H5Pclose(plist);
  return group;
}

hid_t h5_image_create(struct h5_image *image, H5F_libver_t version, size_t metadata_bytes)
{
  H5FD_file_image_callbacks_t callbacks = {.image_realloc = resize_image,
                                           .image_free = keep_image,
                                           .udata_copy = same_image,
                                           .udata_free = forget_image,
                                           .udata = image};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), plist = H5Pcreate(H5P_FILE_CREATE), file = -1;
  *image = (struct h5_image){NULL, 0, 0};
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  H5Pset_libver_bounds(access, version, version);
  if (metadata_bytes) H5Pset_meta_block_size(access, metadata_bytes);
  H5Pset_obj_track_times(plist, 0);
  /* HDF5 looks for a file of the name first: this one cannot exist. */
  if (H5Pset_fapl_core(access, INCREMENT, 0) >= 0 && H5Pset_file_image_callbacks(access, &callbacks) >= 0)
    file = H5Fcreate("/dev/null/image", H5F_ACC_TRUNC, plist, access);
  H5Pclose(access);
  H5Pclose(plist);
  return file;
}

herr_t h5_image_close(hid_t file, struct h5_image *image)
{
  static const char signature[] = "\211HDF\r\n\032\n";
  if (H5Fclose(file) < 0 || image->size < SUPERBLOCK_BYTES || memcmp(image->bytes, signature, 8) != 0) return -1;
  if (image->bytes[8] != 2 && image->bytes[8] != 3) return -1;
  memcpy(&image->length, image->bytes + LENGTH_AT, sizeof image->length); /* stored little endian, as this machine's */
  return 0;
}

void h5_image_free(struct h5_image *image)
{
  memory_free(image->bytes);
  *image = (struct h5_image){NULL, 0, 0};
}

/* --- links and attributes ---------------------------------------------------------------------------------------- */

int h5_exists(hid_t loc, const char *path)
{
  char part[256];
  for (size_t i = 1; path[i - 1] && i < sizeof part; i++) {
    if (path[i] && path[i] != '/') continue;
    snprintf(part, sizeof part, "%.*s", (int)i, path);
    htri_t there = H5Lexists(loc, part, H5P_DEFAULT);
    if (there <= 0) return there < 0 ? -1 : 0;
  }
  return 1;
}

int h5_is_number(hid_t type, H5T_class_t kind)
{
  size_t bits = 8 * H5Tget_size(type), precision = H5Tget_precision(type), sign, exponent, widths[2], mantissa;
  int offset = H5Tget_offset(type);
  if (H5Tget_class(type) != kind || offset < 0 || precision == 0 || precision > bits ||
      (size_t)offset > bits - precision)
    return 0;
  if (kind == H5T_INTEGER) return 1;
  if (H5Tget_fields(type, &sign, &exponent, &widths[0], &mantissa, &widths[1]) < 0) return 0;
  return sign < bits && exponent < bits && widths[0] <= bits - exponent && mantissa < bits &&
         widths[1] <= bits - mantissa;
}

int h5_numbers(hid_t loc, const char *name, hid_t memory, int capacity, void *to)
{
  htri_t there = H5Aexists(loc, name);
  if (there <= 0) return there < 0 ? -1 : 0;
  hid_t a = H5Aopen(loc, name, H5P_DEFAULT);
  if (a < 0) return -1;
  hid_t type = H5Aget_type(a), space = H5Aget_space(a);
  hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  int bad = type < 0 || n < 1 || n > capacity || !(h5_is_number(type, H5T_INTEGER) || h5_is_number(type, H5T_FLOAT)) ||
            H5Aread(a, memory, to) < 0;
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  H5Aclose(a);
  return bad ? -1 : (int)n;
}

int h5_text_is(hid_t loc, const char *name, const char *text)
{
  enum { LENGTH_MAX = 64 };
  char found[LENGTH_MAX + 1] = {0};
  htri_t there = H5Aexists(loc, name);
  if (there <= 0) return there < 0 ? -1 : 0;
  hid_t a = H5Aopen(loc, name, H5P_DEFAULT);
  if (a < 0) return -1;
  hid_t type = H5Aget_type(a), space = H5Aget_space(a);
  int fits = type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
             H5Tget_size(type) <= LENGTH_MAX && H5Sget_simple_extent_npoints(space) == 1;
  int bad = fits && H5Aread(a, type, found) < 0;
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  H5Aclose(a);
  return bad ? -1 : fits && strcmp(found, text) == 0;
}

herr_t h5_put(hid_t loc, const char *name, hid_t stored, hid_t memory, int count, const void *from)
{
  hsize_t extent = (hsize_t)count;
  hid_t space = count ? H5Screate_simple(1, &extent, NULL) : H5Screate(H5S_SCALAR);
  hid_t a = H5Acreate2(loc, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
  herr_t status = a < 0 ? -1 : H5Awrite(a, memory, from);
  if (a >= 0 && H5Aclose(a) < 0) status = -1;
  H5Sclose(space);
  return status;
}

herr_t h5_put_real(hid_t loc, const char *name, double x)
{
  return h5_put(loc, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 0, &x);
}

herr_t h5_put_whole(hid_t loc, const char *name, int x)
{
  return h5_put(loc, name, H5T_STD_I32LE, H5T_NATIVE_INT, 0, &x);
}

herr_t h5_put_text(hid_t loc, const char *name, const char *text)
{
  size_t n = strlen(text);
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, n ? n : 1); /* HDF5 has no strings of length 0 */
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  herr_t status = h5_put(loc, name, type, type, 0, text);
  H5Tclose(type);
  return status;
}
