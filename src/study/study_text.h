/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A study of LETs on the terminal: three tables of numbers of ranks, and a legend. All functions are for rank 0 and
 * print to stdout. */
#ifndef STUDY_TEXT_H
#define STUDY_TEXT_H
#include "study/soft_step.h"
#include "study/virtual.h"

/* The columns, as the legend below the tables and the help explain them: of the first table, of the second, of the
 * third. */
#define STUDY_TEXT_SIZES                                                                                              \
  "  soft, hard LETs for full forces at a synchronisation; for the forces of the substeps that follow\n"              \
  "  N_soft, N_hard  entries (cells and particles) received. N_soft counts cells of LET summaries, N_hard does not\n" \
  "  LETs            ranks whose LETs a rank receives\n"                                                              \
  "  alone, + N/P    N_hard / N_soft, and (N/P + N_hard) / (N/P + N_soft)\n"
#define STUDY_TEXT_MESSAGES                                                                                       \
  "  messages, MB    boxes of a rank's particles and LETs, as sent by a rank; 1 MB is 1e6 bytes\n"                \
  "  corrected       sent in a substep in which all particles and cells of LETs were corrected\n"                 \
  "  LET summaries   the upper cells of the trees of other ranks, by which it selects LETs; messages: 0 with an " \
  "allgather\n"                                                                                                   \
  "  held            MB of them in memory, mean and most\n"                                                       \
  "  ranks, groups   ranks, and groups of other ranks, whose summaries a rank has in the end\n"                   \
  "  suffice         ranks and groups whose summaries are enough for full forces: they send no LET\n"
#define STUDY_TEXT_STEP "Parts of the messages of a soft step, and their phases in comm.csv:\n"

/* The system that is studied, in code units. */
struct study_facts {
  const char *scheme;
  double particles, r0, r1, r2, soft_step; /* r1 and r2: 0 without a split */
  int quads;                               /* 1: cells of LET summaries carry second moments */
};

/* Mean and maximum over ranks. */
struct spread {
  double mean, largest;
};

/* What one number of ranks has: sums over ranks, and mean and maximum. */
struct study_sums {
  struct soft_step_traffic part[SOFT_STEP_PART_COUNT], all, collectives; /* of a soft step, sums over ranks */
  double selections, moment_updates;
  int edge; /* as in struct soft_step */
  struct spread local, tops, own, updates;
  struct {
    struct spread entries, cells, particles, contacts, messages, bytes, summary_messages, summary_bytes, known, groups,
        held;
  } let[LET_KINDS];
  /* the two curves of Watanabe & Nakasato 2014, fig. 4; the first is NaN where nothing is received */
  double hard_over_soft, with_local;
};

/* Rows that are printed at the end of a study, and parts of soft steps that need a line of the legend.
 * Zero-initialise. */
struct study_text {
  struct study_sums *row; /* [rows] */
  int *ranks;             /* [rows] */
  int rows, parts;        /* parts: bits 1 << enum soft_step_part */
};

/* Print what is studied and the head of the first table. `processes`: number of MPI processes. */
void study_text_begin(struct study_text *text, const struct study_facts *facts, int processes);
/* Print the row of one number of ranks; `seconds`: time of its count. */
void study_text_row(struct study_text *text, int ranks, const struct study_sums *sums, double seconds);
/* Print that real ranks agree (`difference` NULL) or how they differ. */
void study_text_compared(int ranks, const char *difference);
/* Print the other tables. */
void study_text_end(struct study_text *text, const struct study_facts *facts);
/* Print the legend of all tables. */
void study_text_legend(const struct study_text *text);

/* Say which of the numbers of ranks are larger than that of particles, if any. */
void study_text_few_particles(const int *ranks, int count, double particles);
#endif
