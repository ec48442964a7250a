/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of groups where the types differ in their softenings. */
#define UNLIKE 1
#include "gpu/walk/group_walk.cuh"
