/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing of checkpoints. */
#include <config.h>
#include "checkpoint/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/memory.h"
#include "base/revision.h"
#include "checkpoint/checkpoint_list.h"
#include "checkpoint/recall.h"

enum { PATH = CHECKPOINT_PATH + 128, MANIFEST_BYTES = 65536 };

/* The file of a rank, as stated in the manifest. */
struct written {
  int64_t particles;
  uint64_t bytes, sum;
};

struct writing {
  const struct comm *c;
  const struct params *p;
  const struct checkpoint_content *content;
  char folder[CHECKPOINT_PATH], temporary[PATH], path[PATH], old[PATH];
  int created; /* rank 0: the temporary folder exists */
};

static void rank_file(const char *folder, int rank, char path[PATH + 24])
{
  snprintf(path, PATH + 24, "%s/rank_%05d", folder, rank);
}

/* The sections of this rank's file: the fields of the particles, then those of the caller. */
static int list_sections(const struct checkpoint_content *content, const struct particles *particles,
                         struct section *section)
{
  int n = 0;
  if (particle_field_count + content->own_count > SECTIONS_MAX)
    fatal("more than %d sections in a checkpoint", SECTIONS_MAX);
  for (int f = 0; f < particle_field_count; f++) {
    const struct particle_field *field = &particle_fields[f];
    section[n++] =
        (struct section){field->name, *particles_array(particles, field), field->bytes * (uint64_t)particles->n};
  }
  for (int k = 0; k < content->own_count; k++) section[n++] = content->own[k];
  return n;
}

/* Restore the name of a checkpoint whose replacement was not completed. */
static void restore_name(const struct writing *writing, const struct checkpoint_name *old)
{
  char name[64], from[PATH], to[PATH];
  checkpoint_name(old->number, ENDING_NONE, name);
  snprintf(from, sizeof from, "%s/%s", writing->folder, old->name);
  snprintf(to, sizeof to, "%s/%s", writing->folder, name);
  if (access(to, F_OK)) rename(from, to);
}

/* Rank 0: create the temporary folder if the disk has space for `bytes`. */
static int prepare(struct writing *writing, double bytes, struct fault *fault)
{
  int count;
  if (folder_make(writing->folder, writing->p->CheckpointDir[0] ? "CheckpointDir" : "OutputDir", fault)) return -1;
  struct checkpoint_name *list = checkpoint_list(writing->folder, &count);
  for (int k = 0; k < count; k++) { /* left by an attempt that failed */
    if (list[k].ending == ENDING_TMP) checkpoint_drop(writing->folder, list[k].name);
    if (list[k].ending == ENDING_OLD) restore_name(writing, &list[k]);
  }
  memory_free(list);
  double space = folder_free_bytes(writing->folder), needed = 1.05 * bytes + MANIFEST_BYTES;
  if (space >= 0 && space < needed)
    return fault_set(fault, "the disk has %.1f MB free in %s, but %.1f MB are needed", space / 1e6, writing->folder,
                     needed / 1e6);
  if (mkdir(writing->temporary, 0777))
    return fault_set(fault, "the folder %s cannot be created: %s", writing->temporary, strerror(errno));
  writing->created = 1;
  return 0;
}

/* Each rank verifies the file of the next rank. Reading another rank's file detects data that are only in the cache of
 * the node that wrote them. Collective; faults are set on some ranks only. */
static void verify_next(const struct writing *writing, const struct written *mine, struct fault *fault)
{
  const struct comm *c = writing->c;
  struct written next;
  char path[PATH + 24];
  int up = (c->rank + 1) % c->size, down = (c->rank + c->size - 1) % c->size;
  comm_shift(c, mine, down, &next, up, sizeof next);
  rank_file(writing->temporary, up, path);
  sections_verify(path, next.bytes, next.sum, fault);
}

static void write_parameters(FILE *out, const struct params *params)
{
  for (int i = 0; i < param_count; i++) {
    char value[PARAM_TEXT];
    params_format(params, &param_table[i], value, sizeof value);
    fprintf(out, "%s:%s = %s\n", param_table[i].section, param_table[i].name, value);
  }
}

/* The absolute path, because runs started in different folders may share one CheckpointDir. */
static void write_output_folder(FILE *out, const struct params *params)
{
  char *path = realpath(params->OutputDir, NULL);
  if (path && !strchr(path, '\n')) fprintf(out, OUTPUT_FOLDER " = %s\n", path);
  free(path);
}

