#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Initial conditions of a sphere of the universe: zeldovich_sphere.py -o ic.dat writes particles of a lattice,
displaced by the approximation of Zel'dovich (1970) for a Gaussian random field of cold dark matter, within a sphere, as
a file of GADGET format 1 (numbers of 8 bytes), and prints the sections of the parameter file that belong to it. The
field is periodic in the cube around the sphere. Units are kpc/h, 1e10 solar masses/h and km/s; velocities are v_pec /
sqrt(a). Needs numpy."""
import argparse
import math
import os
import struct
import sys

try:
    import numpy
except ImportError:
    sys.exit("zeldovich_sphere: this python3 has no numpy (Debian: python3-numpy)")

CRITICAL = 27.7536627e-9   # critical density, 1e10 solar masses / h / (kpc/h)^3
HUBBLE = 0.1               # H_0, km/s / (kpc/h)


def fail(message):
    sys.exit(f"zeldovich_sphere: {message}")


def rate(p, a):
    """H(a) in units of H_0."""
    return math.sqrt(p.omega0 / a**3 + (1 - p.omega0 - p.omega_lambda) / a**2 + p.omega_lambda)


def growth(p, a):
    """The growing mode of linear theory, H times the integral of da / (a H)^3 (Heath 1977)."""
    s, weight = numpy.polynomial.legendre.leggauss(200)
    s = 0.5 * math.sqrt(a) * (s + 1)   # the integral over s = sqrt(a)
    values = [2 * x / (x * x * rate(p, x * x)) ** 3 for x in s]
    return 2.5 * p.omega0 * rate(p, a) * 0.5 * math.sqrt(a) * float(numpy.dot(weight, values))


def growth_rate(p, a):
    """d ln D / d ln a."""
    return math.log(growth(p, a * 1.001) / growth(p, a / 1.001)) / (2 * math.log(1.001))


def spectrum(p, k):
    """The power spectrum of cold dark matter (Bardeen et al. 1986, eq G3) with Gamma = Omega0 h, not normalised; k in
    h/kpc."""
    q = numpy.maximum(k, 1e-30) * 1000 / (p.omega0 * p.hubble)
    transfer = numpy.log(1 + 2.34 * q) / (2.34 * q) * (1 + 3.89 * q + (16.1 * q) ** 2 + (5.46 * q) ** 3
                                                       + (6.71 * q) ** 4) ** -0.25
    return numpy.where(k > 0, k**p.slope * transfer**2, 0)


def variance(p, radius):
    """Of the mean density in spheres of this radius."""
    log_k = numpy.linspace(math.log(1e-7), math.log(1), 20000)
    k = numpy.exp(log_k)
    x = k * radius
    window = 3 * (numpy.sin(x) - x * numpy.cos(x)) / x**3
    return float((spectrum(p, k) * window**2 * k**3).sum() * (log_k[1] - log_k[0]) / (2 * math.pi**2))


def displacements(p, n, side):
    """The displacements at a = 1 on a lattice of n^3 points in a cube, [n, n, n, 3]."""
    cell = side / n
    noise = numpy.fft.rfftn(numpy.random.default_rng(p.seed).standard_normal((n, n, n)))
    line = 2 * math.pi * numpy.fft.fftfreq(n, cell)
    waves = numpy.meshgrid(line, line, 2 * math.pi * numpy.fft.rfftfreq(n, cell), indexing="ij")
    k2 = sum(w**2 for w in waves)
    power = spectrum(p, numpy.sqrt(k2)) * p.sigma8**2 / variance(p, 8000.0)
    noise *= numpy.sqrt(power / cell**3) / numpy.where(k2 > 0, k2, 1)
    field = numpy.empty((n, n, n, 3))
    for c in range(3):
        # the highest one has no direction
        wave = numpy.where(abs(waves[c]) < math.pi / cell * (1 - 1e-9), waves[c], 0)
        field[..., c] = numpy.fft.irfftn(1j * wave * noise, s=(n, n, n), axes=(0, 1, 2))
    return field


def write(name, p, x, u, mass):
    n = len(x)
    header = struct.pack("<6I6ddd2i6Iii4d", 0, n, 0, 0, 0, 0, 0, mass, 0, 0, 0, 0, p.begin, 1 / p.begin - 1, 0, 0, 0, n,
                         0, 0, 0, 0, 0, 1, 0, p.omega0, p.omega_lambda, p.hubble)
    blocks = [header.ljust(256, b"\0"), x.astype("<f8").tobytes(), u.astype("<f8").tobytes(),
              numpy.arange(1, n + 1, dtype="<u4").tobytes()]
    with open(name, "wb") as out:
        for block in blocks:
            out.write(struct.pack("<I", len(block) & 0xffffffff) + block + struct.pack("<I", len(block) & 0xffffffff))


def arguments():
    parser = argparse.ArgumentParser(prog="zeldovich_sphere", description=__doc__)
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("--cells", type=int, default=32, metavar="N",
                        help="lattice cells along the diameter; 0.52 N^3 particles (default 32)")
    parser.add_argument("--radius", type=float, default=32000, help="of the sphere, comoving kpc/h (default 32000)")
    parser.add_argument("--begin", type=float, default=0.02, metavar="A", help="expansion factor (default 0.02)")
    parser.add_argument("--omega0", type=float, default=0.3, help="density of matter (default 0.3)")
    parser.add_argument("--omega-lambda", type=float, default=0.7, help="cosmological constant (default 0.7)")
    parser.add_argument("--hubble", type=float, default=0.7, metavar="H", help="HubbleParam (default 0.7)")
    parser.add_argument("--sigma8", type=float, default=0.8,
                        help="rms fluctuation in spheres of 8 Mpc/h at a = 1 (default 0.8)")
    parser.add_argument("--slope", type=float, default=0.96, help="of the primordial spectrum (default 0.96)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (default 1)")
    parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    p = parser.parse_args()
    positive = {"cells": p.cells, "radius": p.radius, "begin": p.begin, "omega0": p.omega0, "hubble": p.hubble,
                "sigma8": p.sigma8}
    for name, value in positive.items():
        if not (value > 0 and math.isfinite(value)):
            fail(f"--{name}: expected a number above 0, found {value:g}")
    if p.cells < 4 or p.cells > 2048:
        fail(f"--cells: expected a number from 4 to 2048, found {p.cells}")
    if p.seed < 0:
        fail(f"--seed: expected a number of at least 0, found {p.seed}")
    if any(p.omega0 / a**3 + (1 - p.omega0 - p.omega_lambda) / a**2 + p.omega_lambda <= 0
           for a in numpy.linspace(p.begin / 100, 1, 1000)):
        fail(f"--omega0 {p.omega0:g} --omega-lambda {p.omega_lambda:g}: this universe has no expansion from a = 0 to 1")
    if os.path.exists(p.output) and not p.overwrite:
        fail(f"{p.output}: already exists; give another name, or --overwrite to replace it")
    return p


def main():
    p = arguments()
    n, cell = p.cells, 2 * p.radius / p.cells
    line = (numpy.arange(n) + 0.5) * cell - p.radius
    q = numpy.stack(numpy.meshgrid(line, line, line, indexing="ij"), axis=-1)
    inside = (q**2).sum(-1) <= p.radius**2
    psi = displacements(p, n, 2 * p.radius)[inside] * growth(p, p.begin) / growth(p, 1)
    x = q[inside] + psi
    u = psi * growth_rate(p, p.begin) * HUBBLE * rate(p, p.begin) * math.sqrt(p.begin)
    try:
        write(p.output, p, x, u, p.omega0 * CRITICAL * cell**3)
    except OSError as error:
        fail(f"{p.output}: {error.strerror}")
    displacement = math.sqrt((psi**2).sum(1).mean()) / cell
    print(f"""# {len(x)} particles of {p.omega0 * CRITICAL * cell**3:.4g} 1e10 solar masses/h, \
rms displacement {displacement:.3g} cells
[Input]
InitCondFile = {p.output}
[Time]
TimeBegin = {p.begin:.10g}
TimeMax = 1
[Cosmology]
Comoving = on
Omega0 = {p.omega0:.10g}
OmegaLambda = {p.omega_lambda:.10g}
HubbleParam = {p.hubble:.10g}
[Gravity]
Softening = {cell / 30:.3g}""")


if __name__ == "__main__":
    main()
