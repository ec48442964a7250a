/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether all values of a dataset are stored. HDF5 reads values that were never written, and those of missing source
 * files, as fill values without an error; it waits for a writer where a file that it follows is a FIFO; it ends the
 * program where a virtual dataset leads to itself. All functions are local and return 0, or -1 with a fault. */
#ifndef HDF5_STORAGE_H
#define HDF5_STORAGE_H
#include <hdf5.h>

#include "base/fault.h"

/* Check that all values of a dataset are in its file or, where it is virtual, in the datasets that it maps, which may
 * be virtual themselves. Call it before H5Dget_space. `name`: of the dataset with its file, for messages. */
int storage_check(hid_t set, const char *name, struct fault *fault);
/* Check that the files exist that external links on the way to the object `where` lead to. `path`: of the file, as it
 * was opened. A link inside the file that leads nowhere is no fault here. */
int storage_check_links(hid_t file, const char *path, const char *where, struct fault *fault);
#endif
