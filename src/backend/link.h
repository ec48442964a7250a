/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verbs of a backend between ranks: migration of particles, and messages from device to device. Optional tables of
 * struct backend. */
#ifndef LINK_H
#define LINK_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

struct device;
struct domain; /* cuts of space into px py pz cuboids (mpi/domain.h); device code reads them through tree/cuboids.h */

/* Migration of particles between ranks. */
struct backend_exchange {
  /* Keep long messages in device memory from now on (`on`): those of pack, unpack and unpack_room, and the bodies of
   * LETs (backend/let_verbs.h). NULL: messages are in host memory. */
  void (*bypass)(struct device *d, int on);
  /* Remove the particles whose owner is another rank and pack them by destination. Owners follow from the positions at
   * `tick` (0 at a synchronisation; within a soft step `reorder` of all must follow). counts[ranks]: particles for each
   * rank; *buffer: these particles in rank order, owner device, valid until the next call. Returns the number of
   * particles that stay; their order may change. */
  int64_t (*pack)(struct device *d, const struct domain *domain, int self, int32_t tick, double tick_length,
                  int64_t *counts, void **buffer);
  /* With bypass on: memory for arriving particles, valid until the next call. NULL like bypass. */
  void *(*unpack_buffer)(struct device *d, size_t bytes);
  /* Append `count` packed particles. */
  void (*unpack)(struct device *d, const void *buffer, int64_t count);
};

/* A message between this rank's device and another's. */
struct link_message {
  int peer, arrives; /* rank; 1: received, 0: sent */
  void *at;          /* device memory */
  size_t bytes;      /* known to both sides */
};

enum { LINK_KEY = 128 };

/* Messages from device to device. */
struct link {
  const char *name;
  /* 1 where this process has the link, with its version in about[size]; else 0 with the reason. Local. */
  int (*probe)(char *about, size_t size);
  /* Rank 0 makes a key; all ranks then open the link with it, each on a device of its own. 0, or -1 with the reason in
   * why[size]. `open` is collective. */
  int (*key)(char key[LINK_KEY], char *why, size_t size);
  int (*open)(struct device *d, const char key[LINK_KEY], int rank, int ranks, char *why, size_t size);
  void (*close)(struct device *d);
  /* Post a round of messages behind the work that is queued on the device. Both sides must post each message in the
   * same round; the order within a round is free. */
  void (*post)(struct device *d, int count, const struct link_message *message);
  /* 1 when the last round is complete; then *seconds is its time on the device, waiting included. */
  int (*done)(struct device *d, double *seconds);
};

#ifdef __cplusplus
}
#endif
#endif
