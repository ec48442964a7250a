/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Neighbour lists of the hard part. A particle is entered into a cell of a grid by the middle of its path; a target
 * finds its candidates in the cells within its radius of neighbours plus half of both paths. The grid has levels, so
 * that particles with long paths or large radii are in wide cells of their own and do not widen the search of the
 * others. Cells are hashed. */
#include <config.h>

#include "gpu/device/scan.cuh"
#include "gpu/device/search.cuh"
#include "gpu/device/sort.cuh"
#include "gpu/neighbour_lists/neighbour_lists.cuh"

enum {
  CELL_BITS = 20, /* of each cell coordinate; farther cells are those at the end */
  CELL_LAST = (1 << CELL_BITS) - 1,
  LIST_WARPS = THREADS / LANES,
  LIST_STAGED = 24,  /* neighbours that the first search stores; longer lists are searched again */
  LIST_SORTED = 128, /* longer lists are sorted by a block */
  FEW_CELLS = 64,
  ENTRIES_SPARE = 1 << 16, /* room for further lists: so many entries, */
  ENTRIES_A_PLACE = 16     /* and so many for each particle */
};
#define CELL_SLACK 1.15        /* width of the smallest cells, in units of the smallest radius of neighbours */
#define REACH_SLACK (1 + 1e-6) /* rounding of floats and of cell coordinates */

/* A particle in the order of buckets. */
struct __align__(16) grid_record
{
  double x[3], v[3];
  uint64_t cell;
  float factor;
  int32_t index;
};

struct search_job {
  const struct list_body *body;
  int64_t n; /* particles, own and of the halo */
  int64_t targets;
  double horizon, margin; /* margin: radius of neighbours of a particle with the factor 1 */
  double width;           /* of the smallest cells */
  uint64_t *cell;
  uint32_t *bucket;
  int bucket_bits;
  int32_t *place;
  struct grid_record *record;         /* [n] in the order of items */
  const int32_t *bucket_begin, *item; /* items of bucket b: bucket_begin[b] to bucket_begin[b + 1] */
  struct grid_numbers *grid;
};

/* --- the grid ---------------------------------------------------------------------------------------------------- */

struct gather_job {
  struct particles p;
  const struct halo_particle *halo;
  int64_t n;
  double gravity;
  struct split split;
  struct softening softening;
};

static __global__ void gather_bodies(struct gather_job job, struct list_body *body)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  struct list_body b;
  int type;
  if (i >= job.n) return;
  if (i < job.p.n) {
    for (int c = 0; c < 3; c++) {
      b.x[c] = job.p.pos[3 * i + c];
      b.v[c] = job.p.vel[3 * i + c];
    }
    b.gm = job.p.mass[i];
    b.level = job.p.level[i];
    type = job.p.type[i];
  } else {
    const struct halo_particle &h = job.halo[i - job.p.n];
    for (int c = 0; c < 3; c++) {
      b.x[c] = h.pos[c];
      b.v[c] = h.vel[c];
    }
    b.gm = h.mass;
    b.level = h.level;
    type = h.type;
  }
  b.factor = split_factor(&job.split, (float)b.gm);
  if (job.softening.classes > 1) b.factor = softening_pack(b.factor, job.softening.class_of[type]);
  b.gm *= job.gravity;
  body[i] = b;
}

/* The cell coordinate of x, monotone. */
static __device__ int cell_coordinate(double x, double inverse_width)
{
  return (int)fmin(fmax(floor(x * inverse_width) + (1 << (CELL_BITS - 1)), 0.0), (double)CELL_LAST);
}

static __device__ uint64_t cell_name(int level, int x, int y, int z)
{
  return (uint64_t)level << 3 * CELL_BITS | (uint64_t)z << 2 * CELL_BITS | (uint64_t)y << CELL_BITS | (uint64_t)x;
}

/* Cells that follow each other along x are in buckets that follow each other. */
static __device__ uint32_t bucket_of(uint64_t cell, int bits)
{
  uint64_t row = (cell >> CELL_BITS) * 0x9E3779B97F4A7C15u;
  return ((uint32_t)(row >> 32) + (uint32_t)(cell & CELL_LAST)) & ((1u << bits) - 1);
}

static __device__ double width_of(const struct search_job &job, int level) { return job.width * (double)(1 << level); }

