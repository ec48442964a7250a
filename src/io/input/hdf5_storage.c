/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "io/input/hdf5_storage.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "io/h5.h"
#include "io/input/hdf5_files.h"
#include "io/input/hdf5_spans.h"

enum { DEPTH_MAX = 8, SOURCES_MAX = 100000 };

/* A virtual dataset whose sources are being checked, and the one that has it as a source. */
struct chain {
  const struct chain *up;
  dev_t device;
  ino_t inode;
  char path[HDF5_PATH], dataset[1024];
  int depth;
};

/* The check of one dataset with all that it maps. */
struct check {
  const char *name; /* for messages */
  int sources;      /* opened so far */
  struct fault *f;
};

static int file_of(hid_t object, char path[HDF5_PATH], struct stat *st)
{
  return H5Fget_name(object, path, HDF5_PATH) > 0 && stat(path, st) == 0 ? 0 : -1;
}

/* Chunks that are not allocated are read as fill values. */
static int all_chunks(hid_t set, hid_t plist, hid_t space, const hsize_t *extent, int rank)
{
#if H5_VERSION_GE(1, 10, 5)
  hsize_t chunk[H5S_MAX_RANK], there = 0;
  double expected = 1;
  if (H5Pget_chunk(plist, rank, chunk) != rank || H5Dget_num_chunks(set, space, &there) < 0) return 0;
  for (int r = 0; r < rank; r++) expected *= (double)((extent[r] + chunk[r] - 1) / chunk[r]);
  return (double)there >= expected;
#else
  (void)set;
  (void)plist;
  (void)space;
  (void)extent;
  (void)rank;
  return 1;
#endif
}

/* A dataset that is not virtual: its bytes are in its file. A dataset may have any extent without storage. */
static int is_stored(hid_t set, hid_t plist, const struct stat *st)
{
  enum { COMPRESSION_MAX = 2000 }; /* deflate reaches 1032 */
  hsize_t extent[H5S_MAX_RANK] = {0};
  hid_t type = H5Dget_type(set), space = H5Dget_space(set);
  int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, extent, NULL);
  double stored = (double)H5Dget_storage_size(set), needed = type < 0 ? 0 : (double)H5Tget_size(type),
         bytes = (double)st->st_size;
  for (int r = 0; r < rank; r++) needed *= (double)extent[r];
  haddr_t at = H5Dget_offset(set);
  H5D_layout_t layout = H5Pget_layout(plist);
  int good = type >= 0 && rank >= 0;
  if (good && needed > 0 && layout == H5D_CHUNKED)
    good = stored > 0 && stored <= bytes && needed <= stored * COMPRESSION_MAX &&
           all_chunks(set, plist, space, extent, rank);
  else if (good && needed > 0 && layout == H5D_CONTIGUOUS)
    good = stored >= needed && at != HADDR_UNDEF && (double)at + needed <= bytes;
  else if (layout != H5D_COMPACT) good = good && needed == 0;
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  return good;
}

/* Whether the `points` points that a mapping takes are in a source's extent. The selection of a whole source has no
 * extent in a file. */
static int is_within(hid_t source, hid_t selection, hssize_t points)
{
  hsize_t extent[H5S_MAX_RANK], first[H5S_MAX_RANK], last[H5S_MAX_RANK];
  hid_t space = H5Dget_space(source);
  int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, extent, NULL), good = rank >= 0;
  if (good && H5Sget_select_type(selection) == H5S_SEL_ALL) {
    good = H5Sget_simple_extent_npoints(space) == points;
  } else if (good && points > 0) {
    good = H5Sget_simple_extent_ndims(selection) == rank && H5Sget_select_bounds(selection, first, last) >= 0;
    for (int r = 0; r < rank && good; r++) good = last[r] < extent[r];
  }
  if (space >= 0) H5Sclose(space);
  return good;
}

static int check_set(struct check *check, hid_t set, const char *dataset, const struct chain *up);

/* The dataset of a source: `file_name` is that of `file`; `points` points of `selection` in it are mapped. */
static int check_source(struct check *check, hid_t file, const char *file_name, const char *dataset, hid_t selection,
                        hssize_t points, const struct chain *up)
{
  struct fault reason = {""};
  if (storage_check_links(file, file_name, dataset, &reason) != 0)
    return fault_set(check->f, "%s: %s", check->name, reason.text);
  hid_t set = h5_exists(file, dataset) > 0 ? H5Dopen2(file, dataset, H5P_DEFAULT) : -1;
  if (set < 0)
    return fault_set(check->f, "%s is a virtual dataset with rows in %s: there is no dataset %s", check->name,
                     file_name, dataset);
  int bad = check_set(check, set, dataset, up);
  if (!bad && !is_within(set, selection, points))
    bad = fault_set(check->f,
                    "%s is a virtual dataset with rows in %s, whose dataset %s has another shape: the file was changed",
                    check->name, file_name, dataset);
  H5Dclose(set);
  return bad;
}

