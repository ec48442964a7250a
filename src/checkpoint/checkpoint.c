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
  int created;   /* rank 0: the temporary folder exists */
};

static void rank_file(const char *folder, int rank, char path[PATH + 24]) { snprintf(path, PATH + 24, "%s/rank_%05d", folder, rank); }

/* The sections of this rank's file: the fields of the particles, then those of the caller. */
static int list_sections(const struct checkpoint_content *content, const struct particles *p, struct section *s)
{
  int n = 0;
  if (particle_field_count + content->own_count > SECTIONS_MAX) fatal("more than %d sections in a checkpoint", SECTIONS_MAX);
  for (int f = 0; f < particle_field_count; f++) {
    const struct particle_field *field = &particle_fields[f];
    s[n++] = (struct section){field->name, *particles_array(p, field), field->bytes * (uint64_t)p->n};
  }
  for (int k = 0; k < content->own_count; k++) s[n++] = content->own[k];
  return n;
}

/* Restore the name of a checkpoint whose replacement was not completed. */
static void restore_name(const struct writing *w, const struct checkpoint_name *old)
{
  char name[64], from[PATH], to[PATH];
  checkpoint_name(old->number, ENDING_NONE, name);
  snprintf(from, sizeof from, "%s/%s", w->folder, old->name);
  snprintf(to, sizeof to, "%s/%s", w->folder, name);
  if (access(to, F_OK)) rename(from, to);
}

/* Rank 0: create the temporary folder if the disk has space for `bytes`. */
static int prepare(struct writing *w, double bytes, struct fault *f)
{
  int count;
  if (folder_make(w->folder, w->p->CheckpointDir[0] ? "CheckpointDir" : "OutputDir", f)) return -1;
  struct checkpoint_name *list = checkpoint_list(w->folder, &count);
  for (int k = 0; k < count; k++) {   /* left by an attempt that failed */
    if (list[k].ending == ENDING_TMP) checkpoint_drop(w->folder, list[k].name);
    if (list[k].ending == ENDING_OLD) restore_name(w, &list[k]);
  }
  memory_free(list);
  double space = folder_room(w->folder), needed = 1.05 * bytes + MANIFEST_BYTES;
  if (space >= 0 && space < needed)
    return fault_set(f, "the disk has %.1f MB free in %s, but %.1f MB are needed", space / 1e6, w->folder, needed / 1e6);
  if (mkdir(w->temporary, 0777)) return fault_set(f, "the folder %s cannot be created: %s", w->temporary, strerror(errno));
  w->created = 1;
  return 0;
}

/* Each rank verifies the file of the next rank. Reading another rank's file detects data that are only in the cache of the node
 * that wrote them. Collective; faults are set on some ranks only. */
static void verify_next(const struct writing *w, const struct written *mine, struct fault *f)
{
  const struct comm *c = w->c;
  struct written next;
  char path[PATH + 24];
  int up = (c->rank + 1) % c->size, down = (c->rank + c->size - 1) % c->size;
  comm_shift(c, mine, down, &next, up, sizeof next);
  rank_file(w->temporary, up, path);
  sections_verify(path, next.bytes, next.sum, f);
}

static void write_parameters(FILE *out, const struct params *p)
{
  for (int i = 0; i < param_count; i++) {
    char value[PARAM_TEXT];
    params_format(p, &param_table[i], value, sizeof value);
    fprintf(out, "%s:%s = %s\n", param_table[i].section, param_table[i].name, value);
  }
}

/* The absolute path, because runs started in different folders may share one CheckpointDir. */
static void write_output_folder(FILE *out, const struct params *p)
{
  char *path = realpath(p->OutputDir, NULL);
  if (path && !strchr(path, '\n')) fprintf(out, OUTPUT_FOLDER " = %s\n", path);
  free(path);
}

