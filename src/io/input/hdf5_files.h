/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that an HDF5 file refers to. Local. */
#ifndef HDF5_FILES_H
#define HDF5_FILES_H

/* a source of a virtual dataset; the target of an external link */
enum hdf5_reference { REFERENCE_SOURCE, REFERENCE_LINK };
enum { HDF5_PATH = 4096 };

/* Find the file `name` to which the file `primary` refers where HDF5 finds it: as it is, if it is absolute; in the
 * folders of HDF5_VDS_PREFIX or HDF5_EXT_PREFIX; beside `primary`; in the current folder; beside the file that
 * `primary` is a symbolic link to. Returns 1 with its path in found[HDF5_PATH]; 0 if there is none that is an HDF5
 * file; -1 if HDF5 would open something that is not a regular file, with its path. */
int hdf5_find(const char *primary, const char *name, enum hdf5_reference kind, char found[HDF5_PATH]);
#endif
