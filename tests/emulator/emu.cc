/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An emulator of CUDA on the CPU for tests of kernels: lanes are fibers, warps wait for each other in collectives. */
#include "cuda_runtime.h"
#include <vector>
#include <sys/mman.h>
uint3_ threadIdx, blockIdx, blockDim, gridDim;
alignas(16) float4 memory[1 << 15];
extern "C" void emu_switch(void **save, void *load);
asm(R"(
.text
.globl emu_switch
emu_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
)");
enum { STACK = 256 << 10, MOST = 1024 };
struct Coll { unsigned mask, part[2]; int gen, arrived; uint64_t v[2][32]; };
struct Warp { unsigned alive; std::vector<Coll> coll; };
struct Fiber { void *sp; char *stack; bool done; };
static Fiber fiber[MOST];
static Warp warp[MOST / 32];
static void *main_sp;
static unsigned cur, threads, alive;
static int bar_gen; static unsigned bar_arrived; static uint64_t bar_or[2], bar_sum[2];
static const std::function<void()> *work;
static const char *kernel_name;
static bool moved;
static void yield() { unsigned me = cur; emu_switch(&fiber[me].sp, main_sp); }
static void complete_coll(Warp &w) { for (auto &c : w.coll) if (c.arrived && c.arrived == __builtin_popcount(c.mask & w.alive)) { c.arrived = 0; c.gen++; c.part[c.gen & 1] = 0; } }
static void complete_bar() { if (bar_arrived && bar_arrived == alive) { bar_arrived = 0; bar_gen++; bar_or[bar_gen & 1] = bar_sum[bar_gen & 1] = 0; } }
int emu_lane() { return (int)(cur % 32); }
emu_seen emu_warp(unsigned mask, uint64_t v)
{
  Warp &w = warp[cur / 32]; int lane = cur % 32; size_t at = 0;
  if (!(mask >> lane & 1)) { fprintf(stderr, "emu: %s: lane %d not in mask %08x\n", kernel_name, lane, mask); abort(); }
  while (at < w.coll.size() && w.coll[at].mask != mask) at++;
  if (at == w.coll.size()) { w.coll.reserve(64); w.coll.push_back(Coll()); w.coll[at].mask = mask; }
  Coll *c = &w.coll[at]; int gen = c->gen;
  c->v[gen & 1][lane] = v; c->part[gen & 1] |= 1u << lane; c->arrived++; moved = true;
  if (c->arrived == __builtin_popcount(mask & w.alive)) { c->arrived = 0; c->gen++; c->part[c->gen & 1] = 0; }
  while (c->gen == gen) yield();
  return {c->v[gen & 1], c->part[gen & 1]};
}
emu_seen emu_block(uint64_t v, int)
{
  int gen = bar_gen; bar_or[gen & 1] |= v != 0; bar_sum[gen & 1] += v != 0; bar_arrived++; moved = true; complete_bar();
  while (bar_gen == gen) yield();
  return {nullptr, (unsigned)gen};
}
void __syncthreads() { emu_block(0, 0); }
int __syncthreads_or(int p) { emu_seen s = emu_block(p != 0, 0); return (int)bar_or[s.part & 1]; }
int __syncthreads_count(int p) { emu_seen s = emu_block(p != 0, 1); return (int)bar_sum[s.part & 1]; }
static void entry()
{
  (*work)();
  fiber[cur].done = true; alive--; moved = true;
  Warp &w = warp[cur / 32]; w.alive &= ~(1u << cur % 32); complete_coll(w); complete_bar();
  yield(); abort();
}
static int emu_order() { static int o = -1; if (o < 0) { const char *e = getenv("EMU_ORDER"); o = e ? atoi(e) : 0; } return o; }
void emu_run(unsigned blocks, unsigned n, const std::function<void()> &f, const char *name)
{
  const int order = emu_order();
  work = &f; threads = n; kernel_name = name;
  if (n > MOST) abort();
  blockDim = {n, 1, 1}; gridDim = {blocks, 1, 1};
  for (unsigned bb = 0; bb < blocks; bb++) {
    unsigned b = order & 1 ? blocks - 1 - bb : bb;
    blockIdx = {b, 0, 0}; alive = n; bar_arrived = 0; bar_or[0] = bar_or[1] = bar_sum[0] = bar_sum[1] = 0;
    for (unsigned t = 0; t < n; t++) {
      Fiber &x = fiber[t];
      if (!x.stack) x.stack = (char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      void **sp = (void **)(x.stack + STACK); *--sp = NULL; *--sp = (void *)entry; sp -= 6; for (int k = 0; k < 6; k++) sp[k] = NULL;
      x.sp = sp; x.done = false;
    }
    for (unsigned w = 0; w * 32 < n; w++) { warp[w].alive = n - w * 32 >= 32 ? 0xffffffffu : (1u << (n - w * 32)) - 1; warp[w].coll.clear(); }
    while (alive > 0) {
      bool any = false;
      for (unsigned ww = 0, nw = (n + 31) / 32; ww < nw; ww++) {
        unsigned w = order & 2 ? nw - 1 - ww : ww;
        do {
          moved = false;
          for (unsigned tt = 0; tt < 32; tt++) {
            unsigned t = w * 32 + (order & 4 ? 31 - tt : tt);
            if (t >= n || fiber[t].done) continue;
            cur = t; threadIdx = {t, 0, 0};
            emu_switch(&main_sp, fiber[t].sp);
          }
          any |= moved;
        } while (moved);
      }
      if (!any && alive > 0) { fprintf(stderr, "emu: deadlock in %s, block %u\n", name, b); abort(); }
    }
  }
}
