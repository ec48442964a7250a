/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CUDA backend's `struct device`: what all folders of gpu/ share, and one member for the state of each folder.
 *
 * The state headers gpu/FOLDER/state.cuh hold data only and know those of lower folders; this header puts them
 * together, so it is the one that includes upwards. All work is queued on one stream, so verbs follow each other in
 * order. */
#ifndef GPU_DEVICE_CUH
#define GPU_DEVICE_CUH
#include "gpu/device/memory.cuh"
#include "gpu/device/verbs.h"
#include "gpu/device/runtime.cuh"
#include "gpu/exchange/state.cuh"
#include "gpu/hard_walk/state.cuh"
#include "gpu/neighbour_lists/state.cuh"
#include "gpu/step/state.cuh"
#include "gpu/tree/state.cuh"
#include "gpu/walk/state.cuh"
#include "particles/softening.h"

/* Launch a kernel on the stream of `d`; a grid without blocks is not launched. With checks on, the host waits for the
 * kernel, so that an error names it. */
#define LAUNCH_SHARED(d, kernel, blocks, threads, shared, ...)                                \
  do {                                                                                        \
    unsigned blocks_ = (unsigned)(blocks);                                                    \
    if (blocks_ > 0) {                                                                        \
      RUNTIME_LAUNCH((d)->stream, kernel, blocks_, (unsigned)(threads), shared, __VA_ARGS__); \
      CHECK(runtime_last_error());                                                            \
      if (ESP_CHECKS) CHECK(runtime_stream_sync((d)->stream));                                \
    }                                                                                         \
  } while (0)
#define LAUNCH(d, kernel, blocks, threads, ...) LAUNCH_SHARED(d, kernel, blocks, threads, 0, __VA_ARGS__)

enum { SUMS = sizeof(struct sums) / sizeof(double), LEVEL_BINS = 32 };

/* Counts of a walk. */
struct walk_results {
  unsigned long long targets, particle_pairs, cell_pairs, split_pairs, tests, groups;
  struct walk_count walked[COUNT_SLOTS];
  int32_t pieces[4]; /* of stages 1 and 2, of the longest groups and of the others */
  int32_t few;       /* pieces of few active targets */
};

/* Numbers that kernels compute for the host. */
struct device_results {
  double box[6], sums[SUMS], work;
  unsigned long long outside, active;
  struct walk_results walk;
  unsigned long long histogram[LEVEL_BINS];
  int32_t count; /* of a selection */
  /* of each band of levels: first particle (the next band's where there is none), its group and its supergroup; groups
   * and supergroups are those after the last one where there is no particle from there on */
  int32_t band_begin[BANDS_MAX], band_group[BANDS_MAX], band_supergroup[BANDS_MAX];
  int32_t next; /* next tick */
  int32_t level_max;
  int32_t active_groups, active_supergroups;
  int32_t supergroups;
  int32_t violations;            /* particles that left the trajectories of the neighbour lists */
  unsigned long long left[2];    /* particles that will leave the bounds of LETs, and that have left them */
  int32_t items[3];              /* to be walked, by class */
  unsigned long long handed_sum; /* nodes that supergroups handed down */
  int32_t unsorted;              /* the fast particles could not be sorted in buckets */
  int32_t too_many;              /* nodes or supergroups exceed their arrays */
};

/* Events that measure times. */
struct timing_state {
  runtime_event from, to;             /* begin and end of the last walk */
  runtime_event event[DEVICE_EVENTS]; /* of the verb record_event */
};

/* The other sets of the particles, and copies on a stream of their own, which other work need not wait for. */
struct copy_state {
  struct particles spare;  /* device arrays, a second set */
  struct particles mirror; /* host arrays between upload and download */
  runtime_stream stream;
  runtime_event permuted, copied;
  int pending;   /* enum copy_pending: readers of `p` first call device_wait_for_copy */
  int32_t first; /* particle from which on they are to be copied */
};
/* Whether particles are to be copied from `spare` to `p`, or are being copied. */
enum copy_pending { COPY_NONE, COPY_WANTED, COPY_QUEUED };

/* Memory that verbs use while they work. */
struct work_memory {
  struct array<char> scratch;  /* temporary storage of CUB and of partial sums */
  struct array<double> points; /* positions of direct sums and nearest, cuts of the domain */
  struct pinned samples;       /* of the verb `sample`, */
  runtime_event sampled;       /* which are on the host then */
};

struct device {
  struct device_config config;
  struct softening softening; /* of the types */
  runtime_stream stream;
  int multiprocessors;
  int bypass;         /* long messages stay on the device */
  struct particles p; /* device arrays */
  struct lattice lattice;
  struct device_results *device_results, *host_results; /* on the device; pinned host copy, */
  int64_t results_read;                                 /* and how often it was read */
  struct timing_state timing;
  struct copy_state copy;
  struct work_memory work;
  struct order_state order;
  struct tree_state tree;
  struct source_state sources;
  struct target_state targets;
  struct active_state active;
  struct walk_state walk;
  struct hard_state hard;
  struct list_state lists;
  struct let_state *let; /* see gpu/let/let.cuh */
  struct exchange_state exchange;
  struct step_state step;
  struct energy_state energy;
};

/* --- the device folder -------------------------------------------------------------------------------------------- */

/* Copy the device's results to the host and wait for them. Completes a pending tally. Valid until the next call. */
const struct device_results *device_read_results(struct device *d);
/* Queue what the verb bounds with this horizon asks for, so that it is read with other results. */
void device_look_ahead(struct device *d, double horizon);
/* Set a member of the device's results to zero. Queued. */
#define device_zero(d, field) \
  CHECK(runtime_set_bytes(&(d)->device_results->field, 0, sizeof(d)->device_results->field, (d)->stream))
/* Make the capacity of a set of device arrays at least n particles; the contents are lost when it grows. */
void device_particles_reserve(struct device *d, struct particles *particles, int64_t n);
/* Make the capacity of d->p at least n particles; the contents are kept. */
void device_particles_grow(struct device *d, int64_t n);
/* Work that is queued after this call reads the particles after a pending copy. */
void device_wait_for_copy(struct device *d);
/* For tests of the watchdog: with the debug switch stall=RANK:WALK:SECONDS (base/debug.h) the walk of that number (from
 * 1 on) on that rank waits for a kernel of about that many seconds. */
void device_stall(struct device *d);
/* The accelerations whose modulus is |a_old|, [3 n]. Without a split acc_hard is the whole acceleration at the
 * particle's own time, and newer than acc. */
static inline const float *device_latest_acc(const struct device *d, const struct particles *particles)
{
  return d->walk.split_off ? particles->acc_hard : particles->acc;
}

/* --- calls to upper folders --------------------------------------------------------------------------------------- */

/* Open and close the state of LETs (gpu/let). */
void device_lets_open(struct device *d);
void device_lets_close(struct device *d);
/* Drop all LETs that are stored after the local tree: the tree is about to change (gpu/let/arrivals.cu). */
void lets_reset_storage(struct device *d);
/* Add the counts in host_results to the pending tally (gpu/step). */
void walk_complete_tally(struct device *d);
#endif
