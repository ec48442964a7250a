/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "mpi/transport.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

#include "backend/link.h"
#include "backend/probe.h"
#include "base/memory.h"

enum { TAG_TRANSPORT = 300, NAMED_MAX = 16 };

/* --- available transports ----------------------------------------------------------------------------------------- */

/* Returns 1 where MPI takes addresses of device memory; *why: the reason where it does not. */
static int mpi_takes_devices(const char **why)
{
  const char *override = getenv("ESPALIER_CUDA_MPI");
  *why = "";
  if (override) {
    *why = "ESPALIER_CUDA_MPI says that MPI does not take device memory";
    return strcmp(override, "1") == 0;
  }
#ifdef MPIX_CUDA_AWARE_SUPPORT
  *why = "the MPI library is not CUDA-aware";
  return MPIX_Query_cuda_support() == 1;
#else
  *why = "the MPI library does not report whether it is CUDA-aware (ESPALIER_CUDA_MPI=1 says that it is)";
  return 0;
#endif
}

static void fill_summary(struct transport_summary *summary, const struct backend *be, int node_rank)
{
  const char *why;
  memset(summary, 0, sizeof *summary);
  gethostname(summary->host, sizeof summary->host - 1);
  summary->mpi_takes = mpi_takes_devices(&why);
  summary->has_device = be->probe->identify != NULL;
  if (summary->has_device) be->probe->identify(node_rank, &summary->device);
  summary->has_link = be->link && be->link->probe(summary->about, sizeof summary->about) == 1;
}

static struct transport_summary *gather_summaries(const struct comm *comm, const struct backend *be)
{
  struct transport_summary mine, *all = memory_alloc("transport", sizeof *all * (size_t)comm->size);
  fill_summary(&mine, be, comm_node_rank(comm));
  comm_allgather(comm, &mine, sizeof mine, all);
  return all;
}

/* The first rank before r that has the same device, or -1. */
static int same_device(const struct transport_summary *summary, int r)
{
  for (int k = 0; k < r; k++)
    if (memcmp(summary[k].device.id, summary[r].device.id, sizeof summary[k].device.id) == 0) return k;
  return -1;
}

/* Number of ranks that share a device with another rank; *one, *other: a pair of them. */
static int count_sharing(const struct transport_summary *summary, int ranks, int *one, int *other)
{
  char *shares = memory_alloc("transport", (size_t)ranks);
  int count = 0;
  for (int r = ranks - 1; r > 0; r--) {
    int k = same_device(summary, r);
    if (k >= 0) {
      shares[r] = shares[k] = 1;
      *one = k;
      *other = r;
    }
  }
  for (int r = 0; r < ranks; r++) count += shares[r];
  memory_free(shares);
  return count;
}

/* --- choice ------------------------------------------------------------------------------------------------------ */

/* Returns 1 where the link can be opened; else 0 with the reason. All ranks have the same summaries, so they get the
 * same answer. */
static int link_possible(const struct transport *transport, char *why, size_t size)
{
  int one = 0, other = 0;
  for (int r = 0; r < transport->c->size; r++)
    if (!transport->summary[r].has_link) {
      snprintf(why, size, "%s",
               transport->summary[r].about[0] ? transport->summary[r].about : "it is not part of this build");
      return 0;
    }
  for (int r = 1; r < transport->c->size; r++)
    if (strcmp(transport->summary[r].about, transport->summary[0].about)) {
      snprintf(why, size, "rank %d has %.40s, rank 0 %.40s", r, transport->summary[r].about,
               transport->summary[0].about);
      return 0;
    }
  if (count_sharing(transport->summary, transport->c->size, &one, &other) > 0) {
    snprintf(why, size, "ranks %d and %d share a device", one, other);
    return 0;
  }
  return 1;
}

/* Returns 1 where no rank failed; else 0 with the reason of the lowest rank that did. Collective. */
static int all_succeeded(const struct comm *comm, int failed, char *why, size_t size)
{
  struct fault f = {""};
  if (failed) fault_set(&f, "%s", why);
  if (comm_agree(comm, &f) == 0) return 1;
  snprintf(why, size, "%s", f.text);
  return 0;
}

