# SPDX-License-Identifier: GPL-3.0-or-later
"""pyespalier in a process that has other things: signals, locales, threads, ranks, arrays of all kinds. Prints TAP.

One argument names a part that a test starts as a process of its own."""

import ctypes
import locale
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np

import espalier

PATIENCE = 120  # seconds, on a busy machine
INTERRUPTS = 20
new, done, failures = espalier.Simulation, 0, 0


def ok(holds, what):
    global done, failures
    done += 1
    failures += not holds
    print(f"{'ok' if holds else 'not ok'} {done} - {what}", flush=True)


def error_of(call):
    """The exception of a call, as 'Name: text'."""
    try:
        call()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def refused(kind, words, call):
    found = error_of(call)
    holds = found.startswith(kind.__name__ + ":") and words in found
    if not holds:
        print(f"# expected {kind.__name__} with '{words}', found {found}")
    return holds


# --- processes of their own ---


def endless(with_callback):
    """Integrate until Ctrl-C."""
    with new(espalier.ic.plummer(100), softening=0.05) as sim:
        sim.step()
        print("ready", flush=True)
        try:
            sim.integrate(1e4, (lambda s: None) if with_callback else None)
        except KeyboardInterrupt:
            print("interrupted", sim.energy < 0, flush=True)


def german():
    """Parameters and files after the process has set a locale with a decimal comma, before the first use."""
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    with new(espalier.ic.plummer(100), softening=0.25, UnitLength_in_cm=3.085678e21, G=1) as sim:
        sim.integrate(0.01, lambda s: print("callback", locale.str(0.5), ","))
        sim.save("german.hdf5")
        print(
            "value", sim.parameter("Softening"), len(espalier.read("german.hdf5")), error_of(lambda: sim.step(math.nan))
        )
        libc = ctypes.CDLL(None)
        text = ctypes.create_string_buffer(20)
        libc.snprintf(text, ctypes.c_size_t(20), b"%.1f", ctypes.c_double(0.5))
        print("process", text.value.decode())


def finalized():
    """Calls after the end of MPI."""
    sim = new(espalier.ic.plummer(100), softening=0.05)
    ctypes.CDLL(None).MPI_Finalize()
    print(
        error_of(sim.step),
        error_of(lambda: sim.energy),
        error_of(lambda: espalier.ic.plummer(10)),
        error_of(sim.close),
        sep="\n",
    )


def ranks():
    """Errors of one rank on two ranks; each line ends with the rank that says it."""
    model = espalier.ic.plummer(200)
    first = model.ids[0] == 1
    sim = new(model, softening=0.05)
    shape = np.zeros((3, 3))

    def say(what, call):
        os.write(
            1, f"{what} | {error_of(call)} | {0 if first else 1}\n".encode()
        )  # one call: lines of ranks stay whole

    say("shape", lambda: setattr(sim, "vel", shape if first else sim_vel))
    say("exception", lambda: sim.integrate(1, lambda s: 1 / 0 if first else None))
    say("true", lambda: sim.integrate(1e3, lambda s: first))
    say("until", lambda: sim.integrate(2 if first else 3))
    say("callback", lambda: sim.integrate(2, lambda s: 1 / 0 if first else s.energy))
    say("calls", lambda: sim.energy if first else sim.pot)
    say("model", lambda: espalier.ic.plummer(100 if first else -1))
    say("open", lambda: new(model.pos, mass=1.0 if first else np.ma.masked_less(model.mass, 1), softening=0.05))
    sim.step()  # the first one takes longest, and the signal is to come later
    if first:
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    say("interrupt", lambda: sim.integrate(1e4))
    say("after", lambda: sim.close())


if len(sys.argv) > 1:
    sim_vel = np.zeros((100, 3))
    {
        "endless": lambda: endless(False),
        "endless_callback": lambda: endless(True),
        "german": german,
        "finalized": finalized,
        "ranks": ranks,
    }[sys.argv[1]]()
    sys.exit(0)

# --- Ctrl-C ---

