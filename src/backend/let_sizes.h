/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of LETs and their updates in the form of the CUDA backend, for studies, which count them without a device.
 * gpu/let checks them. */
#ifndef LET_SIZES_H
#define LET_SIZES_H
#include <stddef.h>
#include <stdint.h>

#include "backend/let_verbs.h"

/* A node, its motion, its second moments, a particle, its motion, a particle of an update; arrays begin at multiples of
 * LET_ALIGN bytes. */
enum {
  LET_NODE_BYTES = 32,
  LET_MOTION_BYTES = 32,
  LET_QUAD_BYTES = 24,
  LET_BODY_BYTES = 16,
  LET_STATE_BYTES = 32,
  LET_ENTRY_BYTES = 40,
  LET_ALIGN = 64
};

static inline size_t let_device_array(int64_t count, int bytes)
{
  return ((size_t)count * (size_t)bytes + LET_ALIGN - 1) / LET_ALIGN * LET_ALIGN;
}

/* A LET; `quad` 1: with second moments, `moving` 1: of substeps. */
static inline size_t let_device_bytes(int64_t nodes, int64_t bodies, int quad, int moving)
{
  return LET_HEAD + let_device_array(nodes, LET_NODE_BYTES) + let_device_array(bodies, LET_BODY_BYTES) +
         (quad ? let_device_array(nodes, LET_QUAD_BYTES) : 0) +
         (moving ? let_device_array(nodes, LET_MOTION_BYTES) + let_device_array(bodies, LET_STATE_BYTES) : 0);
}

/* An update with `entries` particles and so many nodes. */
static inline size_t let_device_update_bytes(int64_t nodes, int64_t entries, int quad)
{
  return LET_HEAD + (size_t)nodes * (LET_NODE_BYTES + LET_MOTION_BYTES) +
         (quad ? let_device_array(nodes, LET_QUAD_BYTES) : 0) + (size_t)entries * LET_ENTRY_BYTES;
}

/* Whether nodes of LETs carry second moments there: with monopole cells local expansions of full walks by acceleration
 * use them too. */
static inline int let_device_quads(const struct let_request *request)
{
  return request->mac->order == 2 || mac_mixes_cells(request->mac);
}
#endif
