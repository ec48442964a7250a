# SPDX-License-Identifier: GPL-3.0-or-later
"""The look of all pictures: colours, labels with units, ticks, legends."""
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogFormatter, LogLocator, MaxNLocator, NullFormatter

# Okabe and Ito's colours, which colour-blind readers can distinguish; grey replaces their yellow, which is faint as a
# line.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#585858"]
TYPES = ["gas", "halo", "disk", "bulge", "stars", "boundary"]
# Scales of colours in which lightness rises evenly, for colour-blind readers and for print without colours: densities,
# dispersions, values with a sign.
DENSITY, WIDTH, SIGNED = "inferno", "cividis", "RdBu_r"
STYLE = {
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS), "axes.grid": True, "grid.alpha": 0.25, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "font.size": 10, "axes.titlesize": 11,
    "axes.titlelocation": "left", "legend.frameon": False, "legend.fontsize": 9, "figure.dpi": 120, "savefig.dpi": 150,
    "lines.linewidth": 1.4, "hatch.linewidth": 0.6, "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": True,
    "pdf.fonttype": 42, "svg.fonttype": "none"}   # text in PDF and SVG can be searched and edited


def plain(value, _=None):
    """A tick as 0.02 or 500."""
    return f"{value:.6g}"


def powers(value, _=None):
    """A tick as a power of ten, or a multiple of one."""
    power = int(np.floor(np.log10(value) + 1e-9))
    factor = round(value / 10.0**power, 6)
    return f"$10^{{{power}}}$" if factor == 1 else f"${factor:g}\\times10^{{{power}}}$"


FEW_DECADES = 2.2


def narrow_locator(decades):
    """Ticks at 2 and 5 too, or at all round numbers."""
    return LogLocator(subs=(1, 2, 5), numticks=20) if decades > 0.7 else MaxNLocator(6, steps=[1, 2, 5, 10])


def log_ticks(axis, low, high):
    """Ticks of an axis that spans few decades have numbers at 2 and 5 too, or at all round numbers, so that there are
    always some. Numbers from 0.001 to 10,000 are plain ones."""
    ours = isinstance(axis.get_major_formatter(), LogFormatter)
    if axis.get_scale() != "log" or not 0 < low < high or not ours or getattr(axis.get_transform(), "base", 10) != 10:
        return
    decades = np.log10(high / low)
    if decades < FEW_DECADES:
        axis.set_major_locator(narrow_locator(decades))
        axis.set_major_formatter(FuncFormatter(plain if low > 1e-3 and high < 2e4 else powers))
    elif low > 5e-4 and high < 2e4:
        axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_formatter(NullFormatter())


def legend_beside(axis, **options):
    """To the right of the axes, where it hides nothing."""
    return axis.legend(**{"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "borderaxespad": 0, **options})


def legend_above(axis, **options):
    """Above the axes, at the right, on the line of the title or over it, where it hides nothing."""
    count = len(options.get("handles", axis.get_legend_handles_labels()[0]))
    return axis.legend(**{"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2, "ncols": count,
                          "columnspacing": 1.0, "handlelength": 1.6, "handletextpad": 0.5, **options})


def legend_on_top(figure, handles, title=None, most=3):
    """Over all axes of a figure, which make room for it."""
    legend = figure.legend(handles=handles, loc="upper left", ncols=min(most, len(handles)), title=title,
                           alignment="left", borderaxespad=0.6)
    height = legend.get_window_extent(figure.canvas.get_renderer()).height / figure.bbox.height
    room = 1 - height - 0.08 / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, 0, 1, room))


def line_colours(count):
    """This number of different colours, from COLOURS or, for more, from a colour scale."""
    return COLOURS[:count] if count <= len(COLOURS) else list(plt.get_cmap("viridis")(np.linspace(0, 0.93, count)))


def ordered_colours(count):
    """Colours of curves that have an order, as Lagrangian radii: from dark to light, through different hues. Of the
    scales of matplotlib and their parts this one has the largest differences of seven colours in simulated colour
    blindness that are not faint on white."""
    return list(plt.get_cmap("inferno")(np.linspace(0.1, 0.84, count)))


def count_text(count):
    """'N = 65,536' as a formula."""
    return f"$N$ = {int(count):,}"


