/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checkpoints are found, verified and read. */
#include <config.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/lines.h"
#include "base/memory.h"
#include "checkpoint/checkpoint_list.h"
#include "io/snapshot/snapshot.h"
#include "job/status.h"

enum { PATH = CHECKPOINT_PATH + 128, FORMAT = 1 };

/* Path, particles, bytes and checksum of a rank's file, from the manifest. `from`: the search starts after this line
 * (NULL: at the first) and moves it on. */
static int rank_line(const struct checkpoint *checkpoint, long long rank, const char **from, char path[PATH],
                     long long *particles, uint64_t *bytes, uint64_t *sum, struct fault *fault)
{
  char name[32];
  size_t length;
  unsigned long long b = 0, s = 0;
  *bytes = *sum = 0;
  snprintf(name, sizeof name, "rank_%05lld", rank);
  const char *value = manifest_value(checkpoint->text, *from, name, &length);
  if (!value || sscanf(value, "%lld %llu %llx", particles, &b, &s) != 3 || *particles < 0 || (uint64_t)*particles > b)
    return fault_set(fault, "%s/manifest has no valid entry for %s", checkpoint->path, name);
  snprintf(path, PATH, "%s/%s", checkpoint->path, name);
  *from = value;
  *bytes = b;
  *sum = s;
  return 0;
}

/* Rank 0: read the manifest and its first values. */
static int open_manifest(struct checkpoint *checkpoint, struct fault *fault)
{
  char path[PATH];
  long long format;
  snprintf(path, sizeof path, "%s/manifest", checkpoint->path);
  checkpoint->text = manifest_load(path, fault);
  if (!checkpoint->text) return -1;
  if (manifest_long(checkpoint->text, "format", &format, fault) == 0 && format != FORMAT)
    fault_set(fault, "%s: this version of the program reads format %d, not %lld", path, FORMAT, format);
  if (manifest_long(checkpoint->text, "ranks", &checkpoint->ranks, fault) ||
      manifest_long(checkpoint->text, "particles", &checkpoint->particles, fault) ||
      manifest_long(checkpoint->text, "number", &checkpoint->number, fault))
    return -1;
  if (checkpoint->ranks < 1 || checkpoint->particles < 1)
    fault_set(fault, "%s states %lld ranks and %lld particles", path, checkpoint->ranks, checkpoint->particles);
  return fault->text[0] ? -1 : 0;
}

/* Rank 0: a folder with the name of another checkpoint was renamed. It would be used in the place of that one, and be
 * replaced or removed with it. Other names are a user's. */
static int check_name(const struct checkpoint *checkpoint, struct fault *fault)
{
  char name[64];
  long long named = checkpoint_number(checkpoint->path);
  if (named < 0 || named == checkpoint->number) return 0;
  checkpoint_name(checkpoint->number, ENDING_NONE, name);
  return fault_set(fault, "%.600s was renamed: its manifest says that it is %s; give it that name again",
                   checkpoint->path, name);
}

char *checkpoint_manifest(const char *path)
{
  struct checkpoint one = {.text = NULL};
  struct fault damaged = {""};
  struct stat st;
  const char *from = NULL;
  snprintf(one.path, sizeof one.path, "%.1000s", path);
  if (open_manifest(&one, &damaged) == 0) check_name(&one, &damaged);
  for (long long r = 0; r < one.ranks && !damaged.text[0]; r++) {
    char file[PATH];
    long long particles;
    uint64_t bytes, checksum;
    if (rank_line(&one, r, &from, file, &particles, &bytes, &checksum, &damaged)) break;
    if (stat(file, &st) != 0 || (uint64_t)st.st_size != bytes) fault_set(&damaged, "%s", file);
  }
  if (damaged.text[0]) checkpoint_close(&one);
  return one.text;
}

/* The files are distributed over the ranks, which verify them. Collective. */
static int verify(const struct comm *comm, const struct checkpoint *checkpoint, struct fault *fault)
{
  long long sum = 0;
  const char *from = NULL;
  for (long long r = 0; r < checkpoint->ranks && !fault->text[0]; r++) {
    char path[PATH];
    long long particles;
    uint64_t bytes, checksum;
    if (rank_line(checkpoint, r, &from, path, &particles, &bytes, &checksum, fault)) break;
    sum += particles;
    if (r % comm->size == comm->rank) sections_verify(path, bytes, checksum, fault);
  }
  if (!fault->text[0] && sum != checkpoint->particles)
    fault_set(fault, "%s/manifest states %lld particles, the files hold %lld", checkpoint->path, checkpoint->particles,
              sum);
  return comm_agree(comm, fault);
}