/* Enter the particles into cells, and find what the levels have. */
static __global__ void enter_cells(struct search_job job)
{
  __shared__ int32_t count[GRID_LEVELS], radius[GRID_LEVELS], half[GRID_LEVELS];
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (threadIdx.x < GRID_LEVELS) count[threadIdx.x] = radius[threadIdx.x] = half[threadIdx.x] = 0;
  __syncthreads();
  if (i < job.n) {
    const struct list_body b = job.body[i];
    double path = 0.5 * job.horizon * sqrt(hermite_modulus2(b.v)), reach = job.margin * b.factor;
    int level = 0, x[3];
    while (level < GRID_LEVELS - 1 && width_of(job, level) < reach + 2 * path) level++;
    for (int c = 0; c < 3; c++) x[c] = cell_coordinate(b.x[c] + 0.5 * job.horizon * b.v[c], 1 / width_of(job, level));
    job.cell[i] = cell_name(level, x[0], x[1], x[2]);
    job.bucket[i] = bucket_of(job.cell[i], job.bucket_bits);
    job.place[i] = (int32_t)i;
    atomicAdd(&count[level], 1);
    atomicMax(&radius[level], __float_as_int((float)(reach * REACH_SLACK)));
    atomicMax(&half[level], __float_as_int((float)(path * REACH_SLACK)));
  }
  __syncthreads();
  if (threadIdx.x >= GRID_LEVELS || count[threadIdx.x] == 0) return;
  atomicAdd(&job.grid->count[threadIdx.x], count[threadIdx.x]);
  atomicMax(&job.grid->radius[threadIdx.x], radius[threadIdx.x]);
  atomicMax(&job.grid->half[threadIdx.x], half[threadIdx.x]);
}

/* begin[b]: the first item of bucket b or of a later one. */
static __global__ void find_bucket_begins(const uint32_t *bucket, int32_t n, int32_t *begin, int64_t buckets)
{
  int64_t b = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (b > buckets) return;
  begin[b] = search_first_not(0, n, [&](int32_t k) { return bucket[k] < (uint64_t)b; });
}

/* The bodies in the order of buckets. */
static __global__ void place_records(struct search_job job)
{
  int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (s >= job.n) return;
  int32_t i = job.item[s];
  const struct list_body b = job.body[i];
  job.record[s] = grid_record{{b.x[0], b.x[1], b.x[2]}, {b.v[0], b.v[1], b.v[2]}, job.cell[i], b.factor, i};
}

/* --- the search -------------------------------------------------------------------------------------------------- */

/* Rows of cells that a warp searches at once. */
struct search_rows {
  uint64_t cell[LANES]; /* the first one */
  /* last candidate + 1 in the sequence of all candidates; a candidate's record is shift + its number */
  int32_t end[LANES], shift[LANES];
};

/* One warp's search for the neighbours of a target. All members are the same in all lanes. */
struct searcher {
  const struct search_job &job;
  struct search_rows &rows;
  const struct grid_record a; /* the target */
  int32_t *out;               /* [room] gets the neighbours in any order, as far as there is room */
  int32_t capacity, found;

  /* Each lane has tested record s: enter those that are neighbours. */
  __device__ __forceinline__ void enter(const struct grid_record *record, bool candidate)
  {
    double d[3], u[3];
    bool near = false;
    if (candidate && record->index != a.index && fminf(a.factor, record->factor) != BOUND_ABSORBED) {
      double reach = job.margin * (double)fmaxf(a.factor, record->factor);
      for (int c = 0; c < 3; c++) {
        d[c] = record->x[c] - a.x[c];
        u[c] = record->v[c] - a.v[c];
      }
      near = hermite_closest2(d, u, job.horizon) < reach * reach;
    }
    lane_mask mask = warp_ballot(near);
    int32_t at = found + lane_count(mask & lanes_below());
    if (near && at < capacity) out[at] = record->index;
    found += lane_count(mask);
  }

  /* All particles of a level: where cells are more than particles. */
  __device__ void search_particles(int level)
  {
    for (int64_t s = 0; s < job.n; s += LANES) {
      int64_t mine = min(s + lane_id(), job.n - 1);
      const struct grid_record *b = &job.record[mine];
      enter(b, s + lane_id() < job.n && (int)(b->cell >> 3 * CELL_BITS) == level);
    }
  }

  /* Lane k finds the candidates of row k. Returns the number of candidates of all rows. */
  __device__ int32_t enter_row(uint64_t cell, int width)
  {
    int32_t count = 0, begin = 0, end;
    if (width > 0) {
      uint32_t from = bucket_of(cell, job.bucket_bits), to = bucket_of(cell + (unsigned)width - 1, job.bucket_bits);
      begin = job.bucket_begin[from];
      /* from the last bucket on to the first one */
      count = job.bucket_begin[to + 1] - begin + (to < from ? (int32_t)job.n : 0);
    }
    end = count;
    for (unsigned step = 1; step < LANES; step *= 2) {
      int32_t other = warp_shuffle_up(end, step);
      if (lane_id() >= (int)step) end += other;
    }
    rows.cell[lane_id()] = cell;
    rows.end[lane_id()] = end;
    rows.shift[lane_id()] = begin - (end - count);
    warp_sync();
    return warp_shuffle(end, LANES - 1);
  }

