/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choice of LETs for several receivers at once, on every backend: the messages are those of one receiver after the
 * other, to the byte; their links hold; and the host chooses as many. With an argument: the name of one backend. */
#include <config.h>
#include "backend/let_verbs.h"
#include "base/debug.h"
#include "particles/timeline.h"
#include "rig.h"
#include "tap.h"

enum { PEERS = 40, BOXES_MAX = 256 }; /* more than a device takes at once */

struct request {
  const char *name;
  enum let_kind kind;
  int cutoff, moving;
};
static const struct request requests[] = {
    {"soft", LET_SOFT, 0, 0}, {"hard, with cutoff", LET_STEP, 1, 1}, {"of substeps, without cutoff", LET_STEP, 0, 1}};
enum { REQUESTS = sizeof requests / sizeof *requests };

struct desk {
  struct rig g;
  const struct set *set;
  struct mac mac;
  struct let_box *box[PEERS];
  int boxes[PEERS];
};

/* A message, kept. */
struct copy {
  char *at;
  size_t bytes;
  int32_t next;
};

static char label[160];
static const char *only;

static void say(int good, const char *what)
{
  char line[500];
  snprintf(line, sizeof line, "%s: %s", label, what);
  tap_ok(good, line);
}

/* Receivers of 0 to 256 boxes: about all, far from all, of many and of few parts, some that move. */
static void ask(struct desk *desk)
{
  static const int counts[] = {1, 2, 5, 31, 32, 33, 64, 0, 100, 256};
  struct random r = {.state = 5};
  for (int p = 0; p < PEERS; p++) {
    double far = p % 8 == 3 ? 1e4 : 1, size = p % 8 == 5 ? 10 : 0.3;
    desk->boxes[p] = counts[(size_t)p % (sizeof counts / sizeof *counts)];
    desk->box[p] = memory_alloc("test", sizeof **desk->box * BOXES_MAX);
    for (int b = 0; b < desk->boxes[p]; b++) {
      struct let_box *box = &desk->box[p][b];
      box->a_old = random_between(&r, 0.1, 3);
      box->a_spread = random_between(&r, 0, 2);
      for (int c = 0; c < 3; c++) {
        double middle = c == 0 ? far * (0.3 + 0.02 * p) : random_between(&r, -1, 1);
        box->low[c] = middle - size * random_unit(&r);
        box->high[c] = middle + size * random_unit(&r);
        box->v[c] = random_between(&r, -1, 1);
      }
    }
  }
}

static void desk_open(struct desk *desk, const struct backend *be, const struct set *set, int max_leaf)
{
  struct particles p;
  double low[3], high[3], soft_step = 0.02;
  memset(desk, 0, sizeof *desk);
  desk->set = set;
  desk->g.be = be;
  desk->g.order = 2;
  desk->g.gravity = set->gravity;
  desk->g.split = split_make(SPLIT_QUINTIC, set->r1, set->r2);
  set_make(set, 0.7, &p);
  struct device_config config = {.gravity = set->gravity,
                                 .softening = set->softening,
                                 .max_leaf = max_leaf,
                                 .max_group = 32,
                                 .quadrupole = 1,
                                 .ranks = PEERS};
  desk->g.dev = be->open(&config);
  be->upload(desk->g.dev, &p);
  be->sets.bounds(desk->g.dev, 0, low, high);
  desk->g.lattice = lattice_cover(low, high, 0.05, set->softening);
  be->tree.order(desk->g.dev, &desk->g.lattice);
  be->tree.build(desk->g.dev, everywhere[0], everywhere[1]);
  rig_first_force(&desk->g, 1.0 / 64);
  struct step_rule rule = {.eta = 0.1, .softening = set->softening, .soft_step = soft_step};
  desk->mac = rig_mac(&desk->g, MAC_ACCELERATION, 1.0 / 64);
  be->steps.levels(desk->g.dev, &rule, -1);
  be->tree.sources(desk->g.dev);
  be->tree.moments(desk->g.dev, &desk->mac, 0, 0);
  ask(desk);
}

static void desk_close(struct desk *desk)
{
  for (int p = 0; p < PEERS; p++) memory_free(desk->box[p]);
  rig_close(&desk->g);
}

static struct let_request request_of(const struct desk *desk, const struct request *request)
{
  struct let_request r = {
      .mac = &desk->mac, .a_floor = desk->g.a_floor, .a_typical = 1, .cutoff = request->cutoff ? desk->set->r2 : -1};
  if (request->moving) {
    r.horizon = 0.02;
    r.tick_length = 0.02 / TICKS;
  }
  return r;
}

