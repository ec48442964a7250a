/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times walks and measures their errors. Usage: bench LOG2_N [plummer|m31 [R2_OVER_R0]] < LINES
 * A line: LEAF GROUP BLOCKS CELLS FAMILY SHARE DELTA SUB BUDGET FAMILY_BUDGET POT, with Delta = 2^-DELTA, that of the sub-groups 2^-SUB, and the
 * budget of far cells BUDGET times Delta. One row of the table is printed for each line. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "direct.h"
#include "host_tree.h"
#include "walk_job.h"

enum { SAMPLE = 4096, WARM = 2, TIMED = 5 };

static void check(cudaError_t e, int line)
{
  if (!e) return;
  fprintf(stderr, "bench.cu:%d: %s\n", line, cudaGetErrorString(e));
  exit(1);
}
#define CHECK(call) check(call, __LINE__)

/* An array on the device that grows. */
template <class T>
struct array {
  T *at = nullptr;
  size_t room = 0;
  void need(size_t n)
  {
    if (n <= room) return;
    CHECK(cudaFree(at));
    CHECK(cudaMalloc(&at, n * sizeof(T)));
    room = n;
  }
  void put(const T *from, size_t n)
  {
    need(n);
    CHECK(cudaMemcpy(at, from, n * sizeof(T), cudaMemcpyHostToDevice));
  }
};

struct state {
  array<int4> node, source;
  array<float4> quad;
  array<float> a_old, pot;
  array<walk_group> group;
  array<float3> acc;
  array<walk_count> count;
  array<int> target, groups;   /* groups: how many in three stages */
  array<walk_group> piece[2];
  array<walk_family> family;
  array<int32_t> handed;
  int most_leaves = 384, most_near = 1024, most_handed = 1024;
  array<double4_16a> exact;
  std::vector<double4_16a> reference;
  std::vector<int> sample;
  struct host_tree host;
};

struct line {
  int leaf, group, blocks, order, family, pot;   /* family 0: none */
  double delta, sub, budget, family_budget, share;
};

static double eps;

static void put_tree(state &s)
{
  const octree &t = *s.host.tree;
  s.node.put((const int4 *)t.node, 2 * (size_t)t.nodes);
  std::vector<float4> quad(2 * (size_t)t.nodes);
  for (int i = 0; i < t.nodes; i++) {
    const float *q = t.quad[i];
    quad[2 * i] = make_float4(q[0], q[1], q[2], q[3]);
    quad[2 * i + 1] = make_float4(q[4], q[5], 0, 0);
  }
  s.quad.put(quad.data(), quad.size());
}

static void put_sources(state &s)
{
  const sources &from = s.host.tree->source;
  std::vector<int4> to(s.host.n);
  for (int64_t i = 0; i < s.host.n; i++) {
    int m;
    memcpy(&m, &from.m[i], 4);
    to[i] = make_int4(from.x[i], from.y[i], from.z[i], m);
  }
  s.source.put(to.data(), to.size());
}

static void put_reference(state &s)
{
  srand(1);
  for (int i = 0; i < SAMPLE; i++) s.sample.push_back((int)(s.host.n * (int64_t)i / SAMPLE + rand() % (s.host.n / SAMPLE)));
  s.target.put(s.sample.data(), SAMPLE);
  s.exact.need(SAMPLE);
  direct_launch(s.source.at, (int)s.host.n, s.target.at, SAMPLE, s.host.lattice.spacing, eps * eps, 1, 0, 0, s.exact.at);
  s.reference.resize(SAMPLE);
  CHECK(cudaMemcpy(s.reference.data(), s.exact.at, SAMPLE * sizeof(double4_16a), cudaMemcpyDeviceToHost));
}

static walk_job job_of(state &s, const line &l)
{
  walk_job j = {};
  j.node = s.node.at, j.quad = s.quad.at, j.source = s.source.at, j.a_old = s.a_old.at, j.group = s.group.at, j.groups = s.groups.at;
  double long_lists = exp2(fmax(0, (l.delta - 9) / 2));
  j.most_handed = (int)fmin(HANDED_MOST, s.most_handed * long_lists);
  j.most_leaves = (int)(s.most_leaves * long_lists), j.most_near = (int)(s.most_near * long_lists);
  j.acc = s.acc.at, j.pot = s.pot.at, j.spacing = (float)s.host.lattice.spacing, j.eps = (float)eps, j.gravity = 1, j.a_floor = 1e-6f;
  double power = l.order == CELLS_QUADRUPOLE ? 0.2 : 0.25;
  j.group_reach = (float)pow(2, l.delta * power), j.sub_reach = (float)pow(2, l.sub * power);
  j.far_budget = (float)(l.budget * pow(2, -l.delta)), j.family_budget = (float)(l.family_budget * pow(2, -l.delta));
  if (l.family) j.family = s.family.at, j.handed = s.handed.at, j.families = s.host.families, j.open_share = (float)l.share;
  return j;
}

