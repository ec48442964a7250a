/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labelled memory: every large allocation has a label, whose bytes are counted. Blocks are aligned to 64 bytes and
 * zeroed. Blocks of 2 MiB and more are mappings of their own: their pages are taken from the system at first use and
 * given back when they are freed. Local. Threads of a parallel region may allocate, resize and free blocks of their
 * own; the other functions are for one thread. */
#ifndef MEMORY_H
#define MEMORY_H
#include <stddef.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Allocate a zeroed block of `bytes` bytes. Never NULL: exhausted memory is fatal. `label` must stay valid. */
void *memory_alloc(const char *label, size_t bytes);
/* Resize to `bytes` bytes. The first min(old, new) bytes are kept, further bytes are zero. `block` may be NULL. A
 * mapping is moved, not copied, so a long list may grow by little at a time. */
void *memory_resize(const char *label, void *block, size_t bytes);
/* Returns the number of elements of `size` bytes to which a list of `count` elements grows next: long lists by an
 * eighth. */
size_t memory_grown(size_t count, size_t size);
/* Free a block; NULL is allowed. */
void memory_free(void *block);
/* Count `plus` bytes that another allocator (a device's) handed out and `minus` bytes that it took back. `label` must
 * stay valid. */
void memory_note(const char *label, size_t plus, size_t minus);
/* Bytes of all labels: now, and at the peak. */
size_t memory_current(void);
size_t memory_peak(void);
/* Print what the larger labels had when the sum over all was largest, in bytes per particle, for `particles` particles,
 * in lines that begin with `indent` and have at most `columns` columns. */
void memory_report(FILE *out, double particles, const char *indent, int columns);
#ifdef __cplusplus
}
#endif
#endif
