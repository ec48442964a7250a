# SPDX-License-Identifier: GPL-3.0-or-later
"""The C library (espalier.h), its structures and its errors."""
from __future__ import annotations

import ctypes as c
import os
from pathlib import Path
from typing import Any, Iterable, Mapping

import numpy as np


class EspalierError(Exception):
    """An error of the library; its text is a sentence for the user."""


class ArgumentError(EspalierError, ValueError):
    """An argument of a call."""


class ParameterError(EspalierError, ValueError):
    """A parameter is unknown or out of range, or not possible here."""


class ParticlesError(EspalierError, ValueError):
    """Particles that no simulation can have."""


class FileError(EspalierError, OSError):
    """A file cannot be read or written."""


class StepError(EspalierError, RuntimeError):
    """Soft steps cannot advance the time."""


class UnsoundError(EspalierError, ArithmeticError):
    """Values are not finite, or the momentum jumped: the simulation can only be read and closed."""


class BusyError(EspalierError, RuntimeError):
    """Another thread is in a call of this simulation."""


class SystemWarning(UserWarning):
    """A judgement of the system against its parameters, as `espalier run` prints it."""


class MPIError(EspalierError, RuntimeError):
    """MPI was ended, or has no support of threads."""


_ERRORS = {
    1: ArgumentError,
    2: ParameterError,
    3: ParticlesError,
    4: FileError,
    5: StepError,
    6: UnsoundError,
    7: MPIError,
    8: BusyError,
}
POSITION, VELOCITY, MASS, ID, TYPE, ACCELERATION, POTENTIAL = range(7)


class Particles(c.Structure):
    _fields_ = [("count", c.c_int64), ("position", c.c_void_p), ("velocity", c.c_void_p), ("mass", c.c_void_p),
                ("id", c.c_void_p), ("type", c.c_void_p), ("time", c.c_double)]


class View(c.Structure):
    _fields_ = [("count", c.c_int64), ("position", c.c_void_p), ("velocity", c.c_void_p), ("mass", c.c_void_p),
                ("id", c.c_void_p), ("type", c.c_void_p), ("acceleration", c.c_void_p), ("potential", c.c_void_p),
                ("place", c.c_double * 3), ("motion", c.c_double * 3)]


class SumsStruct(c.Structure):
    _fields_ = [("time", c.c_double), ("steps", c.c_int64), ("soft_step", c.c_double), ("count", c.c_double),
                ("mass", c.c_double), ("kinetic", c.c_double), ("potential", c.c_double), ("total", c.c_double),
                ("noise", c.c_double), ("momentum", c.c_double * 3), ("angular_momentum", c.c_double * 3),
                ("centre", c.c_double * 3), ("motion", c.c_double * 3),
                ("split_radius", c.c_double), ("interactions", c.c_double), ("changes", c.c_double)]


class Changes(c.Structure):
    _fields_ = [("count", c.c_int64), ("id", c.c_void_p), ("mass", c.c_void_p), ("kick", c.c_void_p)]


class Data(c.Structure):
    _fields_ = [("count", c.c_int64), ("time", c.c_double), ("position", c.c_void_p), ("velocity", c.c_void_p),
                ("mass", c.c_void_p), ("id", c.c_void_p), ("type", c.c_void_p), ("unit_length", c.c_double),
                ("unit_mass", c.c_double), ("unit_velocity", c.c_double), ("gravity", c.c_double)]


