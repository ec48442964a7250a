# SPDX-License-Identifier: GPL-3.0-or-later
"""Galaxy models against independent programs: galpy (Bovy 2015) and limepy (Gieles & Zocchi 2015; 'astro-limepy' on
PyPI), where they are installed. Usage: galaxy_programs.py ESPALIER. Prints TAP. Works in the present folder."""
import subprocess
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")
UNITS = "[Units]\nGravityConstantInternal = 1\n"
done = failed = 0


def ok(good, text):
    global done, failed
    done += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {done} - {text}")


def skip(text, reason):
    global done
    done += 1
    print(f"ok {done} - {text} # SKIP {reason}")


def model(text):
    """Profiles and distribution functions of a model: {component: {column: array}} twice."""
    with open("model.ini", "w") as f:
        f.write(UNITS + text)
    subprocess.run([sys.argv[1], "ic", "galaxy", "--check", "--overwrite", "--profile", "p.csv", "model.ini"],
                   check=True, stdout=subprocess.DEVNULL)
    tables = []
    for name in "p.csv", "p_df.csv":
        with open(name) as f:
            lines = [line.strip().split(",") for line in f if not line.startswith("#")]
        parts = {}
        for row in lines[1:]:
            parts.setdefault(row[0], []).append([float(x) for x in row[1:]])
        tables.append({part: dict(zip(lines[0][1:], np.array(rows).T)) for part, rows in parts.items()})
    return tables


def with_limepy():
    from limepy import limepy
    for w0 in 3, 6, 9:
        try:
            k = limepy(w0, 1, M=1, r0=1, G=1)
        except TypeError as problem:   # limepy gives newer SciPy a number of steps that is no integer
            skip(f"limepy, W0 = {w0}", f"it does not work with this SciPy: {problem}")
            continue
        mine = model(f"[a]\nProfile = king\nW0 = {w0}\nMass = 1\nScale = 1\nN = 10\n")[0]["a"]
        inside = (k.r > 0.01) & (k.r < 0.6 * k.rt)   # their nodes are few, these are many

        def at(column, k=k, mine=mine, inside=inside):
            return np.exp(np.interp(np.log(k.r[inside]), np.log(mine["r"]), np.log(mine[column])))

        rho = np.abs(at("density") / k.rho[inside] - 1).max()
        mass = np.abs(at("mass") / k.mc[inside] - 1).max()
        sigma = np.abs(at("sigma_r") / np.sqrt(k.v2r[inside]) - 1).max()
        ok(rho < 0.01 and mass < 0.01 and sigma < 3e-3,
           f"limepy, W0 = {w0}: largest differences of density {rho:.1e}, mass {mass:.1e}, dispersion {sigma:.1e}")


def with_galpy():
    from galpy import potential
    from galpy.df import eddingtondf, jeans
    hernquist = "[b]\nProfile = hernquist\nMass = 0.1\nScale = 0.2\nN = 10\n"
    halo = "[h]\nProfile = nfw\nMass = 1\nScale = 1\nCutoff = 3000\nCutoffWidth = 300\nN = 10\n"
    profile, f = model(halo + hernquist)
    amp = np.interp(1, profile["h"]["r"], profile["h"]["mass"]) / (np.log(2) - 0.5)
    nfw = potential.NFWPotential(amp=amp, a=1)
    bulge = potential.HernquistPotential(amp=0.2, a=0.2)
    both = nfw + bulge
    for name, density, radii in ("b", bulge, (0.01, 0.1, 1)), ("h", nfw, (0.05, 0.5, 5)):
        worst = 0
        for r in radii:
            theirs = jeans.sigmar(both, r, dens=lambda x, d=density: d.dens(x, 0))
            worst = max(worst, abs(np.interp(r, profile[name]["r"], profile[name]["sigma_r"]) / theirs - 1))
        ok(worst < 4e-3, f"galpy, {'bulge' if name == 'b' else 'halo'} in the potential of both: dispersions by Jeans "
                         f"differ by {worst:.1e}")
    # distribution functions over psi - psi(0), which the cut-off of the halo changes little
    df = eddingtondf(pot=both, denspot=bulge)
    depth = np.array([0.1, 0.2, 0.4, 0.8]) * 0.5
    centre = potential.evaluatePotentials(both, 1e-12, 0)
    theirs = np.array([df.fE(centre + d) for d in depth]).ravel()
    order = np.argsort(f["b"]["energy"])
    energy = f["b"]["energy"][order]
    mine = np.exp(np.interp(energy[-1] - depth, energy, np.log(f["b"]["f"][order])))
    shape = np.abs(mine / mine[0] / (theirs / theirs[0]) - 1).max()
    ok(shape < 0.01, f"galpy, bulge in the potential of both: f of Eddington's inversion differs by {shape:.1e}")
    # Osipkov-Merritt
    mine = model("[a]\nProfile = hernquist\nMass = 1\nScale = 1\nAnisotropyRadius = 1.3\nN = 10\n")[0]["a"]
    alone = potential.HernquistPotential(amp=2, a=1)
    worst = 0
    for r in 0.03, 0.3, 1, 3, 10:
        theirs = jeans.sigmar(alone, r, beta=lambda x: x * x / (x * x + 1.69))
        worst = max(worst, abs(np.interp(r, mine["r"], mine["sigma_r"]) / theirs - 1))
    ok(worst < 4e-3, f"galpy, Hernquist with an anisotropy radius: dispersions differ by {worst:.1e}")


