/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reading and writing HDF5 share: quiet errors with their cause, and attributes. */
#ifndef IO_H5_H
#define IO_H5_H
#include <hdf5.h>
#include <stdint.h>

/* HDF5 must not print on its own: its message becomes part of our sentence. */
void h5_quiet(void);
/* The innermost message of the last call, if it failed; `text` is never empty. Returns `text`. Every other call into the
 * library, even a close, clears it. */
const char *h5_cause(char text[256]);
/* Open for reading with plain POSIX calls; < 0 on failure, with its cause. Closing the file closes all that was opened in
 * it. */
hid_t h5_open_read(const char *path, char cause[256]);
/* Close a file made with plain POSIX calls. Where that fails (full disk) the library must not be left with a file that it
 * can never close, for it would crash at the end of the program: it may then finish into memory. < 0 on failure, with its
 * cause. */
herr_t h5_close_written(hid_t file, char cause[256]);
/* `path` below `loc` is there (every link of it)? -1: it cannot be told, the file is damaged. */
int h5_exists(hid_t loc, const char *path);

/* Numbers of an attribute, converted to `memory` (an 8-byte type), at most `most` of them. Returns how many (1 for a
 * scalar), 0 when it is not there, -1 when it has another type, or is larger, or cannot be read. */
int h5_numbers(hid_t loc, const char *name, hid_t memory, int most, void *to);
/* A fixed-length string attribute equal to `text`? -1: it is there, or may be, and cannot be read. */
int h5_text_is(hid_t loc, const char *name, const char *text);

/* Write attributes; < 0 on failure. `count` 0: a scalar. */
herr_t h5_put(hid_t loc, const char *name, hid_t stored, hid_t memory, int count, const void *from);
herr_t h5_put_real(hid_t loc, const char *name, double x);
herr_t h5_put_whole(hid_t loc, const char *name, int x);
/* A fixed-length string: yt fails on variable-length ones. */
herr_t h5_put_text(hid_t loc, const char *name, const char *text);
#endif
