/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which elements of a virtual dataset have a source. Local. */
#ifndef HDF5_SPANS_H
#define HDF5_SPANS_H
#include <hdf5.h>

/* Check that the `count` mappings of the virtual dataset `set`, whose creation properties are `plist`, cover its
 * extent, and that none is unlimited. It must have one dimension, or two with at most 64 columns. 0; -1 with what is
 * wrong in reason[256], which continues "NAME is a virtual dataset". */
int spans_cover(hid_t set, hid_t plist, size_t count, char reason[256]);
#endif