/* Three stages: groups; pieces of eight of heavy ones; single targets of the heaviest. */
template <class F>
static void stages(state &s, walk_job j, F launch_stage)
{
  static const int piece[3] = {SUBGROUP, 1, 0};
  const char *why = nullptr;
  CHECK(cudaMemsetAsync(s.groups.at + 1, 0, 2 * sizeof(int)));
  for (int stage = 0; stage < 3 && !why; stage++) {
    j.piece = piece[stage];
    j.groups = s.groups.at + stage;
    if (stage > 0) j.group = s.piece[stage - 1].at;
    if (stage < 2) j.pieces = s.piece[stage].at, j.piece_count = s.groups.at + stage + 1;
    why = launch_stage(j, stage == 0 ? s.host.groups : 132 * 16);
  }
  if (why) {
    fprintf(stderr, "walk: %s\n", why);
    exit(1);
  }
}

static void launch(state &s, walk_choice c, const walk_job &job)
{
  if (job.family) family_launch(&c, &job);
  stages(s, job, [&](const walk_job &j, int blocks) {
    c.blocks = blocks;
    return walk_launch(&c, &j);
  });
}

static void launch_hard(state &s, const walk_job &job) { stages(s, job, [](const walk_job &j, int blocks) { return hard_launch(&j, blocks); }); }

static void put_groups(state &s)
{
  s.host = host_tree();
  s.group.put((const walk_group *)s.host.group, s.host.groups);
  s.groups.put(&s.host.groups, 1);
  std::vector<walk_family> family(s.host.families);
  for (int f = 0; f < s.host.families; f++) family[f].begin = s.host.family[f][0], family[f].end = s.host.family[f][1];
  s.family.put(family.data(), family.size());
  s.handed.need(family.size() * HANDED_MOST);
  s.piece[0].need(s.host.n + s.host.groups), s.piece[1].need(s.host.n);
}

static float time_walk(state &s, const walk_choice &c, const walk_job &j)
{
  std::vector<float> ms;
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  for (int k = 0; k < WARM + TIMED; k++) {
    float t;
    CHECK(cudaEventRecord(start));
    launch(s, c, j);
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&t, start, stop));
    if (k >= WARM) ms.push_back(t);
  }
  std::sort(ms.begin(), ms.end());
  return ms[TIMED / 2];
}

__global__ void modulus(const float3 *a, float *to, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = sqrtf(a[i].x * a[i].x + a[i].y * a[i].y + a[i].z * a[i].z);
}

/* |a| of all, from walks that start with the same small |a| for all. */
static void first_force(state &s)
{
  std::vector<float> a(s.host.n, 1e-3f);
  s.a_old.put(a.data(), a.size());
  s.acc.need(a.size()), s.pot.need(a.size());
  CHECK(cudaMemset(s.acc.at, 0xff, a.size() * sizeof(float3)));
  for (int k = 0; k < 3; k++) {
    line first = {.leaf = 16, .group = 64, .order = 1, .delta = 6.0 + 2 * k, .sub = 6.0 + 2 * k, .budget = 0.25, .family_budget = 0.25};
    launch(s, {1, 0, 64, 0}, job_of(s, first));
    modulus<<<(int)((s.host.n + 255) / 256), 256>>>(s.acc.at, s.a_old.at, (int)s.host.n);
  }
  CHECK(cudaDeviceSynchronize());
}

struct errors {
  double median, most, pot;   /* most: 99 % */
};

static errors compare(state &s)
{
  std::vector<double> e, p;
  for (int k = 0; k < SAMPLE; k++) {
    float3 a;
    float pot;
    CHECK(cudaMemcpy(&a, s.acc.at + s.sample[k], sizeof a, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&pot, s.pot.at + s.sample[k], sizeof pot, cudaMemcpyDeviceToHost));
    double4_16a r = s.reference[k];
    double err = sqrt(pow(a.x - r.x, 2) + pow(a.y - r.y, 2) + pow(a.z - r.z, 2)) / sqrt(r.x * r.x + r.y * r.y + r.z * r.z);
    e.push_back(err == err ? err : 1e30);
    p.push_back(fabs(pot / r.w - 1));
  }
  std::sort(e.begin(), e.end());
  std::sort(p.begin(), p.end());
  return {e[SAMPLE / 2], e[SAMPLE * 99 / 100], p[SAMPLE / 2]};
}