/* Receivers [from, end) at once. */
static void choose(struct desk *desk, const struct request *request, int from, int end, struct copy *out)
{
  struct let_request r = request_of(desk, request);
  struct let_choice c[PEERS];
  for (int p = from; p < end; p++)
    c[p - from] = (struct let_choice){.peer = p, .boxes = desk->box[p], .box_count = desk->boxes[p]};
  desk->g.be->let->select(desk->g.dev, request->kind, &r, end - from, c);
  for (int p = from; p < end; p++) {
    struct let_choice *one = &c[p - from];
    out[p] = (struct copy){memory_alloc("test", one->bytes), one->bytes, one->next};
    if (one->bytes > 0) memcpy(out[p].at, one->message, one->bytes);
  }
}

static void forget(struct copy *copy, int count)
{
  for (int p = 0; p < count; p++) memory_free(copy[p].at);
}

/* Between the arrays of a message, which begin at multiples of 64 bytes, stands anything. */
static int same_array(const struct copy *a, const struct copy *b, size_t *at, size_t bytes)
{
  int equal = memcmp(a->at + *at, b->at + *at, bytes) == 0;
  *at += (bytes + 63) / 64 * 64;
  return equal;
}

static int same(const struct desk *desk, const struct request *request, const struct let_count *count,
                const struct copy *a, const struct copy *b)
{
  size_t at = LET_HEAD, n = (size_t)count->cells, m = (size_t)count->particles, words = request->moving ? 11 : 4;
  if (a->bytes != b->bytes || a->next != b->next) return 0;
  if (a->bytes == 0) return 1;
  int equal = memcmp(a->at, b->at, LET_HEAD) == 0 && same_array(a, b, &at, n * sizeof(struct node));
  if (request->moving) equal &= same_array(a, b, &at, n * sizeof(struct motion));
  equal &= same_array(a, b, &at, n * sizeof(float[6]));
  if (desk->g.be == &backend_cpu) {
    for (size_t f = 0; f < words; f++) equal &= same_array(a, b, &at, 4 * m);
    at += 64; /* for loops over whole vectors */
  } else {
    equal &= same_array(a, b, &at, 16 * m);
    if (request->moving) equal &= same_array(a, b, &at, 32 * m);
  }
  return equal && at == a->bytes;
}

/* What a message holds, as the receiver counts it. */
static struct let_count count_of(struct desk *desk, enum let_kind kind, const struct copy *copy)
{
  struct let_count count = {0, 0};
  if (copy->bytes > 0) memcpy(desk->g.be->let->buffer(desk->g.dev, kind, 0, copy->bytes), copy->at, copy->bytes);
  desk->g.be->let->attach(desk->g.dev, kind, 0, copy->bytes, &count);
  desk->g.be->let->clear(desk->g.dev, kind);
  return count;
}

static const struct node *nodes_of(const struct copy *copy) { return (const struct node *)(copy->at + LET_HEAD); }

/* Links that do not follow each other: children and particles stand behind those of the nodes before. *opened: cells
 * with children. */
static int bad_links(const struct copy *copy, const struct let_count *count, int64_t *opened)
{
  const struct node *n = nodes_of(copy);
  int64_t child = count->cells > 0, body = 0;
  int bad = 0;
  for (int64_t i = 0; i < count->cells; i++) {
    uint32_t info = n[i].info;
    if (info & NODE_LEAF) {
      bad += n[i].first != body;
      body += info & NODE_COUNT;
    } else if ((info & NODE_COUNT) > 0) {
      bad += n[i].first != child;
      child += info & NODE_COUNT;
      ++*opened;
    }
  }
  return bad + (child != count->cells) + (body != count->particles);
}

static int differing_links(const struct copy *a, const struct copy *b, int64_t cells)
{
  int bad = 0;
  for (int64_t i = 0; i < cells; i++)
    bad += nodes_of(a)[i].first != nodes_of(b)[i].first || nodes_of(a)[i].info != nodes_of(b)[i].info;
  return bad;
}

/* The host's choice for the same particles and boxes: the counts, and where these are the same the links, but for
 * rounding. */
