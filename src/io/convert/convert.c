/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/convert/convert.h"

#include <config.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "gravity/units.h"
#include "io/snapshot/snapshot.h"
#include "params/params_units.h"

enum { PATH_SIZE = 4200 };

static int ends_in(const char *path, const char *end)
{
  size_t n = strlen(path), m = strlen(end);
  return n > m && strcasecmp(path + n - m, end) == 0;
}

enum ic_format convert_format_of(const char *path)
{
  static const struct {
    const char *end;
    enum ic_format format;
  } ends[] = {{".hdf5", FORMAT_HDF5},
              {".h5", FORMAT_HDF5},
              {".txt", FORMAT_ASCII},
              {".csv", FORMAT_ASCII},
              {".dat", FORMAT_ASCII}};
  for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
    if (ends_in(path, ends[k].end)) return ends[k].format;
  return FORMAT_AUTO;
}

/* The units of the numbers: those of the file, or of `system`. */
static int take_units(const struct convert_order *order, struct convert_report *report, struct fault *fault)
{
  struct params *par = &report->params;
  struct param_origin origin;
  char text[PARAM_TEXT];
  memset(&origin, 0, sizeof origin);
  report->has_units = report->facts.has_units || order->system;
  if (report->facts.has_units && order->system)
    return fault_set(fault, "%s states its units: leave out --units, which is for files without units", order->from);
  if (report->facts.has_units) initial_take_units(par, &origin);
  else if (order->system) {
    snprintf(text, sizeof text, "Units:System=%s", order->system);
    if (params_set_named(par, text, &origin, fault) || params_convert(par, &origin, fault)) return -1;
  } else if (order->write_as == FORMAT_HDF5)
    return fault_set(fault,
                     "%s states no units, and the new file will: give --units galaxy, cluster, pc-myr, nbody or "
                     "gadget, those of its numbers ([Units] System)",
                     order->from);
  return 0;
}

/* What would have another meaning in the new file. */
static int check_facts(const struct convert_order *order, const struct initial_facts *facts, struct fault *fault)
{
  if (facts->comoving || facts->redshift > 1e-6)
    return fault_set(fault,
                     "%s is in comoving coordinates, or at redshift %g; expected physical positions and velocities, "
                     "since formats differ in what comoving velocities are",
                     order->from, facts->redshift);
  return 0;
}

static int write_as(const struct comm *comm, const struct convert_order *order, const struct convert_report *report,
                    const struct particles *particles, struct fault *fault)
{
  char path[PATH_SIZE];
  double time = report->facts.has_time ? report->facts.time : 0;
  struct snapshot_facts facts = {.params = &report->params, .time = time};
  if (order->write_as == FORMAT_HDF5) {
    facts.gravity = units_gravity(&report->params);
    return snapshot_write(comm, order->to, particles, &facts, fault);
  }
  snprintf(path, sizeof path, "%s.tmp", order->to);
  int failed = order->write_as == FORMAT_ASCII
                   ? text_out(comm, path, particles, time, report, ends_in(order->to, ".csv"), fault)
                   : gadget_out(comm, path, particles, time, order, fault);
  if (comm->rank == 0 && failed) unlink(path);
  if (comm->rank == 0 && !failed && rename(path, order->to) != 0)
    fault_set(fault, "%s: %s", order->to, strerror(errno));
  return failed ? -1 : comm_verdict(comm, fault);
}

int convert_file(const struct comm *comm, const struct convert_order *order, struct convert_report *report,
                 struct fault *fault)
{
  struct particles particles;
  particles_init(&particles);
  params_defaults(&report->params);
  report->params.ICFormat = order->read_as;
  if (snprintf(report->params.InitCondFile, PARAM_TEXT, "%s", order->from) >= PARAM_TEXT)
    return fault_set(fault, "the name of the file to read is longer than %d characters", PARAM_TEXT - 1);
  if (initial_read(comm, order->from, order->read_as, &particles, &report->facts, fault)) return -1;
  report->count = particles.n;
  comm_sum_int64(comm, &report->count, 1);
  int failed = 0;
  if (check_facts(order, &report->facts, fault) == 0) take_units(order, report, fault);
  failed = comm_agree(comm, fault) || write_as(comm, order, report, &particles, fault);
  particles_free(&particles);
  return failed ? -1 : 0;
}
