/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard walk of groups where all particles have the same softening. */
#define UNLIKE 0
#include "gpu/hard_walk/hard_walk.cuh"
