/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LET summaries in stages: every rank gets the summaries of the ranks near it, and of the others summaries of groups.
 * The number of messages grows with the logarithm of the number of ranks, and their bytes with powers of it once the
 * number of near ranks does not grow any more. Without MPI: mpi/let/let_gather.c sends the messages, src/study/ counts
 * them.
 *
 * Groups are those of a binary tree over the ranks (tree/halves.h). The summary of a group has what that of a rank has:
 * the top of a tree, a box around all targets, or cuboids that no particle leaves. Two groups of the same depth are
 * separated where neither needs a LET of the other, by their summaries; this is symmetric. Then no rank of one has a
 * contact with a rank of the other, and the group's cells stand for its ranks in the upper tree.
 *
 *   upwards     for the depths from the ranks to the halves of all, a rank and its partner in the other half exchange
 *               the summaries of their groups; so a rank knows the groups that it is in, and the other halves of the
 *               groups above them
 *   downwards   for the depths from the halves of all to the ranks, a rank sends its partner in the other half what it
 *               has of all groups that are not separated from this half, and are in none that is; summaries of a depth
 *               are complete when this depth is done
 *
 * In the end every other rank is in one of `group`, which are separated from the group of this rank, or it is one of
 * `known`: r is known to s where s is known to r. */
#ifndef STAGES_H
#define STAGES_H
#include "mpi/let/let.h"
#include "tree/halves.h"

enum { STAGES_DEPTH = 31 };

/* The number of a group or a rank in struct halves, and its summary: a struct let_summary or, packed 1, as it is in a
 * message. */
struct stage_entry {
  int32_t number, packed;
  const void *summary;
};
struct stage_list {
  struct stage_entry *entry; /* [count] */
  int count, capacity;
};

/* Whether pairs of groups are separated, for many virtual ranks that ask for the same pairs. Zero-initialise. */
struct stage_memo {
  uint64_t *pair;
  int64_t count, capacity;
};
/* Forget all pairs. */
void stage_memo_clear(struct stage_memo *memo);
void stage_memo_free(struct stage_memo *memo);

struct stages {
  const struct halves *tree;
  const struct lattice *lattice;
  const struct let_request *request;
  struct stage_memo *memo; /* or NULL */
  /* of virtual ranks: their summaries by number, to which those of groups are added; NULL: this struct owns its own */
  struct let_summary **table;
  char **block; /* [blocks] messages, in which summaries are */
  int blocks;
  size_t block_bytes;
  int32_t number; /* of this rank */
  /* by depth: of its groups (last, the rank), of their other halves */
  struct let_summary *own[STAGES_DEPTH + 1], *other[STAGES_DEPTH + 1];
  char near[STAGES_DEPTH + 1];          /* own and other group are not separated */
  struct stage_list held, known, group; /* what it passes on; the results, ascending by number */
};

/* The fewest ranks whose summaries come in stages. */
int stages_ranks(void);
/* 1: the exchange of such a request by `ranks` ranks is in stages. Pure. */
int stages_wanted(const struct let_request *request, int ranks);
/* Begin for a rank with this summary, of which a copy is made; with a table (or NULL) its summary is in it already.
 * Owner: caller (stages_close; the summaries in a table are the caller's too). */
void stages_open(struct stages *stages, const struct halves *tree, const struct lattice *lattice,
                 const struct let_request *request, int rank, const struct let_summary *own,
                 struct let_summary **table);
void stages_close(struct stages *stages);

/* Steps: [0, stages_steps). All ranks make all of them in this order. */
int stages_steps(const struct halves *tree);
/* 1: summaries of groups are made in this step, and written to the table of virtual ranks; 0: it is only read. Pure. */
int stages_upwards(const struct halves *tree, int step);
/* The group whose halves exchange messages in a step. Ranks of different ones seldom ask for the same pairs of groups.
 * Pure. */
int32_t stages_group(const struct stages *stages, int step);
/* The ranks that this rank sends a message in a step, and those that it receives one from; at most two. Pure. */
struct stage_peers {
  int to[2], sends, from[2], receives;
};
struct stage_peers stages_peers(const struct stages *stages, int step);
/* What it sends rank `to` in a step: a list of entries that stays valid until the end of the step; emptied first. */
void stages_send(const struct stages *stages, int step, int to, struct stage_list *message);
/* Receive a message of virtual ranks, whose summaries are in the table; or bytes[length], a block of memory_alloc that
 * becomes part of `stages`. */
void stages_receive(struct stages *stages, int step, const struct stage_list *message);
void stages_unpack(struct stages *stages, int step, char *bytes, size_t length);
/* All messages of the step have been received. */
void stages_end(struct stages *stages, int step);

/* The bytes of a message of a step, and the message itself. Tops have what their receiver and those to which it passes
 * them on may need (top_enough). */
size_t stages_bytes(const struct stages *stages, int step, const struct stage_list *message);
size_t stages_pack(const struct stages *stages, int step, const struct stage_list *message, void *bytes);
/* The summary of an entry, in `scratch` if need be. */
const struct let_summary *stage_see(const struct let_request *request, const struct stage_entry *entry,
                                    struct let_summary *scratch);
void stage_list_free(struct stage_list *list);

/* The summary of a group: of a rank alone (b NULL), or of two halves. Pure. */
void stages_merge(struct let_summary *group, const struct let_summary *a, const struct let_summary *b,
                  const struct lattice *lattice, const struct let_request *request);
/* 1 where two groups need LETs of each other, by their summaries. Pure. */
int stages_near(const struct lattice *lattice, const struct let_request *request, const struct let_summary *a,
                const struct let_summary *b);
#endif