CALLBACK = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)   # not used: see Simulation.integrate
_HANDLE, _TEXT, _TEXTS, _INT = c.c_void_p, c.c_char_p, c.POINTER(c.c_char_p), c.POINTER(c.c_int)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "espalier_version": (_TEXT, []),
    "espalier_error": (_TEXT, []),
    "espalier_open": (c.c_int, [c.POINTER(_HANDLE), _INT, _TEXT, _TEXTS, c.POINTER(Particles)]),
    "espalier_open_file": (c.c_int, [c.POINTER(_HANDLE), _INT, _TEXT, _TEXTS, _TEXT]),
    "espalier_close": (c.c_int, [_HANDLE]),
    "espalier_step": (c.c_int, [_HANDLE, c.c_double]),
    "espalier_evolve": (c.c_int, [_HANDLE, c.c_double, CALLBACK, c.c_void_p]),
    "espalier_advance": (c.c_int, [_HANDLE, c.c_double]),
    "espalier_judge": (c.c_int, [_HANDLE, c.c_char_p, c.c_size_t]),
    "espalier_agree": (c.c_int, [_HANDLE, _INT, _TEXT, _INT]),
    "espalier_time": (c.c_double, [_HANDLE]),
    "espalier_steps": (c.c_int64, [_HANDLE]),
    "espalier_count": (c.c_int64, [_HANDLE]),
    "espalier_total": (c.c_int64, [_HANDLE]),
    "espalier_get": (c.c_int, [_HANDLE, c.c_int, c.c_void_p]),
    "espalier_set": (c.c_int, [_HANDLE, c.c_int, c.c_void_p]),
    "espalier_put": (c.c_int, [_HANDLE, c.POINTER(Particles)]),
    "espalier_change": (c.c_int, [_HANDLE, c.POINTER(Changes)]),
    "espalier_look": (c.c_int, [_HANDLE, c.POINTER(View)]),
    "espalier_field_at": (c.c_int, [_HANDLE, c.c_int64, c.c_void_p, c.c_int, c.c_void_p, c.c_void_p]),
    "espalier_measure": (c.c_int, [_HANDLE, c.POINTER(SumsStruct)]),
    "espalier_parameter": (c.c_int, [_HANDLE, _TEXT, c.c_char_p, c.c_size_t]),
    "espalier_save": (c.c_int, [_HANDLE, _TEXT]),
    "espalier_read": (c.c_int, [c.POINTER(c.POINTER(Data)), _INT, _TEXT]),
    "espalier_model": (c.c_int, [c.POINTER(c.POINTER(Data)), _INT, _TEXT, c.c_int64, c.c_uint64, _TEXTS]),
    "espalier_free": (None, [c.POINTER(Data)]),
}


def _load() -> c.CDLL:
    beside = Path(__file__).parent / "libespalier.so"
    name = os.environ.get("ESPALIER_LIB") or (str(beside) if beside.exists() else "libespalier.so.0")
    try:
        found = c.CDLL(name)
    except OSError as error:
        raise ImportError(f"the library of Espalier cannot be loaded: {error}; set ESPALIER_LIB to its libespalier.so, "
                          "or install this package again after a change of MPI or HDF5") from None
    for symbol, (result, arguments) in _SIGNATURES.items():
        function = getattr(found, symbol)
        function.restype, function.argtypes = result, arguments
    return found


lib = _load()


def check(code: int) -> None:
    """Raise the exception of a code of enum espalier_code, with the sentence of the library."""
    if code:
        raise _ERRORS.get(code, EspalierError)(lib.espalier_error().decode(errors="replace"))


def agree(sim: Any, comm: Any, error: BaseException | None = None, value: int = 0) -> int:
    """The ranks agree that none has an error: this rank's is raised, or that of another one.
    Returns the largest value."""
    shared = c.c_int(value)
    sentence = None if error is None else (str(error) or type(error).__name__).replace("\0", "?").encode()
    code = lib.espalier_agree(sim, comm, sentence, c.byref(shared))
    if error is not None:
        raise error
    check(code)
    return shared.value


