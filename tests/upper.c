/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tops of trees in LET summaries, and the upper tree of them, on every backend. */
#include <config.h>
#include <math.h>
#include <string.h>

#include "base/debug.h"
#include "house.h"

/* Spheres in a row: neighbours need LETs of each other, and of the others some cells. */
static void place_row(struct random *random, int64_t i, int64_t n, double x[3], float *mass)
{
  random_direction(random, 0.8 * cbrt(random_unit(random)), x);
  x[0] += 5 * (double)(i % RANKS_MAX);
  *mass = 1.0f / (float)n;
}

/* Links of a top: every cell but the root has one parent, before it; closed cells have all the mass. */
static int linked(const struct let_top *top)
{
  int parents[TOP_CELLS] = {0}, right = top->cells > 0 && top->cells <= TOP_CELLS;
  double mass = 0;
  for (int k = 0; k < top->cells; k++) {
    const struct node *n = &top->node[k];
    if (n->info & NODE_TERMINAL) mass += n->mass;
    for (uint32_t i = 0; i < n->info && !(n->info & NODE_TERMINAL); i++) {
      right &= n->first > k && n->first + (int32_t)i < top->cells;
      if (right) parents[n->first + (int32_t)i]++;
    }
  }
  for (int k = 0; k < top->cells; k++) right &= parents[k] == (k > 0);
  return right && fabs(mass / top->node[0].mass - 1) < 1e-5;
}

/* The largest reach of a closed cell: a box that is farther away needs no LET. */
static double widest_closed(const struct let_top *top)
{
  double reach = 0;
  for (int k = 0; k < top->cells; k++)
    if (top->node[k].info & NODE_TERMINAL) reach = fmax(reach, top->node[k].reach);
  return reach;
}

/* A summary after a message is the same, as far as an exchange at a synchronisation uses it. */
static int survives(const struct let_summary *summary, int quads)
{
  struct let_request q = {.cutoff = -1, .quads = quads};
  struct let_summary *back = memory_alloc("test", sizeof *back);
  void *message = memory_alloc("test", let_summary_bytes(&q));
  let_summary_pack(&q, summary, message);
  let_summary_unpack(&q, message, back);
  size_t cells = (size_t)summary->top.cells;
  int same = (back->particles > 0) == (summary->particles > 0) && (back->boxes > 0) == (summary->boxes > 0) &&
             back->top.cells == summary->top.cells && back->box.a_old == summary->box.a_old;
  same &= memcmp(back->box.low, summary->box.low, sizeof summary->box.low) == 0 &&
          memcmp(back->box.high, summary->box.high, sizeof summary->box.high) == 0;
  same &= memcmp(back->top.node, summary->top.node, sizeof *summary->top.node * cells) == 0;
  same &= !quads || memcmp(back->top.quad, summary->top.quad, sizeof *summary->top.quad * cells) == 0;
  memory_free(message);
  memory_free(back);
  return same;
}

/* The upper tree of the tops that suffice for rank r: one parent for every node, all mass of these ranks in terminal
 * cells, and nothing terminal that a box of r opens. Returns the number of cells from tops; negative: something is
 * wrong. */
static int upper_of(struct house *house, int r, const struct let_request *request)
{
  const struct side *mine = &house->side[r];
  const struct let_summary *top[RANKS_MAX];
  struct let_request own = *request;
  struct upper u;
  double mass = 0, wanted = 0;
  int tops = 0, right = 1, cells = 0;
  own.boxes = mine->box;
  own.box_count = mine->summary.boxes;
  for (int s = 0; s < house->ranks; s++) {
    if (s == r || let_contact(&house->lattice, &house->side[s].summary, &mine->summary, request) != NEED_CELL) continue;
    enum need need[TOP_CELLS];
    cells += top_cells(&house->lattice, &house->side[s].summary.top, &mine->summary.box, &own, need);
    top[tops++] = &house->side[s].summary;
    wanted += house->side[s].summary.top.node[0].mass;
  }
  upper_open(&u, tops);
  for (int k = 0; k < tops; k++) upper_add(&u, &house->lattice, &top[k]->top, &mine->summary.box, &own);
  upper_finish(&u);
  int *parents = memory_alloc("test", sizeof *parents * (size_t)(u.nodes + 1));
  for (int64_t k = 0; k < u.nodes; k++) {
    const struct node *n = &u.node[k];
    const struct motion still = {.spread_v = 0};
    right &= parents[k] == (k > 0);
    for (uint32_t i = 0; i < n->info && !(n->info & NODE_TERMINAL); i++)
      right &= n->first > k && ++parents[n->first + (int32_t)i] == 1;
    if (!(n->info & NODE_TERMINAL)) continue;
    mass += n->mass;
    for (int b = 0; b < own.box_count; b++)
      right &= essential_need(&house->lattice, n, &still, &own.boxes[b], &own) == NEED_CELL;
  }
  memory_free(parents);
  upper_free(&u);
  return right && fabs(mass - wanted) < 1e-5 * (wanted + 1e-30) ? cells : -1;
}

