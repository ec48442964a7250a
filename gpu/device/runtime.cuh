/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one door to the device's runtime, CUDA's or HIP's: all names of a vendor that gpu/ uses.
 *
 * Other files of gpu/ use the names of this header only (tests/rules.sh checks it). Its parts are lanes of a warp,
 * arithmetic and memory of a lane, launches, calls of the host, sorts and scans, and the names of other libraries.
 * What CUDA and HIP share is used as it is: __global__, __shared__, threadIdx, __syncthreads, atomics, float4, and the
 * conversions of bits as __float_as_int. Most calls of the host differ in their prefix only: RUNTIME(name).
 *
 * ESP_HAVE_HIP: HIP, for AMD's devices, whose warps (wavefronts) have 64 lanes. ESP_EMULATED is set where
 * tests/emulator compiles the kernels for the CPU, with EMU_LANES lanes. */
#ifndef GPU_RUNTIME_CUH
#define GPU_RUNTIME_CUH
#if defined ESP_HAVE_HIP && !defined ESP_EMULATED
#define RUNTIME_IS_HIP 1
#include <hip/hip_runtime.h>
#include <iostream> /* which headers of rocPRIM need and do not include */
#define RUNTIME(name) hip##name
#define RUNTIME_NAME "HIP"
#define __grid_constant__
#else
#include <cuda_runtime.h>
#define RUNTIME(name) cuda##name
#define RUNTIME_NAME "CUDA"
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fault.h"

#define DEVICE_INLINE static __device__ __forceinline__
/* A function with much code, which is called rather than copied to each place: kernels stay small for the compiler. */
#ifdef ESP_EMULATED
#define DEVICE_CALL static __device__
#else
#define DEVICE_CALL static __device__ __noinline__
#endif
/* The variable of the environment with which launches wait for the ends of kernels. */
#ifdef RUNTIME_IS_HIP
#define RUNTIME_LAUNCHES_WAIT "HIP_LAUNCH_BLOCKING"
#else
#define RUNTIME_LAUNCHES_WAIT "CUDA_LAUNCH_BLOCKING"
#endif
/* Where a thread waits until the host has served `mail`; the emulator has no host beside the kernel. */
#ifdef ESP_EMULATED
#define HOST_SERVES(mail) (mail)->serve(mail)
#else
#define HOST_SERVES(mail) (void)(mail)
#endif

/* --- lanes of a warp --------------------------------------------------------------------------------------------- */

/* Lanes of a warp; threads of a usual block. A set of lanes: bit l is lane l. */
#if defined ESP_EMULATED
enum { LANES = EMU_LANES, THREADS = 256 };
typedef emu_mask lane_mask;
#elif defined RUNTIME_IS_HIP
enum { LANES = 64, THREADS = 256 };
typedef uint64_t lane_mask;
#else
enum { LANES = 32, THREADS = 256 };
typedef uint32_t lane_mask;
#endif
#define ALL_LANES (~(lane_mask)0)
static_assert(sizeof(lane_mask) * 8 == LANES, "a bit for every lane");

/* Blocks of `threads` threads for n elements, one element a thread. */
static inline int64_t blocks_for(int64_t n, int threads) { return (n + threads - 1) / threads; }

/* The lane of the calling thread in its warp, 0 to LANES - 1, and the lanes below it. */
static __device__ inline int lane_id(void) { return (int)(threadIdx.x % LANES); }
DEVICE_INLINE lane_mask lane_bit(int lane) { return (lane_mask)1 << lane; }
static __device__ inline lane_mask lanes_below(void) { return lane_bit(lane_id()) - 1; }
/* The number of lanes of a set, and its first one; the set is not empty. */
DEVICE_INLINE int lane_count(lane_mask mask) { return LANES == 64 ? __popcll(mask) : __popc((uint32_t)mask); }
DEVICE_INLINE int first_lane(lane_mask mask)
{
  return (LANES == 64 ? __ffsll((long long)mask) : __ffs((int)(uint32_t)mask)) - 1;
}

