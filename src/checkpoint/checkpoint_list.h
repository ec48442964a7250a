/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checkpoints in a folder, by name. For this folder only. All functions are local. */
#ifndef CHECKPOINT_LIST_H
#define CHECKPOINT_LIST_H
#include "checkpoint/checkpoint.h"

/* Key of the manifest: the absolute path of OutputDir. */
#define OUTPUT_FOLDER "output_folder"

/* The ending of a name is the state of a checkpoint. */
enum ending {
  ENDING_NONE,   /* complete */
  ENDING_OLD,    /* ".old": complete; being replaced by another one of the same number */
  ENDING_TMP,    /* ".tmp": being written */
  ENDING_UNUSED, /* ".unused": newer than the checkpoint from which a run restarted */
};

struct checkpoint_name {
  long long number;
  enum ending ending;
  char name[64];
};

/* The number in the name of the folder at `path`; -1 where it is not the name of a checkpoint. */
long long checkpoint_number(const char *path);
/* All checkpoints in a folder, the newest first; those of one number in the order of their endings. Free with
 * memory_free. */
struct checkpoint_name *checkpoint_list(const char *folder, int *count);
/* The name of a checkpoint, "checkpoint_000012" and the ending. */
void checkpoint_name(long long number, enum ending ending, char name[64]);
/* Whether this program writes files of that name into a checkpoint; for folder_drop. */
int checkpoint_file(const char *name, const void *unused);
/* Remove a checkpoint; failures are ignored. It is renamed to NAME.tmp first. Where it has files of others these stay,
 * in a folder of the ending .unused. */
void checkpoint_drop(const char *folder, const char *name);
#endif