static int open_link(struct transport *transport, char *why, size_t size)
{
  const struct link *link = transport->be->link;
  char key[LINK_KEY] = {0};
  int failed = transport->c->rank == 0 && link->key(key, why, size);
  if (!all_succeeded(transport->c, failed, why, size)) return 0;
  comm_broadcast(transport->c, key, sizeof key);
  failed = link->open(transport->d, key, transport->c->rank, transport->c->size, why, size);
  if (all_succeeded(transport->c, failed, why, size)) return 1;
  if (!failed) link->close(transport->d);
  return 0;
}

static int mpi_possible(const struct transport *transport, char *why, size_t size)
{
  const char *reason;
  if (mpi_takes_devices(&reason)) reason = "it takes device memory only on some of the ranks";
  for (int r = 0; r < transport->c->size; r++)
    if (!transport->summary[r].mpi_takes) {
      snprintf(why, size, "%s", reason);
      return 0;
    }
  return 1;
}

/* The requested transport, or with auto the first that works; else TRANSPORT_STAGED, with the reasons in `why`. */
static enum transport_choice choose(struct transport *transport, enum transport_choice asked, char *why, size_t size)
{
  char no_link[128] = "", no_mpi[128] = "";
  int link = asked == TRANSPORT_AUTO || asked == TRANSPORT_NCCL,
      mpi = asked == TRANSPORT_AUTO || asked == TRANSPORT_CUDA_MPI;
  why[0] = 0;
  if (link && link_possible(transport, no_link, sizeof no_link) && open_link(transport, no_link, sizeof no_link))
    return TRANSPORT_NCCL;
  if (mpi && mpi_possible(transport, no_mpi, sizeof no_mpi)) return TRANSPORT_CUDA_MPI;
  if (link) snprintf(why, size, "nccl: %s%s", no_link, mpi ? "; " : "");
  if (mpi) snprintf(why + strlen(why), size - strlen(why), "cuda-mpi: %s", no_mpi);
  return TRANSPORT_STAGED;
}

int transport_check(const struct backend *be, int ranks, enum transport_choice asked, struct fault *fault)
{
  const char *why;
  if (be->probe->identify || ranks == 1 || asked == TRANSPORT_STAGED || asked == TRANSPORT_AUTO) return 0;
  if (asked == TRANSPORT_CUDA_MPI && mpi_takes_devices(&why)) return 0; /* its rounds can be tested without a device */
  return fault_set(fault,
                   "Transport = %s: messages of the backend %s are in the host's memory; expected auto or staged",
                   params_choice("Transport", asked), be->name);
}

int transport_open(struct transport *transport, const struct comm *comm, const struct backend *be, struct device *d,
                   enum transport_choice asked, struct fault *fault)
{
  *transport = (struct transport){.c = comm, .be = be, .d = d, .kind = TRANSPORT_STAGED};
  transport->summary = gather_summaries(comm, be);
  int one, other, host = !be->probe->identify;
  if (!host) transport->sharing = count_sharing(transport->summary, comm->size, &one, &other);
  if (comm->size == 1 || asked == TRANSPORT_STAGED || (host && asked == TRANSPORT_AUTO)) return 0;
  if (comm->rank == 0) transport_check(be, comm->size, asked, fault);
  if (comm_verdict(comm, fault)) return -1;
  transport->kind = choose(transport, asked, transport->why, sizeof transport->why);
  if (transport_direct(transport) && be->exchange->bypass) be->exchange->bypass(d, 1);
  if (asked == TRANSPORT_AUTO || transport->kind == asked) return 0;
  return fault_set(fault, "Transport = %s does not work here (%s); auto or staged would",
                   params_choice("Transport", asked), transport->why);
}

