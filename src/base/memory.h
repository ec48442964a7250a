/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labelled memory: every large allocation has a label, for which current and peak bytes are counted. Blocks are aligned to 64 bytes and
 * zeroed. Local. Not thread-safe: allocate outside parallel regions. */
#ifndef MEMORY_H
#define MEMORY_H
#include <stddef.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Allocate a zeroed block of `bytes` bytes. Never NULL: exhausted memory is fatal. `label` must stay valid. */
void *memory_alloc(const char *label, size_t bytes);
/* Resize to `bytes` bytes. The first min(old, new) bytes are kept, further bytes are zero. `block` may be NULL. */
void *memory_resize(const char *label, void *block, size_t bytes);
/* Free a block; NULL is allowed. */
void memory_free(void *block);
/* Count `plus` bytes that another allocator (a device's) handed out and `minus` bytes that it took back. `label` must stay valid. */
void memory_note(const char *label, size_t plus, size_t minus);
/* Bytes of all labels: now, and at the peak. */
size_t memory_current(void);
size_t memory_peak(void);
/* Print the peaks of the larger labels in bytes per particle, for `particles` particles, in lines that begin with `indent` and have at
 * most `columns` columns. */
void memory_report(FILE *out, double particles, const char *indent, int columns);
#ifdef __cplusplus
}
#endif
#endif
