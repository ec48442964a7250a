# SPDX-License-Identifier: GPL-3.0-or-later
"""The wheel holds the shared library, which is compiled from the source tree around this folder. A source distribution
has the sources of the library in its folder source/.

ESPALIER_LIB=FILE        take this libespalier.so, and compile nothing
ESPALIER_LIB=installed   a wheel without a library, in plain Python: it loads the libespalier.so.0 of the system
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
from setuptools.command.sdist import sdist
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
ROOT = HERE / "source" if (HERE / "source").is_dir() else HERE.parent
GIVEN = os.environ.get("ESPALIER_LIB")
PURE = GIVEN == "installed"


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
        if PURE:
            target.unlink(missing_ok=True)   # of an earlier build
            return
        with tempfile.TemporaryDirectory() as folder:
            shutil.copyfile(GIVEN or built(folder), target)


def library_sources():
    """What configure and make library read, below ROOT."""
    names = "configure configure.ac Makefile.am Makefile.in aclocal.m4 config.h.in COPYING .revision".split()
    files = {ROOT / name for name in names} | set(ROOT.glob("*/local.mk")) | set(ROOT.glob("tests/bench/local.mk"))
    for folder, patterns in {"src": "*.[ch] *.def *.mk *.in *.map", "mpi": "*.[ch] *.mk", "m4": "*.m4",
                             "gpu": "*.cu *.cuh *.h *.mk", "build-aux": "*"}.items():
        for pattern in patterns.split():
            files |= set((ROOT / folder).rglob(pattern))
    return sorted(f for f in files if f.is_file() and f.name != "revision_string.h")


class SourcesWithLibrary(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        if not (ROOT / "configure.ac").exists():
            return
        if not (ROOT / "configure").exists():
            call(ROOT, "autoreconf", "-i")
        for file in library_sources():
            target = Path(base_dir) / "source" / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
        revision = subprocess.run(["sh", str(ROOT / "build-aux" / "revision.sh"), str(ROOT)], check=True,
                                  capture_output=True).stdout
        (Path(base_dir) / "source" / ".revision").write_bytes(revision)


class PlatformWheel(bdist_wheel):
    """One wheel for all versions of Python: on this platform, or without a library on all."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = PURE

    def get_tag(self):
        return "py3", "none", "any" if PURE else super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return not PURE


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel, "sdist": SourcesWithLibrary},
      distclass=BinaryDistribution)
