/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internal declarations of the count of virtual ranks: what virtual.c, soft_step.c and src/forecast/more_pairs.c share. */
#ifndef VIRTUAL_PARTS_H
#define VIRTUAL_PARTS_H
#include "study/virtual.h"
#include "study/virtual_stages.h"

/* The work of a process. The particles of domain r are index[begin[r]], ..., index[begin[r + 1] - 1] of all particles. */
struct virtual_exchange {
  const struct comm *c;
  struct global_particles *w;
  int ranks, threads;          /* threads: those of the process before the count */
  int device_ranks;            /* of the device: 0: one; l->ranks: LETs of all are attached at a time */
  struct domain domain;
  struct device *d;            /* holds the particles of one domain after the other */
  int64_t *begin, *index;
  /* The exchange that is counted at present. */
  enum let_kind kind;
  struct let_request request;  /* without boxes; its tick: 0, or that of a line with a new tree */
  struct let_summary *summary; /* [ranks] */
  struct let_box **boxes;      /* [ranks] within box_memory */
  void *box_memory;
  /* Called for every LET that was selected, with the bytes of its boxes: by the process of the sender, whose tree the device has. */
  void (*selected)(struct virtual_exchange *l, int sender, int receiver, size_t box_bytes, struct let_choice *choice);
  struct virtual_gather gather;
  void (*gathered)(struct virtual_exchange *l);   /* called when summaries are in `gather`; or NULL */
  virtual_stage_message *staged;                  /* called with this struct for messages of stages; or NULL */
  void (*top)(struct virtual_exchange *l, int receiver, int cells);   /* of a rank or a group the receiver needs cells of the summary alone; or NULL */
  void (*received)(struct virtual_exchange *l);   /* called when all LETs are selected, with summaries and boxes; or NULL */
  void *sink;                  /* of these three */
  double begun, share;         /* parts of the whole work: done before this exchange; of this exchange */
  void (*progress)(void *of, double done);
  void *of;
};

/* Cut space into l->ranks domains and assign the particles to them; l->c, l->w, l->ranks, l->progress and l->of are set. Collective. */
void virtual_open(struct virtual_exchange *l);
/* Make the trees of this process's domains, and select all LETs of an exchange. Collective. */
void virtual_exchange_lets(struct virtual_exchange *l);
/* Make the device that of rank r, with its particles and its tree. Local. */
void virtual_build_tree(struct virtual_exchange *l, int r);
/* Free everything. Local. */
void virtual_close(struct virtual_exchange *l);
#endif
