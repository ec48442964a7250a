/* SPDX-License-Identifier: GPL-3.0-or-later */
/* true_energy [-s LENGTH] [-g G] [-m X] SNAPSHOT...: the total energy of snapshots by direct sums in double precision,
 * with Plummer softening: without the errors that the potential of a tree has. Seconds for 2^14 particles, tens of
 * seconds for 2^17.
 *
 * The potential energy in an external field is that which a snapshot states.
 *
 * Prints a line for each snapshot: time, kinetic, potential and total energy, relative error to the first snapshot.
 *   -s, --softening LENGTH   default: that of the snapshots, which must be the same in all
 *   -g, --gravity G          default: that of the snapshots
 *   -m, --max X              exit status 1 and a sentence where the largest |dE/E| exceeds X
 * Exit status 1 with a sentence for bad input, 2 for a wrong command line. */
#include <config.h>
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/memory.h"
#include "io/h5.h"
#include "io/input/initial.h"

static const char usage[] = "usage: true_energy [-s LENGTH] [-g G] [-m X] SNAPSHOT...\n";

struct choice {
  double softening, gravity, most; /* negative: not given */
};
struct energy {
  double time, kinetic, potential, total;
};

/* Softening length that a snapshot states; -1 if it states none. */
static double stated_softening(const char *path)
{
  double length = -1;
  char cause[256];
  hid_t file = h5_open_read(path, cause), group = file < 0 ? -1 : H5Gopen2(file, "Parameters", H5P_DEFAULT);
  if (group >= 0 && h5_numbers(group, "Softening", H5T_NATIVE_DOUBLE, 1, &length) != 1) length = -1;
  if (file >= 0) h5_close(file);
  return length;
}

/* Potential energy in the external field that a snapshot states, or 0; -1 with a fault where the field moves, since
 * then the energy is not conserved. */
static int add_field(const char *path, struct energy *energy, struct fault *fault)
{
  double stated = 0, moves = 0;
  char cause[256];
  hid_t file = h5_open_read(path, cause), group = file < 0 ? -1 : H5Gopen2(file, "Header", H5P_DEFAULT);
  if (group >= 0) {
    h5_numbers(group, "ExternalPotentialEnergy", H5T_NATIVE_DOUBLE, 1, &stated);
    h5_numbers(group, "ExternalPotentialMoves", H5T_NATIVE_DOUBLE, 1, &moves);
  }
  if (file >= 0) h5_close(file);
  if (moves > 0) return fault_set(fault, "%s: its external potential moves, so the energy is not conserved", path);
  energy->potential += stated;
  energy->total += stated;
  return 0;
}

/* Softening and gravitational constant of a snapshot, where they are not given. 0; -1 with a fault. */
static int take_stated(const char *path, const struct initial_facts *facts, const struct choice *given,
                       struct choice *used, struct fault *fault)
{
  double softening = given->softening < 0 ? stated_softening(path) : given->softening;
  double gravity = given->gravity < 0 ? facts->gravity : given->gravity;
  if (softening < 0) return fault_set(fault, "%s does not state the softening length: give --softening", path);
  if (gravity <= 0) return fault_set(fault, "%s does not state the gravitational constant: give --gravity", path);
  if (used->softening >= 0 && (softening != used->softening || gravity != used->gravity))
    return fault_set(fault,
                     "%s states softening %g and gravitational constant %g, and the first snapshot %g and %g: give "
                     "--softening and --gravity",
                     path, softening, gravity, used->softening, used->gravity);
  used->softening = softening;
  used->gravity = gravity;
  return 0;
}

/* Sum over j > i of m_j / sqrt(r_ij^2 + eps2); x[4]: positions and masses, each [n]. */
static double row(double *const x[4], int64_t i, int64_t n, double eps2)
{
  const double *restrict px = x[0], *restrict py = x[1], *restrict pz = x[2], *restrict m = x[3];
  double sum = 0, ax = px[i], ay = py[i], az = pz[i];
#pragma omp simd reduction(+ : sum)
  for (int64_t j = i + 1; j < n; j++) {
    double dx = px[j] - ax, dy = py[j] - ay, dz = pz[j] - az;
    sum += m[j] / sqrt(dx * dx + dy * dy + dz * dz + eps2);
  }
  return sum;
}

