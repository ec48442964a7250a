/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An emulator of CUDA on the CPU for tests of kernels: lanes are fibers, warps wait for each other in collectives.
 * A lane runs until it waits; the next lane of its warp that does not wait follows at once, and the next warp when all lanes wait.
 * EMU_ORDER: 1 blocks, 2 warps, 4 lanes run in descending order (the sum of these). */
#include "cuda_runtime.h"
#include <sys/mman.h>
uint3_ threadIdx, blockIdx, blockDim, gridDim;
alignas(16) float4 memory[1 << 15];
/* Stacks do not begin at multiples of a page: their tops, which all lanes use in turn, would share the same few lines of the cache. */
enum { STACK = (256 << 10) + 9 * 64 };
emu_warp_state *emu_now;
void *emu_fiber[EMU_THREADS], *emu_main;
bool emu_lanes_descend;
static char *stacks;
static emu_warp_state warp[EMU_THREADS / EMU_LANES];
static unsigned warps, alive;
static unsigned barrier_arrived, barrier_turn, barrier_count[2];
static const std::function<void()> *work;
static const char *kernel_name;
#define HOT __attribute__((no_sanitize("address")))
HOT void emu_complete(emu_warp_state &w, emu_collective &c)
{
  w.ready |= c.round[c.turn & 1].part;
  emu_round &next = c.round[++c.turn & 1];
  next.part = next.ballot = 0, next.reduced = false;
}
HOT static void complete_barrier()
{
  barrier_arrived = 0;
  barrier_count[++barrier_turn & 1] = 0;
  for (unsigned k = 0; k < warps; k++) warp[k].ready = warp[k].alive;
}
HOT emu_collective *emu_find(emu_warp_state &w, emu_mask mask)
{
  const unsigned lane = threadIdx.x % EMU_LANES;
  int at = 0;
  if (!(mask >> lane & 1)) { fprintf(stderr, "emu: %s: lane %d not in mask %llx\n", kernel_name, (int)lane, (unsigned long long)mask); abort(); }
  while (at < w.masks && w.collective[at].mask != mask) at++;
  emu_collective &c = w.collective[at];
  if (at == w.masks) {
    if (++w.masks > EMU_MASKS) { fprintf(stderr, "emu: %s: more than %d masks of a warp\n", kernel_name, (int)EMU_MASKS); abort(); }
    c.mask = mask, c.turn = 0, c.round[0].part = c.round[0].ballot = 0, c.round[0].reduced = false;
  }
  return &c;
}
/* returns how many lanes put 1 */
HOT static unsigned barrier(bool v)
{
  emu_warp_state &w = *emu_now;
  const unsigned &count = barrier_count[barrier_turn & 1];
  barrier_count[barrier_turn & 1] += v;
  if (++barrier_arrived == alive) complete_barrier();
  else { w.ready &= ~((emu_mask)1 << threadIdx.x % EMU_LANES); emu_leave(w); }
  return count;
}
void __syncthreads() { barrier(false); }
int __syncthreads_or(int p) { return barrier(p != 0) > 0; }
int __syncthreads_count(int p) { return (int)barrier(p != 0); }
HOT static void entry()
{
  (*work)();
  emu_warp_state &w = *emu_now;
  alive--;
  w.alive &= ~((emu_mask)1 << threadIdx.x % EMU_LANES), w.ready &= w.alive;
  for (int k = 0; k < w.masks; k++) {
    emu_mask part = w.collective[k].round[w.collective[k].turn & 1].part;
    if (part && part == (w.collective[k].mask & w.alive)) emu_complete(w, w.collective[k]);
  }
  if (barrier_arrived && barrier_arrived == alive) complete_barrier();
  emu_leave(w);
  abort();
}
static int emu_order() { static int o = -1; if (o < 0) { const char *e = getenv("EMU_ORDER"); o = e ? atoi(e) : 0; } return o; }
/* one block, its lanes from the beginning to the end */
HOT static void run_block(unsigned n, bool warps_descend)
{
  alive = n, warps = (n + EMU_LANES - 1) / EMU_LANES, barrier_arrived = 0, barrier_count[0] = barrier_count[1] = 0;
  for (unsigned t = 0; t < n; t++) {
    void **sp = (void **)(stacks + (t + 1) * (size_t)STACK);
    *--sp = NULL; *--sp = (void *)entry;
    emu_fiber[t] = sp;
  }
  for (unsigned k = 0; k < warps; k++) {
    const unsigned lanes = n - k * EMU_LANES;
    warp[k].alive = warp[k].ready = lanes >= EMU_LANES ? ~(emu_mask)0 : ((emu_mask)1 << lanes) - 1;
    warp[k].masks = 0;
  }
  while (alive > 0) {
    bool moved = false;
    for (unsigned k = 0; k < warps; k++) {
      const unsigned at = warps_descend ? warps - 1 - k : k;
      while (warp[at].ready) {
        moved = true;
        emu_now = &warp[at];
        threadIdx.x = at * EMU_LANES + emu_next_lane(warp[at].ready, emu_lanes_descend ? 0 : EMU_LANES - 1);
        emu_switch(&emu_main, emu_fiber[threadIdx.x]);
      }
    }
    if (!moved) { fprintf(stderr, "emu: deadlock in %s, block %u\n", kernel_name, blockIdx.x); abort(); }
  }
}
void emu_run(unsigned blocks, unsigned n, const std::function<void()> &f, const char *name)
{
  const int order = emu_order();
  work = &f, kernel_name = name, emu_lanes_descend = order & 4;
  if (n > EMU_THREADS) abort();
  if (!stacks) {
    void *all = mmap(NULL, (size_t)STACK * EMU_THREADS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) abort();
    stacks = (char *)all;
  }
  blockDim = {n, 1, 1}; gridDim = {blocks, 1, 1}; threadIdx = {0, 0, 0};
  for (unsigned b = 0; b < blocks; b++) {
    blockIdx = {order & 1 ? blocks - 1 - b : b, 0, 0};
    run_block(n, order & 2);
  }
}