/* Whether a second walk yields the same bits. */
static bool repeats(state &s, const walk_choice &c, const walk_job &j)
{
  std::vector<float3> first(s.host.n), second(s.host.n);
  launch(s, c, j);
  CHECK(cudaMemcpy(first.data(), s.acc.at, first.size() * sizeof first[0], cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(s.acc.at, 0xff, s.host.n * sizeof(float3)));
  launch(s, c, j);
  CHECK(cudaMemcpy(second.data(), s.acc.at, second.size() * sizeof second[0], cudaMemcpyDeviceToHost));
  return memcmp(first.data(), second.data(), first.size() * sizeof first[0]) == 0;
}

static void row(state &s, const line &l)
{
  walk_job j = job_of(s, l);
  walk_count c;
  CHECK(cudaMemset(s.acc.at, 0xff, s.host.n * sizeof(float3)));
  CHECK(cudaMemset(s.pot.at, 0xff, s.host.n * sizeof(float)));
  CHECK(cudaMemset(s.count.at, 0, sizeof c));
  walk_job counted = j;
  counted.count = s.count.at;
  launch(s, {l.order, 1, l.group, 1}, counted);
  int stage[3];
  CHECK(cudaMemcpy(stage, s.groups.at, sizeof stage, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&c, s.count.at, sizeof c, cudaMemcpyDeviceToHost));
  errors e = compare(s);
  float ms = time_walk(s, {l.order, 1, l.group, 0}, j), bare = l.pot ? 0 : time_walk(s, {l.order, 0, l.group, 0}, j);
  double g = s.host.groups, subs = 0, n = (double)s.host.n;
  for (int k = 0; k < s.host.groups; k++) subs += (s.host.group[k][1] - s.host.group[k][0] + SUBGROUP - 1) / SUBGROUP;
  double pairs = SUBGROUP * (subs * c.near / g + c.leaf_cells + c.particles);
  double f = s.host.families;
  printf("%2d %3d%c %d %4d/%.1f %5.1f %5.1f %5.2f %4.2f | %5.0f %5.0f %4.0f | ", l.leaf, l.group, l.blocks ? 'b' : 'c', l.order, l.family, l.share,
         l.delta, l.sub, l.budget, l.family_budget, c.family_tests / f, c.family_far / f, c.handed / f);
  printf("%5.1f %6.0f %5.0f %4.0f %4.0f %5.0f %5.0f %4.2f | ", n / g, c.tests / g, c.far / g, c.near / g, c.leaves / g, c.leaf_cells / subs,
         c.particles / subs, c.flushes / g);
  printf("%8.2e %8.2e %7.1e | %6.2f %6.2f  %.2e %d %d %s\n", e.median, e.most, e.pot, ms, bare, pairs / ms * 1e3, stage[1], stage[2],
         repeats(s, {l.order, 1, l.group, 0}, j) ? "" : "bits differ");
  fflush(stdout);
}

/* Hard forces: R2 in units of the mean distance at the half-mass radius of a Plummer sphere (R0 = 1.03 N^-1/3); shares of the
 * particles, those with the largest |a|, are active. */
static void hard_rows(state &s, const line &l, double r2_over_r0)
{
  double r2 = r2_over_r0 * 1.03 * pow((double)s.host.n, -1.0 / 3), width = r2 / 2;
  static const double share[] = {1, 0.3, 0.1, 0.03, 0.01, 0.001};
  size_t n = s.host.n;
  std::vector<float> a(n), sorted;
  std::vector<unsigned char> active(n);
  array<unsigned char> flag;
  array<float3> hard;
  hard.need(n);
  CHECK(cudaMemcpy(a.data(), s.a_old.at, n * sizeof(float), cudaMemcpyDeviceToHost));
  sorted = a;
  std::sort(sorted.begin(), sorted.end());
  direct_launch(s.source.at, (int)n, s.target.at, SAMPLE, s.host.lattice.spacing, eps * eps, 1, r2, 1 / (r2 - width), s.exact.at);
  std::vector<double4_16a> exact(SAMPLE);
  CHECK(cudaMemcpy(exact.data(), s.exact.at, SAMPLE * sizeof(double4_16a), cudaMemcpyDeviceToHost));
  printf("hard: R2 = %.4f\nactive groups | tests near leaves per group, entries per target | median 99%% of |dh|/|a| | ms\n", r2);
  walk_choice families = {CELLS_MONOPOLE};
  for (double f : share) {
    walk_job j = job_of(s, l);
    for (size_t i = 0; i < n; i++) active[i] = a[i] >= sorted[(size_t)((1 - f) * (n - 1))];
    flag.put(active.data(), n);
    j.active = flag.at, j.hard = hard.at, j.r2 = (float)r2, j.inverse_width = (float)(1 / (r2 - width));
    std::vector<double> e;
    std::vector<float> ms;
    walk_count c;
    CHECK(cudaMemset(s.count.at, 0, sizeof c));
    if (l.family) family_launch(&families, &j);
    j.count = s.count.at;
    launch_hard(s, j);
    CHECK(cudaMemcpy(&c, s.count.at, sizeof c, cudaMemcpyDeviceToHost));
    j.count = nullptr;
    for (int k = 0; k < WARM + TIMED; k++) {
      cudaEvent_t start, stop;
      float t;
      CHECK(cudaEventCreate(&start));
      CHECK(cudaEventCreate(&stop));
      CHECK(cudaEventRecord(start));
      launch_hard(s, j);
      CHECK(cudaEventRecord(stop));
      CHECK(cudaEventSynchronize(stop));
      CHECK(cudaEventElapsedTime(&t, start, stop));
      if (k >= WARM) ms.push_back(t);
    }
    std::sort(ms.begin(), ms.end());
    int pieces;
    CHECK(cudaMemcpy(&pieces, s.groups.at + 1, sizeof pieces, cudaMemcpyDeviceToHost));
    std::vector<float3> h(n);
    CHECK(cudaMemcpy(h.data(), hard.at, n * sizeof(float3), cudaMemcpyDeviceToHost));
    for (int k = 0; k < SAMPLE; k++) {
      int i = s.sample[k];
      double4_16a r = s.reference[k], x = exact[k];
      if (active[i]) e.push_back(sqrt(pow(h[i].x - x.x, 2) + pow(h[i].y - x.y, 2) + pow(h[i].z - x.z, 2)) / sqrt(r.x * r.x + r.y * r.y + r.z * r.z));
    }
    std::sort(e.begin(), e.end());
    double groups = 0, subs = 0, count = 0;
    for (int g = 0; g < s.host.groups; g++) {
      int m = 0;
      for (int i = s.host.group[g][0]; i < s.host.group[g][1]; i++) m += active[i];
      groups += m > 0, subs += (m + 7) / 8, count += m;
    }
    printf("%9.0f %7.0f | %5.0f %4.0f %4.0f %5.0f | %8.2e %8.2e | %7.3f %d\n", count, groups, c.tests / groups, c.near / groups, c.leaves / groups,
           c.far / subs, e.empty() ? 0 : e[e.size() / 2], e.empty() ? 0 : e[e.size() * 99 / 100], ms[TIMED / 2], pieces);
  }
  fflush(stdout);
}

int main(int argc, char **argv)
{
  int64_t n = (int64_t)1 << (argc > 1 ? atoi(argv[1]) : 20);
  state s;
  line l, last = {};
  eps = host_particles(argc > 2 ? argv[2] : "plummer", n);
  s.count.need(1), s.groups.need(3);
  printf("leaf grp cells family/share Delta sub budgets | family: tests far handed | n/group tests far near leaves, "
         "per sub-group: leaf cells, particles; flushes | median 99%% pot | ms, without potential, pairs/s; heavy pieces, single targets\n");
  while (scanf("%d %d %d %d %d %lf %lf %lf %lf %lf %d", &l.leaf, &l.group, &l.blocks, &l.order, &l.family, &l.share, &l.delta, &l.sub, &l.budget,
               &l.family_budget, &l.pot) == 11) {
    if (l.leaf != last.leaf) host_build(l.leaf);
    if (l.leaf != last.leaf || l.order != last.order) host_moments(l.order == CELLS_QUADRUPOLE ? 2 : 1);
    s.host = host_tree();
    if (l.leaf != last.leaf || l.order != last.order) put_tree(s);
    if (!last.leaf) put_sources(s), put_reference(s);
    if (l.leaf != last.leaf || l.group != last.group || l.blocks != last.blocks || l.family != last.family) {
      host_groups(l.group, l.blocks, l.family ? l.family : 512);
      put_groups(s);
    }
    if (!last.leaf) {
      host_groups(64, 0, 512);
      put_groups(s);
      first_force(s);
      host_groups(l.group, l.blocks, l.family ? l.family : 512);
      put_groups(s);
    }
    row(s, l);
    last = l;
  }
  if (argc > 3) hard_rows(s, last, atof(argv[3]));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
