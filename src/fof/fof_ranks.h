/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links between domains. For this folder only. All functions are collective. */
#ifndef FOF_RANKS_H
#define FOF_RANKS_H
#include "fof/fof_book.h"
#include "fof/fof_tree.h"

/* Linking particles of this rank's domain, and the boxes around those of all ranks. */
struct fof_domain {
  const struct comm *c;
  struct fof_tree tree; /* linked */
  struct fof_box *box;  /* [ranks]; fof_empty: a rank without linking particles */
  int64_t *component;   /* [points] the component of each point within the domain: its first point */
  uint64_t *label;      /* [points] by component: the smallest id of the whole group as far as it is known */
  int64_t elements;     /* of the union-find: points, then components of other domains */
  int64_t guests;       /* of these, components of other domains */
  uint64_t *guest;      /* [guests] their labels within their domains */
  char *shared;         /* [points] by component: 1: other ranks may know its label */
};

/* Pairs of labels of the same group that the links between this domain and others give. Owner: caller (memory_free). */
struct fof_pair *fof_remote_links(struct fof_domain *domain, int64_t *pairs);
/* The nearest linking particle of any rank for each of points[count]: *best on input that of this rank, on output that
 * of all; label[i] is the label of its group, left alone where this rank has it or there is none. */
void fof_remote_nearest(const struct fof_domain *domain, const struct fof_point *points, int64_t count,
                        struct fof_nearest *best, uint64_t *label);

/* Make label[count] the smallest label that pairs of any rank connect it with. */
void fof_merge(const struct comm *comm, const struct fof_pair *pairs, int64_t count, uint64_t *label, int64_t labels);
#endif
