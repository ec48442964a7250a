/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "analysis/map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/files.h"
#include "base/memory.h"
#include "gravity/units.h"

enum { INCREMENT = 1 << 20, CHUNK_ROWS = 64, DEFLATE_LEVEL = 4 };

/* HDF5's own words for its last error. */
static int hdf5_fault(struct fault *fault, const char *what)
{
  char cause[256];
  return fault_set(fault, "%s: %s", what, h5_cause(cause));
}

static herr_t put_facts(hid_t at, const struct map_facts *facts)
{
  struct units u = units_of(facts->par);
  int64_t step = facts->step;
  herr_t s = h5_put_real(at, "Time", facts->time);
  s |= h5_put(at, "Step", H5T_STD_I64LE, H5T_NATIVE_INT64, 0, &step);
  s |= h5_put(at, "Centre", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, facts->centre);
  s |= h5_put_real(at, "HalfWidth", facts->half);
  s |= h5_put_whole(at, "Pixels", facts->par->ProjectionPixels);
  s |= h5_put_real(at, "GravityConstantInternal", facts->gravity);
  s |= h5_put_real(at, "UnitLength_in_cm", u.length_cm);
  s |= h5_put_real(at, "UnitMass_in_g", u.mass_g);
  s |= h5_put_real(at, "UnitVelocity_in_cm_per_s", u.velocity_cm_s);
  s |= h5_put_text(at, "UnitSystem", units_system(&u));
  s |= h5_put_text(at, "Code", "Espalier");
  return s;
}

hid_t map_file_create(const struct map_facts *facts, struct fault *fault)
{
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), plist = H5Pcreate(H5P_FILE_CREATE);
  h5_quiet();
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  H5Pset_obj_track_times(plist, 0);
  H5Pset_fapl_core(access, INCREMENT, 0);
  /* HDF5 looks for a file of the name: this one cannot exist */
  hid_t file = H5Fcreate("/dev/null/image", H5F_ACC_TRUNC, plist, access);
  H5Pclose(access);
  H5Pclose(plist);
  if (file < 0) return hdf5_fault(fault, "a file of maps");
  hid_t header = h5_group(file, "Header");
  if (header < 0 || put_facts(header, facts) < 0) hdf5_fault(fault, "the header of a file of maps");
  if (header >= 0) H5Gclose(header);
  return file;
}

int map_file_add(hid_t file, const char *group, const char *name, int pixels, const float *value, struct fault *fault)
{
  hsize_t extent[2] = {(hsize_t)pixels, (hsize_t)pixels},
          chunk[2] = {pixels < CHUNK_ROWS ? (hsize_t)pixels : CHUNK_ROWS, (hsize_t)pixels};
  if (fault->text[0]) return -1;
  hid_t at = h5_exists(file, group) > 0 ? H5Gopen2(file, group, H5P_DEFAULT) : h5_group(file, group);
  hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, extent, NULL);
  H5Pset_obj_track_times(plist, 0);
  H5Pset_chunk(plist, 2, chunk);
  if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
    H5Pset_shuffle(plist);
    H5Pset_deflate(plist, DEFLATE_LEVEL);
  }
  hid_t set = at < 0 ? -1 : H5Dcreate2(at, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  if (set < 0 || H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) hdf5_fault(fault, "a map");
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
  H5Pclose(plist);
  if (at >= 0) H5Gclose(at);
  return fault->text[0] ? -1 : 0;
}

int map_file_alias(hid_t file, const char *group, const char *as, struct fault *fault)
{
  if (fault->text[0]) return -1;
  return H5Lcreate_hard(file, as, file, group, H5P_DEFAULT, H5P_DEFAULT) < 0
             ? hdf5_fault(fault, "a second name of a map")
             : 0;
}

/* Write the bytes to a new file and flush it. */
static int write_bytes(const char *path, const void *bytes, size_t count, struct fault *fault)
{
  int file = file_open(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (file < 0) return fault_set(fault, "%s cannot be made: %s", path, file_reason(errno));
  if (write_all(file, bytes, (int64_t)count, 0) || flush_all(file))
    fault_set(fault, "%s cannot be written: %s", path, strerror(errno));
  if (close(file)) fault_set(fault, "%s cannot be written: %s", path, strerror(errno));
  return fault->text[0] ? -1 : 0;
}

int map_file_write(hid_t file, const char *path, struct fault *fault)
{
  char temporary[PARAM_TEXT + 128];
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  ssize_t size = fault->text[0] ? 0 : H5Fflush(file, H5F_SCOPE_LOCAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
  char *image = memory_alloc("analysis", size > 0 ? (size_t)size : 1);
  if (size < 0 || (size > 0 && H5Fget_file_image(file, image, (size_t)size) != size))
    hdf5_fault(fault, "a file of maps");
  H5Fclose(file);
  if (!fault->text[0] && write_bytes(temporary, image, (size_t)size, fault) == 0 && rename(temporary, path))
    fault_set(fault, "%s cannot be renamed to %s: %s", temporary, path, strerror(errno));
  if (fault->text[0]) unlink(temporary);
  memory_free(image);
  return fault->text[0] ? -1 : 0;
}