/* Find and open the file of a mapping. */
static hid_t open_source(struct check *check, const char *name, const struct chain *here)
{
  char found[HDF5_PATH], cause[256];
  int is = hdf5_find(here->path, name, REFERENCE_SOURCE, found);
  if (is < 0)
    return fault_set(check->f, "%s is a virtual dataset with rows in %s, which is not a regular file", check->name,
                     found);
  if (is == 0)
    return fault_set(
        check->f,
        "%s is a virtual dataset with rows in the file %s, which is missing or not an HDF5 file (looked for beside %s)",
        check->name, name, here->path);
  hid_t file = h5_open_read(found, cause);
  if (file < 0)
    fault_set(check->f, "%s is a virtual dataset with rows in %s, which cannot be opened: %s", check->name, found,
              cause);
  return file;
}

/* In file and dataset names of mappings "%%" stands for "%"; other uses of it number blocks. 0; -1 if it does. */
static int plain_name(char *name)
{
  char *to = name;
  for (const char *at = name; *at; at++) {
    if (*at == '%' && *++at != '%') return -1;
    *to++ = *at;
  }
  *to = 0;
  return 0;
}

/* Check the source of mapping `k`. *file is that of the mapping before, called `last` (both "." and none at first). */
static int check_mapping(struct check *check, hid_t set, hid_t plist, size_t k, hid_t *file, char last[HDF5_PATH],
                         const struct chain *here)
{
  char name[HDF5_PATH], dataset[1024];
  ssize_t a = H5Pget_virtual_filename(plist, k, name, sizeof name),
          b = H5Pget_virtual_dsetname(plist, k, dataset, sizeof dataset);
  if (a <= 0 || b <= 0 || a >= (ssize_t)sizeof name || b >= (ssize_t)sizeof dataset)
    return fault_set(check->f, "%s is a virtual dataset whose mappings cannot be read: the file is damaged",
                     check->name);
  if (plain_name(name) != 0 || plain_name(dataset) != 0)
    return fault_set(check->f,
                     "%s is a virtual dataset with numbered names of sources (%%b), which are not read: copy its "
                     "values into the file",
                     check->name);
  if (++check->sources > SOURCES_MAX)
    return fault_set(check->f, "%s is a virtual dataset with more than %d sources", check->name, SOURCES_MAX);
  if (strcmp(name, last) != 0) {
    if (*file >= 0) h5_close(*file);
    snprintf(last, HDF5_PATH, "%s", name);
    *file = strcmp(name, ".") == 0 ? H5Iget_file_id(set) : open_source(check, name, here);
    if (*file < 0) return -1;
  }
  hid_t selection = H5Pget_virtual_srcspace(plist, k), mapped = H5Pget_virtual_vspace(plist, k);
  char path[HDF5_PATH];
  struct stat st;
  hssize_t points = mapped < 0 ? -1 : H5Sget_select_npoints(mapped);
  int bad = selection < 0 || points < 0 || file_of(*file, path, &st) != 0;
  if (bad)
    fault_set(check->f, "%s is a virtual dataset whose mappings cannot be read: the file is damaged", check->name);
  bad = bad || check_source(check, *file, path, dataset, selection, points, here) != 0;
  if (selection >= 0) H5Sclose(selection);
  if (mapped >= 0) H5Sclose(mapped);
  return bad ? -1 : 0;
}

static int check_virtual(struct check *check, hid_t set, hid_t plist, const struct chain *here)
{
  char reason[256], last[HDF5_PATH] = "";
  size_t count = 0;
  hid_t file = -1;
  int bad = H5Pget_virtual_count(plist, &count) < 0;
  for (const struct chain *up = here->up; up; up = up->up)
    if (here->depth > DEPTH_MAX ||
        (up->device == here->device && up->inode == here->inode && strcmp(up->dataset, here->dataset) == 0))
      return fault_set(check->f,
                       "%s is a virtual dataset that leads to itself, or to more than %d others one after the other",
                       check->name, DEPTH_MAX);
  if (bad)
    return fault_set(check->f, "%s is a virtual dataset whose mappings cannot be read: the file is damaged",
                     check->name);
  if (spans_cover(set, plist, count, reason) != 0)
    return fault_set(check->f, "%s is a virtual dataset %s", check->name, reason);
  for (size_t k = 0; k < count && !bad; k++) bad = check_mapping(check, set, plist, k, &file, last, here) != 0;
  if (file >= 0) h5_close(file);
  return bad ? -1 : 0;
}

/* Compression that this HDF5 library cannot undo. */
static int check_filters(struct check *check, hid_t plist)
{
  int count = H5Pget_nfilters(plist);
  for (int k = 0; k < count; k++) {
    char name[64] = "";
    unsigned flags, settings;
    size_t values = 0;
    H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)k, &flags, &values, NULL, sizeof name, name, &settings);
    if (filter < 0)
      return fault_set(check->f, "%s: the properties of the dataset cannot be read: the file is damaged", check->name);
    if (H5Zfilter_avail(filter) > 0) continue;
    for (char *at = name; *at; at++)
      if ((unsigned char)*at < ' ' || (unsigned char)*at > '~') *at = '?';
    return fault_set(
        check->f,
        "%s is compressed with the filter '%s' (%d), which the HDF5 library here does not have: write it with "
        "compression='gzip' (h5py), or where the filter is installed: h5repack -f GZIP=4 FILE NEW",
        check->name, name, (int)filter);
  }
  return 0;
}