def against(text, radii, mine, theirs):
    """Largest relative differences of columns from functions of the radius."""
    differences = {}
    for column, function in theirs.items():
        values = np.exp(np.interp(np.log(radii), np.log(mine["r"]), np.log(np.maximum(mine[column], 1e-300))))
        differences[column] = max(abs(value / function(r) - 1) for r, value in zip(radii, values))
    ok(max(differences.values()) < 0.01, f"{text}: " + ", ".join(f"{k} {v:.1e}" for k, v in differences.items()))


def with_galpy_profiles():
    """NFW and Einasto; Sersic's law by Abel's integral of SciPy, dispersions by galpy."""
    from galpy import potential
    from galpy.df import jeans
    from scipy import integrate, special
    radii = (0.03, 0.1, 0.3, 1, 3, 10)
    mine = model("[h]\nProfile = nfw\nMass = 1\nScale = 1\nCutoff = 300\nCutoffWidth = 10\nN = 10\n")[0]["h"]
    amp = np.interp(1, mine["r"], mine["mass"]) / (np.log(2) - 0.5)   # the mass within Scale
    nfw = potential.NFWPotential(amp=amp, a=1)
    against("galpy, NFW", radii, mine, {"density": lambda r: nfw.dens(r, 0), "mass": lambda r: nfw.mass(r),
                                        "circular_velocity": nfw.vcirc})
    try:
        mine = model("[h]\nProfile = einasto\nAlpha = 0.2\nMass = 1\nScale = 1\nN = 10\n")[0]["h"]
        einasto = potential.EinastoPotential(amp=1, rm2=1, n=5)
        whole = einasto.mass(1e4)
        against("galpy, Einasto", radii, mine,
                {"density": lambda r: einasto.dens(r, 0) / whole, "mass": lambda r: einasto.mass(r) / whole,
                                                "sigma_r": lambda r: jeans.sigmar(einasto, r) / whole**0.5})
    except AttributeError as problem:
        skip("galpy, Einasto", f"this galpy is old: {problem}")
    for n in 1, 4:
        b = special.gammaincinv(2 * n, 0.5)
        # twice the Abel integral over t with R = r cosh t, without constants
        def light(r, n=n, b=b):
            return integrate.quad(lambda t: (y := b * (r * np.cosh(t))**(1 / n)) * np.exp(-y) / (r * np.cosh(t)), 0,
                                  30)[0]

        grid = np.exp(np.linspace(np.log(1e-4), np.log(100 if n == 1 else 3000), 400))
        values = np.array([light(r) for r in grid])
        inside = np.concatenate([[grid[0]**3 * values[0] / 3],
                                 integrate.cumulative_simpson(grid**3 * values, x=np.log(grid))])
        inside[1:] += inside[0]
        whole = inside[-1]

        def mass(r, grid=grid, inside=inside, whole=whole):
            return np.exp(np.interp(np.log(r), np.log(grid), np.log(inside))) / whole

        def sigma(r, grid=grid, values=values, mass=mass):
            rho = np.exp(np.interp(np.log(r), np.log(grid), np.log(np.maximum(values, 1e-300))))
            outside = grid[grid > r]
            x = np.log(np.concatenate([[r], outside]))
            rho_x = np.exp(np.interp(x, np.log(grid), np.log(np.maximum(values, 1e-300))))
            return np.sqrt(integrate.trapezoid(rho_x * mass(np.exp(x)) * np.exp(-x), x) / rho)

        mine = model(f"[s]\nProfile = sersic\nSersicIndex = {n}\nMass = 1\nScale = 1\nN = 10\n")[0]["s"]
        against(f"SciPy, Sersic n = {n}", radii[:5], mine,
                {"density": lambda r, l=light, w=whole: l(r) / (4 * np.pi * w),
                                                             "mass": mass, "sigma_r": sigma})


for name, check in ("limepy", with_limepy), ("galpy", with_galpy), ("galpy", with_galpy_profiles):
    try:
        __import__("limepy" if name == "limepy" else "galpy.df")
    except ImportError:
        skip(name, "it is not installed")
        continue
    check()
print(f"1..{done}")
sys.exit(failed != 0)
