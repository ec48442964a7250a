/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one door to the device's runtime: all names of the vendor that gpu/ uses.
 *
 * Other files of gpu/ use the names of this header only (tests/rules.sh checks it), so another runtime is another
 * version of this header. Its parts are lanes of a warp, arithmetic and memory of a lane, launches, calls of the host.
 * What CUDA and HIP share is used as it is: __global__, __shared__, threadIdx, __syncthreads, atomics, float4, and the
 * conversions of bits as __float_as_int. Libraries have doors of their own: scan.cuh, sort.cuh, select.cuh (CUB),
 * ranges.cu (NVTX), exchange/nccl.cu (NCCL).
 *
 * ESP_EMULATED is set where tests/emulator compiles the kernels for the CPU. */
#ifndef GPU_RUNTIME_CUH
#define GPU_RUNTIME_CUH
#include <cuda_runtime.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define DEVICE_INLINE static __device__ __forceinline__
/* A function with much code, which is called rather than copied to each place: kernels stay small for the compiler. */
#ifdef ESP_EMULATED
#define DEVICE_CALL static __device__
#else
#define DEVICE_CALL static __device__ __noinline__
#endif
/* The variable of the environment with which launches wait for the ends of kernels. */
#define RUNTIME_LAUNCHES_WAIT "CUDA_LAUNCH_BLOCKING"
/* Where a thread waits until the host has served `mail`; the emulator has no host beside the kernel. */
#ifdef ESP_EMULATED
#define HOST_SERVES(mail) (mail)->serve(mail)
#else
#define HOST_SERVES(mail) (void)(mail)
#endif

/* --- lanes of a warp --------------------------------------------------------------------------------------------- */

enum { LANES = 32, THREADS = 256 }; /* lanes of a warp; threads of a usual block */
typedef unsigned lane_mask;         /* a set of lanes: bit l is lane l */
#define ALL_LANES ((lane_mask)0xffffffffu)
static_assert(sizeof(lane_mask) * 8 == LANES, "a bit for every lane");

/* Blocks of `threads` threads for n elements, one element a thread. */
static inline int64_t blocks_for(int64_t n, int threads) { return (n + threads - 1) / threads; }

/* The lane of the calling thread in its warp, 0 to LANES - 1, and the lanes below it. */
static __device__ inline int lane_id(void) { return (int)(threadIdx.x % LANES); }
DEVICE_INLINE lane_mask lane_bit(int lane) { return (lane_mask)1 << lane; }
static __device__ inline lane_mask lanes_below(void) { return lane_bit(lane_id()) - 1; }
/* The number of lanes of a set, and its first one; the set is not empty. */
DEVICE_INLINE int lane_count(lane_mask mask) { return __popc(mask); }
DEVICE_INLINE int first_lane(lane_mask mask) { return __ffs((int)mask) - 1; }

/* All lanes of the warp call these. */
DEVICE_INLINE void warp_sync(void) { __syncwarp(ALL_LANES); }
DEVICE_INLINE lane_mask warp_ballot(int holds) { return __ballot_sync(ALL_LANES, holds); }
DEVICE_INLINE int warp_any(int holds) { return __any_sync(ALL_LANES, holds); }
/* The lanes that have the same x as this one. */
template <typename T> DEVICE_INLINE lane_mask warp_match(T x) { return __match_any_sync(ALL_LANES, x); }
/* The x of lane `from`; of the lane whose number differs by the bits of `step`; of the lane `step` below or above,
 * where there is none the own x. */
template <typename T> DEVICE_INLINE T warp_shuffle(T x, int from) { return __shfl_sync(ALL_LANES, x, from); }
/* The same within rows of `width` lanes, a power of two. */
template <typename T> DEVICE_INLINE T warp_shuffle(T x, int from, int width)
{
  return __shfl_sync(ALL_LANES, x, from, width);
}
template <typename T> DEVICE_INLINE T warp_shuffle_xor(T x, int step) { return __shfl_xor_sync(ALL_LANES, x, step); }
template <typename T> DEVICE_INLINE T warp_shuffle_up(T x, unsigned step) { return __shfl_up_sync(ALL_LANES, x, step); }
template <typename T> DEVICE_INLINE T warp_shuffle_down(T x, unsigned step)
{
  return __shfl_down_sync(ALL_LANES, x, step);
}
/* Over all lanes, of integers of 32 bits. */
template <typename T> DEVICE_INLINE T warp_sum(T x) { return __reduce_add_sync(ALL_LANES, x); }
template <typename T> DEVICE_INLINE T warp_min(T x) { return __reduce_min_sync(ALL_LANES, x); }
template <typename T> DEVICE_INLINE T warp_max(T x) { return __reduce_max_sync(ALL_LANES, x); }
DEVICE_INLINE lane_mask warp_or(lane_mask mask) { return __reduce_or_sync(ALL_LANES, mask); }
/* Over the lanes of a set, which the calling lane belongs to; all lanes of the set call. */
template <typename T> DEVICE_INLINE T warp_min_of(lane_mask lanes, T x) { return __reduce_min_sync(lanes, x); }

