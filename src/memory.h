/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labelled memory: every large allocation has a name; current and peak bytes are kept per label.
 * Blocks are aligned to 64 bytes and zeroed. Not thread-safe: allocate outside parallel regions. */
#ifndef MEMORY_H
#define MEMORY_H
#include <stddef.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif

/* A zeroed block of `bytes` (never NULL; running out of memory is fatal and names the label). `label` must live on. */
void *memory_alloc(const char *label, size_t bytes);
/* Grow or shrink; keeps min(old, new) bytes, zeroes what is new. `block` may be NULL. */
void *memory_resize(const char *label, void *block, size_t bytes);
/* Free; NULL is allowed. */
void memory_free(void *block);
/* Count bytes that a device's own allocator gave out and took back: they are in the sums below. `label` must live on. */
void memory_note(const char *label, size_t plus, size_t minus);
/* Bytes now and at the peak, all labels together. */
size_t memory_current(void);
size_t memory_peak(void);
/* The larger labels' peaks, in bytes for each of so many particles: lines that begin with `indent` and have at most so many columns. */
void memory_report(FILE *out, double particles, const char *indent, int columns);
#ifdef __cplusplus
}
#endif
#endif
