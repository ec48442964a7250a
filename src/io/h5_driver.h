/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file driver with which HDF5 reads. HDF5's own drivers let it collect metadata that it reads, and where a damaged
 * file has an undefined address HDF5 then copies from address 0; here such a read fails. Closing always succeeds, since
 * HDF5 keeps a file that could not be closed, and crashes when the program ends. */
#ifndef IO_H5_DRIVER_H
#define IO_H5_DRIVER_H
#include <hdf5.h>

/* Let the access properties use it. Returns < 0 on failure. */
herr_t h5_driver_use(hid_t access);
#endif