/* Rank 0. */
static int write_manifest(const struct writing *writing, const struct written *all, struct fault *fault)
{
  char path[PATH + 24];
  int64_t particles = 0;
  struct manifest m;
  manifest_begin(&m);
  for (int r = 0; r < writing->c->size; r++) particles += all[r].particles;
  fprintf(m.out, "format = 1\nprogram = %s %s\nrevision = %s\nbackend = %s\n", PACKAGE_NAME, PACKAGE_VERSION, revision,
          writing->content->backend);
  fprintf(m.out, "ranks = %d\nparticles = %lld\nnumber = %lld\n", writing->c->size, (long long)particles,
          writing->content->number);
  write_output_folder(m.out, writing->p);
  items_write(m.out, writing->content->items, writing->content->item_count);
  write_parameters(m.out, writing->p);
  recall_write(m.out, writing->content->origin);
  for (int r = 0; r < writing->c->size; r++)
    fprintf(m.out, "rank_%05d = %lld %llu %016llx\n", r, (long long)all[r].particles, (unsigned long long)all[r].bytes,
            (unsigned long long)all[r].sum);
  snprintf(path, sizeof path, "%s/manifest", writing->temporary);
  return manifest_save(&m, path, fault);
}

/* Rank 0: flush the folder and rename it. An earlier checkpoint of the same number (the run reached this step before)
 * is kept as NAME.old until then. */
static int publish(const struct writing *writing, struct fault *fault)
{
  if (folder_flush(writing->temporary, fault)) return -1;
  int replaces = rename(writing->path, writing->old) == 0;
  if (rename(writing->temporary, writing->path)) {
    fault_set(fault, "%s cannot be renamed to %s: %s", writing->temporary, writing->path, strerror(errno));
    if (replaces && rename(writing->old, writing->path)) fault_set(fault, "%s: %s", writing->old, strerror(errno));
    return -1;
  }
  return folder_flush(writing->folder, fault);
}

/* Rank 0: remove all but the newest CheckpointsKept checkpoints. */
static void remove_oldest(const struct writing *writing)
{
  int count, good = 0;
  struct checkpoint_name *list = checkpoint_list(writing->folder, &count);
  for (int k = 0; k < count; k++) {
    /* of another run or of later steps: neither counted nor removed */
    int newer = list[k].number > writing->content->number;
    if (list[k].ending == ENDING_OLD && !newer) checkpoint_drop(writing->folder, list[k].name);
    if (list[k].ending != ENDING_NONE || newer) continue;
    if (++good > writing->p->CheckpointsKept) checkpoint_drop(writing->folder, list[k].name);
  }
  memory_free(list);
}

static void set_names(struct writing *writing)
{
  char name[64];
  checkpoint_folder(writing->p, writing->folder);
  checkpoint_name(writing->content->number, ENDING_NONE, name);
  snprintf(writing->path, sizeof writing->path, "%s/%s", writing->folder, name);
  checkpoint_name(writing->content->number, ENDING_TMP, name);
  snprintf(writing->temporary, sizeof writing->temporary, "%s/%s", writing->folder, name);
  checkpoint_name(writing->content->number, ENDING_OLD, name);
  snprintf(writing->old, sizeof writing->old, "%s/%s", writing->folder, name);
}

int checkpoint_write(const struct comm *comm, const struct params *params, const struct checkpoint_content *content,
                     const struct particles *particles, struct fault *fault)
{
  struct writing w = {.c = comm, .p = params, .content = content};
  struct section s[SECTIONS_MAX];
  char path[PATH + 24];
  int count = list_sections(content, particles, s);
  struct written mine = {particles->n, sections_bytes(s, count), 0}, *all = NULL;
  int64_t bytes = (int64_t)mine.bytes;
  size_t got;
  comm_sum_int64(comm, &bytes, 1);
  set_names(&w);
  if (comm->rank == 0) prepare(&w, (double)bytes, fault);
  int good = comm_verdict(comm, fault) == 0;
  if (good) {
    rank_file(w.temporary, comm->rank, path);
    sections_write(path, s, count, &mine.sum, fault);
    good = comm_agree(comm, fault) == 0;
  }
  if (good) {
    verify_next(&w, &mine, fault);
    good = comm_agree(comm, fault) == 0;
  }
  if (good) all = comm_gather_root(comm, &mine, sizeof mine, &got);
  if (comm->rank == 0 && good && write_manifest(&w, all, fault) == 0) publish(&w, fault);
  memory_free(all);
  good = comm_verdict(comm, fault) == 0;
  struct fault ignored = {""};
  if (w.created && !good && access(w.temporary, F_OK) == 0) folder_drop(w.temporary, checkpoint_file, NULL, &ignored);
  if (comm->rank == 0 && good) remove_oldest(&w);
  comm_barrier(comm); /* when any rank returns all folders have been renamed and removed */
  return good ? 0 : -1;
}
