/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verbs of a backend for locally essential trees (LETs): optional table of struct backend.
 *
 * Sender: boxes and summary (exchanged by all), select (one message for each receiver), later updates.pack. Receiver:
 * buffer, attach, later updates.apply. A LET is one message, a tree with links relative to itself. Its first LET_HEAD
 * bytes are always in host memory; with exchange->bypass on, the rest (the body) is in device memory. All ranks of a
 * run have the same backend, so formats are its own. */
#ifndef LET_VERBS_H
#define LET_VERBS_H
#include <stddef.h>
#include <stdint.h>

#include "tree/let_data.h"
#ifdef __cplusplus
extern "C" {
#endif

struct device;

enum { LET_HEAD = 64 }; /* bytes of a LET or update that are always in host memory */

/* What an update of a LET contains. */
enum let_update_scope {
  SCOPE_CORRECTED, /* the particles corrected at this tick, if any */
  SCOPE_CELLS,     /* these, and all cells: moments were updated at this tick */
  /* the particles corrected at the tick of the selection, whose cells are still valid; many particles */
  SCOPE_ALL_CORRECTED,
  /* the particles of LET_SLOW corrected at this tick, few of them: LET_STEP is selected again before it is walked */
  SCOPE_SLOW_CORRECTED
};

/* One receiver in a selection. */
struct let_choice {
  int peer;                    /* rank */
  const struct let_box *boxes; /* [box_count] of its groups */
  int box_count;
  size_t bytes; /* out: of its message; 0: it needs nothing */
  /* out: owner device, valid until `sent`, or the next selection of this kind for this peer */
  void *message;
  /* out, LETs of substeps: tick at which an entry is corrected next; TICKS: not in this soft step */
  int32_t next;
  /* out, of the CPU backend: bytes of the message in the form of the request (as_device) */
  size_t counted;
};

/* Corrections of the LETs of substeps. */
struct backend_let_updates {
  /* Begin to track corrections and prediction-bound violations of what `select` has chosen for LET_STEP and LET_SLOW
   * since `clear`. The request is that of LET_STEP. Before: boxes and select for it. Violations are not tracked for
   * LETs of a part of the tree. */
  void (*watch)(struct device *d, const struct let_request *request);
  /* Pack the update for `peer` after `correct` at this tick. Must be called for every peer with a LET at every tick
   * with corrections; with SCOPE_CELLS moments must be of this tick (LET_OF_ALL only). *next: tick at which one of its
   * entries is corrected next. *message: owner device, valid until the next call. Returns the bytes; 0 where the peer
   * has no LET, and with SCOPE_CORRECTED where no entry was corrected. SCOPE_SLOW_CORRECTED: *next is TICKS. */
  size_t (*pack)(struct device *d, int peer, int32_t tick, enum let_update_scope scope, int32_t *next, void **message);
  /* The message of the last update becomes the caller's, who frees it with memory_free. NULL: it must be copied. */
  void (*take)(struct device *d);
  /* With bypass on. After `pack` gave the head of an update with SCOPE_CELLS or SCOPE_ALL_CORRECTED: its body; and
   * memory for the body of an arriving one, which the next `apply` for the peer reads. NULL: updates are always in host
   * memory. */
  void *(*body)(struct device *d, int peer);
  void *(*buffer)(struct device *d, int peer, size_t bytes);
  /* Upper bound on the bytes of an update for `peer`. */
  size_t (*bytes_max)(struct device *d, int peer);
  /* The bytes of an update with `entries` particles and `cells` cells, for a LET of such a request: for studies. NULL:
   * not known. */
  size_t (*bytes)(const struct let_request *request, int64_t entries, int64_t cells);
  /* Apply an update to the LET of `peer`; the message may be freed afterwards. Returns the number of particles in
   * it. */
  int64_t (*apply)(struct device *d, int peer, const void *message, size_t bytes);
  /* Number of particles of the last `correct` that have left, or will leave before the end of the horizon, the bounds
   * on their predicted trajectories that the selection of LETs assumed. *late: those that have left already; added
   * to. */
  int64_t (*violations)(struct device *d, int64_t *late);
};

struct backend_let {
  /* Write at most `capacity` boxes around this rank's particles, positions predicted to the request's tick, for its
   * horizon. Each particle is in one of them: groups are divided where there is a horizon, if the backend can. Returns
   * their number; empty boxes are left out. The request's boxes are ignored. Before: groups. */
  int (*boxes)(struct device *d, const struct let_request *request, int capacity, struct let_box *boxes);
  /* Queue the work of the call of `boxes` that follows with the same request and capacity, for the groups and positions
   * of now; reorder, build and groups may come in between. The request is of substeps and of active particles. NULL:
   * `boxes` does all. */
  void (*begin_boxes)(struct device *d, const struct let_request *request, int capacity);
  /* Write the LET summary without its boxes: number of particles and, at a synchronisation, the top of the tree
   * (tree/upper.h). Before: moments. */
  void (*summary)(struct device *d, const struct let_request *request, struct let_summary *summary);
  /* Select and pack the LETs of `count` receivers, each a different peer. The request's boxes are ignored. Before:
   * moments at the request's tick. Nodes are in the order of the local tree (breadth-first); a message does not depend
   * on the other receivers. */
  void (*select)(struct device *d, enum let_kind kind, const struct let_request *request, int count,
                 struct let_choice *choice);
  /* The message of the last selection of this kind for `peer` has been sent: its memory may be freed. NULL: the device
   * keeps it. */
  void (*sent)(struct device *d, enum let_kind kind, int peer);
  /* Memory for a message of `bytes` from `peer`. Owner: device. */
  void *(*buffer)(struct device *d, enum let_kind kind, int peer, size_t bytes);
  /* Attach the message in `buffer` to the forest; `bytes` 0 removes the peer from the forest. Adds to *count. */
  void (*attach)(struct device *d, enum let_kind kind, int peer, size_t bytes, struct let_count *count);
  /* With bypass on. After `select` and `buffer` gave the heads: the body of the selected message (packed by queued work
   * at the latest), and memory for the body of a message of `bytes` in all. NULL: the body follows the head. */
  void *(*body)(struct device *d, enum let_kind kind, int peer);
  void *(*body_buffer)(struct device *d, enum let_kind kind, int peer, size_t bytes);
  /* Make the tree node[nodes] with second moments quad[nodes], cells of other ranks, the LET of peer `self`. 0 nodes:
   * there is none. */
  void (*upper)(struct device *d, enum let_kind kind, int self, int64_t nodes, const struct node *node,
                const float (*quad)[6]);
  /* 1: walks of the request's LETs use second moments of cells. NULL: those with quadrupole cells alone. */
  int (*quads)(const struct let_request *request);
  /* Remove all LETs of a kind. */
  void (*clear)(struct device *d, enum let_kind kind);

  /* The size of the LET that was selected for `peer` and not changed since, and of LETs of substeps its particles at
   * each block level, count[32]: for studies. NULL: not known. */
  struct let_count (*entries)(struct device *d, enum let_kind kind, int peer, int64_t *count);
  struct backend_let_updates updates;
};

#ifdef __cplusplus
}
#endif
#endif
