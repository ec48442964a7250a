/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages from device to device by NCCL, whose library is looked for when the program runs: ESPALIER_NCCL names a file, else the
 * loader finds the one that configure was told of (libnccl.so.2). A round is one group of sends and receives, which NCCL carries out in
 * one kernel on a stream of its own. */
#include <config.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device.cuh"
#include "let.cuh"
#include "memory.h"

#ifndef ESP_NCCL_LIBRARY
#define ESP_NCCL_LIBRARY "libnccl.so.2"
#endif

/* What is used of NCCL's interface, which has been the same since version 2.7. */
struct unique_id {
  char internal[LINK_KEY];
};
typedef void *communicator;
enum { NCCL_BYTES = 0, NCCL_GOOD = 0, NCCL_RUNNING = 7, LEAST_VERSION = 2700 };

static struct {
  int looked;
  char about[128];
  int (*get_version)(int *);
  int (*get_unique_id)(struct unique_id *);
  int (*init_rank)(communicator *, int, struct unique_id, int);
  int (*destroy)(communicator);
  int (*get_async_error)(communicator, int *);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*send)(const void *, size_t, int, int, communicator, cudaStream_t);
  int (*recv)(void *, size_t, int, int, communicator, cudaStream_t);
  const char *(*get_error_string)(int);
} nccl;

struct nccl_way {
  communicator comm;
  cudaStream_t stream;
  cudaEvent_t ready, begun, ended;   /* `ready`: what other streams must have done before */
};

/* --- the library ------------------------------------------------------------------------------------------------- */

/* Every call goes through this. */
static void check(int status, const char *call)
{
  if (status != NCCL_GOOD) fatal("NCCL: %s: %s", call, nccl.get_error_string(status));
}
#define NCCL(call) check(nccl.call, #call)

/* A function of the library; 0 where it has none of this name. */
template <typename F> static int find(void *library, F *function, const char *name)
{
  *function = (F)dlsym(library, name);
  return *function != NULL;
}

static int find_all(void *library)
{
  return find(library, &nccl.get_version, "ncclGetVersion") && find(library, &nccl.get_unique_id, "ncclGetUniqueId") &&
         find(library, &nccl.init_rank, "ncclCommInitRank") && find(library, &nccl.destroy, "ncclCommDestroy") &&
         find(library, &nccl.get_async_error, "ncclCommGetAsyncError") && find(library, &nccl.group_start, "ncclGroupStart") &&
         find(library, &nccl.group_end, "ncclGroupEnd") && find(library, &nccl.send, "ncclSend") && find(library, &nccl.recv, "ncclRecv") &&
         find(library, &nccl.get_error_string, "ncclGetErrorString");
}

/* NVLink's multicast (NVLS) has no use in sends and receives, and takes resources of the machine that others share. */
static int look(void)
{
  const char *name = getenv("ESPALIER_NCCL");
  int version = 0;
  if (nccl.looked) return nccl.looked > 0;
  nccl.looked = -1;
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  if (!name || !*name) name = ESP_NCCL_LIBRARY;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(nccl.about, sizeof nccl.about, "%.80s is not found", name);
  } else if (!find_all(library) || nccl.get_version(&version) != NCCL_GOOD || version < LEAST_VERSION) {
    snprintf(nccl.about, sizeof nccl.about, "%.80s is too old, or not NCCL", name);
  } else {
    nccl.looked = 1;
    int major = version >= 10000 ? version / 10000 : version / 1000;
    snprintf(nccl.about, sizeof nccl.about, "NCCL %d.%d.%d", major, version >= 10000 ? version / 100 % 100 : version / 100 % 10, version % 100);
  }
  return nccl.looked > 0;
}

/* --- the verbs --------------------------------------------------------------------------------------------------- */

static int nccl_probe(char *about, size_t size)
{
  int there = look();
  snprintf(about, size, "%s", nccl.about);
  return there;
}

static int nccl_key(char key[LINK_KEY], char *why, size_t size)
{
  struct unique_id id;
  int status = nccl.get_unique_id(&id);
  if (status != NCCL_GOOD) {
    snprintf(why, size, "no key: %s", nccl.get_error_string(status));
    return -1;
  }
  memcpy(key, &id, LINK_KEY);
  return 0;
}

/* Queue a round behind what is queued; NCCL's status, which is bad where devices find no way to each other. */
static int queue_round(struct device *d, int count, const struct link_message *m)
{
  struct nccl_way *w = d->nccl;
  cudaStream_t before[2] = {d->stream, d->lets->stream};
  for (int k = 0; k < 2; k++) {
    CHECK(cudaEventRecord(w->ready, before[k]));
    CHECK(cudaStreamWaitEvent(w->stream, w->ready, 0));
  }
  CHECK(cudaEventRecord(w->begun, w->stream));
  int status = nccl.group_start();
  for (int k = 0; k < count && status == NCCL_GOOD; k++) {
    if (m[k].bytes == 0) continue;
    if (m[k].arrives)
      status = nccl.recv(m[k].at, m[k].bytes, NCCL_BYTES, m[k].peer, w->comm, w->stream);
    else
      status = nccl.send(m[k].at, m[k].bytes, NCCL_BYTES, m[k].peer, w->comm, w->stream);
  }
  int ended = nccl.group_end();   /* connections are made here */
  CHECK(cudaEventRecord(w->ended, w->stream));
  return status == NCCL_GOOD ? ended : status;
}

