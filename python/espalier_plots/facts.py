# SPDX-License-Identifier: GPL-3.0-or-later
"""What files of Espalier state beside their numbers: dimensions of the columns of tables, softening lengths,
tides."""
from __future__ import annotations

import re
from typing import Any, Mapping

import numpy as np

# Powers of length, mass and velocity of columns of tables of a run; columns that are not here are numbers.
POWERS = [
    (r"time|after|until|period|shortest_period|relaxation_time|dt_soft", (1, 0, -1)),
    (r"(centre|com)_[xyz]|[xyz]|r_\d\d|R1|R2|a|distance|(core|half_mass|jacobi|bar)_radius", (1, 0, 0)),
    (r"mass|(bound|jacobi)_mass|mass_(first|second)", (0, 1, 0)),
    (r"velocity_[xyz]|v[xyz]|dispersion|dispersion_radial|speed", (0, 0, 1)),
    (r"(kinetic|potential)(_\d)?|total|potential_correction|energy_(noise|lost|changes)|energy|binary_energy",
     (0, 1, 2)),
    (r"momentum_([xyz]|removed|scale)", (0, 1, 1)),
    (r"angular_([xyz]|scale)", (1, 1, 1)),
]
UNITS = "UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"


def powers_of(column: str) -> tuple[int, int, int]:
    """Powers of length, mass and velocity of a column of a table of a run."""
    return next((powers for pattern, powers in POWERS if re.fullmatch(pattern, column)), (0, 0, 0))


def stated(comments: str) -> dict[str, float]:
    """Units and gravitational constant in the comments of a table, as parameters."""
    found = {name: re.search(name + r"\s*[=:]?\s*([-+0-9.eE]+)", comments)
             for name in (*UNITS, "GravityConstantInternal")}
    return {name: float(match.group(1)) for name, match in found.items() if match}


def softenings(known: Mapping[str, Any]) -> list[float] | None:
    """Plummer softening lengths of the six types of a snapshot, from its attributes; None: it does not state them."""
    def number(name: str) -> float:
        return float(np.ravel(known[name])[0])

    try:
        if "SofteningClassOfPartType0" in known:
            classes = [int(number(f"SofteningClassOfPartType{kind}")) for kind in range(6)]
            return [number(f"SofteningComovingClass{k}") for k in classes]
        names = [name for name in (f"SofteningComovingClass{k}" for k in range(6)) if name in known]
        names = names or ["Softening"]
        return [number(names[0])] * 6 if len(names) == 1 else None
    except (KeyError, ValueError):
        return None


def tidal(text: Any) -> tuple[float, float]:
    """omega and 4 omega^2 - kappa^2 of the parameter TidalField, whose numbers are in internal units: omega= and
    kappa=, which is omega where it is left out, or Oort's A= and B=."""
    text = str(text, "utf-8") if isinstance(text, bytes) else str(text)
    found = {name: float(value) for name, value in re.findall(r"\b(omega|kappa|A|B)\s*=\s*([-+0-9.eE]+)", text)}
    if "A" in found and "B" in found:
        omega = found["A"] - found["B"]
        return omega, 4 * omega**2 + 4 * found["B"] * omega
    omega = found.get("omega", 0.0)
    return omega, 4 * omega**2 - found.get("kappa", omega) ** 2