/* Walks open the root of a LET without a test, and not the root of a top: some groups accept it, so forces differ a
 * little.
 *
 * Forces with tops of `most` cells. tops, cells: summaries that sufficed, and the cells of them. */
static struct errors forces(const struct backend *be, const struct set *set, int order, int most, int *tops, int *cells,
                            int *linked_all, double *reach)
{
  struct house h;
  struct errors e[3];
  struct particles all;
  debug_set("let_top", most);
  house_open(&h, be, set, RANKS_MAX, order);
  struct mac angle = mac_of(&h, MAC_ANGLE, 0.7),
             mac = mac_of(&h, MAC_ACCELERATION, order == 2 ? 1.0 / 2048 : 1.0 / 512);
  set_make(set, 0, &all);
  struct direct d = direct_open(&all, set->gravity, set->softening, &h.split);
  force(&h, &angle, WHOLE);
  force(&h, &mac, LOCAL_FIRST);
  compare(&h, &d, e);
  *tops = h.tops;
  *cells = 0;
  *linked_all = 1;
  *reach = 0;
  for (int r = 0; r < h.ranks; r++) {
    int count = upper_of(&h, r, &h.soft);
    *cells = count < 0 || *cells < 0 ? -1 : *cells + count;
    struct let_top few = h.side[r].summary.top;
    top_cut(&few, TOP_CELLS / 2);
    *linked_all &=
        linked(&few) && few.cells <= TOP_CELLS / 2 && widest_closed(&few) >= widest_closed(&h.side[r].summary.top);
    *linked_all &= linked(&h.side[r].summary.top) && survives(&h.side[r].summary, 0) && survives(&h.side[r].summary, 1);
    *reach = fmax(*reach, widest_closed(&h.side[r].summary.top));
  }
  direct_close(&d);
  particles_free(&all);
  house_close(&h);
  debug_set("let_top", NAN);
  return e[0];
}

static void check(const struct backend *be)
{
  const struct set row = {"spheres in a row", 2000, 1, 0.0125, 0.14, 0.28, place_row};
  for (int order = 1; order <= 2; order++) {
    char line[240];
    int tops[2], cells[2], linked_all[2];
    double reach[2];
    struct errors one = forces(be, &row, order, 1, &tops[0], &cells[0], &linked_all[0], &reach[0]);
    struct errors e = forces(be, &row, order, TOP_CELLS, &tops[1], &cells[1], &linked_all[1], &reach[1]);
    snprintf(line, sizeof line,
             "%s, order %d: tops are trees of the largest reach (closed %.3g, roots %.3g), also after a message",
             be->name, order, reach[1], reach[0]);
    tap_ok(linked_all[0] && linked_all[1] && reach[1] < 0.8 * reach[0], line);
    snprintf(line, sizeof line, "%s, order %d: %d LETs are spared, with %d cells; by roots alone %d", be->name, order,
             tops[1], cells[1], tops[0]);
    tap_ok(tops[1] > tops[0] + 3 && cells[1] > tops[1] + 8 && cells[0] == tops[0], line);
    snprintf(line, sizeof line,
             "%s, order %d: forces are as exact as with these LETs (99 %%: %.3e, %.3e; median %.3e, %.3e)", be->name,
             order, e.most99, one.most99, e.median, one.median);
    tap_ok(e.finite && e.most99 < 1.7e-2 && fabs(e.most99 / one.most99 - 1) < 0.02 &&
               fabs(e.median / one.median - 1) < 0.05,
           line);
  }
}

int main(void)
{
  struct let_summary none = {.particles = 0};
  tap_ok(survives(&none, 0) && survives(&none, 1), "the summary of a rank without particles, after a message");
  rig_each(check);
  tap_ok(memory_current() == 0, "all memory is given back");
  return tap_end();
}
