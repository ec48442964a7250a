/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search of HDF5's H5F_prefix_open_file, which is not public. */
#include <config.h>
#include "io/input/hdf5_files.h"

#include <hdf5.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/h5.h"

/* The result for one candidate. */
static int is_hdf5(const char *path)
{
  char cause[256];
  struct stat st;
  if (stat(path, &st) != 0 || S_ISDIR(st.st_mode)) return 0;
  if (!S_ISREG(st.st_mode)) return -1;
  hid_t file = h5_open_read(path, cause); /* H5Fis_hdf5 would answer no where close() fails */
  if (file >= 0) h5_close(file);
  return file >= 0;
}

static int try_in(const char *folder, int length, const char *name, char found[HDF5_PATH])
{
  int n =
      snprintf(found, HDF5_PATH, "%.*s%s%s", length, folder, length > 0 && folder[length - 1] != '/' ? "/" : "", name);
  return n < HDF5_PATH ? is_hdf5(found) : 0;
}

static int try_beside(const char *primary, const char *name, char found[HDF5_PATH])
{
  const char *slash = strrchr(primary, '/');
  return try_in(primary, slash ? (int)(slash - primary) + 1 : 0, name, found);
}

/* The folders of an environment variable, with colons between them; ${ORIGIN} is that of the primary file. */
static int try_prefixes(const char *prefixes, const char *primary, const char *name, char found[HDF5_PATH])
{
  static const char origin[] = "${ORIGIN}";
  char tail[HDF5_PATH];
  for (const char *at = prefixes; at && *at; at += *at == ':') {
    int length = (int)strcspn(at, ":"), is = 0;
    if (length > 0 && strncmp(at, origin, sizeof origin - 1) == 0) {
      at += sizeof origin - 1;
      length -= (int)sizeof origin - 1;
      if (snprintf(tail, sizeof tail, ".%.*s/%s", length, at, name) < HDF5_PATH) is = try_beside(primary, tail, found);
    } else if (length > 0) {
      is = try_in(at, length, name, found);
    }
    if (is) return is;
    at += length;
  }
  return 0;
}

int hdf5_find(const char *primary, const char *name, enum hdf5_reference kind, char found[HDF5_PATH])
{
  char real[PATH_MAX];
  int is;
  if (name[0] == '/') {
    if ((is = try_in("", 0, name, found))) return is;
    name = strrchr(name, '/') + 1;
  }
  if (!*name) return 0;
  if ((is = try_prefixes(getenv(kind == REFERENCE_SOURCE ? "HDF5_VDS_PREFIX" : "HDF5_EXT_PREFIX"), primary, name,
                         found)))
    return is;
  if ((is = try_beside(primary, name, found))) return is;
  if ((is = try_in("", 0, name, found))) return is;
  return realpath(primary, real) ? try_beside(real, name, found) : 0;
}