#ifdef RUNTIME_IS_HIP
/* All lanes of the warp call these. */
DEVICE_INLINE void warp_sync(void)
{
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
DEVICE_INLINE lane_mask warp_ballot(int holds) { return __ballot(holds); }
DEVICE_INLINE int warp_any(int holds) { return __any(holds); }
template <typename T> DEVICE_INLINE T warp_shuffle(T x, int from) { return __shfl(x, from); }
template <typename T> DEVICE_INLINE T warp_shuffle(T x, int from, int width) { return __shfl(x, from, width); }
template <typename T> DEVICE_INLINE T warp_shuffle_xor(T x, int step) { return __shfl_xor(x, step); }
template <typename T> DEVICE_INLINE T warp_shuffle_up(T x, unsigned step) { return __shfl_up(x, step); }
template <typename T> DEVICE_INLINE T warp_shuffle_down(T x, unsigned step) { return __shfl_down(x, step); }
template <typename T> DEVICE_INLINE lane_mask warp_match(T x)
{
  lane_mask mine = 0;
  for (lane_mask left = warp_ballot(1); left;) {
    T of = warp_shuffle(x, first_lane(left));
    lane_mask same = warp_ballot(x == of);
    if (x == of) mine = same;
    left &= ~same;
  }
  return mine;
}
template <typename T, typename F> DEVICE_INLINE T warp_joined(T x, F join)
{
  for (int step = LANES / 2; step > 0; step /= 2) x = join(x, warp_shuffle_xor(x, step));
  return x;
}
template <typename T> DEVICE_INLINE T warp_sum(T x)
{
  return warp_joined(x, [](T a, T b) { return (T)(a + b); });
}
template <typename T> DEVICE_INLINE T warp_min(T x)
{
  return warp_joined(x, [](T a, T b) { return b < a ? b : a; });
}
template <typename T> DEVICE_INLINE T warp_max(T x)
{
  return warp_joined(x, [](T a, T b) { return a < b ? b : a; });
}
DEVICE_INLINE lane_mask warp_or(lane_mask mask)
{
  return warp_joined(mask, [](lane_mask a, lane_mask b) { return a | b; });
}
template <typename T> DEVICE_INLINE T warp_min_of(lane_mask lanes, T x)
{
  T least = x;
  for (int k = 0; k < LANES; k++) {
    T other = warp_shuffle(x, k);
    if (lanes >> k & 1 && other < least) least = other;
  }
  return least;
}
#else
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
/* Over all lanes, of integers of 32 bits, or of sets. */
template <typename T> DEVICE_INLINE T warp_sum(T x) { return __reduce_add_sync(ALL_LANES, x); }
template <typename T> DEVICE_INLINE T warp_min(T x) { return __reduce_min_sync(ALL_LANES, x); }
template <typename T> DEVICE_INLINE T warp_max(T x) { return __reduce_max_sync(ALL_LANES, x); }
DEVICE_INLINE lane_mask warp_or(lane_mask mask) { return __reduce_or_sync(ALL_LANES, mask); }
/* Over the lanes of a set, which the calling lane belongs to; all lanes of the warp call, each with its set. */
template <typename T> DEVICE_INLINE T warp_min_of(lane_mask lanes, T x) { return __reduce_min_sync(lanes, x); }
#endif

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
#ifdef RUNTIME_IS_HIP
DEVICE_INLINE void pause_thread(unsigned nanoseconds)
{
  for (unsigned k = 0; k < nanoseconds; k += 50) __builtin_amdgcn_s_sleep(1); /* 64 cycles */
}
#else
DEVICE_INLINE void pause_thread(unsigned nanoseconds) { __nanosleep(nanoseconds); }
#endif

/* Approximations to about 1e-7, which are inlined; exact ones would be function calls. Denormal x counts as 0. */
DEVICE_INLINE float inverse_root(float x)
{
  float y;
#if defined ESP_EMULATED
  y = 1 / sqrtf(x);
#elif defined RUNTIME_IS_HIP
  y = __builtin_amdgcn_rsqf(x);
#else
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
#endif
  return y;
}
DEVICE_INLINE float root(float x)
{
  float y;
#if defined ESP_EMULATED
  y = sqrtf(x);
#elif defined RUNTIME_IS_HIP
  y = __builtin_amdgcn_sqrtf(x);
#else
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
#endif
  return y;
}
DEVICE_INLINE float inverse(float x)
{
  float y;
#if defined ESP_EMULATED
  y = 1 / x;
#elif defined RUNTIME_IS_HIP
  y = __builtin_amdgcn_rcpf(x);
#else
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
#endif
  return y;
}

/* --- launches ---------------------------------------------------------------------------------------------------- */

typedef RUNTIME(Error_t) runtime_error;
typedef RUNTIME(Stream_t) runtime_stream;
typedef RUNTIME(Event_t) runtime_event;

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
  return RUNTIME(LaunchCooperativeKernel)(kernel, dim3((unsigned)blocks), dim3((unsigned)threads), arguments, 0,
                                          stream);
}
/* Blocks of a kernel that a multiprocessor runs at a time. */
template <typename K> runtime_error runtime_resident_blocks(int *blocks, K kernel, int threads, size_t shared)
{
  return RUNTIME(OccupancyMaxActiveBlocksPerMultiprocessor)(blocks, kernel, threads, shared);
}
/* Allow so many bytes of shared memory to a launch of the kernel. */
template <typename K> runtime_error runtime_allow_shared(K kernel, size_t bytes)
{
  return RUNTIME(FuncSetAttribute)((const void *)kernel, RUNTIME(FuncAttributeMaxDynamicSharedMemorySize), (int)bytes);
}
/* An error if the device cannot run the kernel, as it was compiled for others. */
template <typename K> runtime_error runtime_try_kernel(K kernel)
{
  struct RUNTIME(FuncAttributes) attributes;
  return RUNTIME(FuncGetAttributes)(&attributes, (const void *)kernel);
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static const runtime_error RUNTIME_SUCCESS = RUNTIME(Success), RUNTIME_NOT_READY = RUNTIME(ErrorNotReady),
                           RUNTIME_NO_MEMORY = RUNTIME(ErrorMemoryAllocation),
                           RUNTIME_OLD_DRIVER = RUNTIME(ErrorInsufficientDriver);
static inline const char *runtime_error_text(runtime_error error) { return RUNTIME(GetErrorString)(error); }
/* The last error, which is cleared. */
static inline runtime_error runtime_last_error(void) { return RUNTIME(GetLastError)(); }

/* Every call goes through this. An error is fatal; the message has the call and the runtime's own text. */
#define CHECK(call)                                                                                     \
  do {                                                                                                  \
    runtime_error status_ = (call);                                                                     \
    if (status_ != RUNTIME_SUCCESS) fatal(RUNTIME_NAME ": %s: %s", #call, runtime_error_text(status_)); \
  } while (0)

/* --- devices ----------------------------------------------------------------------------------------------------- */

#ifdef RUNTIME_IS_HIP
typedef hipDeviceProp_t runtime_properties;
#define RUNTIME_ATTRIBUTE(name) hipDeviceAttribute##name
#define hipDeviceAttributeMultiProcessorCount hipDeviceAttributeMultiprocessorCount
#else
typedef cudaDeviceProp runtime_properties;
#define RUNTIME_ATTRIBUTE(name) cudaDevAttr##name
#endif
static inline runtime_error runtime_driver_version(int *version) { return RUNTIME(DriverGetVersion)(version); }
static inline runtime_error runtime_version(int *version) { return RUNTIME(RuntimeGetVersion)(version); }
static inline runtime_error runtime_device_count(int *count) { return RUNTIME(GetDeviceCount)(count); }
static inline runtime_error runtime_device(int *device) { return RUNTIME(GetDevice)(device); }
static inline runtime_error runtime_set_device(int device) { return RUNTIME(SetDevice)(device); }
static inline runtime_error runtime_device_properties(runtime_properties *properties, int device)
{
  return RUNTIME(GetDeviceProperties)(properties, device);
}
/* The 16 bytes that no other device has; `properties` are the device's. */
static inline runtime_error runtime_identity(void *to, const runtime_properties *properties, int device)
{
#ifdef RUNTIME_IS_HIP
  hipUUID uuid;
  runtime_error error = hipDeviceGetUuid(&uuid, device);
  memcpy(to, uuid.bytes, 16);
  (void)properties;
  return error;
#else
  memcpy(to, &properties->uuid, 16);
  (void)device;
  return RUNTIME_SUCCESS;
#endif
}
static inline runtime_error runtime_bus_id(char *text, int size, int device)
{
  return RUNTIME(DeviceGetPCIBusId)(text, size, device);
}
static inline runtime_error runtime_capability(int *major, int device)
{
  return RUNTIME(DeviceGetAttribute)(major, RUNTIME_ATTRIBUTE(ComputeCapabilityMajor), device);
}
static inline runtime_error runtime_multiprocessors(int *count, int device)
{
  return RUNTIME(DeviceGetAttribute)(count, RUNTIME_ATTRIBUTE(MultiProcessorCount), device);
}
/* Whether runtime_launch_together works. */
static inline runtime_error runtime_launches_together(int *yes, int device)
{
  return RUNTIME(DeviceGetAttribute)(yes, RUNTIME_ATTRIBUTE(CooperativeLaunch), device);
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

typedef enum RUNTIME(MemcpyKind) runtime_direction;
static const runtime_direction TO_DEVICE = RUNTIME(MemcpyHostToDevice), TO_HOST = RUNTIME(MemcpyDeviceToHost),
                               ON_DEVICE = RUNTIME(MemcpyDeviceToDevice);
static inline runtime_error runtime_alloc(void **block, size_t bytes) { return RUNTIME(Malloc)(block, bytes); }
static inline runtime_error runtime_free(void *block) { return RUNTIME(Free)(block); }
/* Page-locked memory of the host. */
template <typename T> runtime_error runtime_alloc_host(T **block, size_t bytes)
{
  return RUNTIME(MallocHost)((void **)block, bytes);
}
static inline runtime_error runtime_free_host(void *block) { return RUNTIME(FreeHost)(block); }
static inline runtime_error runtime_memory(size_t *left, size_t *all) { return RUNTIME(MemGetInfo)(left, all); }
/* Queued. */
static inline runtime_error runtime_copy(void *to, const void *from, size_t bytes, runtime_direction direction,
                                         runtime_stream stream)
{
  return RUNTIME(MemcpyAsync)(to, from, bytes, direction, stream);
}
static inline runtime_error runtime_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                              size_t bytes, size_t rows, runtime_direction direction,
                                              runtime_stream stream)
{
  return RUNTIME(Memcpy2DAsync)(to, to_pitch, from, from_pitch, bytes, rows, direction, stream);
}
static inline runtime_error runtime_set_bytes(void *at, int byte, size_t bytes, runtime_stream stream)
{
  return RUNTIME(MemsetAsync)(at, byte, bytes, stream);
}

/* --- streams and events ------------------------------------------------------------------------------------------ */

/* Streams that do not wait for the default stream. */
static inline runtime_error runtime_stream_create(runtime_stream *stream)
{
  return RUNTIME(StreamCreateWithFlags)(stream, RUNTIME(StreamNonBlocking));
}
static inline runtime_error runtime_stream_create_priority(runtime_stream *stream, int priority)
{
  return RUNTIME(StreamCreateWithPriority)(stream, RUNTIME(StreamNonBlocking), priority);
}
static inline runtime_error runtime_stream_priorities(int *low, int *high)
{
  return RUNTIME(DeviceGetStreamPriorityRange)(low, high);
}
static inline runtime_error runtime_stream_destroy(runtime_stream stream) { return RUNTIME(StreamDestroy)(stream); }
/* The host waits for the stream; the stream waits for the event. */
static inline runtime_error runtime_stream_sync(runtime_stream stream) { return RUNTIME(StreamSynchronize)(stream); }
static inline runtime_error runtime_stream_wait(runtime_stream stream, runtime_event event)
{
  return RUNTIME(StreamWaitEvent)(stream, event, 0);
}
/* Events that measure times, and cheaper ones that do not. */
static inline runtime_error runtime_event_create(runtime_event *event) { return RUNTIME(EventCreate)(event); }
static inline runtime_error runtime_event_create_untimed(runtime_event *event)
{
  return RUNTIME(EventCreateWithFlags)(event, RUNTIME(EventDisableTiming));
}
static inline runtime_error runtime_event_destroy(runtime_event event) { return RUNTIME(EventDestroy)(event); }
static inline runtime_error runtime_event_record(runtime_event event, runtime_stream stream)
{
  return RUNTIME(EventRecord)(event, stream);
}
static inline runtime_error runtime_event_sync(runtime_event event) { return RUNTIME(EventSynchronize)(event); }
static inline runtime_error runtime_event_query(runtime_event event) { return RUNTIME(EventQuery)(event); }
static inline runtime_error runtime_event_milliseconds(float *milliseconds, runtime_event from, runtime_event to)
{
  return RUNTIME(EventElapsedTime)(milliseconds, from, to);
}

/* --- libraries --------------------------------------------------------------------------------------------------- */

/* Sorts, scans and selections: CUB's or rocPRIM's, whose headers sort.cuh, scan.cuh and select.cuh include. Arguments
 * are CUB's. */
#ifdef RUNTIME_IS_HIP
#define LIBRARY_SORT_HEADER <rocprim/device/device_radix_sort.hpp>
#define LIBRARY_SCAN_HEADER <rocprim/device/device_scan.hpp>
#define LIBRARY_SELECT_HEADER <rocprim/device/device_select.hpp>
#define LIBRARY_COUNTING_HEADER <rocprim/iterator/counting_iterator.hpp>
#define LIBRARY_TRANSFORM_HEADER <rocprim/iterator/transform_iterator.hpp>
#define LIBRARY_SORT_PAIRS rocprim::radix_sort_pairs
#define LIBRARY_TWO_BUFFERS rocprim::double_buffer
#define LIBRARY_SORTED(keys, first) ((keys).current() != (first))
#define LIBRARY_SUMS(at, bytes, value, sum, n, stream)                                           \
  rocprim::exclusive_scan(at, bytes, value, sum, (std::decay_t<decltype(*(sum))>)0, (size_t)(n), \
                          rocprim::plus<std::decay_t<decltype(*(sum))>>(), stream)
#define LIBRARY_SELECT(at, bytes, from, to, count, n, holds, stream) \
  rocprim::select(at, bytes, from, to, count, (size_t)(n), holds, stream)
#define LIBRARY_COUNTING rocprim::counting_iterator
#define LIBRARY_TRANSFORMED(from, of) rocprim::make_transform_iterator(from, of)
#else
#define LIBRARY_SORT_HEADER <cub/device/device_radix_sort.cuh>
#define LIBRARY_SCAN_HEADER <cub/device/device_scan.cuh>
#define LIBRARY_SELECT_HEADER <cub/device/device_select.cuh>
#define LIBRARY_COUNTING_HEADER <thrust/iterator/counting_iterator.h>
#define LIBRARY_TRANSFORM_HEADER <thrust/iterator/transform_iterator.h>
#define LIBRARY_SORT_PAIRS cub::DeviceRadixSort::SortPairs
#define LIBRARY_TWO_BUFFERS cub::DoubleBuffer
#define LIBRARY_SORTED(keys, first) ((keys).selector)
#define LIBRARY_SUMS cub::DeviceScan::ExclusiveSum
#define LIBRARY_SELECT cub::DeviceSelect::If
#define LIBRARY_COUNTING thrust::counting_iterator
#define LIBRARY_TRANSFORMED(from, of) thrust::make_transform_iterator(from, of)
#endif
/* The functions of NCCL, and of RCCL, which has the same names and arguments. */
#define LIBRARY_MESSAGES(name) "nccl" name
#ifdef RUNTIME_IS_HIP
#define LIBRARY_MESSAGES_NAME "RCCL"
#define LIBRARY_MESSAGES_FILE "librccl.so.1"
#else
#define LIBRARY_MESSAGES_NAME "NCCL"
#define LIBRARY_MESSAGES_FILE "libnccl.so.2"
#endif
#endif
