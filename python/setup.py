# SPDX-License-Identifier: GPL-3.0-or-later
"""The wheel holds the shared library, which is compiled from the source tree around this folder.

ESPALIER_LIB=FILE        take this libespalier.so, and compile nothing
ESPALIER_CONFIGURE=ARGS  arguments of configure [--without-cuda]
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent.parent


def call(folder, *command):
    print("+", shlex.join(map(str, command)), flush=True)
    try:
        subprocess.run([str(word) for word in command], cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"pyespalier: the C library cannot be built: {error}; README.md of Espalier lists the packages that "
                 "it needs, and ESPALIER_LIB=/path/libespalier.so takes a library that is installed")


def built(folder):
    """Compile the shared library; its file."""
    if not (ROOT / "configure.ac").exists():
        sys.exit("pyespalier: this is not in the source tree of Espalier: set ESPALIER_LIB to an installed "
                 "libespalier.so")
    if not (ROOT / "configure").exists():
        call(ROOT, "autoreconf", "-i")
    if (ROOT / "config.status").exists():   # configured in the tree itself, so no other folder can be
        folder = ROOT
    else:
        call(folder, ROOT / "configure", *shlex.split(os.environ.get("ESPALIER_CONFIGURE", "--without-cuda")))
    call(folder, "make", f"-j{os.cpu_count() or 1}", "library")
    return Path(folder) / "lib" / "libespalier.so"


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        target = Path(self.build_lib) / "espalier" / "libespalier.so"
        target.parent.mkdir(parents=True, exist_ok=True)
        given = os.environ.get("ESPALIER_LIB")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(given or built(folder), target)


class PlatformWheel(bdist_wheel):
    """One wheel for all versions of Python on this platform."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel}, distclass=BinaryDistribution)
