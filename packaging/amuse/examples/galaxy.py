# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster on its orbit in a galaxy, by a bridge; written to a file, read and continued."""
import os
import tempfile

from amuse.couple.bridge import Bridge
from amuse.ext.galactic_potentials import MWpotentialBovy2015
from amuse.ic.plummer import new_plummer_model
from amuse.io import read_set_from_file, write_set_to_file
from amuse.units import nbody_system, units
from amuse_espalier import Espalier

convert = nbody_system.nbody_to_si(500 | units.MSun, 2 | units.parsec)


def begin(stars, time):
    """A code with these stars, in a bridge with the galaxy."""
    code = Espalier(convert)
    code.parameters.begin_time = time   # before the particles are added
    code.particles.add_particles(stars)
    system = Bridge(timestep=0.1 | units.Myr, use_threading=False)
    system.time = time   # before the code is added
    system.add_system(code, (MWpotentialBovy2015(),))
    return code, system


stars = new_plummer_model(200, convert)
galaxy = MWpotentialBovy2015()
stars.x += 8 | units.kpc
stars.vy += galaxy.circular_velocity(8 | units.kpc)
code, system = begin(stars, 0 | units.Myr)
system.evolve_model(0.5 | units.Myr)
path = os.path.join(tempfile.mkdtemp(), "stars.hdf5")
write_set_to_file(code.particles.copy(), path, "amuse")
time = code.model_time
code.stop()
code, system = begin(read_set_from_file(path, "amuse"), time)
system.evolve_model(1 | units.Myr)
centre = code.particles.center_of_mass()
print(code.model_time.in_(units.Myr), centre.in_(units.kpc), code.particles.virial_radius().in_(units.parsec))
code.stop()
