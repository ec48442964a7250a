/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>
#include "check/need.h"

#include <math.h>

#include "backend/backend.h"
#include "mpi/let/stages.h"

/* Bytes per particle of a rank on the CPU backend, by labels of the memory report at the end of a run.
 * tests/bench/memory.sh prints these labels, and compares the estimate with resident sets. */
static const struct part {
  double alone;   /* on one rank */
  double several; /* on several ranks; imbalance of the number of particles included */
  int hybrid_only;
} parts[] = {
    {110, 138, 0}, /* particles: all fields */
    {72, 80, 0},   /* octree, and the sort in its memory */
    {20, 20, 0},   /* build, groups, active, walk */
    {12, 13, 1},   /* radii: neighbour lists */
    {0, 60, 0},    /* sums */
    {0, 88, 0},    /* exchange */
    {0, 20, 0},    /* messages that do not depend on LETs */
};
enum { MEMORY_TERMS = sizeof parts / sizeof *parts };

/* Bytes of the LETs that a rank receives and selects, with their messages: LET_BYTES n^LET_POWER k^NEIGHBOUR_POWER for
 * n particles and k other ranks near it. With the split on most LETs reach to R2 only. */
#define LET_BYTES 4100
#define LET_POWER 0.75
#define NEIGHBOUR_POWER 0.55
#define LET_HYBRID_SHARE 0.55
enum { NEIGHBOURS_MAX = 26 };
/* Bytes of LET summaries: of each rank in one allgather; with stages, for the square of the logarithm of their number
 * (doc/measurements.md, LET summaries in stages). Bytes of a rank's tables for each other rank. */
#define SUMMARY_BYTES 1600
#define STAGE_BYTES 16e3
#define PEER_BYTES 2000
/* Copies of the particles of a device that the host may hold at once. */
enum { HOST_COPIES = 3 };
/* The buffer for files; memory that libraries allocate from the first file on, and from the first snapshot on. */
#define FILE_BUFFER 17e6
#define LIBRARY_BYTES 6e6
#define FILE_BUFFER_BYTES 90 /* per particle: what of the buffer few particles use */
#define FILE_BYTES 12        /* per particle: rows on their way to a file */
/* Growth of a measured run: later steps have other numbers of particles, LETs and list entries. */
#define LATER_GROWTH 0.08
#define LATER_LIBRARY_BYTES 3e6

static double per_particle(const struct need_input *in)
{
  double sum = 0;
  if (in->on_device) return HOST_COPIES * in->particle_bytes;
  for (int k = 0; k < MEMORY_TERMS; k++)
    if (in->hybrid || !parts[k].hybrid_only) sum += in->ranks > 1 ? parts[k].several : parts[k].alone;
  return sum;
}

static double buffer(const struct need_input *in) { return fmin(FILE_BUFFER, FILE_BUFFER_BYTES * in->particles); }

static double summaries(double ranks)
{
  return ranks < stages_ranks() ? SUMMARY_BYTES * ranks : STAGE_BYTES * log2(ranks) * log2(ranks);
}

struct memory_need need_estimate(const struct need_input *in)
{
  struct memory_need n = {.fixed = in->baseline + buffer(in) + LIBRARY_BYTES,
                          .particles = in->particles * per_particle(in)};
  double near = fmin(in->ranks - 1, NEIGHBOURS_MAX);
  if (in->ranks > 1 && !in->on_device)
    n.lets =
        LET_BYTES * pow(in->particles, LET_POWER) * pow(near, NEIGHBOUR_POWER) * (in->hybrid ? LET_HYBRID_SHARE : 1);
  if (in->ranks > 1) n.lets += summaries(in->ranks) + PEER_BYTES * (double)in->ranks;
  return n;
}

/* The same as measured, without a reserve: bytes of a particle, and of those of block steps and hybrids alone; what a
 * process takes beside its baseline, and more for each of a few others on its host; imbalance of the particles. */
#define OWN_BYTES 186.4
#define ACTIVE_BYTES 9.4
#define PROCESS_BYTES 8.8e6
#define OTHER_BYTES 1.2e6
#define IMBALANCE 1.02
/* LETs: EXPECTED_LETS n^EXPECTED_POWER times the factor of the scheme, and for the first few other ranks a power. */
#define EXPECTED_LETS 562
#define EXPECTED_POWER 0.8
enum { FEW_OTHERS = 3 };
static const struct expected_lets {
  double factor, others_power;
} expected_lets[] = {[NEED_SHARED] = {1, 1}, [NEED_BLOCK] = {2.9, 0.3}, [NEED_HYBRID] = {1.8, 0.35}};

struct memory_need need_expected(const struct need_input *in, enum need_scheme scheme)
{
  const struct expected_lets *lets = &expected_lets[scheme];
  double others = fmin(in->ranks - 1, NEIGHBOURS_MAX), few = fmin(others, FEW_OTHERS);
  double own =
      in->on_device ? HOST_COPIES * in->particle_bytes : OWN_BYTES + (scheme == NEED_SHARED ? 0 : ACTIVE_BYTES);
  struct memory_need n = {.fixed = in->baseline + buffer(in) + PROCESS_BYTES + OTHER_BYTES * few,
                          .particles = in->particles * own * (in->ranks > 1 ? IMBALANCE : 1)};
  if (in->ranks > 1 && !in->on_device)
    n.lets = EXPECTED_LETS * pow(in->particles, EXPECTED_POWER) * lets->factor * pow(few, lets->others_power) *
             pow(fmax(others / few, 1), NEIGHBOUR_POWER);
  if (in->ranks > 1) n.lets += summaries(in->ranks) + PEER_BYTES * (double)in->ranks;
  return n;
}

double need_total(const struct memory_need *need) { return need->fixed + need->particles + need->lets; }

double need_measured(const struct need_input *in, double peak, double now)
{
  double files = buffer(in) + LATER_LIBRARY_BYTES + FILE_BYTES * in->particles;
  return (1 + LATER_GROWTH) * fmax(peak, now + files);
}

/* Bytes of a rank in a checkpoint beside its particles. */
enum { CHECKPOINT_OWN = 8192 };

double need_checkpoint(double particles, int ranks, double particle_bytes)
{
  return particles * particle_bytes + (double)CHECKPOINT_OWN * ranks;
}

double need_device(double particles, int hybrid)
{
  return particles * (CUDA_PARTICLE_BYTES + (hybrid ? CUDA_SPLIT_BYTES : 0));
}