/* --- arithmetic and memory of a lane ----------------------------------------------------------------------------- */

/* Number of set bits; 1 + the position of the lowest set bit, 0 if there is none; number of zeros above the highest. */
DEVICE_INLINE int bit_count(uint32_t x) { return __popc(x); }
DEVICE_INLINE int bit_count_64(uint64_t x) { return __popcll(x); }
DEVICE_INLINE int lowest_bit(uint32_t x) { return __ffs((int)x); }
DEVICE_INLINE int lowest_bit_64(uint64_t x) { return __ffsll((long long)x); }
DEVICE_INLINE int leading_zeros_64(uint64_t x) { return __clzll((long long)x); }

/* Load what no thread of the kernel writes. */
template <typename T> DEVICE_INLINE T load_read_only(const T *from) { return __ldg(from); }
/* What this thread wrote is visible to the device before what it writes from now on. */
DEVICE_INLINE void device_fence(void) { __threadfence(); }
/* To the host as well. */
DEVICE_INLINE void system_fence(void) { __threadfence_system(); }
/* The compiler keeps nothing of memory in registers across this. */
DEVICE_INLINE void compiler_fence(void) { asm volatile("" ::: "memory"); }
DEVICE_INLINE void pause_thread(unsigned nanoseconds) { __nanosleep(nanoseconds); }

/* Approximations to about 1e-7, which are inlined; exact ones would be function calls. Denormal x counts as 0. */
DEVICE_INLINE float inverse_root(float x)
{
  float y;
#ifdef ESP_EMULATED
  y = 1 / sqrtf(x);
#else
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
#endif
  return y;
}
DEVICE_INLINE float root(float x)
{
  float y;
#ifdef ESP_EMULATED
  y = sqrtf(x);
#else
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
#endif
  return y;
}
DEVICE_INLINE float inverse(float x)
{
  float y;
#ifdef ESP_EMULATED
  y = 1 / x;
#else
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
#endif
  return y;
}

/* --- launches ---------------------------------------------------------------------------------------------------- */

typedef cudaError_t runtime_error;
typedef cudaStream_t runtime_stream;
typedef cudaEvent_t runtime_event;

/* Arrays grow with slack, and the shared memory that a launch asks for has a name. The emulator leaves no slack, so it
 * finds what lies beyond an array. */