  /* The candidates of the rows that were entered. */
  __device__ void search_rows_entered(int32_t candidates, int width)
  {
    for (int32_t first = 0; first < candidates; first += LANES) {
      int32_t k = min(first + lane_id(), candidates - 1), row = 0;
      for (int step = LANES / 2; step > 0; step /= 2)
        if (rows.end[row + step - 1] <= k) row += step;
      int32_t s = rows.shift[row] + k;
      const struct grid_record *b = &job.record[s < job.n ? s : s - job.n];
      enter(b, first + lane_id() < candidates && b->cell - rows.cell[row] < (unsigned)width);
    }
    warp_sync();
  }

  __device__ void search_level(int level)
  {
    int low[3], size[3];
    double inverse = 1 / width_of(job, level), half = 0.5 * job.horizon * sqrt(hermite_modulus2(a.v));
    double reach = (fmax(job.margin * a.factor, (double)__int_as_float(job.grid->radius[level])) + half +
                    (double)__int_as_float(job.grid->half[level])) *
                   REACH_SLACK;
    for (int c = 0; c < 3; c++) {
      double middle = a.x[c] + 0.5 * job.horizon * a.v[c];
      low[c] = cell_coordinate(middle - reach, inverse);
      size[c] = cell_coordinate(middle + reach, inverse) - low[c] + 1;
    }
    if ((double)size[0] * size[1] * size[2] > job.grid->count[level] + FEW_CELLS) {
      search_particles(level);
      return;
    }
    for (int first = 0; first < size[1] * size[2]; first += LANES) {
      int row = first + lane_id(), width = row < size[1] * size[2] ? size[0] : 0;
      uint64_t cell = cell_name(level, low[0], low[1] + row % size[1], low[2] + row / size[1]);
      search_rows_entered(enter_row(cell, width), size[0]);
    }
  }

  /* Returns the number of neighbours. */
  __device__ int32_t search()
  {
    for (int level = 0; level < GRID_LEVELS; level++)
      if (job.grid->count[level] > 0) search_level(level);
    return found;
  }
};

/* A warp counts the neighbours of a target, and stores the first ones. */
static __global__ void __launch_bounds__(THREADS)
    count_neighbours(const __grid_constant__ struct search_job job, int32_t *count, int32_t *staged)
{
  __shared__ struct search_rows rows[LIST_WARPS];
  int64_t s = (int64_t)blockIdx.x * LIST_WARPS + threadIdx.x / LANES;
  if (s >= job.n || job.record[s].index >= job.targets) return;
  int64_t i = job.record[s].index;
  struct searcher w = {job, rows[threadIdx.x / LANES], job.record[s], staged + i * LIST_STAGED, LIST_STAGED, 0};
  int32_t found = w.search();
  if (lane_id() > 0) return;
  count[i] = found;
  if (found > LIST_STAGED) atomicMax(&job.grid->longest, found);
}

/* A warp stores the neighbours of a target that were too many. */
static __global__ void __launch_bounds__(THREADS)
    store_neighbours(const __grid_constant__ struct search_job job, const int32_t *count, const int64_t *begin,
                     int32_t *raw)
{
  __shared__ struct search_rows rows[LIST_WARPS];
  int64_t s = (int64_t)blockIdx.x * LIST_WARPS + threadIdx.x / LANES;
  if (s >= job.n || job.record[s].index >= job.targets) return;
  int64_t i = job.record[s].index;
  if (count[i] <= LIST_STAGED) return;
  struct searcher w = {job, rows[threadIdx.x / LANES], job.record[s], raw + begin[i], count[i], 0};
  w.search();
}

/* --- the lists --------------------------------------------------------------------------------------------------- */

struct list_job {
  int64_t targets;
  const int32_t *count, *staged, *raw;
  const int64_t *begin, *number; /* number NULL: entries are particles */
  int32_t *entry, *who;
  struct member_list *list;
};

/* Write entries first, first + stride, ... of the list of target i to their places in ascending order: as many as are
 * smaller. */
