# SPDX-License-Identifier: GPL-3.0-or-later
"""Galaxy models against independent programs: galpy (Bovy 2015) and limepy (Gieles & Zocchi 2015; 'astro-limepy' on PyPI), where they are
installed. Usage: galaxy_programs.py ESPALIER. Prints TAP. Works in the present folder."""
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


def model(text):
    """Profiles and distribution functions of a model: {component: {column: array}} twice."""
    with open("model.ini", "w") as f:
        f.write(UNITS + text)
    subprocess.run([sys.argv[1], "ic", "galaxy", "--check", "--overwrite", "--profile", "p.csv", "model.ini"], check=True,
                   stdout=subprocess.DEVNULL)
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
        k = limepy(w0, 1, M=1, r0=1, G=1)
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
        ok(worst < 4e-3, f"galpy, {'bulge' if name == 'b' else 'halo'} in the potential of both: dispersions by Jeans differ by {worst:.1e}")
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


for name, check in ("limepy", with_limepy), ("galpy", with_galpy):
    try:
        __import__("limepy" if name == "limepy" else "galpy.df")
    except ImportError:
        done += 1
        print(f"ok {done} - {name} # SKIP it is not installed")
        continue
    check()
print(f"1..{done}")
sys.exit(failed != 0)