def encoded(name: str, text: Any) -> bytes:
    """A path or a text for the library, which ends it at the first NUL."""
    if not isinstance(text, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{name}: expected a text, found {text!r}")
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{name}: expected a text: {error}") from None
    if b"\0" in data:
        raise ArgumentError(f"{name}: expected no NUL character, found {text!r}")
    return data


def number(name: str, x: Any) -> float:
    """One real number."""
    try:
        if np.ma.is_masked(x) or np.iscomplexobj(x):
            raise TypeError("it is masked, or complex")
        return float(x)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{name}: expected a number, found {x!r} ({error})") from None


def real(name: str, x: Any) -> Any:
    """Refuse arrays of which a conversion to doubles would lose a part: masks, imaginary parts, texts, dates."""
    if np.ma.is_masked(x):
        raise ArgumentError(f"{name}: {np.ma.count_masked(x)} values are masked: "
                            "leave these particles out, or fill the values")
    a = np.asarray(x)
    if a.dtype.kind not in "biufO":
        raise ArgumentError(f"{name}: expected real numbers, found an array of {a.dtype}")
    return a


# Names of astropy, and those in parameter files; hours are left out, since h may be the Hubble constant there.
_UNITS = {**{name: name for name in "pc kpc Mpc AU Rsun km m cm yr kyr Myr Gyr s min day Msun g kg".split()},
          "solMass": "Msun", "M_sun": "Msun", "solRad": "Rsun", "R_sun": "Rsun", "d": "day"}


def quantity_text(x: Any) -> str:
    """A quantity as in a parameter file, "50.0 pc". Units without a name there are converted to cm, g and s."""
    unit = x.unit
    if not hasattr(unit, "bases"):   # a quantity of another library, whose unit is text
        return f"{float(x.value)!r} {unit}"
    if any(str(one) not in _UNITS or power != int(power) for one, power in zip(unit.bases, unit.powers)):
        x = x.cgs
        unit = x.unit
    names = [f"{_UNITS.get(str(one), str(one))}^{int(power)}" for one, power in zip(unit.bases, unit.powers)]
    return " ".join([repr(float(x.value * unit.scale)), *(name.removesuffix("^1") for name in names)])


def text_of(value: Any) -> str:
    """A value as in a parameter file."""
    if hasattr(value, "unit") and hasattr(value, "value"):
        return quantity_text(value)
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def texts(settings: Mapping[str, Any] | Iterable[str] | None) -> Any:
    """A list of "name=value" for the library, which ends with NULL."""
    if settings is None:
        return None
    lines = [f"{k}={text_of(v)}" for k, v in settings.items()] if isinstance(settings, Mapping) else list(settings)
    return (c.c_char_p * (len(lines) + 1))(*[encoded("settings", line) for line in lines], None)


def handle_of(comm: Any) -> Any:
    """A communicator of mpi4py, or a handle of Fortran, for the library; None: MPI_COMM_WORLD."""
    if comm is None:
        return None
    try:
        handle = comm if isinstance(comm, int) else comm.py2f()
    except AttributeError:
        raise ArgumentError(f"comm: expected a communicator of mpi4py, found {comm!r}") from None
    if not -2**31 <= handle < 2**31:
        raise ArgumentError(f"comm: expected the handle of a communicator, found {handle}")
    return c.byref(c.c_int(handle))


def address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


def vectors(name: str, x: Any, n: int | None = None) -> np.ndarray:
    """An array [n][3] of doubles."""
    try:
        a = np.ascontiguousarray(real(name, x), dtype=np.float64)
    except ArgumentError:
        raise
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: expected an array of numbers of the shape (n, 3): {error}") from None
    if a.ndim != 2 or a.shape[1] != 3 or (n is not None and len(a) != n):
        raise ArgumentError(f"{name}: expected the shape ({'n' if n is None else n}, 3), found {a.shape}")
    return a


def numbers(name: str, x: Any, n: int, dtype: Any = np.float64) -> np.ndarray:
    """An array [n]; one number stands for all."""
    a = real(name, x)
    if np.issubdtype(dtype, np.integer) and a.size and (a.dtype.kind not in "iu" or a.min() < 0
                                                        or a.max() > np.iinfo(dtype).max):
        raise ArgumentError(f"{name}: expected whole numbers from 0 to {np.iinfo(dtype).max}")
    try:
        a = np.full(n, a, dtype=dtype) if a.ndim == 0 else np.ascontiguousarray(a, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: expected an array of {n} numbers: {error}") from None
    if a.shape != (n,):
        raise ArgumentError(f"{name}: expected {n} numbers, as many as positions, found the shape {a.shape}")
    return a


def copied(pointer: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A copy of memory of the library."""
    out = np.empty(shape, dtype)
    if out.nbytes:
        c.memmove(out.ctypes.data, pointer, out.nbytes)
    return out


def viewed(pointer: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Memory of the library as an array that cannot be written to."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size == 0:
        return np.empty(shape, dtype)
    array = np.frombuffer((c.c_char * size).from_address(pointer), dtype=dtype).reshape(shape)
    array.flags.writeable = False
    return array
