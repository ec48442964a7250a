/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internal declarations of the count of virtual ranks: what virtual.c, soft_step.c and src/forecast/more_pairs.c
 * share. */
#ifndef VIRTUAL_PARTS_H
#define VIRTUAL_PARTS_H
#include "step/schedule.h"
#include "study/virtual.h"
#include "study/virtual_stages.h"

/* A LET that was selected. */
struct virtual_let {
  int32_t receiver;
  int32_t at_level[SCHEDULE_LEVELS]; /* LETs of substeps: its particles at each block level */
  size_t box_bytes, bytes;           /* of the receiver's boxes, of the LET */
  struct let_count size;
  void *message;        /* [message_bytes] with `keep`: the callback's to free (memory_free) */
  size_t message_bytes; /* of the CPU backend, where `bytes` are those of a device */
};

struct virtual_exchange;

/* What an exchange calls. */
struct virtual_callbacks {
  /* For every LET that was selected, by the process of the sender, in the order of senders. */
  void (*selected)(struct virtual_exchange *exchange, int sender, const struct virtual_let *let);
  void (*gathered)(struct virtual_exchange *exchange); /* when summaries are in `gather`; or NULL */
  virtual_stage_message *staged; /* with the struct virtual_exchange, for messages of stages; or NULL */
  /* Of a rank or a group the receiver needs cells of the summary alone; called by several threads at a time; or
   * NULL. */
  void (*top)(struct virtual_exchange *exchange, int receiver, int cells);
  /* when all LETs are selected, with summaries and boxes; or NULL */
  void (*received)(struct virtual_exchange *exchange);
  void *sink; /* of these */
};

/* Parts of the whole work, and the callback that reports them. */
struct virtual_progress {
  double begun, share; /* done before this exchange; of this exchange */
  void (*report)(void *of, double done);
  void *of;
};

/* The work of a process. The particles of domain r are index[begin[r]], ..., index[begin[r + 1] - 1] of all
 * particles. */
struct virtual_exchange {
  const struct comm *c;
  struct global_particles *w;
  int ranks, threads; /* threads: those of the process before the count */
  int device_ranks;   /* of the first device: 0: one; `ranks`: LETs of all are attached at a time */
  int keep;           /* 1: callbacks get the messages of LETs */
  struct domain domain;
  struct device **d; /* [at_once] each holds the particles of one domain after the other */
  int at_once;
  int64_t *begin, *index;
  /* The exchange that is counted at present. */
  enum let_kind kind;
  struct let_request request;  /* without boxes; its tick: 0, or that of a line with a new tree */
  struct let_summary *summary; /* [ranks] */
  struct let_box **boxes;      /* [ranks] within box_memory */
  void *box_memory;
  struct virtual_gather gather;
  struct virtual_callbacks call;
  struct virtual_progress progress;
};

/* Cut space into exchange->ranks domains and assign the particles to them; exchange->c, exchange->w, exchange->ranks
 * and exchange->progress are set. Collective. */
void virtual_open(struct virtual_exchange *exchange);
/* Make the trees of this process's domains, and select all LETs of an exchange. Collective. */
void virtual_exchange_lets(struct virtual_exchange *exchange);
/* Make the device that of rank r, with its particles and its tree. Local. */
void virtual_build_tree(const struct virtual_exchange *exchange, struct device *d, int r);
/* Free everything. Local. */
void virtual_close(struct virtual_exchange *exchange);
#endif
