/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hard walk of groups where the types differ in their softenings. */
#define UNLIKE 1
#include "gpu/hard_walk/hard_walk.cuh"