static void check_host(struct desk *k, struct desk *host, const struct request *request, const struct copy *one)
{
  struct copy own[PEERS];
  int far = 0, other = 0, equal = 0, next = 0;
  choose(host, request, 0, PEERS, own);
  for (int p = 0; p < PEERS; p++) {
    struct let_count a = count_of(k, request->kind, &one[p]), b = count_of(host, request->kind, &own[p]);
    far += fabs((double)(a.cells - b.cells)) > 2 + 0.01 * (double)b.cells ||
           fabs((double)(a.particles - b.particles)) > 2 + 0.01 * (double)b.particles;
    if (a.cells != b.cells || a.particles != b.particles) continue;
    equal++;
    other += differing_links(&one[p], &own[p], a.cells) > 0;
    next += one[p].next != own[p].next;
  }
  char what[200];
  snprintf(what, sizeof what,
           "%s: as on the host (%d of %d with the same counts, %d of these with other links, %d with another tick; %d "
           "far from it)",
           request->name, equal, PEERS, other, next, far);
  say(far == 0 && equal > PEERS / 2 && other <= PEERS / 10 && next <= PEERS / 10, what);
  forget(own, PEERS);
}

static void check_request(struct desk *k, struct desk *host, const struct request *request)
{
  static const int together[] = {2, 7, PEERS};
  struct copy one[PEERS], some[PEERS];
  struct let_count count[PEERS], all = {0, 0}, max_value = {0, 0};
  int64_t opened = 0;
  int bad = 0, empty = 0, rejected = 0;
  for (int p = 0; p < PEERS; p++) choose(k, request, p, p + 1, one);
  for (int p = 0; p < PEERS; p++) {
    struct let_count c = count[p] = count_of(k, request->kind, &one[p]);
    bad += bad_links(&one[p], &c, &opened) + ((one[p].bytes == 0) != (k->boxes[p] == 0));
    empty += one[p].bytes == 0;
    rejected += c.cells == 1 && c.particles == 0;
    all.cells += c.cells;
    all.particles += c.particles;
    if (c.cells > max_value.cells) max_value = c;
  }
  char what[300];
  snprintf(what, sizeof what,
           "%s: links follow each other (%d do not; %lld cells, %lld opened, %lld particles for %d receivers, at most "
           "%lld and %lld; %d have no boxes, %d need a root at most)",
           request->name, bad, (long long)all.cells, (long long)opened, (long long)all.particles, PEERS,
           (long long)max_value.cells, (long long)max_value.particles, empty, rejected);
  say(bad == 0 && empty == PEERS / 10 && (!request->cutoff || rejected >= PEERS / 10), what);
  for (int t = 0; t < 3; t++) {
    int differ = 0;
    for (int p = 0; p < PEERS; p += together[t])
      choose(k, request, p, p + together[t] < PEERS ? p + together[t] : PEERS, some);
    for (int p = 0; p < PEERS; p++) differ += !same(k, request, &count[p], &one[p], &some[p]);
    snprintf(what, sizeof what, "%s: the same bytes %d receivers at once (%d differ)", request->name, together[t],
             differ);
    say(differ == 0, what);
    forget(some, PEERS);
  }
  if (request->kind == LET_SOFT && k->set->n > 1000) {
    snprintf(what, sizeof what, "%s: all open %lld cells, more than a list begins with for a tree of %lld nodes",
             request->name, (long long)opened, (long long)max_value.cells);
    say(opened > max_value.cells, what);
  }
  if (host) check_host(k, host, request, one);
  forget(one, PEERS);
}

static void check_set(const struct backend *be, const struct set *set, int max_leaf)
{
  struct desk k, host;
  int other = be != &backend_cpu;
  snprintf(label, sizeof label, "%s, %s, leaves of %d", be->name, set->name, max_leaf);
  desk_open(&k, be, set, max_leaf);
  if (other) desk_open(&host, &backend_cpu, set, max_leaf);
  for (int q = 0; q < REQUESTS; q++) check_request(&k, other ? &host : NULL, &requests[q]);
  if (other) desk_close(&host);
  desk_close(&k);
}

static void check(const struct backend *be)
{
  if (only && strcmp(only, be->name) != 0) return;
  check_set(be, &sets[0], 8);
  check_set(be, &sets[4], 8);  /* leaves of hundreds of particles, at the deepest level */
  check_set(be, &sets[8], 1);  /* many levels */
  check_set(be, &sets[7], 60); /* leaves over several words of particles */
  check_set(be, &sets[10], 8); /* one node */
}

int main(int argc, char **argv)
{
  debug_set("let_sparing", 0); /* what all backends have in common */
  only = argc > 1 ? argv[1] : NULL;
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