/* Particles without mass count with neither energy. The result does not depend on the number of threads. */
static void energies(const struct particles *particles, const struct choice *used, struct energy *energy)
{
  double *x[4], *sums = memory_alloc("energies", (size_t)particles->n * sizeof *sums),
                eps2 = used->softening * used->softening;
  int64_t n = 0;
  for (int c = 0; c < 4; c++) x[c] = memory_alloc("energies", (size_t)particles->n * sizeof *x[c]);
  energy->kinetic = energy->potential = 0;
  for (int64_t i = 0; i < particles->n; i++) {
    const double *v = particles->vel + 3 * i, m = particles->mass[i];
    if (!(m > 0)) continue;
    for (int c = 0; c < 3; c++) x[c][n] = particles->pos[3 * i + c];
    x[3][n++] = m;
    energy->kinetic += 0.5 * m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  }
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t i = 0; i < n; i++) sums[i] = x[3][i] * row(x, i, n, eps2);
  for (int64_t i = 0; i < n; i++) energy->potential -= used->gravity * sums[i];
  energy->total = energy->kinetic + energy->potential;
  for (int c = 0; c < 4; c++) memory_free(x[c]);
  memory_free(sums);
}

static int measure(const struct comm *comm, const char *path, const struct choice *given, struct choice *used,
                   struct energy *energy, struct fault *fault)
{
  struct particles p;
  struct initial_facts facts;
  particles_init(&p);
  int failed =
      initial_read(comm, path, FORMAT_AUTO, &p, &facts, fault) || take_stated(path, &facts, given, used, fault);
  if (!failed) {
    energies(&p, used, energy);
    energy->time = facts.time;
    failed = add_field(path, energy, fault);
    if (!failed && !isfinite(energy->total))
      failed = fault_set(fault, "%s has particles at the same place: without softening the energy is infinite", path);
  }
  particles_free(&p);
  return failed;
}

/* The largest error of the snapshots paths[count], after a line for each. -1 with a fault. */
static double table(const struct comm *comm, char **paths, int count, const struct choice *given, struct fault *fault)
{
  struct choice used = {-1, -1, -1};
  struct energy first = {0}, e;
  double largest = 0;
  printf("%-12s %22s %22s %22s %10s\n", "# time", "kinetic", "potential", "total", "dE/E");
  for (int i = 0; i < count; i++) {
    if (measure(comm, paths[i], given, &used, &e, fault)) return -1;
    if (i == 0) first = e;
    double error = first.total != 0 ? (e.total - first.total) / fabs(first.total) : e.total;
    largest = fmax(largest, fabs(error));
    printf("%-12.9g %22.15e %22.15e %22.15e %10.2e\n", e.time, e.kinetic, e.potential, e.total, error);
    fflush(stdout);
  }
  printf("# largest |dE/E| %.3e, softening %g, G %g\n", largest, used.softening, used.gravity);
  return largest;
}

/* A number of the command line, at least `least`. */
static int take(const char *text, double least, double *to)
{
  char *end;
  *to = strtod(text, &end);
  return end == text || *end || !isfinite(*to) || *to < least;
}

/* 0; 2 for a wrong command line. */
static int options(int argc, char **argv, struct choice *given)
{
  static const struct option longs[] = {{"softening", required_argument, NULL, 's'},
                                        {"gravity", required_argument, NULL, 'g'},
                                        {"max", required_argument, NULL, 'm'},
                                        {0}};
  int option;
  while ((option = getopt_long(argc, argv, "s:g:m:", longs, NULL)) != -1) {
    double *to = option == 's'   ? &given->softening
                 : option == 'g' ? &given->gravity
                 : option == 'm' ? &given->most
                                 : NULL;
    if (to && take(optarg, option == 'g' ? 1e-300 : 0, to))
      fprintf(stderr, "true_energy: option -%c: expected a number %s 0, found '%s'\n", option,
              option == 'g' ? "above" : "at least", optarg);
    else if (to) continue;
    fputs(usage, stderr);
    return 2;
  }
  if (optind < argc) return 0;
  fputs(usage, stderr);
  return 2;
}

int main(int argc, char **argv)
{
  struct comm c;
  struct choice given = {-1, -1, -1};
  struct fault f = {""};
  int status = options(argc, argv, &given);
  if (status) return status;
  MPI_Init(&argc, &argv);
  h5_quiet();
  comm_open(&c, MPI_COMM_WORLD);
  double largest = -1;
  if (c.size > 1)
    fault_set(
        &f,
        "one rank is expected, found %d: start true_energy without mpirun; OMP_NUM_THREADS sets the number of threads",
        c.size);
  else largest = table(&c, argv + optind, argc - optind, &given, &f);
  if (!f.text[0] && given.most >= 0 && !(largest <= given.most))
    fault_set(&f, "the largest |dE/E| is %.3e, and at most %.3e is allowed", largest, given.most);
  fflush(stdout);
  if (f.text[0] && c.rank == 0) fprintf(stderr, "true_energy: %s\n", f.text);
  status = f.text[0] != 0;
  comm_close(&c);
  MPI_Finalize();
  return status;
}
