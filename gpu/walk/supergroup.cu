/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of supergroups where all particles have the same softening. */
#define UNLIKE 0
#include "gpu/walk/supergroup.cuh"
