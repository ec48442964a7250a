#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# make release, and what it makes where nothing else of Espalier is: the wheel in a fresh environment, the source
# distribution against an installed library, the Debian packages in a bare Debian (mmdebstrap, as root) and in a
# container image (buildah). ESPALIER_DEBIAN names a tarball of a bare Debian, as mmdebstrap --variant=minbase makes it.
. "${srcdir:-.}/tests/slow/common.sh"
here=$PWD
/usr/bin/python3 -c 'import build, setuptools, wheel' > /dev/null 2>&1 && command -v dh > /dev/null &&
  command -v dh_python3 > /dev/null ||
  skip_all "not here: Debian's python3-build, python3-wheel, debhelper or dh-python"
plan 8
scratch packages
try 1500 "$scratch_dir/release.log" "make release" "$MAKE" release || give_up
mv release "$scratch_dir/release" && cd "$scratch_dir" || exit 99
(cd release && sha256sum -c SHA256SUMS && ls espalier-*.tar.gz espalier-*.tar.xz pyespalier-*.tar.gz pyespalier-*.whl \
  espalier_*.deb libespalier0_*.deb libespalier-dev_*.deb python3-espalier_*.deb) > sums.log 2>&1
result $? "checksums of all parts"
cat > script.py << 'END'
import espalier
sim = espalier.Simulation(espalier.ic.plummer(500), softening=0.02)
start = sim.energy
sim.integrate(0.125)
assert abs(sim.energy / start - 1) < 1e-2, sim.energy
print(espalier._library.lib._name)
END
# environment NAME PACKAGE...: a fresh one with these packages
environment() {
  python3 -m venv "$1" && env=$1 && shift && "$env/bin/pip" install -q "$@"
}
environment wheel release/*.whl > wheel.log 2>&1 && wheel/bin/python script.py >> wheel.log 2>&1 &&
  grep -q '/site-packages/espalier/libespalier.so$' wheel.log
result $? "the wheel has its library"
"$MAKE" -C "$here" install prefix="$scratch_dir/prefix" > install.log 2>&1 &&
  environment plain setuptools wheel > plain.log 2>&1 &&
  ESPALIER_LIB=installed plain/bin/pip install -q --no-build-isolation release/pyespalier-*.tar.gz >> plain.log 2>&1 &&
  LD_LIBRARY_PATH=$scratch_dir/prefix/lib plain/bin/python script.py >> plain.log 2>&1 &&
  grep -q -x 'libespalier.so.0' plain.log
result $? "the source distribution takes an installed library"
tar -tzf release/pyespalier-*.tar.gz > members 2>&1 && grep -q '/source/src/api/entries.c$' members &&
  grep -q '/source/configure$' members && grep -q '/source/.revision$' members
result $? "... and has the sources of its own"
reason=
[ "$(id -u)" = 0 ] || reason="not root"
command -v mmdebstrap > /dev/null || [ -n "${ESPALIER_DEBIAN-}" ] || reason="no mmdebstrap"
if [ -z "$reason" ]; then
  base=${ESPALIER_DEBIAN:-$scratch_dir/debian.tar}
  [ -f "$base" ] || mmdebstrap --variant=minbase --include=ca-certificates \
    "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$base" > mmdebstrap.log 2>&1 ||
    reason="mmdebstrap failed: $(tail -n 1 mmdebstrap.log)"
fi
if [ -n "$reason" ]; then
  skip "the Debian packages are installed in a bare Debian" "$reason"
  skip "... and run, draw, compile and compute there" "$reason"
  skip "a container image has them" "$reason"
  finish
fi
mkdir bare && tar -xf "$base" -C bare 2> tar.log
cp /etc/resolv.conf bare/etc/
mkdir bare/packages && cp release/*.deb bare/packages/ && cp "$src/debian/tests/first-run" bare/root/
# bare COMMAND: in the bare Debian, with the /proc and /sys that MPI asks
bare() {
  # shellcheck disable=SC2016  # of the inner shell
  unshare --mount --pid --fork sh -c 'mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
    mount --rbind /dev "$1/dev" && exec chroot "$1" sh -c "$2"' sh "$scratch_dir/bare" "$1"
}
bare 'export DEBIAN_FRONTEND=noninteractive; apt-get update -q && apt-get install -y -q --no-install-recommends \
  /packages/*.deb python3-h5py python3-matplotlib gcc libc6-dev pkg-config' > apt.log 2>&1
result $? "the Debian packages are installed in a bare Debian"
bare 'sh /root/first-run' > first-run.log 2>&1 && grep -q -x 'first-run: all of it works' first-run.log
result $? "... and run, draw, compile and compute there"
tail -n 3 first-run.log | sed 's/^/# /'
if command -v buildah > /dev/null; then
  export BUILDAH_ISOLATION=chroot
  container=$(buildah from scratch) && buildah add -q "$container" "$base" / > image.log 2>&1 &&
    buildah commit -q "$container" localhost/espalier-base >> image.log 2>&1 &&
    buildah bud --pull-never --build-arg BASE=localhost/espalier-base -t localhost/espalier-test \
      -f "$src/packaging/container/Containerfile" release >> image.log 2>&1 && buildah rm "$container" >> image.log &&
    container=$(buildah from --pull-never localhost/espalier-test) &&
    buildah run "$container" -- sh -c 'espalier ic plummer -n 500 -o p.hdf5 &&
      python3 -c "import espalier; print(len(espalier.read(\"p.hdf5\")))"' > image-run.log 2>&1
  result $? "a container image has them"
  buildah rm "$container" > /dev/null 2>&1
  buildah rmi localhost/espalier-test localhost/espalier-base > /dev/null 2>&1
else
  skip "a container image has them" "no buildah"
fi
finish