static void nccl_post(struct device *d, int count, const struct link_message *m)
{
  if (count > 0) check(queue_round(d, count, m), "a round of messages between devices");
}

static int nccl_done(struct device *d, double *seconds)
{
  struct nccl_way *w = d->nccl;
  float milliseconds = 0;
  int error = NCCL_GOOD;
  cudaError_t status = cudaEventQuery(w->ended);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();   /* it is none, and must not be found later */
    NCCL(get_async_error(w->comm, &error));
    if (error != NCCL_RUNNING) check(error, "messages between devices");
    return 0;
  }
  CHECK(status);
  CHECK(cudaEventElapsedTime(&milliseconds, w->begun, w->ended));
  *seconds = 1e-3 * milliseconds;
  return 1;
}

static void close_way(struct device *d)
{
  struct nccl_way *w = d->nccl;
  CHECK(cudaStreamSynchronize(w->stream));
  if (w->comm) NCCL(destroy(w->comm));
  CHECK(cudaEventDestroy(w->ready));
  CHECK(cudaEventDestroy(w->begun));
  CHECK(cudaEventDestroy(w->ended));
  CHECK(cudaStreamDestroy(w->stream));
  memory_free(w);
  d->nccl = NULL;
}

/* Every rank sends some bytes to all others: connections are made at once, and what arrives is looked at. */
static int try_all(struct device *d, int rank, int ranks, char *why, size_t size)
{
  enum { EACH = 64 };
  size_t bytes = (size_t)ranks * EACH;
  struct link_message *m = (struct link_message *)memory_alloc("transport", sizeof *m * 2 * (size_t)ranks);
  char *sent = (char *)device_alloc("device exchange", 2 * bytes), *got = sent + bytes, *told = (char *)memory_alloc("transport", bytes);
  int count = 0, wrong = 0;
  CHECK(cudaMemsetAsync(sent, rank % 251 + 1, bytes, d->stream));
  CHECK(cudaMemsetAsync(got, 0, bytes, d->stream));
  for (int k = 1; k < ranks; k++) {
    int to = (rank + k) % ranks, from = (rank + ranks - k) % ranks;
    const struct link_message out = {to, 0, sent + (size_t)to * EACH, EACH}, in = {from, 1, got + (size_t)from * EACH, EACH};
    m[count++] = out;
    m[count++] = in;
  }
  int status = ranks > 1 ? queue_round(d, count, m) : NCCL_GOOD;
  CHECK(cudaStreamSynchronize(d->nccl->stream));
  CHECK(cudaMemcpyAsync(told, got, bytes, cudaMemcpyDeviceToHost, d->stream));
  gpu_wait(d);
  for (int r = 0; r < ranks; r++)
    for (int b = 0; b < EACH && r != rank; b++) wrong |= told[r * EACH + b] != (char)(r % 251 + 1);
  if (status != NCCL_GOOD)
    snprintf(why, size, "rank %d could not send to all others: %s", rank, nccl.get_error_string(status));
  else if (wrong)
    snprintf(why, size, "what rank %d was sent in a trial did not arrive as it was", rank);
  wrong |= status != NCCL_GOOD;
  device_free("device exchange", sent, 2 * bytes);
  memory_free(told);
  memory_free(m);
  return wrong ? -1 : 0;
}

static int nccl_open(struct device *d, const char key[LINK_KEY], int rank, int ranks, char *why, size_t size)
{
  struct nccl_way *w = d->nccl = (struct nccl_way *)memory_alloc("device", sizeof *w);
  struct unique_id id;
  int least, most;
  memcpy(&id, key, LINK_KEY);
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &most));
  CHECK(cudaStreamCreateWithPriority(&w->stream, cudaStreamNonBlocking, most));   /* messages go before the walk's blocks */
  CHECK(cudaEventCreateWithFlags(&w->ready, cudaEventDisableTiming));
  CHECK(cudaEventCreate(&w->begun));
  CHECK(cudaEventCreate(&w->ended));
  CHECK(cudaEventRecord(w->begun, w->stream));
  CHECK(cudaEventRecord(w->ended, w->stream));
  int status = nccl.init_rank(&w->comm, ranks, id, rank);
  if (status != NCCL_GOOD) {
    w->comm = NULL;
    cudaGetLastError();
    snprintf(why, size, "it does not start: %s", nccl.get_error_string(status));
  } else if (try_all(d, rank, ranks, why, size) == 0) {
    return 0;
  }
  close_way(d);
  return -1;
}

extern "C" const struct link gpu_link = {"nccl", nccl_probe, nccl_key, nccl_open, close_way, nccl_post, nccl_done};
