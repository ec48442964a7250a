/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names in a folder of checkpoints. Local; for checkpoint.c and checkpoint_read.c. */
#ifndef CHECKPOINT_LIST_H
#define CHECKPOINT_LIST_H
#include "checkpoint.h"

/* In the manifest: the whole name of OutputDir. */
#define OUTPUT_FOLDER "output_folder"

/* What a name may end in: nothing: a good one; another one of the same number came in its place, or was about to; not complete;
 * set aside. */
enum ending { ENDING_NONE, ENDING_OLD, ENDING_TMP, ENDING_UNUSED };

struct checkpoint_name {
  long long number;
  enum ending ending;
  char name[64];
};

/* All of them, newest first, good ones before others of the same number. Owner: caller (memory_free). */
struct checkpoint_name *checkpoint_list(const char *folder, int *count);
/* "checkpoint_000012" and the ending. */
void checkpoint_name(long long number, enum ending ending, char name[64]);
/* Whether a file within a checkpoint is one that this program writes; for folder_drop. */
int checkpoint_file(const char *name, const void *unused);
/* Remove one; what cannot be removed stays. */
void checkpoint_drop(const char *folder, const char *name);
#endif
