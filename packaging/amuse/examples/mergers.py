# SPDX-License-Identifier: GPL-3.0-or-later
"""A dense cluster whose stars merge where they touch, and are removed where they leave."""
from amuse.datamodel import Particle, Particles
from amuse.ic.plummer import new_plummer_model
from amuse.units import nbody_system, units
from amuse_espalier import Espalier

convert = nbody_system.nbody_to_si(100 | units.MSun, 0.1 | units.parsec)
stars = new_plummer_model(100, convert)
stars.radius = 100 | units.AU
code = Espalier(convert)
code.particles.add_particles(stars)
touch = code.stopping_conditions.collision_detection
gone = code.stopping_conditions.out_of_box_detection
code.parameters.stopping_conditions_out_of_box_size = 2 | units.parsec   # distance from the origin; before enable()
touch.enable()
gone.enable()
end = 0.03 | units.Myr
while code.model_time < end:
    code.evolve_model(end)
    if touch.is_set():
        # the first pair; others that touch are reported at the next call
        pair = Particles(particles=[touch.particles(0)[0], touch.particles(1)[0]])
        star = Particle(mass=pair.total_mass(), radius=100 | units.AU, position=pair.center_of_mass(),
                        velocity=pair.center_of_mass_velocity())
        code.particles.remove_particles(pair)
        code.particles.add_particle(star)
        print(code.model_time.in_(units.Myr), "merged:", star.mass.in_(units.MSun))
    elif gone.is_set():
        code.particles.remove_particles(gone.particles(0).copy())
        print(code.model_time.in_(units.Myr), "stars:", len(code.particles))
print(len(code.particles), "stars,", code.particles.total_mass().in_(units.MSun))
code.stop()