static __device__ void write_entries(const struct list_job &job, int64_t i, int first, int stride)
{
  int32_t count = job.count[i];
  int64_t begin = job.begin[i];
  const int32_t *from = count > LIST_STAGED ? job.raw + begin : job.staged + i * LIST_STAGED;
  for (int32_t k = first; k < count; k += stride) {
    int32_t mine = from[k], before = 0;
    for (int32_t other = 0; other < count; other++) before += from[other] < mine;
    job.entry[begin + before] = job.number ? (int32_t)job.number[mine] : mine;
  }
}

/* SHORT_LANES lanes write the list of a target. */
static __global__ void __launch_bounds__(THREADS) write_lists(struct list_job job)
{
  int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / SHORT_LANES;
  int lane = (int)(threadIdx.x % SHORT_LANES);
  if (i >= job.targets) return;
  int64_t m = job.number ? job.number[i] : i;
  if (lane == 0 && (job.count[i] > 0 || !job.number)) {
    job.list[m] = member_list{job.begin[i], job.count[i], 0};
    if (job.number) job.who[m] = (int32_t)i;
  }
  if (job.count[i] <= LIST_SORTED) write_entries(job, i, lane, SHORT_LANES);
}

/* A block writes the entries of long lists. */
static __global__ void __launch_bounds__(THREADS) write_long_lists(struct list_job job)
{
  for (int64_t i = blockIdx.x; i < job.targets; i += gridDim.x)
    if (job.count[i] > LIST_SORTED) write_entries(job, i, (int)threadIdx.x, THREADS);
}

struct entries_of {
  const int32_t *count;
  int64_t n;
  __host__ __device__ __forceinline__ int64_t operator()(int64_t i) const { return i < n ? (int64_t)count[i] : 0; }
};
struct is_member {
  const int32_t *count;
  int64_t n;
  __host__ __device__ __forceinline__ int64_t operator()(int64_t i) const { return i < n && count[i] > 0; }
};

/* sum[i]: the sum of the rule over the numbers before i, for i up to n. Returns sum[n]. The host waits. */
template <typename rule> static int64_t sums_before(struct device *d, const rule &of, int64_t n, int64_t *sum)
{
  int64_t last = 0;
  prefix_sums_of(d, of, sum, (int)(n + 1));
  CHECK(runtime_copy(&last, sum + n, sizeof last, TO_HOST, d->stream));
  CHECK(runtime_stream_sync(d->stream));
  return last;
}

/* Put the halo on the device and gather all bodies. */
static void make_bodies(struct device *d, const struct list_request *request, int64_t n,
                        const struct halo_particle *halo)
{
  struct list_state *s = &d->lists;
  struct gather_job job = {d->p,           array_reserve(&s->halo, "device neighbour lists", n),
                           d->p.n + n,     d->config.gravity,
                           request->split, d->softening};
  if (n > 0) CHECK(runtime_copy(s->halo.at, halo, sizeof *halo * (size_t)n, TO_DEVICE, d->stream));
  LAUNCH(d, gather_bodies, blocks_for(job.n, THREADS), THREADS, job,
         array_reserve(&s->body, "device neighbour lists", job.n));
}

/* Enter all particles into the grid. */
static struct search_job make_grid(struct device *d, const struct list_request *request, double horizon, int64_t n,
                                   int64_t targets)
{
  struct list_state *s = &d->lists;
  struct search_job job = {};
  double margin = NEIGHBOUR_MARGIN * (double)request->split.r2,
         least = request->split.mass_scale > 0 ? cbrt(1.0 / SPLIT_MASS_RATIO) : 1;
  int bits = 7; /* 2^bits buckets are at least n + FEW_CELLS: a row of cells is shorter */
  while ((int64_t)1 << bits < 2 * n) bits++;
  for (int k = 0; k < 2; k++) {
    array_reserve(&s->candidate.bucket[k], "device neighbour lists", n);
    array_reserve(&s->candidate.place[k], "device neighbour lists", n);
  }
  job.body = s->body.at;
  job.n = n;
  job.targets = targets;
  job.horizon = horizon;
  job.margin = margin;
  job.width = CELL_SLACK * least * margin;
  job.cell = array_reserve(&s->candidate.cell, "device neighbour lists", n);
  job.bucket = s->candidate.bucket[0].at;
  job.bucket_bits = bits;
  job.place = s->candidate.place[0].at;
  job.bucket_begin = array_reserve(&s->candidate.bucket_begin, "device neighbour lists", ((int64_t)1 << bits) + 1);
  job.item = s->candidate.place[1].at;
  job.grid = s->grid;
  CHECK(runtime_set_bytes(s->grid, 0, sizeof *s->grid, d->stream));
  LAUNCH(d, enter_cells, blocks_for(n, THREADS), THREADS, job);
  sort_pairs(d, s->candidate.bucket[0].at, s->candidate.bucket[1].at, s->candidate.place[0].at,
             s->candidate.place[1].at, (int)n, 0, bits);
  LAUNCH(d, find_bucket_begins, blocks_for(((int64_t)1 << bits) + 1, THREADS), THREADS, s->candidate.bucket[1].at,
         (int32_t)n, s->candidate.bucket_begin.at, (int64_t)1 << bits);
  job.record = (struct grid_record *)array_reserve(&s->candidate.record, "device neighbour lists",
                                                   (int64_t)sizeof *job.record * n);
  LAUNCH(d, place_records, blocks_for(n, THREADS), THREADS, job);
  return job;
}

