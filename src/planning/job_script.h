/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job script for Slurm that fits a plan. */
#ifndef JOB_SCRIPT_H
#define JOB_SCRIPT_H
#include "forecast/machine.h"
#include "planning/planning.h"

/* Whether it can be written. 0 or -1. */
int job_script_check(const struct planning *planning, struct fault *fault);
/* Write planning->job. `seconds`: of the run; 0: not known. 0 or -1. */
int job_script_write(const struct planning *planning, const struct machine *machine, double seconds,
                     struct fault *fault);
#endif
