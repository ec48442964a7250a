/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HDF5 for readers and writers: errors as text, files, attributes. All functions are local. */
#ifndef IO_H5_H
#define IO_H5_H
#include <hdf5.h>
#include <stdint.h>

/* Turn off HDF5's own error output; h5_cause gives the text for a message. */
void h5_quiet(void);
/* Write the innermost error message of the last HDF5 call, if it failed, to `text`, which is never empty. Call it right
 * after the failure: any other HDF5 call, even a close, clears the message. Returns `text`. */
const char *h5_cause(char text[256]);
/* Open a file for reading with plain POSIX calls. Returns the file; < 0 on failure, with its cause. */
hid_t h5_open_read(const char *path, char cause[256]);
/* Close such a file and all objects opened through it. */
void h5_close(hid_t file);

/* A file that HDF5 lays out in memory, for the caller to write. HDF5 itself makes no system call, since HDF5 crashes
 * when the program ends if a file could not be closed (full disk). */
struct h5_image {
  char *bytes; /* [size] the start of the file, to the end of its metadata; NULL before the first use */
  size_t size;
  int64_t length; /* of the whole file with the space of its datasets */
};
/* Create an empty file that this version of HDF5 can read. `metadata_bytes`: at its start, for metadata; 0: these and
 * datasets alternate. The image reaches to the last metadata, so with 0 there must be no space for rows. Returns the
 * file, < 0 on failure. No datasets may be written, and the file may not be flushed. */
hid_t h5_image_create(struct h5_image *image, H5F_libver_t version, size_t metadata_bytes);
/* Close the file and all objects in it; `image` is then complete. Returns < 0 on failure. */
herr_t h5_image_close(hid_t file, struct h5_image *image);
void h5_image_free(struct h5_image *image);

/* Create a group without time stamps, so that files of identical runs are equal byte by byte. < 0 on failure. Owner:
 * caller (H5Gclose). */
hid_t h5_group(hid_t file, const char *name);

/* Whether `path` below `loc` exists, with every link on it: 1 or 0; -1 if the file is damaged. */
int h5_exists(hid_t loc, const char *path);

/* Whether a type is one of numbers, H5T_INTEGER or H5T_FLOAT, whose bits are all in its bytes: HDF5 does not look, and
 * reads beyond them. */
int h5_is_number(hid_t type, H5T_class_t kind);
/* Read the numbers of an attribute to to[capacity], converted to `memory` (an 8-byte type). Returns their count (1 for
 * a scalar); 0 if there is no such attribute; -1 if it has another type, or more numbers than `capacity`, or cannot be
 * read. */
int h5_numbers(hid_t loc, const char *name, hid_t memory, int capacity, void *to);
/* Whether a fixed-length string attribute equals `text`: 1 or 0; -1 if it cannot be read. */
int h5_text_is(hid_t loc, const char *name, const char *text);

/* Write an attribute of the type `stored` from from[count] of the type `memory`; `count` 0 stands for a scalar.
 * These functions return < 0 on failure. */
herr_t h5_put(hid_t loc, const char *name, hid_t stored, hid_t memory, int count, const void *from);
herr_t h5_put_real(hid_t loc, const char *name, double x);
herr_t h5_put_whole(hid_t loc, const char *name, int x);
/* A fixed-length string: yt fails on variable-length ones. */
herr_t h5_put_text(hid_t loc, const char *name, const char *text);
#endif
