/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages from device to device by NCCL. Its library is loaded at run time: ESPALIER_NCCL names a file, else it is the
 * one that configure was given (libnccl.so.2). A round is one group of sends and receives, which NCCL executes in one
 * kernel on a stream of its own. */
#include <config.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backend/link.h"
#include "base/memory.h"
#include "gpu/device/device.cuh"
#include "gpu/let/let.cuh"

#ifndef ESP_NCCL_LIBRARY
#define ESP_NCCL_LIBRARY LIBRARY_MESSAGES_FILE
#endif

/* The part of NCCL's interface that is used; unchanged since version 2.7. */
struct unique_id {
  char internal[LINK_KEY];
};
typedef void *communicator;
enum { NCCL_BYTES = 0, NCCL_GOOD = 0, NCCL_RUNNING = 7, NCCL_VERSION_MIN = 2700 };

static struct {
  int load_state; /* 0: not tried; 1: loaded; -1: not available, for the reason in `about` */
  char about[128];
  int (*get_version)(int *);
  int (*get_unique_id)(struct unique_id *);
  int (*init_rank)(communicator *, int, struct unique_id, int);
  int (*destroy)(communicator);
  int (*get_async_error)(communicator, int *);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*send)(const void *, size_t, int, int, communicator, runtime_stream);
  int (*recv)(void *, size_t, int, int, communicator, runtime_stream);
  const char *(*get_error_string)(int);
} nccl;

struct nccl_link {
  communicator comm;
  runtime_stream stream;
  runtime_event ready, begun, ended; /* `ready`: the work of other streams that a round waits for */
};

/* --- the library ------------------------------------------------------------------------------------------------- */

/* Every call goes through this. */
static void check(int status, const char *call)
{
  if (status != NCCL_GOOD) fatal(LIBRARY_MESSAGES_NAME ": %s: %s", call, nccl.get_error_string(status));
}
#define NCCL(call) check(nccl.call, #call)

/* Look up a function of the library. Returns 0 if there is none of this name. */
template <typename F> static int find(void *library, F *function, const char *name)
{
  *function = (F)dlsym(library, name);
  return *function != NULL;
}

static int find_all(void *library)
{
  return find(library, &nccl.get_version, LIBRARY_MESSAGES("GetVersion")) &&
         find(library, &nccl.get_unique_id, LIBRARY_MESSAGES("GetUniqueId")) &&
         find(library, &nccl.init_rank, LIBRARY_MESSAGES("CommInitRank")) &&
         find(library, &nccl.destroy, LIBRARY_MESSAGES("CommDestroy")) &&
         find(library, &nccl.get_async_error, LIBRARY_MESSAGES("CommGetAsyncError")) &&
         find(library, &nccl.group_start, LIBRARY_MESSAGES("GroupStart")) &&
         find(library, &nccl.group_end, LIBRARY_MESSAGES("GroupEnd")) &&
         find(library, &nccl.send, LIBRARY_MESSAGES("Send")) && find(library, &nccl.recv, LIBRARY_MESSAGES("Recv")) &&
         find(library, &nccl.get_error_string, LIBRARY_MESSAGES("GetErrorString"));
}

/* Load the library once. Returns 1 if it is available. NVLink multicast (NVLS) is turned off: sends and receives do not
 * use it, and it occupies resources that all jobs of the machine share. */
static int load_library(void)
{
  const char *name = getenv("ESPALIER_NCCL");
  int version = 0;
  if (nccl.load_state) return nccl.load_state > 0;
  nccl.load_state = -1;
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  if (!name || !*name) name = ESP_NCCL_LIBRARY;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(nccl.about, sizeof nccl.about, "%.80s is not found", name);
  } else if (!find_all(library) || nccl.get_version(&version) != NCCL_GOOD || version < NCCL_VERSION_MIN) {
    snprintf(nccl.about, sizeof nccl.about, "%.80s is too old, or not " LIBRARY_MESSAGES_NAME, name);
  } else {
    nccl.load_state = 1;
    int major = version >= 10000 ? version / 10000 : version / 1000;
    snprintf(nccl.about, sizeof nccl.about, LIBRARY_MESSAGES_NAME " %d.%d.%d", major,
             version >= 10000 ? version / 100 % 100 : version / 100 % 10, version % 100);
  }
  return nccl.load_state > 0;
}

/* --- the verbs --------------------------------------------------------------------------------------------------- */

int gpu_link_probe(char *about, size_t size)
{
  int available = load_library();
  snprintf(about, size, "%s", nccl.about);
  return available;
}

int gpu_link_key(char key[LINK_KEY], char *why, size_t size)
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

/* Queue a round after the work that is queued on the streams. Returns NCCL's status, which is an error if devices
 * cannot reach each other. */
