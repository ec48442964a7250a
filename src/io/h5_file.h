/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HDF5 files that were laid out in memory (h5.h) as files on a disk: space, creation, checks, names. `what` is
 * "snapshot" or the like, for messages. All functions are local and return 0, or -1 with a fault, unless stated
 * otherwise. */
#ifndef IO_H5_FILE_H
#define IO_H5_FILE_H
#include <stdint.h>

#include "base/fault.h"
#include "io/h5.h"
#include "mpi/comm.h"

enum { H5_FILE_PATH = 4096, H5_FILE_SUFFIX = 8 }; /* H5_FILE_SUFFIX: for ".tmp" behind the name of a file */

/* The folder of a file, to folder[H5_FILE_PATH]. */
void h5_file_folder(const char *path, char *folder);
/* Whether `path` can be written, and the disk has space for `bytes` bytes (and a tenth, and 1 MB). */
int h5_file_space(const char *what, const char *path, double bytes, struct fault *fault);
/* End the image at the first row, which is at the offset `end`. -1 where metadata follow it, without a fault. */
int h5_image_end(struct h5_image *image, uint64_t end);
/* A new file with the bytes of the image and space for the rows; what had this name is removed, unless it is a
 * folder. */
int h5_file_create(const char *what, const char *path, const struct h5_image *image, struct fault *fault);
/* Open a file that rank 0 has created. Never waits, as open() does for a FIFO. Returns a descriptor, or -1 with a
 * fault. */
int h5_file_open(const char *what, const char *path, int flags, int rank, struct fault *fault);
/* Flush the file to the disk, and drop its pages from the cache of this node as far as the system allows. */
void h5_file_flush(const char *what, int fd, const char *path, struct fault *fault);
/* Close a descriptor; -1 is allowed. */
void h5_file_close(const char *what, int fd, const char *path, struct fault *fault);
/* Whether everything in the file but the rows is what was laid out. */
void h5_file_compare(const char *what, int fd, const struct h5_image *image, const char *path, struct fault *fault);
/* Rename a file or folder. Returns 0; -1 with errno, also where the call reports success and the name remains. */
int h5_file_move(const char *from, const char *to);
/* Rank 0: flush a new name in `folder`. The file is there whatever comes out, so a failure is only a warning: a fault
 * would have it written a second time, at a later time. */
void h5_file_flush_name(const char *what, const struct comm *comm, const char *path, const char *folder);
/* Rank 0: give the verified file `temporary` its name. */
int h5_file_publish(const char *what, const struct comm *comm, const char *path, const char *temporary,
                    struct fault *fault);
#endif