/* Search for the neighbours of the targets and write their lists. */
static void make_lists(struct device *d, const struct search_job *job, enum lists_of of)
{
  struct list_state *s = &d->lists;
  int64_t targets = job->targets, more = of == LISTS_OF_ALL ? ENTRIES_A_PLACE * targets + ENTRIES_SPARE : 0;
  int32_t longest = 0, numbered = of == LISTS_OF_MEMBERS;
  struct list_job lists = {targets, array_reserve(&s->list.count, "device neighbour lists", targets),
                           array_reserve(&s->list.staged, "device neighbour lists", targets * LIST_STAGED)};
  LAUNCH(d, count_neighbours, blocks_for(job->n, LIST_WARPS), THREADS, *job, s->list.count.at, s->list.staged.at);
  CHECK(runtime_copy(&longest, &s->grid->longest, sizeof longest, TO_HOST, d->stream));
  s->list.entries = sums_before(d, entries_of{s->list.count.at, targets}, targets,
                                array_reserve(&s->list.begin, "device neighbour lists", targets + 1));
  if (numbered) {
    lists.number = array_reserve(&s->list.number, "device neighbour lists", targets + 1);
    s->member.count = sums_before(d, is_member{s->list.count.at, targets}, targets, s->list.number.at);
    lists.who = array_reserve(&s->member.who, "device neighbour lists", s->member.count);
  }
  lists.begin = s->list.begin.at;
  lists.raw = array_reserve(&s->list.raw, "device neighbour lists", longest > 0 ? s->list.entries : 0);
  lists.entry = array_reserve(&s->list.entry, "device neighbour lists", s->list.entries + more);
  lists.list = array_reserve(&s->member.list, "device neighbour lists", numbered ? s->member.count : targets);
  if (longest > 0)
    LAUNCH(d, store_neighbours, blocks_for(job->n, LIST_WARPS), THREADS, *job, s->list.count.at, s->list.begin.at,
           s->list.raw.at);
  LAUNCH(d, write_lists, blocks_for(targets * SHORT_LANES, THREADS), THREADS, lists);
  if (longest > LIST_SORTED) LAUNCH(d, write_long_lists, min(targets, (int64_t)8 * d->multiprocessors), THREADS, lists);
}

void lists_make(struct device *d, const struct list_request *request, double horizon, int64_t n,
                const struct halo_particle *halo, enum lists_of of)
{
  int64_t all = d->p.n + n;
  if (all > INT32_MAX / 2)
    fatal("%lld particles and copies of other ranks' on one device, at most %d: use more ranks", (long long)all,
          INT32_MAX / 2);
  device_wait_for_copy(d);
  make_bodies(d, request, n, halo);
  lists_make_again(d, request, horizon, n, of);
}

void lists_make_again(struct device *d, const struct list_request *request, double horizon, int64_t n, enum lists_of of)
{
  int64_t all = d->p.n + n, targets = of == LISTS_OF_OWN ? d->p.n : all;
  d->lists.list.entries = d->lists.member.count = 0;
  if (targets == 0) return;
  const struct search_job job = make_grid(d, request, horizon, all, targets);
  make_lists(d, &job, of);
  if (of == LISTS_OF_ALL) d->lists.member.count = all;
}

struct list_sum list_sum_of(struct device *d, const struct list_request *request)
{
  struct list_sum s = {d->lists.member.list.at,
                       d->lists.list.entry.at,
                       request->split,
                       d->config.softening * d->config.softening,
                       !(request->split.mass_scale > 0),
                       hermite_split_of(&request->split, 1, 1),
                       d->softening.classes > 1};
  for (int c = 0; c < SOFTENING_CLASSES; c++) s.class_eps2[c] = d->softening.eps[c] * d->softening.eps[c];
  return s;
}