class Units:
    """Names of the internal units; empty for a dimensionless model, which a file states, or whose gravitational
    constant is not consistent with the units."""
    G_CGS = 6.67430e-8
    LENGTHS = {"Mpc": 3.0857e24, "kpc": 3.0857e21, "pc": 3.0857e18, "au": 1.49598e13, "km": 1e5, "m": 1e2, "cm": 1.0}
    MASSES = {r"$10^{10}\,$M$_\odot$": 1.98841e43, r"M$_\odot$": 1.98841e33, "kg": 1e3, "g": 1.0}
    TIMES = {"Gyr": 3.15576e16, "Myr": 3.15576e13, "yr": 3.15576e7, "s": 1.0}

    def __init__(self, facts):
        def number(name):
            try:
                return float(np.ravel(facts[name])[0])
            except (KeyError, TypeError, ValueError, IndexError):
                return 0.0
        length, mass = number("UnitLength_in_cm"), number("UnitMass_in_g")
        velocity, gravity = number("UnitVelocity_in_cm_per_s"), number("GravityConstantInternal")
        # names of units; "" without any
        self.length = self.mass = self.time = self.time_unit = self.velocity = self.energy = ""
        self.energy_size = 1.0   # the internal unit of energy is so many of `energy`
        self.time_size = 1.0   # internal units of time are so many of time_unit
        self.cgs = None
        self.surface, self.surface_size = "", 1.0   # of surface densities, as energy
        self.plain_time = "", 1.0   # without fit_times
        named = facts.get("UnitSystem") not in (b"dimensionless", "dimensionless")
        if not (named and length > 0 and mass > 0 and velocity > 0):
            return
        if gravity > 0 and abs(gravity * length * velocity**2 / mass / self.G_CGS - 1) > 0.01:
            return
        self.cgs = length, mass, velocity
        self.length = self.name(length, self.LENGTHS, "cm")
        suns = mass / self.MASSES[r"M$_\odot$"]
        power = round(np.log10(suns))
        self.mass = self.name(mass, self.MASSES, "g")
        if abs(suns / 10.0**power - 1) < 2e-3 and power > 0:
            self.mass = rf"$10^{{{power}}}\,$M$_\odot$"
        elif self.mass.endswith(" g") and suns > 0.01:
            self.mass = rf"{suns:.4g} M$_\odot$"
        seconds = length / velocity
        unit = next((n for n, s in self.TIMES.items() if seconds >= 0.1 * s), "s")
        self.time_unit, self.time_size = self.plain_time = unit, seconds / self.TIMES[unit]
        self.time = f"{self.time_size:.4g} {unit}"
        self.surface = f"{self.mass} {self.length}$^{{-2}}$"
        sun = r"M$_\odot$"
        if self.length == "kpc" and self.mass.endswith(sun) and not facts.get("chosen"):
            self.surface, self.surface_size = rf"{sun} pc$^{{-2}}$", suns * (self.LENGTHS["pc"] / length) ** 2
        # M_sun km^2 s^-2, whatever the unit of velocity is
        self.energy, self.energy_size = f"{self.mass} km$^2$ s$^{{-2}}$", (velocity / 1e5) ** 2
        self.velocity = next((name for name, size in (("km/s", 1e5), ("m/s", 1e2), ("cm/s", 1.0))
                              if abs(velocity / size - 1) < 1e-5), None)
        if not self.velocity and abs(self.time_size - 1) < 2e-3:
            self.velocity = f"{self.length}/{unit}"
        elif not self.velocity:
            self.velocity = f"{velocity / 1e5:.4g} km/s" if velocity >= 1e4 else f"{velocity:.4g} cm/s"

    @classmethod
    def drawn(cls, facts):
        """Length, mass and velocity in cgs of the units in which numbers of a file of these facts are drawn: its own,
        but km/s in place of "9.778 km/s" or pc/Myr, and kpc, solar masses in place of multiples of them. None: the file
        states no units."""
        units = cls(facts)
        if not units.length:
            return None
        length, mass, velocity = (float(np.ravel(facts[name])[0]) for name in
                                  ("UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s"))
        number, _, name = units.length.partition(" ")
        if name:
            length = cls.LENGTHS[name]
        number, _, name = units.mass.partition(" ")
        if name:
            sun = cls.MASSES[r"M$_\odot$"]
            mass = sun * 10.0 ** max(round(np.log10(mass / sun)), 0) if mass > 0.01 * sun else cls.MASSES[name]
        return length, mass, velocity if units.velocity in ("km/s", "m/s", "cm/s") else 1e5

    def fit_times(self, times):
        """Times are in Myr where all of these, which are internal ones, are below 1 Gyr."""
        self.time_unit, self.time_size = self.plain_time
        if self.time_unit == "Gyr" and np.abs(times).max(initial=0) * self.time_size < 1:
            self.time_unit, self.time_size = "Myr", self.time_size * self.TIMES["Gyr"] / self.TIMES["Myr"]
        return self

    def text(self):
        return f"{self.length}, {self.mass}, {self.time}" if self.length else "model units"

    def product(self, *names):
        """'kpc km/s' of 'length', 'velocity'; nothing where units have no names."""
        return " ".join(getattr(self, name) for name in names) if self.length else ""

    @staticmethod
    def name(value, names, base):
        for text, size in names.items():
            if abs(value / size - 1) < 2e-3:
                return text
        text, size = next(((text, size) for text, size in names.items() if value >= 0.1 * size), (base, 1.0))
        return f"{value / size:.4g} {text}"

    @staticmethod
    def label(quantity, unit):
        return f"{quantity} [{unit}]" if unit else quantity

    def time_text(self, time):
        return f"time {time * self.time_size:.4g}" + (f" {self.time_unit}" if self.time_unit else "")
