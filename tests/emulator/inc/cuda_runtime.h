/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef EMULATOR_CUDA_RUNTIME_H
#define EMULATOR_CUDA_RUNTIME_H
#include <cmath>
#include <cstdint>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <cstdio>
#include <tuple>
#include <functional>
using std::isfinite;
#define __global__
#define __shared__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
struct uint3_ {
  unsigned x, y, z;
};
extern uint3_ threadIdx, blockIdx, blockDim, gridDim;
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
extern float4 memory[1 << 15];
template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }
static inline float __int_as_float(int x)
{
  float y;
  memcpy(&y, &x, 4);
  return y;
}
static inline float __uint_as_float(unsigned x)
{
  float y;
  memcpy(&y, &x, 4);
  return y;
}
static inline int __float_as_int(float x)
{
  int y;
  memcpy(&y, &x, 4);
  return y;
}
static inline unsigned __float_as_uint(float x)
{
  unsigned y;
  memcpy(&y, &x, 4);
  return y;
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T, class U> static inline T atomicAdd(T *p, U v)
{
  T o = *p;
  *p = o + (T)v;
  return o;
}
template <class T, class U> static inline T atomicMin(T *p, U v)
{
  T o = *p;
  if ((T)v < o) *p = (T)v;
  return o;
}
template <class T, class U> static inline T atomicMax(T *p, U v)
{
  T o = *p;
  if ((T)v > o) *p = (T)v;
  return o;
}
template <class T, class U, class V> static inline T atomicCAS(T *p, U was, V v)
{
  T o = *p;
  if (o == (T)was) *p = (T)v;
  return o;
}
template <class T, class U> static inline T atomicExch(T *p, U v)
{
  T o = *p;
  *p = (T)v;
  return o;
}
template <class T, class U> static inline T atomicOr(T *p, U v)
{
  T o = *p;
  *p = o | (T)v;
  return o;
}
/* Lanes of a warp: 32, or those of an AMD wavefront, 64. */
#ifndef EMU_LANES
#define EMU_LANES 32
#endif
#if EMU_LANES == 64
typedef uint64_t emu_mask;
#else
typedef uint32_t emu_mask;
#endif
/* warp: puts a value; returns the slots of all and who took part. Valid until the lane comes to the next collective of
 * its mask. */
struct emu_round {
  uint64_t v[EMU_LANES], result;
  emu_mask part, ballot;
  bool reduced;
};
/* Lanes of one mask that meet again and again. A lane may be in the next round while others still read this one. */
struct emu_collective {
  emu_mask mask;
  unsigned turn;
  emu_round round[2];
};
enum { EMU_MASKS = 64, EMU_THREADS = 1024 };
struct emu_warp_state {
  emu_mask alive, ready;
  int masks;
  emu_collective collective[EMU_MASKS];
};
extern emu_warp_state *emu_now;      /* the warp that runs */
extern void *emu_fiber[EMU_THREADS]; /* stack pointers of lanes that wait */
extern void *emu_main;               /* and of the loop over warps */
extern bool emu_lanes_descend;
emu_collective *emu_find(emu_warp_state &w, emu_mask mask);
void emu_complete(emu_warp_state &w, emu_collective &c);
/* Its own arrays only, and at each switch. */
#define EMU_HOT __attribute__((no_sanitize("address"), always_inline)) static inline
/* Go on with another stack. A jump, and in the place of each call: processors foresee where it leads, which returns to
 * other stacks would spoil. */
EMU_HOT void emu_switch(void **save, void *load)
{
  asm volatile("pushq %%rbp\n\tleaq 1f(%%rip), %%rax\n\tpushq %%rax\n\tmovq %%rsp, (%0)\n\tmovq %1, %%rsp\n\t"
               "popq %%rax\n\tjmp *%%rax\n1:\tpopq %%rbp"
               : "+D"(save), "+S"(load)
               :
               : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                 "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                 "xmm14", "xmm15", "memory", "cc");
}
/* the ready lane after lane `me`, cyclically; some lane is ready */
EMU_HOT unsigned emu_next_lane(emu_mask ready, unsigned me)
{
  if (emu_lanes_descend) {
    emu_mask below = ready & (((emu_mask)1 << me) - 1);
    return 63 - (unsigned)__builtin_clzll(below ? below : ready);
  }
  emu_mask above = ready & (~(emu_mask)1 << me);
  return (unsigned)__builtin_ctzll(above ? above : ready);
}
/* Leave this lane, which is not ready any more. */
EMU_HOT void emu_leave(const emu_warp_state &w)
{
  unsigned me = threadIdx.x;
  void *to = emu_main;
  if (w.ready) {
    threadIdx.x = me / EMU_LANES * EMU_LANES + emu_next_lane(w.ready, me % EMU_LANES);
    to = emu_fiber[threadIdx.x];
  }
  emu_switch(&emu_fiber[me], to);
}
EMU_HOT emu_round &emu_warp(emu_mask mask, uint64_t v)
{
  emu_warp_state &w = *emu_now;
  const unsigned lane = threadIdx.x % EMU_LANES;
  const emu_mask bit = (emu_mask)1 << lane;
  emu_collective *c = w.collective;
  if (!(mask & bit) || w.masks == 0 || c->mask != mask) c = emu_find(w, mask);
  emu_round &r = c->round[c->turn & 1];
  r.v[lane] = v;
  r.part |= bit;
  r.ballot |= v ? bit : 0;
  if (r.part == (mask & w.alive)) emu_complete(w, *c);
  else {
    w.ready &= ~bit;
    emu_leave(w);
  }
  return r;
}
static inline int emu_lane() { return (int)(threadIdx.x % EMU_LANES); }
template <class T> static inline uint64_t emu_bits(T x)
{
  static_assert(sizeof(T) <= 8);
  uint64_t b = 0;
  memcpy(&b, &x, sizeof x);
  return b;
}
template <class T> static inline T emu_value(uint64_t b)
{
  T x;
  memcpy(&x, &b, sizeof x);
  return x;
}
static inline void __syncwarp(emu_mask m) { emu_warp(m, 0); }
static inline void __threadfence() {}
static inline void __threadfence_system() {}
void __syncthreads();
int __syncthreads_or(int p);
int __syncthreads_count(int p);
static inline emu_mask __ballot_sync(emu_mask m, bool p) { return emu_warp(m, p).ballot; }
static inline int __any_sync(emu_mask m, bool p) { return __ballot_sync(m, p) != 0; }
static inline void emu_check(emu_mask part, int from)
{
  if (!(part >> from & 1)) {
    fprintf(stderr, "emu: shuffle from a lane that is not there (%d of %llx)\n", from, (unsigned long long)part);
    abort();
  }
}
template <class T> static inline T __shfl_sync(emu_mask m, T x, int from, int width = EMU_LANES)
{
  emu_round &s = emu_warp(m, emu_bits(x));
  int l = emu_lane() / width * width + from % width;
  emu_check(s.part, l);
  return emu_value<T>(s.v[l]);
}
template <class T> static inline T __shfl_xor_sync(emu_mask m, T x, int step)
{
  emu_round &s = emu_warp(m, emu_bits(x));
  int l = emu_lane() ^ step;
  emu_check(s.part, l);
  return emu_value<T>(s.v[l]);
}
template <class T> static inline T __shfl_up_sync(emu_mask m, T x, unsigned step)
{
  emu_round &s = emu_warp(m, emu_bits(x));
  int l = emu_lane() - (int)step;
  return l < 0 ? x : emu_value<T>(s.v[l]);
}
template <class T> static inline T __shfl_down_sync(emu_mask m, T x, unsigned step)
{
  emu_round &s = emu_warp(m, emu_bits(x));
  int l = emu_lane() + (int)step;
  return l >= EMU_LANES ? x : emu_value<T>(s.v[l]);
}
/* of integers, so the same for all lanes: the first lane that asks computes it */
template <class T, class F> static inline T emu_reduce(emu_mask m, T x, F f)
{
  static_assert(std::is_integral_v<T>);
  emu_round &s = emu_warp(m, emu_bits(x));
  if (!s.reduced) {
    emu_mask left = s.part & (s.part - 1);
    T r = emu_value<T>(s.v[__builtin_ctzll(s.part)]);
    for (; left; left &= left - 1) r = f(r, emu_value<T>(s.v[__builtin_ctzll(left)]));
    s.result = emu_bits(r);
    s.reduced = true;
  }
  return emu_value<T>(s.result);
}
template <class T> static inline T __reduce_min_sync(emu_mask m, T x)
{
  return emu_reduce(m, x, [](T a, T b) { return b < a ? b : a; });
}
template <class T> static inline T __reduce_max_sync(emu_mask m, T x)
{
  return emu_reduce(m, x, [](T a, T b) { return b > a ? b : a; });
}
template <class T> static inline T __reduce_or_sync(emu_mask m, T x)
{
  return emu_reduce(m, x, [](T a, T b) -> T { return a | b; });
}
template <class T> static inline T __reduce_add_sync(emu_mask m, T x)
{
  return emu_reduce(m, x, [](T a, T b) -> T { return (T)(a + b); });
}
template <class T> static inline emu_mask __match_any_sync(emu_mask m, T x)
{
  emu_round &s = emu_warp(m, emu_bits(x));
  emu_mask r = 0;
  for (int k = 0; k < EMU_LANES; k++)
    if (s.part >> k & 1 && s.v[k] == emu_bits(x)) r |= (emu_mask)1 << k;
  return r;
}
void emu_run(unsigned blocks, unsigned threads, const std::function<void()> &f, const char *name);
template <class P, class A> static inline P emu_to(A a)
{
  if constexpr (std::is_pointer_v<P> && !std::is_pointer_v<A>) return (P)(uintptr_t)a;
  else return (P)a;
}
template <class... P, class... A>
void emu_launch(const char *name, unsigned blocks, unsigned threads, void (*k)(P...), A... a)
{
  std::tuple<std::decay_t<P>...> args(emu_to<std::decay_t<P>>(a)...);
  emu_run(
      blocks, threads, [&] { std::apply(k, args); }, name);
}
/* runtime */
enum cudaError_t { cudaSuccess, cudaErrorNotReady, cudaErrorMemoryAllocation, cudaErrorInsufficientDriver };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum {
  cudaStreamNonBlocking,
  cudaEventDisableTiming,
  cudaFuncAttributeMaxDynamicSharedMemorySize,
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrCooperativeLaunch
};
typedef void *cudaStream_t;
typedef void *cudaEvent_t;
struct cudaDeviceProp {
  char name[256];
  int major, minor, multiProcessorCount;
  size_t totalGlobalMem;
  struct {
    char bytes[16];
  } uuid;
};
struct cudaFuncAttributes {
  int x;
};
template <class T> static inline cudaError_t cudaMalloc(T **p, size_t n)
{
  *p = NULL;
  posix_memalign((void **)p, 256, n ? n : 1);
  memset((void *)*p, 0xAB, n);
  return cudaSuccess;
}
static inline cudaError_t cudaFree(void *p)
{
  free(p);
  return cudaSuccess;
}
template <class T> static inline cudaError_t cudaMallocHost(T **p, size_t n) { return cudaMalloc(p, n); }
static inline cudaError_t cudaFreeHost(void *p)
{
  free(p);
  return cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(void *a, const void *b, size_t n, cudaMemcpyKind, cudaStream_t)
{
  memmove(a, b, n);
  return cudaSuccess;
}
static inline cudaError_t cudaMemcpy2DAsync(void *a, size_t pa, const void *b, size_t pb, size_t w, size_t h,
                                            cudaMemcpyKind, cudaStream_t)
{
  for (size_t k = 0; k < h; k++) memcpy((char *)a + k * pa, (const char *)b + k * pb, w);
  return cudaSuccess;
}
static inline cudaError_t cudaMemsetAsync(void *a, int v, size_t n, cudaStream_t)
{
  memset(a, v, n);
  return cudaSuccess;
}
static inline cudaError_t cudaMemGetInfo(size_t *a, size_t *b)
{
  *a = *b = 1u << 30;
  return cudaSuccess;
}
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline const char *cudaGetErrorString(cudaError_t) { return "none"; }
static inline cudaError_t cudaDriverGetVersion(int *v)
{
  *v = 13000;
  return cudaSuccess;
}
static inline cudaError_t cudaRuntimeGetVersion(int *v)
{
  *v = 13000;
  return cudaSuccess;
}
static inline cudaError_t cudaGetDeviceCount(int *n)
{
  *n = 1;
  return cudaSuccess;
}
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
  memset(p, 0, sizeof *p);
  strcpy(p->name, "emulated");
  p->major = 9;
  return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetAttribute(int *v, int a, int)
{
  *v = a == cudaDevAttrMultiProcessorCount ? 4 : a == cudaDevAttrCooperativeLaunch ? 0 : 9;
  return cudaSuccess;
}
static inline cudaError_t cudaGetDevice(int *d)
{
  *d = 0;
  return cudaSuccess;
}
static inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, int)
{
  *s = NULL;
  return cudaSuccess;
}
static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, int, int)
{
  *s = NULL;
  return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetStreamPriorityRange(int *a, int *b)
{
  *a = *b = 0;
  return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetPCIBusId(char *s, int n, int)
{
  snprintf(s, n, "emulated");
  return cudaSuccess;
}
static inline void __nanosleep(unsigned) {}
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a) : x(a), y(1), z(1) {}
};
/* blocks follow each other */
static inline cudaError_t cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t)
{
  abort();
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
/* Events are numbers, ascending as they are recorded; those up to emu_waited are known to be over. */
inline int64_t emu_recorded, emu_waited;
static inline cudaError_t cudaStreamSynchronize(cudaStream_t)
{
  emu_waited = emu_recorded;
  return cudaSuccess;
}
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int) { return cudaSuccess; }
static inline cudaError_t cudaEventCreate(cudaEvent_t *e)
{
  *e = calloc(1, sizeof(int64_t));
  return cudaSuccess;
}
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, int) { return cudaEventCreate(e); }
static inline cudaError_t cudaEventDestroy(cudaEvent_t e)
{
  free(e);
  return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t)
{
  *(int64_t *)e = ++emu_recorded;
  return cudaSuccess;
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
  if (*(int64_t *)e > emu_waited) emu_waited = *(int64_t *)e;
  return cudaSuccess;
}
static inline cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
static inline cudaError_t cudaEventElapsedTime(float *f, cudaEvent_t, cudaEvent_t to)
{
  *f = 0;
  return *(int64_t *)to > emu_waited ? cudaErrorNotReady : cudaSuccess;
}
template <class K> static inline cudaError_t cudaFuncSetAttribute(K, int, int) { return cudaSuccess; }
template <class K> static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, K) { return cudaSuccess; }
template <class K> static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, K, int, size_t)
{
  *n = 1;
  return cudaSuccess;
}
static inline float emu_log2f(float x) { return log2f(x); }
#define __log2f emu_log2f
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
#endif
