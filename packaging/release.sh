#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# release.sh TARBALL LIBRARY FOLDER: what a release has, in FOLDER, from the tarball of make dist and the shared library
# of this build: tarballs, source distribution and wheel of pyespalier, Debian packages, SHA256SUMS. make release calls
# it.
# PYTHON names a python3 that has the modules build, setuptools and wheel [/usr/bin/python3].
set -eu
tarball=$1 library=$2 out=$3 python=${PYTHON:-/usr/bin/python3}
say() { echo "make release: $*"; }
"$python" -c 'import build, setuptools, wheel' > /dev/null 2>&1 ||
  { say "$python has no module build, setuptools or wheel (Debian: python3-build python3-setuptools python3-wheel;" \
      "or set PYTHON)" >&2; exit 1; }
for tool in dpkg-buildpackage dh dh_python3; do
  command -v $tool > /dev/null ||
    { say "no $tool (Debian: dpkg-dev debhelper dh-python)" >&2; exit 1; }
done
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES DESTDIR
rm -rf "$out"
mkdir -p "$out/source"
cp "$tarball" "${tarball%.gz}.xz" "$out"
tar -xzf "$tarball" -C "$out/source" --strip-components=1
say "source distribution and wheel of pyespalier"
# the sources around the folder python/ are in the former, the library of this build in the latter
ESPALIER_LIB=$library "$python" -m build --no-isolation --sdist --wheel --outdir "$out" "$out/source/python" \
  > "$out/python.log" 2>&1 || { tail -n 20 "$out/python.log" >&2; say "see $out/python.log" >&2; exit 1; }
say "Debian packages (compiles)"
(cd "$out/source" && dpkg-buildpackage -us -uc -b) > "$out/debian.log" 2>&1 ||
  { tail -n 20 "$out/debian.log" >&2; say "see $out/debian.log" >&2; exit 1; }
rm -rf "$out/source" "$out/python.log" "$out/debian.log" "$out"/*-dbgsym_*.deb
cd "$out"
sha256sum -- *.tar.gz *.tar.xz *.whl *.deb > SHA256SUMS
say "in $PWD:"
cat SHA256SUMS