static int queue_round(struct device *d, int count, const struct link_message *message)
{
  struct nccl_link *w = d->exchange.link;
  runtime_stream before[2] = {d->stream, d->let->stream};
  for (int k = 0; k < 2; k++) {
    CHECK(runtime_event_record(w->ready, before[k]));
    CHECK(runtime_stream_wait(w->stream, w->ready));
  }
  CHECK(runtime_event_record(w->begun, w->stream));
  int status = nccl.group_start();
  for (int k = 0; k < count && status == NCCL_GOOD; k++) {
    if (message[k].bytes == 0) continue;
    if (message[k].arrives)
      status = nccl.recv(message[k].at, message[k].bytes, NCCL_BYTES, message[k].peer, w->comm, w->stream);
    else status = nccl.send(message[k].at, message[k].bytes, NCCL_BYTES, message[k].peer, w->comm, w->stream);
  }
  int ended = nccl.group_end(); /* establishes connections */
  CHECK(runtime_event_record(w->ended, w->stream));
  return status == NCCL_GOOD ? ended : status;
}

void gpu_link_post(struct device *d, int count, const struct link_message *message)
{
  if (count > 0) check(queue_round(d, count, message), "a round of messages between devices");
}

int gpu_link_done(struct device *d, double *seconds)
{
  struct nccl_link *w = d->exchange.link;
  float milliseconds = 0;
  int error = NCCL_GOOD;
  runtime_error status = runtime_event_query(w->ended);
  if (status == RUNTIME_NOT_READY) {
    runtime_last_error(); /* not ready is no error: clear it */
    NCCL(get_async_error(w->comm, &error));
    if (error != NCCL_RUNNING) check(error, "messages between devices");
    return 0;
  }
  CHECK(status);
  CHECK(runtime_event_milliseconds(&milliseconds, w->begun, w->ended));
  *seconds = 1e-3 * milliseconds;
  return 1;
}

void gpu_link_close(struct device *d)
{
  struct nccl_link *w = d->exchange.link;
  CHECK(runtime_stream_sync(w->stream));
  if (w->comm) NCCL(destroy(w->comm));
  CHECK(runtime_event_destroy(w->ready));
  CHECK(runtime_event_destroy(w->begun));
  CHECK(runtime_event_destroy(w->ended));
  CHECK(runtime_stream_destroy(w->stream));
  memory_free(w);
  d->exchange.link = NULL;
}

/* Every rank sends EACH bytes to all others, which establishes all connections, and checks what arrives. Returns 0 on
 * success, else -1 with the reason. */
static int try_all(struct device *d, int rank, int ranks, char *why, size_t size)
{
  enum { EACH = 64 };
  size_t bytes = (size_t)ranks * EACH;
  struct link_message *m = (struct link_message *)memory_alloc("transport", sizeof *m * 2 * (size_t)ranks);
  char *sent = (char *)device_alloc("device exchange", 2 * bytes), *got = sent + bytes;
  char *host_results = (char *)memory_alloc("transport", bytes);
  int count = 0, wrong = 0;
  CHECK(runtime_set_bytes(sent, rank % 251 + 1, bytes, d->stream));
  CHECK(runtime_set_bytes(got, 0, bytes, d->stream));
  for (int k = 1; k < ranks; k++) {
    int to = (rank + k) % ranks, from = (rank + ranks - k) % ranks;
    const struct link_message out = {to, 0, sent + (size_t)to * EACH, EACH},
                              in = {from, 1, got + (size_t)from * EACH, EACH};
    m[count++] = out;
    m[count++] = in;
  }
  int status = ranks > 1 ? queue_round(d, count, m) : NCCL_GOOD;
  CHECK(runtime_stream_sync(d->exchange.link->stream));
  CHECK(runtime_copy(host_results, got, bytes, TO_HOST, d->stream));
  gpu_wait(d);
  for (int r = 0; r < ranks; r++)
    for (int b = 0; b < EACH && r != rank; b++) wrong |= host_results[r * EACH + b] != (char)(r % 251 + 1);
  if (status != NCCL_GOOD)
    snprintf(why, size, "rank %d could not send to all others: %s", rank, nccl.get_error_string(status));
  else if (wrong) snprintf(why, size, "a test message to rank %d arrived with errors", rank);
  wrong |= status != NCCL_GOOD;
  device_free("device exchange", sent, 2 * bytes);
  memory_free(host_results);
  memory_free(m);
  return wrong ? -1 : 0;
}

int gpu_link_open(struct device *d, const char key[LINK_KEY], int rank, int ranks, char *why, size_t size)
{
  struct nccl_link *w = d->exchange.link = (struct nccl_link *)memory_alloc("device", sizeof *w);
  struct unique_id id;
  int low_priority, high_priority;
  memcpy(&id, key, LINK_KEY);
  CHECK(runtime_stream_priorities(&low_priority, &high_priority));
  /* messages precede the walk's blocks */
  CHECK(runtime_stream_create_priority(&w->stream, high_priority));
  CHECK(runtime_event_create_untimed(&w->ready));
  CHECK(runtime_event_create(&w->begun));
  CHECK(runtime_event_create(&w->ended));
  CHECK(runtime_event_record(w->begun, w->stream));
  CHECK(runtime_event_record(w->ended, w->stream));
  int status = nccl.init_rank(&w->comm, ranks, id, rank);
  if (status != NCCL_GOOD) {
    w->comm = NULL;
    runtime_last_error();
    snprintf(why, size, "NCCL does not start: %s", nccl.get_error_string(status));
  } else if (try_all(d, rank, ranks, why, size) == 0) {
    return 0;
  }
  gpu_link_close(d);
  return -1;
}