/* Broadcast `checkpoint` and its manifest from rank 0. */
static void broadcast(const struct comm *comm, struct checkpoint *checkpoint)
{
  int64_t bytes = checkpoint->text ? (int64_t)strlen(checkpoint->text) + 1 : 0;
  char *text = checkpoint->text;
  bytes = comm_max_int64(comm, comm->rank == 0 ? bytes : 0);
  comm_broadcast(comm, checkpoint, sizeof *checkpoint);
  checkpoint->text = comm->rank == 0 ? text : memory_alloc("checkpoint", (size_t)bytes);
  comm_broadcast(comm, checkpoint->text, (size_t)bytes);
}

/* Read the manifest of checkpoint->path and verify all files. Collective. 0 or -1. */
static int open_path(const struct comm *comm, struct checkpoint *checkpoint, struct fault *fault)
{
  checkpoint->text = NULL;
  if (comm->rank == 0 && open_manifest(checkpoint, fault) == 0) check_name(checkpoint, fault);
  if (comm_verdict(comm, fault) == 0) {
    broadcast(comm, checkpoint);
    if (verify(comm, checkpoint, fault) == 0) return 0;
  }
  checkpoint_close(checkpoint);
  return -1;
}

/* Rank 0: the next candidate, from new to old, after the one with number `below` and ending `*ending`; with `exactly`
 * >= 0 only those of that number. 1; 0 if there is none. */
static int next_name(const char *folder, long long below, long long exactly, char path[CHECKPOINT_PATH],
                     long long *number, enum ending *ending)
{
  int count, found = 0;
  struct checkpoint_name *list = checkpoint_list(folder, &count);
  for (int k = 0; k < count && !found; k++) {
    int tried = list[k].number > below || (list[k].number == below && list[k].ending <= *ending);
    if (list[k].ending > ENDING_OLD || tried || (exactly >= 0 && list[k].number != exactly)) continue;
    snprintf(path, CHECKPOINT_PATH, "%.900s/%s", folder, list[k].name);
    *number = list[k].number;
    *ending = list[k].ending;
    found = 1;
  }
  memory_free(list);
  return found;
}

/* Rank 0: the fault if there is no checkpoint, with advice. */
static int no_checkpoint(const struct params *params, const char *folder, struct fault *fault)
{
  char snapshot[2 * PARAM_TEXT + 32], advice[96] = "set CheckpointAtEnd = on the next time";
  long long step;
  double time;
  if (snapshot_last(params->OutputDir, params->SnapshotFileBase, snapshot, sizeof snapshot))
    return fault_set(fault, "there is no checkpoint in %.300s; start a new run, without --restart", folder);
  if (!status_finished(params, &step, &time) && params->TimeBetCheckpoints > 0)
    snprintf(advice, sizeof advice, "TimeBetCheckpoints = %g (minutes) sets how often one is written",
             params->TimeBetCheckpoints);
  else if (!status_finished(params, &step, &time))
    snprintf(advice, sizeof advice, "with TimeBetCheckpoints = 0 none is written at intervals");
  return fault_set(
      fault,
      "there is no checkpoint in %.300s; start a run from the last snapshot, InitCondFile = %.400s, with another "
      "OutputDir; %s",
      folder, snapshot, advice);
}

/* The newest valid checkpoint in the folder, or that of the number `exactly` >= 0. Collective. 0 or -1. */
static int find_in(const struct comm *comm, const struct params *params, const char *folder, long long exactly,
                   struct checkpoint *checkpoint, struct fault *fault)
{
  long long below = INT64_MAX;
  enum ending ending = ENDING_NONE;
  struct fault last = {""};
  for (;;) {
    struct fault reason = {""};
    int found = comm->rank == 0 ? next_name(folder, below, exactly, checkpoint->path, &below, &ending) : 0;
    if (!comm_max_int64(comm, found)) break;
    if (open_path(comm, checkpoint, &reason) == 0) return 0;
    last = reason;
    if (comm->rank == 0) fprintf(stderr, "espalier: a damaged checkpoint is skipped: %s\n", reason.text);
  }
  if (last.text[0]) return fault_set(fault, "no good checkpoint in %s: %.700s", folder, last.text);
  if (exactly >= 0) return fault_set(fault, "there is no checkpoint %lld in %s", exactly, folder);
  return comm->rank == 0 ? no_checkpoint(params, folder, fault)
                         : fault_set(fault, "there is no checkpoint in %s", folder);
}

static int is_number(const char *text)
{
  size_t n = strspn(text, "0123456789");
  return n > 0 && n < 18 && text[n] == 0;
}

