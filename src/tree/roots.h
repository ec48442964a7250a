/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roots of the trees of other ranks as one tree: a cell has at most eight children, the roots are terminal cells, and every target
 * opens the cells above them. Local. */
#ifndef ROOTS_H
#define ROOTS_H
#include "tree/let_data.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Number of nodes of the tree over `count` roots (at least 1). */
int64_t roots_nodes(int count);
/* Write the tree over the roots of `summaries` [count] to node[roots_nodes(count)], and their second moments to quad[roots_nodes(count)]
 * (NULL: none). */
void roots_tree(int count, const struct let_summary *const *summaries, struct node *node, float (*quad)[6]);

#ifdef __cplusplus
}
#endif
#endif
