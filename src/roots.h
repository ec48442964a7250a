/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roots of other ranks' trees as one tree. Walks take at most eight children at a time: the roots are the leaves of a
 * tree with eight branches to a cell, whose cells no target accepts. */
#ifndef ROOTS_H
#define ROOTS_H
#include "backend.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Nodes of the tree over so many roots, at least one. */
int64_t roots_nodes(int count);
/* The tree over the cards' roots into node[roots_nodes(count)]; with their second moments where `quad` is not NULL. */
void roots_tree(int count, const struct let_card *const *cards, struct node *node, float (*quad)[6]);

#ifdef __cplusplus
}
#endif
#endif