/* A value of the manifest as text; empty if it is missing. */
static void text_value(const struct checkpoint *checkpoint, const char *name, char *value, size_t size)
{
  size_t length = 0;
  const char *at = manifest_value(checkpoint->text, NULL, name, &length);
  snprintf(value, size, "%.*s", at ? (int)length : 0, at ? at : "");
}

/* Rank 0: whether a run with this OutputDir wrote the checkpoint. `theirs` becomes the OutputDir of the run that wrote
 * it. Runs may share one CheckpointDir; a checkpoint in OutputDir itself belongs to it, also after a move or a copy. If
 * `theirs` exists the folders are compared, else their names. */
static int by_this_output(const struct params *params, const struct checkpoint *checkpoint,
                          char theirs[CHECKPOINT_PATH])
{
  char name[PARAM_TEXT];
  text_value(checkpoint, OUTPUT_FOLDER, theirs, CHECKPOINT_PATH);
  text_value(checkpoint, "Output:OutputDir", name, sizeof name);
  if (!params->CheckpointDir[0]) return 1;
  if (theirs[0] && access(theirs, F_OK) == 0) return folder_same(theirs, params->OutputDir);
  if (!theirs[0] || strcmp(name, params->OutputDir) != 0) snprintf(theirs, CHECKPOINT_PATH, "%s", name);
  return strcmp(name, params->OutputDir) == 0 || folder_same(name, params->OutputDir);
}

int checkpoint_check_others(const struct params *params, struct fault *fault)
{
  char folder[CHECKPOINT_PATH], theirs[CHECKPOINT_PATH];
  int count;
  if (!params->CheckpointDir[0]) return 0;
  checkpoint_folder(params, folder);
  struct checkpoint_name *list = checkpoint_list(folder, &count);
  for (int k = 0; k < count && !fault->text[0]; k++) {
    struct checkpoint one = {.text = NULL};
    struct fault damaged = {""};
    if (list[k].ending != ENDING_NONE && list[k].ending != ENDING_OLD) continue;
    snprintf(one.path, sizeof one.path, "%.900s/%.100s", folder, list[k].name);
    if (open_manifest(&one, &damaged) == 0 && !by_this_output(params, &one, theirs) && access(theirs, F_OK) == 0)
      fault_set(fault,
                "CheckpointDir = %.250s has checkpoints of another run (%s, with OutputDir = %.250s): choose another "
                "CheckpointDir for "
                "this one",
                params->CheckpointDir, list[k].name, theirs);
    memory_free(one.text);
  }
  memory_free(list);
  return fault->text[0] ? -1 : 0;
}

/* Refuse a checkpoint of a run with another OutputDir unless it was chosen by its path. Collective. 0 or -1. */
static int check_owner(const struct comm *comm, const struct params *params, int by_path, struct checkpoint *checkpoint,
                       struct fault *fault)
{
  char theirs[CHECKPOINT_PATH];
  if (comm->rank == 0) checkpoint->own_output = by_this_output(params, checkpoint, theirs);
  comm_broadcast(comm, &checkpoint->own_output, sizeof checkpoint->own_output);
  if (checkpoint->own_output || by_path) return 0;
  char word[2 * CHECKPOINT_PATH];
  if (comm->rank == 0)
    fault_set(fault,
              "%.250s is of a run with OutputDir = %.200s, but this run has OutputDir = %.200s; to restart from it "
              "nevertheless give "
              "--restart %.250s",
              checkpoint->path, theirs, params->OutputDir, shell_text("", checkpoint->path, word, sizeof word));
  comm_verdict(comm, fault);
  checkpoint_close(checkpoint);
  return -1;
}

int checkpoint_find(const struct comm *comm, const struct params *params, const char *which,
                    struct checkpoint *checkpoint, struct fault *fault)
{
  char folder[CHECKPOINT_PATH], above[PATH + 4];
  memset(checkpoint, 0, sizeof *checkpoint);
  checkpoint_folder(params, folder);
  checkpoint->own_folder = 1;
  int last = !which || strcmp(which, "last") == 0;
  if (last || is_number(which))
    return find_in(comm, params, folder, last ? -1 : atoll(which), checkpoint, fault)
               ? -1
               : check_owner(comm, params, 0, checkpoint, fault);
  snprintf(checkpoint->path, sizeof checkpoint->path, "%.1000s", which);
  for (size_t n = strlen(checkpoint->path); n > 1 && checkpoint->path[n - 1] == '/'; n--) checkpoint->path[n - 1] = 0;
  snprintf(above, sizeof above, "%s/..", checkpoint->path);
  checkpoint->own_folder = folder_same(above, folder);
  return open_path(comm, checkpoint, fault) ? -1 : check_owner(comm, params, 1, checkpoint, fault);
}