/* Rank 0. */
static int write_manifest(const struct writing *w, const struct written *all, struct fault *f)
{
  char path[PATH + 24];
  int64_t particles = 0;
  struct manifest m;
  manifest_begin(&m);
  for (int r = 0; r < w->c->size; r++) particles += all[r].particles;
  fprintf(m.out, "format = 1\nprogram = %s %s\nrevision = %s\nbackend = %s\n", PACKAGE_NAME, PACKAGE_VERSION, revision,
          w->content->backend);
  fprintf(m.out, "ranks = %d\nparticles = %lld\nnumber = %lld\n", w->c->size, (long long)particles, w->content->number);
  write_output_folder(m.out, w->p);
  items_write(m.out, w->content->items, w->content->item_count);
  write_parameters(m.out, w->p);
  for (int r = 0; r < w->c->size; r++)
    fprintf(m.out, "rank_%05d = %lld %llu %016llx\n", r, (long long)all[r].particles, (unsigned long long)all[r].bytes,
            (unsigned long long)all[r].sum);
  snprintf(path, sizeof path, "%s/manifest", w->temporary);
  return manifest_save(&m, path, f);
}

/* Rank 0: flush the folder and rename it. An earlier checkpoint of the same number (the run reached this step before) is kept as
 * NAME.old until then. */
static int publish(const struct writing *w, struct fault *f)
{
  if (folder_flush(w->temporary, f)) return -1;
  int replaces = rename(w->path, w->old) == 0;
  if (rename(w->temporary, w->path)) {
    fault_set(f, "%s cannot be renamed to %s: %s", w->temporary, w->path, strerror(errno));
    if (replaces && rename(w->old, w->path)) fault_set(f, "%s: %s", w->old, strerror(errno));
    return -1;
  }
  return folder_flush(w->folder, f);
}

/* Rank 0: remove all but the newest CheckpointsKept checkpoints. */
static void remove_oldest(const struct writing *w)
{
  int count, good = 0;
  struct checkpoint_name *list = checkpoint_list(w->folder, &count);
  for (int k = 0; k < count; k++) {
    int newer = list[k].number > w->content->number;   /* of another run or of later steps: neither counted nor removed */
    if (list[k].ending == ENDING_OLD && !newer) checkpoint_drop(w->folder, list[k].name);
    if (list[k].ending != ENDING_NONE || newer) continue;
    if (++good > w->p->CheckpointsKept) checkpoint_drop(w->folder, list[k].name);
  }
  memory_free(list);
}

static void set_names(struct writing *w)
{
  char name[64];
  checkpoint_folder(w->p, w->folder);
  checkpoint_name(w->content->number, ENDING_NONE, name);
  snprintf(w->path, sizeof w->path, "%s/%s", w->folder, name);
  checkpoint_name(w->content->number, ENDING_TMP, name);
  snprintf(w->temporary, sizeof w->temporary, "%s/%s", w->folder, name);
  checkpoint_name(w->content->number, ENDING_OLD, name);
  snprintf(w->old, sizeof w->old, "%s/%s", w->folder, name);
}

int checkpoint_write(const struct comm *c, const struct params *p, const struct checkpoint_content *content,
                     const struct particles *particles, struct fault *f)
{
  struct writing w = {.c = c, .p = p, .content = content};
  struct section s[SECTIONS_MAX];
  char path[PATH + 24];
  int count = list_sections(content, particles, s);
  struct written mine = {particles->n, sections_bytes(s, count), 0}, *all = NULL;
  int64_t bytes = (int64_t)mine.bytes;
  size_t got;
  comm_sum_int64(c, &bytes, 1);
  set_names(&w);
  if (c->rank == 0) prepare(&w, (double)bytes, f);
  int good = comm_verdict(c, f) == 0;
  if (good) {
    rank_file(w.temporary, c->rank, path);
    sections_write(path, s, count, &mine.sum, f);
    good = comm_agree(c, f) == 0;
  }
  if (good) {
    verify_next(&w, &mine, f);
    good = comm_agree(c, f) == 0;
  }
  if (good) all = comm_gather_root(c, &mine, sizeof mine, &got);
  if (c->rank == 0 && good && write_manifest(&w, all, f) == 0) publish(&w, f);
  memory_free(all);
  good = comm_verdict(c, f) == 0;
  struct fault ignored = {""};
  if (w.created && !good && access(w.temporary, F_OK) == 0) folder_drop(w.temporary, checkpoint_file, NULL, &ignored);
  if (c->rank == 0 && good) remove_oldest(&w);
  comm_barrier(c);   /* when any rank returns all folders have been renamed and removed */
  return good ? 0 : -1;
}
