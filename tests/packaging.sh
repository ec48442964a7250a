#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recipes in packaging/ fit the source: versions, arguments of configure, packages that are needed.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/tap.sh"
shown=$dir/out
recipe=$src/packaging/spack/packages/espalier/package.py image=$src/packaging/apptainer/espalier.def
version=$(sed -n 's/^AC_INIT(\[espalier\],\[\([^]]*\)\].*/\1/p' "$src/configure.ac")
# Stand-ins for what a recipe takes from Spack: they record their arguments.
mkdir -p "$dir/spack_repo/builtin/build_systems" "$dir/spack"
for f in spack_repo spack_repo/builtin spack_repo/builtin/build_systems spack; do : > "$dir/$f/__init__.py"; done
echo "class AutotoolsPackage: pass" > "$dir/spack_repo/builtin/build_systems/autotools.py"
echo "class CudaPackage: pass" > "$dir/spack_repo/builtin/build_systems/cuda.py"
cat > "$dir/spack/package.py" << 'END'
import contextlib
versions, names = [], []
def version(number, **_): versions.append(number)
def depends_on(spec, **_): names.append(spec)
def variant(name, default, description): names.append(name)
def license(text): pass
def conflicts(spec, when, msg): pass
def run_after(phase): return lambda act: act
def when(spec): return contextlib.nullcontext()
END
cat > "$dir/try.py" << 'END'
import sys, types
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
source = {}
exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), source)
class Spec(dict):
    def __init__(self, on):
        super().__init__(mpi=types.SimpleNamespace(mpicc="/mpi/bin/mpicc"), hdf5=types.SimpleNamespace(prefix="/hdf5"),
                         cuda=types.SimpleNamespace(prefix="/cuda"))
        self.on, self.variants = on, {"cuda_arch": types.SimpleNamespace(value=("80", "90"))}
    def satisfies(self, text): return text in self.on
for on in ((), ("+hwloc", "+cuda")):
    package = source["Espalier"]()
    package.spec = Spec(on)
    print("configure", *package.configure_args())
print("version", *source["versions"])
END
if command -v python3 > /dev/null 2>&1; then
  python3 "$dir/try.py" "$dir" "$recipe" > "$dir/out" 2>&1
  ok $? "the Spack recipe is Python"
  grep -q -x 'configure CC=/mpi/bin/mpicc --with-hdf5=/hdf5 --without-hwloc --without-cuda' "$dir/out" &&
    grep -q -x 'configure CC=/mpi/bin/mpicc --with-hdf5=/hdf5 --with-hwloc --with-cuda=/cuda --with-cuda-arch=80,90' "$dir/out"
  ok $? "its arguments of configure"
  grep -q -x "version $version" "$dir/out" && grep -q "espalier-$version.tar.gz" "$recipe"
  ok $? "its version is $version"
fi
grep -q "espalier-$version.tar.gz" "$image" && grep -q "^ *Version $version\$" "$image"
ok $? "the image's version is $version"
"$src/configure" --help > "$dir/help" 2>&1
for option in $(grep -h -o -E -e '--with(out)?-[a-z0-9-]+' "$recipe" "$image" | sed 's/--without/--with/' | sort -u); do
  grep -q -E -e " $option(\[|=| |\$)" "$dir/help" || echo "$option"
done > "$dir/out"
[ -s "$dir/help" ] && [ ! -s "$dir/out" ]
ok $? "configure has all arguments that they give"
# What quickstart needs, without what the tarball has done already, must be in the image.
sed -n "/^needs='/,/'\$/p" "$src/quickstart" | sed -n 's/^\([a-z][a-z0-9-]*\)  *[a-z0-9]* .*/\1/p' | grep -v -x -E 'autoconf|automake' |
  while read -r package; do grep -q -E "(^| )$package( |\$)" "$image" || echo "$package"; done > "$dir/out"
[ ! -s "$dir/out" ]
ok $? "the image has all packages that quickstart needs"
echo "1..$number"
exit $failed