chance = random.Random(1)
lost = []
for k in range(INTERRUPTS):
    part = "endless_callback" if k % 2 else "endless"
    child = subprocess.Popen([sys.executable, __file__, part], stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    time.sleep(chance.uniform(0, 0.1))
    child.send_signal(signal.SIGINT)
    try:
        if child.communicate(timeout=PATIENCE)[0] != "interrupted True\n" and child.returncode != -signal.SIGINT:
            lost.append((part, child.returncode))
    except subprocess.TimeoutExpired:
        child.kill()
        lost.append((part, "lost"))
        break
print(f"# {lost}")
ok(not lost, f"{INTERRUPTS} times Ctrl-C ends an integration, with and without a callback")

# --- arguments ---

model = espalier.ic.plummer(1000)
pos, mass = model.pos, model.mass
eps = {"softening": 0.02}
ok(all(refused(espalier.ArgumentError, "above 0", lambda G=G: new(model, G=G)) for G in (0, -1, math.nan)), "G = 0")
ok(
    refused(espalier.ArgumentError, "masked", lambda: new(np.ma.masked_less(pos, 0), mass=mass))
    and refused(espalier.ArgumentError, "masked", lambda: new(pos, mass=np.ma.masked_less(mass, 1)))
    and refused(espalier.ArgumentError, "masked", lambda: new(pos, mass=mass, ids=np.ma.masked_less(model.ids, 5)))
    and error_of(lambda: new(np.ma.array(pos), mass=mass, **eps)) == "none",
    "masks",
)
ok(
    refused(espalier.ArgumentError, "complex", lambda: new(pos + 1j, mass=mass))
    and refused(espalier.ArgumentError, "real", lambda: new(pos.astype(str), mass=1))
    and refused(espalier.ArgumentError, "time", lambda: new(model, time=1j))
    and refused(espalier.ParameterError, "Softening: expected a number", lambda: new(model, softening="x")),
    "imaginary parts, and texts",
)
model.time = 3.0
ok(new(model, **eps).time == 3 and new(model, time=0, **eps).time == 0, "the time 0 replaces that of a snapshot")
ok(
    refused(espalier.ParameterError, "larger than the system", lambda: new(model, softening=100)),
    "a softening larger than the system",
)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    new(model, softening=100, force=True)
    new(model, **eps)
    ok(not warned, "force, and a softening that suits")
    new(model)
    ok(
        len(warned) == 1
        and warned[0].category is espalier.SystemWarning
        and "Softening is not given" in str(warned[0].message)
        and warned[0].filename == __file__,
        "no softening is a warning",
    )
sim = new(model, **eps)
start = sim.time
ok(
    next(sim.run(start + 0.1, 1e-11, progress=False)).time == start + 1e-11,
    "a run with 10^10 stops gives the first one",
)
ok(
    refused(espalier.ArgumentError, "finite", lambda: list(sim.run(math.inf, 1)))
    and refused(espalier.ArgumentError, "interval", lambda: list(sim.run(9, 1e-30)))
    and refused(espalier.ArgumentError, "present", lambda: sim.integrate(-1))
    and refused(espalier.ArgumentError, "ascending", lambda: list(sim.run(times=[5, 4])))
    and refused(espalier.ArgumentError, "until", lambda: sim.integrate("x")),
    "times that a run cannot have",
)
ok(
    all(
        refused(espalier.ArgumentError, "NUL", call)
        for call in (
            lambda: sim.save("a\0b"),
            lambda: espalier.read("a\0b"),
            lambda: new.from_file("a\0b"),
            lambda: new(model, Mode="tree\0x"),
            lambda: sim.parameter("Eta\0x"),
            lambda: espalier.ic.model("king\0x", 10),
        )
    ),
    "NUL in texts and paths",
)
ok(
    refused(
        espalier.ParameterError,
        "Agama",
        lambda: new(model, Agama="type=Plummer", AgamaLibrary="/absent/libagama.so", **eps),
    ),
    "no library Agama",
)
ok(
    refused(espalier.ArgumentError, "more ranks", lambda: espalier.ic.plummer(10**10))
    and refused(espalier.ArgumentError, "n and seed", lambda: espalier.ic.plummer(10**30))
    and refused(espalier.ArgumentError, "n and seed", lambda: espalier.ic.plummer(1.5)),
    "models of too many particles",
)
ok(
    all(
        refused(espalier.ArgumentError, "comm", lambda comm=comm: new(model, comm=comm, **eps))
        for comm in (12345, -5, 2**40, "x")
    ),
    "communicators that are none",
)

# --- threads ---

entered, leave = threading.Event(), threading.Event()


def wait(_sim):
    entered.set()
    leave.wait(PATIENCE)


thread = threading.Thread(target=lambda: sim.integrate(sim.time + 0.01, wait))
thread.start()
entered.wait(PATIENCE)
holds = all(
    refused(espalier.BusyError, "another thread", call)
    for call in (lambda: sim.energy, lambda: sim.pos, sim.step, sim.close, sim.view)
)
ok(
    holds and sim.steps > 0 and len(sim) == 1000 and new(model, **eps).step() > 0,
    "a second thread in a simulation gets a sentence, and may use another one",
)
leave.set()
thread.join()
ok(sim.energy < 0, "then it may go on")

print(f"1..{done}")
sys.exit(failures > 0)