void transport_close(struct transport *transport)
{
  if (!transport->c) return;
  transport_wait(transport);
  if (transport->kind == TRANSPORT_NCCL) transport->be->link->close(transport->d);
  memory_free(transport->arriving);
  memory_free(transport->request);
  memory_free(transport->summary);
  transport->c = NULL;
}

/* --- rounds ------------------------------------------------------------------------------------------------------ */

int transport_direct(const struct transport *transport) { return transport && transport->kind != TRANSPORT_STAGED; }

int transport_carries(struct transport *transport)
{
  return transport && (transport->kind == TRANSPORT_NCCL || (transport_direct(transport) && transport_done(transport)));
}

int transport_messages(const struct transport *transport, size_t bytes)
{
  if (transport->kind == TRANSPORT_NCCL) return bytes > 0;
  return (int)((bytes + transport->c->largest_message - 1) / transport->c->largest_message);
}

/* Keep a message that arrives, to record it at the end of its round. */
static void note_arriving(struct transport *transport, int peer, size_t bytes)
{
  if (!recorder_on(transport->c->recorder)) return;
  if (transport->arriving_count == transport->arriving_capacity) {
    transport->arriving_capacity = 2 * transport->arriving_capacity + 16;
    transport->arriving = memory_resize("transport", transport->arriving,
                                        sizeof *transport->arriving * (size_t)transport->arriving_capacity);
  }
  transport->arriving[transport->arriving_count++] = (struct arriving){peer, bytes};
}

static void record_arrivals(const struct transport *transport)
{
  for (int k = 0; k < transport->arriving_count; k++)
    comm_arrived(transport->c, transport->arriving[k].peer, TAG_TRANSPORT, transport->arriving[k].bytes,
                 transport->posted_at);
}

/* Enter the messages of a round in the ledger. */
static void enter_in_ledger(struct transport *transport, int count, const struct link_message *message)
{
  transport->arriving_count = 0;
  transport->posted_at = comm_posted(transport->c);
  for (int k = 0; k < count; k++) {
    size_t limit = transport->kind == TRANSPORT_NCCL ? SIZE_MAX : transport->c->largest_message;
    for (size_t at = 0, piece; at < message[k].bytes; at += piece) {
      piece = message[k].bytes - at < limit ? message[k].bytes - at : limit;
      if (message[k].arrives) {
        ledger_received(transport->c->ledger, message[k].peer, piece);
        note_arriving(transport, message[k].peer, piece);
      } else {
        comm_sent(transport->c, message[k].peer, TAG_TRANSPORT, piece);
        ledger_direct(transport->c->ledger, piece, 0);
      }
    }
  }
}

static void post_piece(struct transport *transport, char *at, size_t bytes, const struct link_message *message)
{
  MPI_Request *request = &transport->request[transport->requests++];
  if (message->arrives) MPI_Irecv(at, (int)bytes, MPI_BYTE, message->peer, TAG_TRANSPORT, transport->c->mpi, request);
  else MPI_Isend(at, (int)bytes, MPI_BYTE, message->peer, TAG_TRANSPORT, transport->c->mpi, request);
}

static void post_pieces(struct transport *transport, int count, const struct link_message *message)
{
  size_t limit = transport->c->largest_message;
  int pieces = 0;
  for (int k = 0; k < count; k++) pieces += transport_messages(transport, message[k].bytes);
  if (pieces > transport->capacity) {
    memory_free(transport->request);
    transport->capacity = 2 * pieces;
    transport->request = memory_alloc("transport", sizeof *transport->request * (size_t)transport->capacity);
  }
  transport->requests = 0;
  transport->be->clock.wait(transport->d); /* MPI accesses the buffers immediately */
  for (int arrives = 1; arrives >= 0; arrives--)
    for (int k = 0; k < count; k++)
      for (size_t at = 0; at < message[k].bytes && message[k].arrives == arrives; at += limit)
        post_piece(transport, (char *)message[k].at + at, message[k].bytes - at < limit ? message[k].bytes - at : limit,
                   &message[k]);
}

