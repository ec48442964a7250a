/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the exchange folder: buffers of migrating particles and the link between devices. Data only. */
#ifndef GPU_EXCHANGE_STATE_CUH
#define GPU_EXCHANGE_STATE_CUH
#include "gpu/device/memory.cuh"

struct nccl_link;

struct exchange_state {
  struct array<char> packed;   /* particles that leave or arrive, on the device */
  void *host_packed;           /* the same on the host */
  size_t host_packed_bytes;    /* its capacity */
  struct array<char> arriving; /* particles that arrive on the device directly */
  struct nccl_link *link;      /* see nccl.cu */
};

void exchange_state_free(struct exchange_state *state);
#endif