void checkpoint_close(struct checkpoint *checkpoint)
{
  memory_free(checkpoint->text);
  checkpoint->text = NULL;
}

/* --- particles --------------------------------------------------------------------------------------------------- */

/* The index of a field's section in a file of `rows` particles; negative with a fault. */
static int field_section(const struct sections *in, const char *path, const struct particle_field *field,
                         long long rows, struct fault *fault)
{
  int s = sections_find(in, field->name);
  if (s >= 0 && in->at[s].bytes == field->bytes * (uint64_t)rows) return s;
  return fault_set(fault, "%s does not have %s of its %lld particles in the layout of this version of the program",
                   path, field->name, rows);
}

int checkpoint_check(const struct comm *comm, const struct checkpoint *checkpoint, struct fault *fault)
{
  const char *from = NULL;
  for (long long r = 0; r < checkpoint->ranks && !fault->text[0]; r++) {
    char path[PATH];
    long long particles;
    uint64_t bytes, sum;
    struct sections in;
    if (rank_line(checkpoint, r, &from, path, &particles, &bytes, &sum, fault)) break;
    if (r % comm->size != comm->rank || sections_open(&in, path, fault)) continue;
    for (int n = 0; n < particle_field_count; n++) field_section(&in, path, &particle_fields[n], particles, fault);
    sections_close(&in);
  }
  return comm_agree(comm, fault);
}

/* Read `count` rows of one file from row `first` on to particles `at` and following. */
static int read_rows(const char *path, long long rows, long long first, long long count, struct particles *particles,
                     int64_t at, struct fault *fault)
{
  struct sections in;
  if (sections_open(&in, path, fault)) return -1;
  for (int k = 0; k < particle_field_count && !fault->text[0]; k++) {
    const struct particle_field *field = &particle_fields[k];
    int s = field_section(&in, path, field, rows, fault);
    char *to = *particles_array(particles, field) + field->bytes * (size_t)at;
    if (s >= 0) sections_read(&in, s, field->bytes * (uint64_t)first, to, field->bytes * (uint64_t)count, fault);
  }
  sections_close(&in);
  return fault->text[0] ? -1 : 0;
}

/* This rank's share of the particles in the order of the files: [first, first + count). */
static void equal_share(const struct comm *comm, const struct checkpoint *checkpoint, long long *first,
                        long long *count)
{
  long long each = checkpoint->particles / comm->size, rest = checkpoint->particles % comm->size;
  *first = each * comm->rank + (comm->rank < rest ? comm->rank : rest);
  *count = each + (comm->rank < rest);
}

int checkpoint_particles(const struct comm *comm, const struct checkpoint *checkpoint, struct particles *particles_,
                         struct fault *fault)
{
  long long first, count, begins = 0, particles;
  const char *from = NULL;
  char path[PATH];
  uint64_t bytes, sum;
  int same = checkpoint->ranks == comm->size;
  equal_share(comm, checkpoint, &first, &count);
  for (long long r = 0; r < checkpoint->ranks && same; r++) { /* each rank reads its own file */
    if (rank_line(checkpoint, r, &from, path, &particles, &bytes, &sum, fault)) break;
    if (r == comm->rank) {
      first = begins;
      count = particles;
    }
    begins += particles;
  }
  particles_reserve(particles_, count + count / 8 + 16);
  particles_->n = count;
  from = NULL;
  begins = 0;
  for (long long r = 0; r < checkpoint->ranks && begins < first + count && !fault->text[0]; r++) {
    if (rank_line(checkpoint, r, &from, path, &particles, &bytes, &sum, fault)) break;
    long long low = first > begins ? first : begins,
              high = first + count < begins + particles ? first + count : begins + particles;
    if (low < high) read_rows(path, particles, low - begins, high - low, particles_, low - first, fault);
    begins += particles;
  }
  if (comm_agree(comm, fault) == 0) return 0;
  particles_free(particles_);
  return -1;
}

int checkpoint_own(const struct comm *comm, const struct checkpoint *checkpoint, const struct section *own, int count)
{
  struct sections in;
  struct fault f = {""};
  char path[PATH];
  int read = 0;
  if (checkpoint->ranks != comm->size) return 0;
  snprintf(path, sizeof path, "%s/rank_%05d", checkpoint->path, comm->rank);
  if (sections_open(&in, path, &f)) return 0;
  for (int n = 0; n < count; n++) {
    int s = sections_find(&in, own[n].name);
    if (s >= 0 && in.at[s].bytes == own[n].bytes) read += sections_read(&in, s, 0, own[n].data, own[n].bytes, &f) == 0;
  }
  sections_close(&in);
  return read;
}
