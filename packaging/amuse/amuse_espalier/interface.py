# SPDX-License-Identifier: GPL-3.0-or-later
"""Espalier as a community code of AMUSE: gravitational dynamics and the gravity field of its particles
(doc/amuse.md)."""

from amuse.community.interface.gd import (GravitationalDynamics, GravitationalDynamicsInterface, GravityFieldCode,
                                          GravityFieldInterface)
from amuse.community.interface.stopping_conditions import StoppingConditionInterface, StoppingConditions
from amuse.rfi.core import CodeInterface, legacy_function, LegacyFunctionSpecification
from amuse.support.literature import LiteratureReferencesMixIn
from amuse.units import nbody_system

LENGTH2 = nbody_system.length**2


def _call(*arguments):
    """The specification of a function of the worker: arguments are (name, type, direction)."""
    function = LegacyFunctionSpecification()
    for name, dtype, direction in arguments:
        function.addParameter(name, dtype=dtype, direction=getattr(function, direction))
    function.result_type = "int32"
    return function


class EspalierInterface(CodeInterface, LiteratureReferencesMixIn, GravitationalDynamicsInterface,
                        StoppingConditionInterface, GravityFieldInterface):
    """
    Espalier: gravitational N-body simulations with a hybrid tree; several workers share the particles.

    .. [#] Espalier: a tree code for gravity with forces split between hard and soft (CITATION.cff of its source)
    """

    include_headers = ["calls.h", "stopcond.h"]

    def __init__(self, **options):
        CodeInterface.__init__(self, name_of_the_worker="espalier_worker", **options)
        LiteratureReferencesMixIn.__init__(self)

    @legacy_function
    def get_last_error():
        "The sentence of the last call that failed."
        return _call(("text", "string", "OUT"))

    @legacy_function
    def get_largest_step():
        return _call(("step", "float64", "OUT"))

    @legacy_function
    def set_largest_step():
        return _call(("step", "float64", "IN"))

    @legacy_function
    def get_accuracy():
        return _call(("accuracy", "float64", "OUT"))

    @legacy_function
    def set_accuracy():
        return _call(("accuracy", "float64", "IN"))

    @legacy_function
    def get_mode():
        return _call(("mode", "string", "OUT"))

    @legacy_function
    def set_mode():
        return _call(("mode", "string", "IN"))

    @legacy_function
    def get_integrator():
        return _call(("integrator", "string", "OUT"))

    @legacy_function
    def set_integrator():
        return _call(("integrator", "string", "IN"))

    @legacy_function
    def get_settings():
        return _call(("settings", "string", "OUT"))

    @legacy_function
    def set_settings():
        return _call(("settings", "string", "IN"))

    @legacy_function
    def get_number_of_soft_steps():
        return _call(("steps", "int64", "OUT"))


class _Sentences:
    """What AMUSE looks error codes up in: the sentence of the worker, asked for when a call failed."""

    def __init__(self, code):
        self.code = code

    def __contains__(self, errorcode):
        return errorcode < 0

    def __getitem__(self, errorcode):
        return self.code.legacy_interface.get_last_error()["text"] or "unknown"


class Espalier(GravitationalDynamics, GravityFieldCode):
    """Gravitational dynamics by libespalier. Positions, velocities and times are in double precision, masses are used
    in single."""

    def __init__(self, convert_nbody=None, **options):
        self.stopping_conditions = StoppingConditions(self)
        GravitationalDynamics.__init__(self, EspalierInterface(**options), convert_nbody, **options)

    @property
    def errorcodes(self):
        return _Sentences(self)

    def define_state(self, handler):
        GravitationalDynamics.define_state(self, handler)
        GravityFieldCode.define_state(self, handler)
        handler.add_method("RUN", "get_acceleration")
        for name in ("mass", "radius", "position", "velocity"):   # so that a particle that was refused can be corrected
            handler.add_method("EDIT", "set_" + name)
        self.stopping_conditions.define_state(handler)

    def define_parameters(self, handler):
        parameter = handler.add_method_parameter
        parameter("get_eps2", "set_eps2", "epsilon_squared", "square of the Plummer softening length; 0: none",
                  default_value=0.0 | LENGTH2)
        parameter("get_largest_step", "set_largest_step", "timestep",
                  "upper limit of the soft step; 0: no limit, steps follow accuracy",
                  default_value=0.0 | nbody_system.time)
        parameter("get_accuracy", "set_accuracy", "accuracy",
                  "wanted |dE/E| per dynamical time, from steps and forces together",
                  default_value=1e-5)
        parameter("get_mode", "set_mode", "mode", "auto, tree or hybrid: the parameter Mode of Espalier",
                  default_value="auto")
        parameter("get_integrator", "set_integrator", "integrator",
                  "leapfrog, hermite, or auto: hermite where epsilon_squared is 0", default_value="auto")
        parameter("get_settings", "set_settings", "settings",
                  "other parameters of Espalier, as Name=value, with semicolons between them; they replace those above",
                  default_value="")
        parameter("get_begin_time", "set_begin_time", "begin_time", "time of the particles at the start",
                  default_value=0.0 | nbody_system.time)
        self.stopping_conditions.define_parameters(handler)

    def define_properties(self, handler):
        GravitationalDynamics.define_properties(self, handler)
        handler.add_property("get_number_of_soft_steps", public_name="number_of_soft_steps")

    def define_methods(self, handler):
        GravitationalDynamics.define_methods(self, handler)
        for name, unit in (("eps2", LENGTH2), ("largest_step", nbody_system.time), ("begin_time", nbody_system.time),
                           ("accuracy", handler.NO_UNIT), ("mode", handler.NO_UNIT), ("integrator", handler.NO_UNIT),
                           ("settings", handler.NO_UNIT)):
            handler.add_method("get_" + name, (), (unit, handler.ERROR_CODE))
            handler.add_method("set_" + name, (unit,), (handler.ERROR_CODE,))
        handler.add_method("get_number_of_soft_steps", (), (handler.NO_UNIT, handler.ERROR_CODE))
        self.stopping_conditions.define_methods(handler)

    def define_particle_sets(self, handler):
        GravitationalDynamics.define_particle_sets(self, handler)
        handler.add_getter("particles", "get_acceleration", names=("ax", "ay", "az"))
        handler.add_getter("particles", "get_potential", names=("potential_in_code",))
        self.stopping_conditions.define_particle_set(handler)
