/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "planning/job_script.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folders.h"
#include "base/lines.h"

/* A job has so many times the planned seconds, for what the plan leaves out, and at least and at most so many seconds.
 * Runs that take longer go on in further jobs. */
#define MARGIN 1.3
#define JOB_MIN 1800
#define JOB_MAX 86400

int job_script_check(const struct planning *planning, struct fault *fault)
{
  struct stat st;
  if (!planning->machine) return fault_set(fault, "--job: needs --machine, which has the ranks of a node");
  char folder[1024];
  const char *slash = strrchr(planning->job, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - planning->job) + 1 : 1, slash ? planning->job : ".");
  if (access(folder, W_OK)) /* before anything is measured */
    return fault_set(fault, "%s: cannot be written: %s", planning->job, strerror(errno));
  if (stat(planning->job, &st) != 0) return 0;
  if (S_ISDIR(st.st_mode)) return fault_set(fault, "%s: expected a file name, found a folder", planning->job);
  if (planning->overwrite) return 0;
  return fault_set(fault, "%s: already exists; give another name, or --overwrite to replace it", planning->job);
}

/* The options of the plan, as those of the run. */
static void print_options(FILE *out, const struct planning *planning)
{
  char until[200];
  snprintf(until, sizeof until, "Time:TimeMax=%s", planning->until ? planning->until : "");
  for (int k = 0; k < planning->option_count + (planning->until != NULL); k++) {
    const char *option = k < planning->option_count ? planning->options[k] : until;
    fputs(" --option -P --option ", out);
    shell_word(out, option);
    if (strncmp(option, "Output:OutputDir=", 17) != 0) continue;
    fputs(" --directory ", out);
    shell_word(out, option + 17);
  }
}

static void print(FILE *out, const struct planning *planning, const struct machine *machine, double seconds)
{
  double each = fmin(planning->ranks, machine->network.ranks_per_node), nodes = ceil(planning->ranks / each);
  double job = seconds > 0 ? fmin(fmax(MARGIN * seconds, JOB_MIN), JOB_MAX) : JOB_MAX;
  int gpu = machine->device == DEVICE_gpu, minutes = (int)ceil(job / 60);
  fprintf(out,
          "#!/bin/bash\n"
          "# Written by espalier plan: %.0f particles on %d ranks of %s, ",
          planning->particles, planning->ranks, machine->name);
  if (seconds > 0) fprintf(out, "about %.3g hours.\n", seconds / 3600);
  else fprintf(out, "for an unknown time.\n");
  fprintf(out,
          "# sbatch %s%s; change the lines marked CHANGE. doc/job-scripts.md explains the rest.\n"
          "#SBATCH --job-name=espalier\n#SBATCH --nodes=%.0f\n#SBATCH --ntasks-per-node=%.0f\n",
          planning->job, planning->parameters ? "" : " FILE.ini", nodes, each);
  if (gpu) fprintf(out, "#SBATCH --gpus-per-node=%.0f\n", each);
  fprintf(out,
          "#SBATCH --cpus-per-task=%d       # CHANGE: cores of a rank; tasks x cpus = the cores of a node\n"
          "#SBATCH --exclusive\n#SBATCH --mem=0\n#SBATCH --time=%02d:%02d:00\n#SBATCH --output=%%x-%%j.log\n"
          "#SBATCH --signal=B:USR1@%d\n#SBATCH --requeue\n#SBATCH --open-mode=append\nset -eu\n\n",
          gpu ? 16 : 1, minutes / 60, minutes % 60, job < 7200 ? 300 : 900);
  if (planning->parameters) {
    fputs("parameters=${1:-", out);
    shell_word(out, planning->parameters);
    fputs("}\n", out);
  } else fprintf(out, "parameters=${1:?usage: sbatch %s FILE.ini}\n", planning->job);
  fputs("# module load gcc openmpi hdf5    # CHANGE: the modules that espalier was built with\n"
        "export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores OMP_PROC_BIND=close\n"
        "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n"
        "exec espalier-job --again \"scontrol requeue $SLURM_JOB_ID\"",
        out);
  print_options(out, planning);
  fputs(" \"$parameters\" \\\n", out);
  fprintf(out, "  mpirun -n %d --map-by \"ppr:$SLURM_NTASKS_PER_NODE:node:PE=$SLURM_CPUS_PER_TASK\" --bind-to core\n",
          planning->ranks);
}

int job_script_write(const struct planning *planning, const struct machine *machine, double seconds,
                     struct fault *fault)
{
  FILE *out = fopen(planning->job, "w");
  if (!out) return fault_set(fault, "%s: cannot be written: %s", planning->job, strerror(errno));
  print(out, planning, machine, seconds);
  if (ferror(out) | (fclose(out) != 0))
    return fault_set(fault, "%s: cannot be written: %s", planning->job, strerror(errno));
  printf("job script          %s\n", planning->job);
  return 0;
}
