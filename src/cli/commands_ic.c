/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command ic: make initial conditions of a model. */
#include <config.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "ic/ic.h"
#include "io/snapshot/snapshot.h"
#include "params/params.h"
#include "particles/particles.h"

/* Options that apply to one model only. */
static const struct model_option {
  const char *name, *model;
  size_t offset;
} model_options[] = {
    {"virial-ratio", "uniform", offsetof(struct ic_model, virial_ratio)},
    {"mass-ratio", "merger", offsetof(struct ic_model, mass_ratio)},
    {"separation", "merger", offsetof(struct ic_model, separation)},
    {"impact-parameter", "merger", offsetof(struct ic_model, impact_parameter)},
    {"relative-velocity", "merger", offsetof(struct ic_model, relative_velocity)},
};
enum { MODEL_OPTIONS = sizeof model_options / sizeof *model_options, MODEL_OPTION = 256, OVERWRITE = 300 };

struct request {
  struct ic_model model;
  const char *output;
  int overwrite, has_n;
  unsigned given;   /* bit i: model_options[i] */
};

static int take_option(const struct command *self, const struct comm *c, int option, struct request *q)
{
  long long whole;
  switch (option) {
  case 'n':
    if (command_whole(optarg, 1, IC_MAX, &whole))
      return command_misused(self, c, "option -n: expected a whole number of particles from 1 to 2^36, found '%s'", optarg);
    q->model.n = whole;
    q->has_n = 1;
    return STATUS_OK;
  case 's':
    if (command_whole(optarg, 0, LLONG_MAX, &whole))
      return command_misused(self, c, "option -s: expected a whole number from 0 to 2^63 - 1, found '%s'", optarg);
    q->model.seed = (uint64_t)whole;
    return STATUS_OK;
  case 'o': q->output = optarg; return STATUS_OK;
  case OVERWRITE: q->overwrite = 1; return STATUS_OK;
  }
  const struct model_option *m = &model_options[option - MODEL_OPTION];
  if (command_real(optarg, (double *)((char *)&q->model + m->offset)))
    return command_misused(self, c, "option --%s: expected a number, found '%s'", m->name, optarg);
  q->given |= 1u << (option - MODEL_OPTION);
  return STATUS_OK;
}

static int check_request(const struct command *self, const struct comm *c, const struct request *q)
{
  struct fault f = {""};
  if (!q->has_n) return command_misused(self, c, "option -n is missing");
  if (!q->output) return command_misused(self, c, "option -o is missing");
  for (int i = 0; i < MODEL_OPTIONS; i++)
    if (q->given >> i & 1 && strcmp(model_options[i].model, q->model.name) != 0)
      return command_misused(self, c, "option --%s belongs to model %s, not to %s", model_options[i].name, model_options[i].model,
                             q->model.name);
  return ic_check(&q->model, &f) ? command_misused(self, c, "%s", f.text) : STATUS_OK;
}

/* A fault where the output file could not be written. Called on rank 0 before the model is made. 0 or -1. */
static int check_writable(const struct request *q, struct fault *f)
{
  struct stat st;
  char folder[1024];
  const char *slash = strrchr(q->output, '/');
  if (stat(q->output, &st) == 0 && S_ISDIR(st.st_mode)) return fault_set(f, "%s: expected a file name, found a folder", q->output);
  if (stat(q->output, &st) == 0 && !q->overwrite)
    return fault_set(f, "%s: already exists; give another name, or --overwrite to replace it", q->output);
  if (slash == q->output)
    strcpy(folder, "/");
  else
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - q->output) : 1, slash ? q->output : ".");
  if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode)) errno = ENOTDIR;
  else if (access(folder, W_OK | X_OK) == 0) return 0;
  return fault_set(f, "%s: cannot be written: folder %s: %s", q->output, folder, strerror(errno));
}

static int make_file(const struct comm *c, const struct request *q, struct fault *f)
{
  if (c->rank == 0) check_writable(q, f);
  if (comm_verdict(c, f)) return -1;
  struct particles p;
  particles_init(&p);
  struct params par;
  params_defaults(&par);
  par.GravityConstantInternal = 1;   /* the models are in Henon units */
  struct snapshot_facts facts = {.params = &par, .gravity = 1};
  int failed = ic_make(c, &q->model, &p, f) || snapshot_write(c, q->output, &p, &facts, f);
  particles_free(&p);
  return failed ? -1 : 0;
}

static int act(const struct command *self, const struct comm *c, int argc, char **argv)
{
  struct option longs[MODEL_OPTIONS + 7] = {{NULL, 0, NULL, 0}};
  static const struct option common[] = {{"overwrite", no_argument, NULL, OVERWRITE}, {"seed", required_argument, NULL, 's'},
                                         {"output", required_argument, NULL, 'o'}, COMMAND_LONG};
  for (int i = 0; i < MODEL_OPTIONS; i++)
    longs[i] = (struct option){model_options[i].name, required_argument, NULL, MODEL_OPTION + i};
  memcpy(longs + MODEL_OPTIONS, common, sizeof common);
  struct request q = {.output = NULL};
  ic_defaults(&q.model);
  int status = STATUS_OK, option;
  while ((option = command_option(self, c, argc, argv, COMMAND_SHORT "n:s:o:", longs, &status)) != -1) {
    if (option == COMMAND_DONE) return status;
    if ((status = take_option(self, c, option, &q))) return status;
  }
  const char *name = command_operand(self, c, argc, argv, "model", &status);
  if (!name) return status;
  snprintf(q.model.name, sizeof q.model.name, "%s", name);
  if ((status = check_request(self, c, &q))) return status;
  struct fault f = {""};
  if (make_file(c, &q, &f)) return command_failed(c, &f);
  if (c->rank == 0)
    printf("%s: %lld particle%s of model %s, seed %llu; a parameter file for it needs [Units] GravityConstantInternal = 1\n", q.output,
           (long long)q.model.n, plural((double)q.model.n), name, (unsigned long long)q.model.seed);
  return STATUS_OK;
}

const struct command command_ic = {
    "ic", "ic MODEL -n N [-s SEED] [OPTION]... -o FILE.hdf5", "Make initial conditions of a model",
    "models (total mass 1, G = 1; give GravityConstantInternal = 1 in the parameter file):\n"
    "  plummer                 Plummer sphere, scale radius 3 pi / 16, energy -1/4\n"
    "  hernquist               Hernquist sphere, energy -1/4\n"
    "  uniform                 homogeneous sphere, energy -1/4\n"
    "  merger                  two Plummer spheres of particles of equal mass, types 1 and 2\n"
    "options:\n"
    "  -n N                    total number of particles, for example 100000 or 1e5\n"
    "  -s, --seed SEED         seed of the random numbers [1]\n"
    "  -o, --output FILE.hdf5  the file to write\n"
    "      --overwrite         replace the file if it exists\n"
    "      --virial-ratio Q    uniform: 2 T / |W|, 0 (cold) to 1.9 [0]\n"
    "      --mass-ratio Q      merger: mass of the second sphere over the first [1]\n"
    "      --separation D      merger: distance of the centres along x [3]\n"
    "      --impact-parameter B  merger: their offset along y [0.5]\n"
    "      --relative-velocity V  merger: their relative velocity along x, approaching [0.8]\n",
    act};