#ifdef ESP_EMULATED
enum { MEMORY_SLACK = 0 };
#define LAUNCHED_MEMORY(type, name) extern type name[]
#define RUNTIME_LAUNCH(stream, kernel, blocks, threads, shared, ...) \
  emu_launch(#kernel, blocks, threads, kernel, __VA_ARGS__);         \
  (void)(shared)
#else
enum { MEMORY_SLACK = 1 };
#define LAUNCHED_MEMORY(type, name) extern __shared__ type name[]
#define RUNTIME_LAUNCH(stream, kernel, blocks, threads, shared, ...) \
  (kernel)<<<blocks, threads, shared, stream>>>(__VA_ARGS__)
#endif

/* Launch a kernel whose blocks all run at the same time, so that they may wait for each other. */
static inline runtime_error runtime_launch_together(const void *kernel, int blocks, int threads, void **arguments,
                                                    runtime_stream stream)
{
  return cudaLaunchCooperativeKernel(kernel, dim3((unsigned)blocks), dim3((unsigned)threads), arguments, 0, stream);
}
/* Blocks of a kernel that a multiprocessor runs at a time. */
template <typename K> runtime_error runtime_resident_blocks(int *blocks, K kernel, int threads, size_t shared)
{
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}
/* Allow so many bytes of shared memory to a launch of the kernel. */
template <typename K> runtime_error runtime_allow_shared(K kernel, size_t bytes)
{
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}
/* An error if the device cannot run the kernel, as it was compiled for others. */
template <typename K> runtime_error runtime_try_kernel(K kernel)
{
  struct cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, kernel);
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static const runtime_error RUNTIME_SUCCESS = cudaSuccess, RUNTIME_NOT_READY = cudaErrorNotReady,
                           RUNTIME_NO_MEMORY = cudaErrorMemoryAllocation,
                           RUNTIME_OLD_DRIVER = cudaErrorInsufficientDriver;
static inline const char *runtime_error_text(runtime_error error) { return cudaGetErrorString(error); }
/* The last error, which is cleared. */
static inline runtime_error runtime_last_error(void) { return cudaGetLastError(); }

/* Every call goes through this. An error is fatal; the message has the call and the runtime's own text. */
#define CHECK(call)                                                                            \
  do {                                                                                         \
    runtime_error status_ = (call);                                                            \
    if (status_ != RUNTIME_SUCCESS) fatal("CUDA: %s: %s", #call, runtime_error_text(status_)); \
  } while (0)

/* --- devices ----------------------------------------------------------------------------------------------------- */

typedef cudaDeviceProp runtime_properties;
static inline runtime_error runtime_driver_version(int *version) { return cudaDriverGetVersion(version); }
static inline runtime_error runtime_version(int *version) { return cudaRuntimeGetVersion(version); }
static inline runtime_error runtime_device_count(int *count) { return cudaGetDeviceCount(count); }
static inline runtime_error runtime_device(int *device) { return cudaGetDevice(device); }
static inline runtime_error runtime_set_device(int device) { return cudaSetDevice(device); }
static inline runtime_error runtime_device_properties(runtime_properties *properties, int device)
{
  return cudaGetDeviceProperties(properties, device);
}
static inline runtime_error runtime_bus_id(char *text, int size, int device)
{
  return cudaDeviceGetPCIBusId(text, size, device);
}
static inline runtime_error runtime_capability(int *major, int device)
{
  return cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
}
static inline runtime_error runtime_multiprocessors(int *count, int device)
{
  return cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device);
}
/* Whether runtime_launch_together works. */
static inline runtime_error runtime_launches_together(int *yes, int device)
{
  return cudaDeviceGetAttribute(yes, cudaDevAttrCooperativeLaunch, device);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

typedef enum cudaMemcpyKind runtime_direction;
static const runtime_direction TO_DEVICE = cudaMemcpyHostToDevice, TO_HOST = cudaMemcpyDeviceToHost,
                               ON_DEVICE = cudaMemcpyDeviceToDevice;
static inline runtime_error runtime_alloc(void **block, size_t bytes) { return cudaMalloc(block, bytes); }
static inline runtime_error runtime_free(void *block) { return cudaFree(block); }
/* Page-locked memory of the host. */
template <typename T> runtime_error runtime_alloc_host(T **block, size_t bytes) { return cudaMallocHost(block, bytes); }
static inline runtime_error runtime_free_host(void *block) { return cudaFreeHost(block); }
static inline runtime_error runtime_memory(size_t *left, size_t *all) { return cudaMemGetInfo(left, all); }
/* Queued. */
static inline runtime_error runtime_copy(void *to, const void *from, size_t bytes, runtime_direction direction,
                                         runtime_stream stream)
{
  return cudaMemcpyAsync(to, from, bytes, direction, stream);
}
static inline runtime_error runtime_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                              size_t bytes, size_t rows, runtime_direction direction,
                                              runtime_stream stream)
{
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, rows, direction, stream);
}
static inline runtime_error runtime_set_bytes(void *at, int byte, size_t bytes, runtime_stream stream)
{
  return cudaMemsetAsync(at, byte, bytes, stream);
}

/* --- streams and events ------------------------------------------------------------------------------------------ */

/* Streams that do not wait for the default stream. */
static inline runtime_error runtime_stream_create(runtime_stream *stream)
{
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}
static inline runtime_error runtime_stream_create_priority(runtime_stream *stream, int priority)
{
  return cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority);
}
static inline runtime_error runtime_stream_priorities(int *low, int *high)
{
  return cudaDeviceGetStreamPriorityRange(low, high);
}
static inline runtime_error runtime_stream_destroy(runtime_stream stream) { return cudaStreamDestroy(stream); }
/* The host waits for the stream; the stream waits for the event. */
static inline runtime_error runtime_stream_sync(runtime_stream stream) { return cudaStreamSynchronize(stream); }
static inline runtime_error runtime_stream_wait(runtime_stream stream, runtime_event event)
{
  return cudaStreamWaitEvent(stream, event, 0);
}
/* Events that measure times, and cheaper ones that do not. */
static inline runtime_error runtime_event_create(runtime_event *event) { return cudaEventCreate(event); }
static inline runtime_error runtime_event_create_untimed(runtime_event *event)
{
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}
static inline runtime_error runtime_event_destroy(runtime_event event) { return cudaEventDestroy(event); }
static inline runtime_error runtime_event_record(runtime_event event, runtime_stream stream)
{
  return cudaEventRecord(event, stream);
}
static inline runtime_error runtime_event_sync(runtime_event event) { return cudaEventSynchronize(event); }
static inline runtime_error runtime_event_query(runtime_event event) { return cudaEventQuery(event); }
static inline runtime_error runtime_event_milliseconds(float *milliseconds, runtime_event from, runtime_event to)
{
  return cudaEventElapsedTime(milliseconds, from, to);
}
#endif