static int check_set(struct check *check, hid_t set, const char *dataset, const struct chain *up)
{
  struct stat st;
  struct chain here = {.up = up, .depth = up ? up->depth + 1 : 1};
  hid_t plist = H5Dget_create_plist(set);
  int bad = plist < 0 || file_of(set, here.path, &st) != 0;
  if (bad) {
    fault_set(check->f, "%s: the properties of the dataset cannot be read: the file is damaged", check->name);
  } else if (H5Pget_layout(plist) == H5D_VIRTUAL) {
    here.device = st.st_dev;
    here.inode = st.st_ino;
    snprintf(here.dataset, sizeof here.dataset, "%s", dataset + (dataset[0] == '/'));
    bad = check_virtual(check, set, plist, &here) != 0;
  } else if (H5Pget_external_count(plist) > 0) {
    char name[HDF5_PATH] = "";
    bad = H5Pget_external(plist, 0, sizeof name - 1, name, NULL, NULL) < 0;
    bad = fault_set(check->f, "%s has its values in the file %s, which is %s: copy the values into the HDF5 file",
                    check->name, bad ? "?" : name,
                    stat(name, &st) == 0 ? "not read (external storage)" : "missing (external storage)") != 0;
  } else if (check_filters(check, plist) != 0) {
    bad = 1;
  } else if (!is_stored(set, plist, &st)) {
    bad = fault_set(check->f,
                    "%s: not all values of the dataset%s%s%s are in the file: it is damaged or was never written",
                    check->name, up ? " " : "", up ? dataset : "", up ? " that it maps" : "") != 0;
  }
  if (plist >= 0) H5Pclose(plist);
  return bad ? -1 : 0;
}

int storage_check(hid_t set, const char *name, struct fault *fault)
{
  char dataset[1024] = "";
  struct check c = {.name = name, .f = fault};
  H5Iget_name(set, dataset, sizeof dataset);
  return check_set(&c, set, dataset, NULL);
}

/* --- links ------------------------------------------------------------------------------------------------------- */

static int follow(hid_t file, const char *path, const char *where, int depth, struct fault *fault);

/* The external link to `where` with its value; `rest` is the path from its target on. */
static int external_link(const char *path, const char *where, const void *value, size_t size, const char *rest,
                         int depth, struct fault *fault)
{
  const char *name, *object;
  char found[HDF5_PATH], target[HDF5_PATH], cause[256];
  if (H5Lunpack_elink_val(value, size, NULL, &name, &object) < 0) return 0;
  int is = hdf5_find(path, name, REFERENCE_LINK, found);
  if (is < 0) return fault_set(fault, "%s: /%s is a link into %s, which is not a regular file", path, where, found);
  hid_t file = is > 0 ? h5_open_read(found, cause) : -1;
  if (file < 0)
    return fault_set(fault, "%s: /%s is a link into the file %s, which is missing or not an HDF5 file", path, where,
                     name);
  int bad = snprintf(target, sizeof target, "%s%s", object, rest) < HDF5_PATH &&
            follow(file, found, target, depth + 1, fault) != 0;
  h5_close(file);
  return bad ? -1 : 0;
}

/* Follow the links on the way to `where` in a file. */
static int follow(hid_t file, const char *path, const char *where, int depth, struct fault *fault)
{
  char part[HDF5_PATH], value[HDF5_PATH + 1] = "", target[3 * HDF5_PATH];
  size_t last = 0;
  where += strspn(where, "/");
  if (depth > DEPTH_MAX)
    return fault_set(fault, "%s: /%s is a link that leads to itself, or to more than %d others one after the other",
                     path, where, DEPTH_MAX);
  for (size_t i = 1; where[0] && where[i - 1] && i < sizeof part; i++) {
    H5L_info_t info;
    if (where[i] && where[i] != '/') continue;
    snprintf(part, sizeof part, "%.*s", (int)i, where);
    if (H5Lexists(file, part, H5P_DEFAULT) <= 0 || H5Lget_info(file, part, &info, H5P_DEFAULT) < 0) return 0;
    if (info.type == H5L_TYPE_SOFT || info.type == H5L_TYPE_EXTERNAL) {
      if (info.u.val_size > HDF5_PATH || H5Lget_val(file, part, value, HDF5_PATH, H5P_DEFAULT) < 0) return 0;
      if (info.type == H5L_TYPE_EXTERNAL)
        return external_link(path, part, value, info.u.val_size, where + i, depth, fault);
      snprintf(target, sizeof target, "%.*s%s%s", value[0] == '/' ? 0 : (int)last, part, value, where + i);
      return follow(file, path, target, depth + 1, fault);
    }
    last = i + 1;
  }
  return 0;
}

int storage_check_links(hid_t file, const char *path, const char *where, struct fault *fault)
{
  return follow(file, path, where, 1, fault);
}
