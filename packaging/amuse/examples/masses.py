# SPDX-License-Identifier: GPL-3.0-or-later
"""Stars that lose mass: by SSE, where the package amuse-sse is installed, else by a law."""
from amuse.ic.plummer import new_plummer_model
from amuse.ic.salpeter import new_salpeter_mass_distribution
from amuse.units import nbody_system, units
from amuse_espalier import Espalier

try:
    from amuse.community.sse.interface import SSE
except ImportError:
    SSE = None

masses = new_salpeter_mass_distribution(200, 0.3 | units.MSun, 50 | units.MSun)
convert = nbody_system.nbody_to_si(masses.sum(), 1 | units.parsec)
stars = new_plummer_model(200, convert)
stars.mass = masses
stars.move_to_center()
gravity = Espalier(convert)
gravity.particles.add_particles(stars)
if SSE:
    evolution = SSE()
    evolution.particles.add_particles(stars)
    to_gravity = evolution.particles.new_channel_to(gravity.particles)
end, step, time = 2 | units.Myr, 0.5 | units.Myr, 0 | units.Myr
while time < end:
    time += step
    gravity.evolve_model(time)
    if SSE:
        evolution.evolve_model(time)
        to_gravity.copy_attributes(["mass"])
    else:
        heavy = gravity.particles.select(lambda m: m > 8 | units.MSun, ["mass"])
        heavy.mass *= 0.9
    print(time.in_(units.Myr), gravity.particles.total_mass().in_(units.MSun), gravity.kinetic_energy
          + gravity.potential_energy)
gravity.stop()
if SSE:
    evolution.stop()