void transport_post(struct transport *transport, int count, const struct link_message *message)
{
  transport_wait(transport);
  if (count == 0) return; /* without a wait for the device */
  enter_in_ledger(transport, count, message);
  if (transport->kind == TRANSPORT_NCCL) transport->be->link->post(transport->d, count, message);
  else post_pieces(transport, count, message);
  transport->begun = timer_clock();
  transport->posted = 1;
}

int transport_done(struct transport *transport)
{
  int done = 1;
  double seconds = 0;
  if (!transport->posted) return 1;
  if (transport->kind == TRANSPORT_NCCL) done = transport->be->link->done(transport->d, &seconds);
  else MPI_Testall(transport->requests, transport->request, &done, MPI_STATUSES_IGNORE);
  if (!done) return 0;
  ledger_direct(transport->c->ledger, 0,
                transport->kind == TRANSPORT_NCCL ? seconds : timer_clock() - transport->begun);
  transport->posted = 0;
  record_arrivals(transport);
  return 1;
}

void transport_wait(struct transport *transport)
{
  struct poll_backoff poll_backoff = {0};
  if (!transport->posted) return;
  while (!transport_done(transport)) comm_backoff(transport->c, &poll_backoff, LEDGER_SEVERAL);
  comm_backoff_end(&poll_backoff);
}

/* --- reports -------------------------------------------------------------------------------------------------- */

static void print_device(FILE *out, const struct transport_summary *summary, int r)
{
  const struct device_identity *d = &summary[r].device;
  int k = same_device(summary, r);
  fprintf(out, "  rank %d: %s, %s, %s, GPU-", r, summary[r].host, d->name, d->place);
  for (int b = 0; b < 16; b++) fprintf(out, "%02x%s", d->id[b], b == 3 || b == 5 || b == 7 || b == 9 ? "-" : "");
  if (k >= 0) fprintf(out, ", the device of rank %d", k);
  fputc('\n', out);
}

static void print_devices(FILE *out, const struct transport_summary *summary, int ranks, int sharing)
{
  int named = ranks <= NAMED_MAX ? ranks : NAMED_MAX;
  for (int r = 0; r < named; r++) print_device(out, summary, r);
  if (named < ranks) fprintf(out, "  ... and %d ranks more\n", ranks - named);
  if (sharing > 0)
    fprintf(out, "  %d of %d ranks share devices: they take turns, which is for tests, not for speed\n", sharing,
            ranks);
}

void transport_describe(const struct transport *transport, FILE *out)
{
  if (transport->be->probe->identify) print_devices(out, transport->summary, transport->c->size, transport->sharing);
  if (!transport->be->probe->identify || transport->c->size == 1) return;
  fprintf(out, "transport: %s%s%s%s%s%s\n", params_choice("Transport", transport->kind),
          transport->kind == TRANSPORT_NCCL ? ", " : "",
          transport->kind == TRANSPORT_NCCL ? transport->summary[0].about : "", transport->why[0] ? " (" : "",
          transport->why, transport->why[0] ? ")" : "");
}

void transport_info(const struct comm *comm, FILE *out)
{
  const struct backend *const *list;
  const char *why;
  char no[256];
  int one, other, count = backend_list(&list), takes = mpi_takes_devices(&why);
  if (comm->rank == 0)
    fprintf(out, "transports\n  staged   through page-locked memory of the host\n  cuda-mpi %s\n",
            takes ? "there" : why);
  for (int k = 0; k < count; k++) {
    const struct backend *be = list[k];
    int there = be->probe->identify && be->probe->count(no, sizeof no) > 0;
    if (comm_min_int64(comm, there) == 0) continue;
    struct transport_summary *summary = gather_summaries(comm, be);
    if (comm->rank == 0) {
      fprintf(out, "  %-8s %s\n", be->link ? be->link->name : "-",
              summary[0].about[0] ? summary[0].about : "not part of this build");
      fprintf(out, "devices of %d ranks\n", comm->size);
      print_devices(out, summary, comm->size, count_sharing(summary, comm->size, &one, &other));
    }
    memory_free(summary);
  }
}
