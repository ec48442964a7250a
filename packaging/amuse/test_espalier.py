# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the community code: those of AMUSE for all gravitational codes (package amuse-tests), and others of the same
kinds.

ESPALIER_PROGRAM names the program of the same build; without it the comparison with the program is skipped."""

import os
import subprocess
import sys
import tempfile
import types

import numpy
from amuse.couple.bridge import Bridge
from amuse.datamodel import Particle, Particles
from amuse.ext.galactic_potentials import Plummer_profile
from amuse.ic.plummer import new_plummer_model
from amuse.support.exceptions import AmuseException
from amuse.test.amusetest import TestWithMPI
from amuse.test.suite.codes_tests import gd_tests
from amuse.units import nbody_system, units

from amuse_espalier import Espalier, EspalierInterface

# AMUSE's tests of bridges and of Hermite import codes, which need not be there.
for name, code in (("fi", "Fi"), ("hermite", "Hermite"), ("phigrape", "PhiGRAPE"), ("bhtree", "BHTree")):
    sys.modules["amuse.community." + name] = types.ModuleType(name)
    sys.modules["amuse.community.%s.interface" % name] = (
        types.SimpleNamespace(**{code: Espalier, code + "Interface": EspalierInterface}))
from amuse.test.suite.codes_tests import test_bridge, test_hermite  # noqa: E402

REPEATABLE = "Repeatable=on; Tuning=frozen"   # the scheme does not follow the clock
LENGTH, SPEED, MASS, TIME = nbody_system.length, nbody_system.speed, nbody_system.mass, nbody_system.time


class TestEspalierInterface(gd_tests._TestGravitationalDynamicsInterface, TestWithMPI):
    def gravity_code_interface(self):
        return EspalierInterface

    # a worker that does not start is a failure here
    def new_instance_of_an_optional_code(self, factory, *arguments, **options):
        return factory(*arguments, **options)

    def reference_includes(self):
        return "Espalier"

    def test_reversed_time_allowed(self):
        self.skip("time cannot be reversed, as in ph4")


class TestEspalierGravityCode(gd_tests._TestGravityCodes, TestWithMPI):
    def gravity_code_factory(self):
        return Espalier

    def new_instance_of_an_optional_code(self, factory, *arguments, **options):
        return factory(*arguments, **options)


class TestEspalierBridge(test_bridge.TestBridge):
    "AMUSE's own, with Espalier for all codes: energies of two halves are those of the whole to twelve digits."


class TestEspalierAsHermite(test_hermite.TestHermite):
    "AMUSE's tests of Hermite, with Espalier: orbits with units, fields, stopping conditions, workers, states."

    def setUp(self):
        parameters, longer = "parameters that Hermite alone has", "one soft step takes the whole time"
        reasons = {"test1": parameters, "test3": "head-on passages, of minutes with leapfrog steps",
                   "test6": parameters, "test7": parameters,
                   "test11": longer, "test13": "rounding depends on the number of workers",
                   "test18": parameters, "test19": parameters, "test20": parameters}
        if self._testMethodName in reasons:
            self.skip(reasons[self._testMethodName])
        super().setUp()


def sun_and_earth():
    bodies = Particles(2)
    bodies.mass = [1.9891e30, 5.9736e24] | units.kg
    bodies.position = [[0, 0, 0], [149.5e6, 0, 0]] | units.km
    bodies.velocity = [[0, 0, 0], [0, 29.8, 0]] | units.kms
    bodies.radius = [695700, 6371] | units.km
    return bodies


def sphere(n, seed=17):
    stars = new_plummer_model(n, random=numpy.random.mtrand.RandomState(seed))
    stars.radius = 0 | LENGTH
    return stars


def energy(code):
    return code.kinetic_energy + code.potential_energy


class TestEspalier(TestWithMPI):
    def code(self, *arguments, **options):
        code = Espalier(*arguments, **options)
        self.addCleanup(code.stop)
        return code

    def pair(self, eps2=0.0, **options):
        "Masses 3 and 1 at a distance of 2."
        code = self.code(**options)
        code.parameters.epsilon_squared = eps2 | LENGTH**2
        two = Particles(2, mass=[3, 1] | MASS, radius=[0.1, 0.2] | LENGTH)
        two.position = [[0, 0, 0], [2, 0, 0]] | LENGTH
        two.velocity = [[0, 0, 0], [0, 1, 0]] | SPEED
        code.particles.add_particles(two)
        return code

    def test_orbit_of_the_earth(self):
        code = self.code(nbody_system.nbody_to_si(1 | units.MSun, 1 | units.AU))
        bodies = sun_and_earth()
        code.particles.add_particles(bodies)
        start, channel = energy(code), code.particles.new_channel_to(bodies)
        year = 2 * numpy.pi * (149.5e6 | units.km) / (29.8 | units.kms)
        for turns, x, y in ((0.5, -1, 0), (0.75, 0, -1), (1, 1, 0), (3, 1, 0)):
            code.evolve_model(turns * year)
            channel.copy()
            place = (bodies[1].position - bodies[0].position) / (149.5e6 | units.km)
            self.assertAlmostEqual(place[0], x, 2)
            self.assertAlmostEqual(place[1], y, 2)
        print("three orbits: dE/E", (energy(code) - start) / start, "place", place)
        self.assertTrue(abs((energy(code) - start) / start) < 1e-5)
        self.assertAlmostRelativeEqual(code.model_time, 3 * year, 10)

    def test_sphere_without_softening(self):
        code = self.code()
        code.particles.add_particles(sphere(500))
        start = energy(code)
        code.evolve_model(1 | TIME)
        print("500 particles without softening: dE/E", (energy(code) - start) / start)
        self.assertTrue(abs((energy(code) - start) / start) < 1e-5)

    def test_forces_of_a_pair(self):
        for eps2 in (0, 0.25):
            code = self.pair(eps2)
            r2 = 4 + eps2
            self.assertAlmostRelativeEqual(code.particles.potential_in_code, [-1 / r2**0.5, -3 / r2**0.5] | SPEED**2,
                                           12)
            self.assertAlmostRelativeEqual(code.particles.ax, [2 / r2**1.5, -6 / r2**1.5] | LENGTH / TIME**2, 12)
            self.assertAlmostRelativeEqual(code.potential_energy, -3 / r2**0.5 | MASS * SPEED**2, 12)
            self.assertAlmostRelativeEqual(code.kinetic_energy, 0.5 | MASS * SPEED**2, 12)

    def test_forces_of_many(self):
        "Those of the library and direct sums, on both sides of the number up to which the worker has the latter."
        for n, places in ((1024, 1e-12), (1025, 1e-3)):
            code, stars = self.code(), sphere(n)
            code.parameters.epsilon_squared = 0.01 | LENGTH**2
            code.particles.add_particles(stars)
            d = stars.position.value_in(LENGTH)[None] - stars.position.value_in(LENGTH)[:, None]
            r2 = (d**2).sum(axis=2) + 0.01
            m = stars.mass.value_in(MASS)
            pot = -(m / r2**0.5).sum(axis=1) + m / 0.1
            acc = (m[None, :, None] * d / r2[:, :, None]**1.5).sum(axis=1)
            given = code.particles.copy()
            self.assertTrue(abs(given.potential_in_code.value_in(SPEED**2) / pot - 1).max() < places)
            self.assertTrue(abs(given.ax.value_in(LENGTH / TIME**2) - acc[:, 0]).max() < 10 * places)
            self.assertTrue(abs(code.potential_energy.value_in(MASS * SPEED**2) / (0.5 * (m * pot).sum()) - 1) < places)

    def test_motions_of_few(self):
        "Stars move by the forces of all others, however many there are: places after a short time."
        for n in (5, 6, 16, 20, 100):
            code = self.code()
            code.particles.add_particles(sphere(n, 19))
            x, v, t = code.particles.position.number, code.particles.velocity.number, 1e-3
            a = numpy.array([getattr(code.particles, name).number for name in ("ax", "ay", "az")]).T
            code.evolve_model(t | TIME)
            off = code.particles.position.number - x - v * t - 0.5 * a * t**2
            self.assertTrue(numpy.median((off**2).sum(axis=1) / ((0.5 * a * t**2)**2).sum(axis=1)) < 1e-2**2)

    def test_an_external_potential_counts(self):
        code = self.pair(0.01)
        inner = code.potential_energy.number
        code.parameters.settings = "Potential1=plummer mass=10 scale=1"
        outer = code.potential_energy.number
        self.assertAlmostRelativeEqual(outer, inner - 30 / 1**0.5 - 10 / 5**0.5, 5)

    def test_sums(self):
        code = self.pair()
        self.assertEqual(code.total_mass, 4 | MASS)
        self.assertAlmostRelativeEqual(code.center_of_mass_position, [0.5, 0, 0] | LENGTH, 12)
        self.assertAlmostRelativeEqual(code.center_of_mass_velocity, [0, 0.25, 0] | SPEED, 12)
        self.assertAlmostRelativeEqual(code.total_radius, 1.5 | LENGTH, 12)

    def test_field_at_points(self):
        code = self.code()
        stars = sphere(3000)
        code.parameters.epsilon_squared = 0.01 | LENGTH**2
        code.particles.add_particles(stars)
        rng = numpy.random.RandomState(3)
        points = rng.normal(size=(2500, 3))
        for count, places in ((20, 1e-6), (2500, 1e-2)):   # direct sums; the tree
            x = [points[:count, c] | LENGTH for c in range(3)]
            zero = numpy.zeros(count) | LENGTH
            acc = numpy.array([a.value_in(LENGTH / TIME**2) for a in code.get_gravity_at_point(zero, *x)]).T
            pot = code.get_potential_at_point(zero, *x).value_in(SPEED**2)
            d = stars.position.value_in(LENGTH)[None] - points[:20, None]
            r2 = (d**2).sum(axis=2) + 0.01
            m = stars.mass.value_in(MASS)
            true = (m[None, :, None] * d / r2[:, :, None]**1.5).sum(axis=1)
            self.assertTrue((numpy.linalg.norm(acc[:20] - true, axis=1)
                             < places * numpy.linalg.norm(true, axis=1)).all())
            self.assertTrue((abs(pot[:20] + (m / r2**0.5).sum(axis=1)) < places).all())

    def test_states(self):
        code, stars = self.code(), sphere(50)
        self.assertEqual(code.get_name_of_current_state(), "UNINITIALIZED")
        code.parameters.epsilon_squared = 0.01 | LENGTH**2
        self.assertEqual(code.get_name_of_current_state(), "INITIALIZED")
        code.particles.add_particles(stars)
        self.assertEqual(code.get_name_of_current_state(), "EDIT")
        code.particles[0].mass
        self.assertEqual(code.get_name_of_current_state(), "RUN")
        code.particles.remove_particle(stars[0])
        self.assertEqual(code.get_name_of_current_state(), "UPDATE")
        code.potential_energy
        self.assertEqual(code.get_name_of_current_state(), "RUN")
        code.evolve_model(0.01 | TIME)
        self.assertEqual(code.get_name_of_current_state(), "EVOLVED")
        code.parameters.epsilon_squared
        code.particles[0].position
        self.assertEqual(code.get_name_of_current_state(), "RUN")
        code.cleanup_code()
        self.assertEqual(code.get_name_of_current_state(), "END")

    def test_particles_come_and_go(self):
        code, stars = self.code(), sphere(200)
        code.parameters.epsilon_squared = 0.01 | LENGTH**2
        code.particles.add_particles(stars)
        code.evolve_model(0.05 | TIME)
        code.particles.remove_particles(stars[::2])
        hole = Particle(mass=0.5 | MASS, radius=0 | LENGTH, position=[0, 0, 0] | LENGTH, velocity=[0, 0, 0] | SPEED)
        code.particles.add_particle(hole)
        code.evolve_model(0.1 | TIME)
        self.assertEqual(len(code.particles), 101)
        self.assertAlmostRelativeEqual(code.total_mass, 1 | MASS, 10)
        code.particles.synchronize_to(stars)
        self.assertEqual(len(stars), 101)
        numbers = code.legacy_interface
        index, found = numbers.get_index_of_first_particle()["index_of_the_particle"], []
        while len(found) < 300:
            found.append(index)
            answer = numbers.get_index_of_next_particle(index)
            if answer["__result"]:
                break
            index = answer["index_of_the_next_particle"]
        self.assertEqual(found, list(range(1, 200, 2)) + [200])
        code.particles.remove_particles(code.particles)
        code.evolve_model(0.2 | TIME)
        self.assertEqual(len(code.particles), 0)
        self.assertAlmostEqual(code.model_time, 0.2 | TIME)

    def test_copies_and_channels(self):
        code = self.pair()
        copy = code.particles.copy()
        copy.mass = [0.1, 0.2] | MASS
        copy.radius = 0.3 | LENGTH
        copy.new_channel_to(code.particles).copy_attributes(["mass", "radius"])
        # as they were given, though forces have them in single precision
        self.assertEqual(code.particles.mass, [0.1, 0.2] | MASS)
        self.assertEqual(code.particles.radius, [0.3, 0.3] | LENGTH)
        self.assertAlmostRelativeEqual(code.potential_energy, -0.01 | MASS * SPEED**2, 12)
        code.particles.velocity = [[1, 0, 0], [2, 3, 0]] | SPEED
        code.evolve_model(1e-4 | TIME)
        self.assertAlmostEqual(code.particles.velocity, [[1, 0, 0], [2, 3, 0]] | SPEED, 3)

    def test_parameters(self):
        code = self.code(nbody_system.nbody_to_si(1000 | units.MSun, 1 | units.parsec))
        p = code.parameters
        self.assertEqual((p.accuracy, p.mode, p.integrator, p.settings), (1e-5, "auto", "auto", ""))
        p.epsilon_squared = (0.1 | units.parsec)**2
        p.timestep = 0.001 | units.Myr
        p.begin_time = 5 | units.Myr
        p.accuracy, p.mode, p.settings = 1e-4, "hybrid", "R1=0.3; R2=0.6"
        stars = new_plummer_model(100, nbody_system.nbody_to_si(1000 | units.MSun, 1 | units.parsec))
        code.particles.add_particles(stars)
        self.assertAlmostRelativeEqual(code.model_time, 5 | units.Myr, 10)
        code.evolve_model(5.01 | units.Myr)
        self.assertTrue(code.number_of_soft_steps >= 10)
        p.timestep = 0.002 | units.Myr
        code.evolve_model(5.02 | units.Myr)
        self.assertAlmostRelativeEqual(p.epsilon_squared, (0.1 | units.parsec)**2, 10)
        self.assertTrue(code.number_of_soft_steps <= 19)

    def test_begin_time_after_the_particles(self):
        code = self.pair(0.01)
        self.assertEqual(code.model_time, 0 | TIME)
        code.parameters.begin_time = 3 | TIME
        code.evolve_model(3.5 | TIME)
        self.assertEqual(code.model_time, 3.5 | TIME)
        self.assertAlmostEqual(code.center_of_mass_position, [0.5, 0.125, 0] | LENGTH, 7)
        code.parameters.begin_time = 1 | TIME
        self.assertEqual(code.model_time, 3.5 | TIME)

    def test_sockets(self):
        code = self.pair(0.01, channel_type="sockets")
        code.evolve_model(0.5 | TIME)
        self.assertAlmostEqual(code.center_of_mass_position, [0.5, 0.125, 0] | LENGTH, 7)

    def test_errors_are_sentences(self):
        code = self.pair(0.01)
        code.evolve_model(0.1 | TIME)
        def fails(words, act):
            try:
                act()
            except AmuseException as failure:
                self.assertTrue(words in str(failure), msg="expected '%s', found: %s" % (words, failure))
            else:
                self.fail("no error with '%s'" % words)
        for words, act in (("cannot go back", lambda: code.evolve_model(0.05 | TIME)),
                           ("expected auto, tree or hybrid", lambda: setattr(code.parameters, "mode", "fast")),
                           ("epsilon_squared", lambda: setattr(code.parameters, "epsilon_squared", -1 | LENGTH**2)),
                           ("no particle with the index 7", lambda: code.get_mass(7))):
            fails(words, act)
        code.parameters.settings = "Softning=0.1"
        fails("did you mean 'Softening'", lambda: code.evolve_model(0.2 | TIME))
        code.parameters.settings = ""
        code.evolve_model(0.2 | TIME)   # the worker is as it was before the failure
        code.particles[0].mass = -1 | MASS
        fails("expected a mass from 0 to 1e+36, found -1", lambda: code.evolve_model(0.3 | TIME))

    def test_stopping_conditions(self):
        code = self.code()
        code.parameters.epsilon_squared = 0.01 | LENGTH**2
        conditions = code.stopping_conditions
        self.assertEqual(set(conditions.supported_conditions()),
                         {"collision_detection", "timeout_detection", "number_of_steps_detection",
                          "out_of_box_detection"})
        stars = sphere(100)
        runaway = Particle(mass=0 | MASS, radius=0 | LENGTH, position=[9, 0, 0] | LENGTH, velocity=[10, 0, 0] | SPEED)
        code.particles.add_particles(stars)
        code.particles.add_particle(runaway)
        conditions.number_of_steps_detection.enable()
        code.parameters.stopping_conditions_number_of_steps = 3
        code.evolve_model(1 | TIME)
        self.assertTrue(conditions.number_of_steps_detection.is_set())
        self.assertEqual(code.number_of_soft_steps, 3)
        conditions.number_of_steps_detection.disable()
        conditions.out_of_box_detection.enable()
        code.parameters.stopping_conditions_out_of_box_size = 9.9 | LENGTH
        code.evolve_model(1 | TIME)
        self.assertTrue(conditions.out_of_box_detection.is_set())
        self.assertFalse(conditions.number_of_steps_detection.is_set())
        self.assertTrue(code.model_time < 0.5 | TIME)
        self.assertTrue(runaway.key in conditions.out_of_box_detection.particles(0).key)
        conditions.out_of_box_detection.disable()
        conditions.timeout_detection.enable()
        code.parameters.stopping_conditions_timeout = 0.01 | units.s
        code.evolve_model(1e6 | TIME)
        self.assertTrue(conditions.timeout_detection.is_set())
        self.assertTrue(code.model_time < 1e6 | TIME)

    def colliding(self, stars, **options):
        code = self.code(**options)
        code.parameters.settings = REPEATABLE
        code.particles.add_particles(stars)
        code.stopping_conditions.collision_detection.enable()
        return code, code.stopping_conditions.collision_detection

    def test_refused_particles_are_corrected(self):
        for name, bad, good in (("mass", -1 | MASS, 0.02 | MASS), ("radius", numpy.nan | LENGTH, 0.01 | LENGTH)):
            stars = new_plummer_model(20)
            setattr(stars[3], name, bad)
            code = Espalier()
            code.particles.add_particles(stars)
            with self.assertRaisesRegex(AmuseException, "particle [34] .*has the %s .*expected a finite number" % name):
                code.evolve_model(0.01 | TIME)
            setattr(code.particles[3], name, good)
            code.evolve_model(0.01 | TIME)
            self.assertAlmostEqual(code.model_time, 0.01 | TIME)
            with self.assertRaisesRegex(AmuseException, "particle 2 has the radius -1; expected a finite number"):
                code.particles[2].radius = -1 | LENGTH
            code.stop()

    def two(self, distance, velocity, radius):
        "Masses of 0.5 each along x, about the origin, and where the second one is and goes from the first one."
        stars = Particles(2, mass=[0.5, 0.5] | MASS, radius=[0.4 * radius, 0.6 * radius] | LENGTH)
        stars.position = [[-0.5 * distance, 0, 0], [0.5 * distance, 0, 0]] | LENGTH
        stars.velocity = [[-0.5 * v for v in velocity], [0.5 * v for v in velocity]] | SPEED
        return stars

    def test_collisions_on_orbits(self):
        "A pair from its apocentre, of semi-major axis 1 and G M = 1: the time of the contact is that of Kepler."
        radius = 0.05
        for eccentricity, workers in ((0.99, 1), (0.99, 3), (0.96, 1), (0.94, 1)):
            speed = numpy.sqrt((1 - eccentricity) / (1 + eccentricity))
            code, found = self.colliding(self.two(1 + eccentricity, (0, speed, 0), radius), number_of_workers=workers)
            code.evolve_model(5 | TIME)
            if eccentricity == 0.94:   # they pass at 0.06
                self.assertFalse(found.is_set())
                self.assertEqual(code.model_time, 5 | TIME)
                continue
            angle = 2 * numpy.pi - numpy.arccos((1 - radius) / eccentricity)
            contact = angle - eccentricity * numpy.sin(angle) - numpy.pi
            for passage in range(2):   # it goes on, and they meet again
                self.assertTrue(found.is_set())
                self.assertEqual((len(found.particles(0)), len(found.particles(1))), (1, 1))
                distance = (found.particles(0)[0].position - found.particles(1)[0].position).length().number
                self.assertTrue(0.99 * radius < distance <= radius)
                self.assertTrue(abs(code.model_time.number - contact - passage * 2 * numpy.pi) < 1e-3)
                code.evolve_model(12 | TIME)

    def test_collisions_in_passing(self):
        "Fast stars meet far within a step, or pass; those that touch at the start are told at once, and once."
        for offset, meets in ((0.04, True), (0.06, False)):
            stars = self.two(10, (-100, 0, 0), 0.05)
            stars[1].y += offset | LENGTH
            code, found = self.colliding(stars)
            code.parameters.epsilon_squared = 1e-2 | LENGTH**2
            code.evolve_model(1 | TIME)
            self.assertEqual(found.is_set(), meets)
            if meets:
                self.assertTrue(abs(code.model_time.number - (10 - 0.03) / 100) < 1e-4)
        code, found = self.colliding(self.two(0.04, (0, 5, 0), 0.05))
        code.evolve_model(1 | TIME)
        self.assertTrue(found.is_set() and code.model_time == 0 | TIME)
        code.evolve_model(0.0001 | TIME)
        self.assertTrue(not found.is_set() and code.model_time == 0.0001 | TIME)

    def test_collisions_in_a_cluster(self):
        "All are found that dense outputs show, whatever the workers; particles that merge go on."
        stars = sphere(200)
        stars.radius = 0.03 | LENGTH
        ends = []
        for workers in (1, 3):
            code, found = self.colliding(stars.copy(), number_of_workers=workers)
            times = []
            while code.model_time < 0.25 | TIME:
                code.evolve_model(0.25 | TIME)
                for one, other in zip(found.particles(0), found.particles(1)) if found.is_set() else ():
                    times.append((code.model_time.number, *sorted((one.key, other.key))))
            ends.append(times)
        self.assertTrue(len(ends[0]) > 3)
        one, three = ({end[1:]: end[0] for end in reversed(all)} for all in ends)   # the first one of each pair
        self.assertEqual(set(one), set(three))
        self.assertTrue(max(abs(one[pair] - three[pair]) for pair in one) < 1e-6)
        code = self.code()
        code.parameters.settings = REPEATABLE + "; Accuracy=1e-7"
        code.particles.add_particles(stars)
        touched = set()
        for step in range(1, 1001):
            code.evolve_model(0.25 * step / 1000 | TIME)
            x = code.particles.position.number
            apart = numpy.sqrt(((x[:, None] - x[None])**2).sum(axis=2)) + numpy.eye(len(x))
            touched |= {(i, j) for i, j in zip(*numpy.nonzero(apart < 0.0599)) if i < j}
        found = {tuple(sorted(list(code.particles.key).index(key) for key in one[1:])) for one in ends[0]}
        self.assertTrue(len(touched) > 3 and touched <= found)

    def test_binaries_are_found(self):
        "AMUSE finds them among the particles of the code, and they may be replaced by their centres of mass."
        code = self.code()
        code.parameters.epsilon_squared = 1e-8 | LENGTH**2
        stars = Particles(4)
        stars.mass = 0.25 | MASS
        stars.radius = 0 | LENGTH
        stars.position = [[0, 0, 0], [0.01, 0, 0], [5, 0, 0], [5, 3, 0]] | LENGTH
        stars.velocity = [[0, 3.5, 0], [0, -3.5, 0], [0, 0.1, 0], [0, 0, 0.1]] | SPEED
        code.particles.add_particles(stars)
        code.evolve_model(0.0625 | TIME)
        pairs = code.particles.copy().get_binaries(hardness=0.1, G=nbody_system.G)
        self.assertEqual(len(pairs), 1)
        self.assertEqual({star.key for star in pairs[0]}, {stars[0].key, stars[1].key})
        centre = Particles(1)
        centre.mass, centre.radius = pairs[0].mass.sum(), 0 | LENGTH
        centre.position, centre.velocity = pairs[0].center_of_mass(), pairs[0].center_of_mass_velocity()
        code.particles.remove_particles(pairs[0])
        code.particles.add_particles(centre)
        code.evolve_model(0.125 | TIME)
        self.assertEqual((len(code.particles), code.model_time), (3, 0.125 | TIME))

    def test_several_workers(self):
        ends = []
        for workers in (1, 3):
            code, stars = self.code(number_of_workers=workers), sphere(300)
            code.parameters.epsilon_squared = 0.01 | LENGTH**2
            code.parameters.settings = REPEATABLE
            code.particles.add_particles(stars)
            code.evolve_model(0.05 | TIME)
            code.particles.velocity *= 0.5   # each worker gets those of its own particles
            code.particles.remove_particle(stars[7])
            code.evolve_model(0.1 | TIME)
            code.particles.velocity *= 1.5
            x = numpy.array([0.5, 1, 2]) | LENGTH
            ax, _, _ = code.get_gravity_at_point(0 * x, x, x, x)
            ends.append([energy(code).number, code.particles.position.number, code.particles.velocity.number,
                         ax.number])
        for one, three in zip(*ends):
            self.assertTrue(abs(one - three).max() < 1e-3)

    def test_sphere_against_the_program(self):
        program = os.environ.get("ESPALIER_PROGRAM")
        if not program:
            self.skip("ESPALIER_PROGRAM does not name a program")
        import h5py
        with tempfile.TemporaryDirectory() as folder:
            def run(*words):
                single = {k: v for k, v in os.environ.items()
                          if not k.startswith(("OMPI_COMM", "OMPI_UNIVERSE", "PMIX", "PRTE", "ORTE"))}
                return subprocess.run([program, *words], cwd=folder, check=True, env={**single, "OMP_NUM_THREADS": "1"},
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            run("ic", "plummer", "-n", "2048", "-s", "5", "-o", "ic.hdf5")
            with open(os.path.join(folder, "run.ini"), "w") as file:
                file.write("[Input]\nInitCondFile = ic.hdf5\n[Units]\nGravityConstantInternal = 1\n[Time]\nTimeMax = "
                           "1\n[Gravity]\nSoftening = 0.05\n[Accuracy]\nRepeatable = on\n[Device]\nTuning = frozen\n")
            run("run", "run.ini")
            first = h5py.File(os.path.join(folder, "output/snapshot_000.hdf5"))["PartType1"]
            last = h5py.File(os.path.join(folder, "output/snapshot_001.hdf5"))["PartType1"]
            stars = Particles(len(first["ParticleIDs"]))
            order = numpy.argsort(first["ParticleIDs"][:])
            stars.mass = first["Masses"][:].astype(float)[order] | MASS
            stars.position = first["Coordinates"][:][order] | LENGTH
            stars.velocity = first["Velocities"][:][order] | SPEED
            end = last["Coordinates"][:][numpy.argsort(last["ParticleIDs"][:])]
            rows = [line.split(",") for line in open(os.path.join(folder, "output/energy.csv")) if line[0] != "#"]
        stars.radius = 0 | LENGTH
        code = self.code()
        code.parameters.epsilon_squared = 0.05**2 | LENGTH**2
        code.parameters.settings = REPEATABLE
        code.particles.add_particles(stars)
        start = energy(code)
        code.evolve_model(1 | TIME)
        total = rows[0].index("total")
        error, theirs = float((energy(code) - start) / start), float(rows[-1][total]) / float(rows[1][total]) - 1
        print("dE/E in AMUSE", error, "of the program", theirs, "steps", code.number_of_soft_steps)
        self.assertTrue(abs(error) < 1e-4 and abs(error - theirs) < 1e-6)
        self.assertTrue((code.particles.position.number == end).all())   # the same bits

    def test_bridge_of_two_halves(self):
        "A sphere in two codes that pull on each other through a bridge keeps its energy, and is that of one code."
        stars = sphere(400)
        whole = self.code()
        halves = [stars[:200], stars[200:]]
        codes = [self.code() for _ in halves]
        for code, part in zip([whole] + codes, [stars] + halves):
            code.parameters.epsilon_squared = 0.05**2 | LENGTH**2
            code.parameters.settings = REPEATABLE
            code.particles.add_particles(part)
        bridge = Bridge(timestep=0.005 | TIME, use_threading=False)
        bridge.add_system(codes[0], (codes[1],))
        bridge.add_system(codes[1], (codes[0],))
        start = bridge.kinetic_energy + bridge.potential_energy
        self.assertAlmostRelativeEqual(start, energy(whole), 10)
        bridge.evolve_model(0.1 | TIME)
        whole.evolve_model(0.1 | TIME)
        end = bridge.kinetic_energy + bridge.potential_energy
        print("bridge of two halves: dE/E", (end - start) / start)
        self.assertTrue(abs((end - start) / start) < 1e-4)
        moved = numpy.concatenate([code.particles.position.value_in(LENGTH) for code in codes])
        self.assertTrue(abs(moved - whole.particles.position.value_in(LENGTH)).max() < 1e-3)

    def test_bridge_with_a_potential(self):
        "A cluster on a circular orbit in a galaxy that is a formula."
        convert = nbody_system.nbody_to_si(1000 | units.MSun, 2 | units.parsec)
        galaxy = Plummer_profile(1e10 | units.MSun, 500 | units.parsec)
        radius = 1000 | units.parsec
        speed = galaxy.circular_velocity(radius)
        cluster = new_plummer_model(200, convert, random=numpy.random.mtrand.RandomState(2))
        cluster.radius = 0 | units.parsec
        cluster.move_to_center()
        cluster.x += radius
        cluster.vy += speed
        code = self.code(convert)
        code.parameters.epsilon_squared = (0.2 | units.parsec)**2
        code.particles.add_particles(cluster)
        period = 2 * numpy.pi * radius / speed
        bridge = Bridge(timestep=period / 256, use_threading=False)
        bridge.add_system(code, (galaxy,))
        bridge.evolve_model(period / 4)
        place = code.center_of_mass_position / radius
        print("a quarter of an orbit:", place)
        self.assertAlmostEqual(place, [0, 1, 0], 2)
