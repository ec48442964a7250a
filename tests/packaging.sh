#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recipes in packaging/ fit the source: versions, arguments of configure, packages that are needed.
. "${srcdir:-.}/tests/harness.sh"
recipe=$src/packaging/spack/packages/espalier/package.py image=$src/packaging/apptainer/espalier.def
version=$(sed -n 's/^AC_INIT(\[espalier\],\[\([^]]*\)\].*/\1/p' "$src/configure.ac")
# Stand-ins for what a recipe takes from Spack: they record their arguments.
mkdir -p spack_repo/builtin/build_systems spack
for f in spack_repo spack_repo/builtin spack_repo/builtin/build_systems spack; do : > "$f/__init__.py"; done
echo "class AutotoolsPackage: pass" > spack_repo/builtin/build_systems/autotools.py
echo "class CudaPackage: pass" > spack_repo/builtin/build_systems/cuda.py
echo "class ROCmPackage: pass" > spack_repo/builtin/build_systems/rocm.py
cat > spack/package.py << 'END'
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
cat > try.py << 'END'
import sys, types
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
source = {}
exec(compile(open(sys.argv[2]).read(), sys.argv[2], "exec"), source)
class Spec(dict):
    def __init__(self, on):
        super().__init__(mpi=types.SimpleNamespace(mpicc="/mpi/bin/mpicc"), hdf5=types.SimpleNamespace(prefix="/hdf5"),
                         cuda=types.SimpleNamespace(prefix="/cuda"), hip=types.SimpleNamespace(hipcc="/hip/bin/hipcc"),
                         rocprim=types.SimpleNamespace(prefix=types.SimpleNamespace(include="/rocprim/include")))
        self.on, self.variants = on, {"cuda_arch": types.SimpleNamespace(value=("80", "90")),
                                      "amdgpu_target": types.SimpleNamespace(value=("gfx90a", "gfx942"))}
    def satisfies(self, text): return text in self.on
for on in ((), ("+hwloc", "+cuda"), ("+rocm",)):
    package = source["Espalier"]()
    package.spec = Spec(on)
    print("configure", *(f"'{argument}'" if " " in argument else argument for argument in package.configure_args()))
print("version", *source["versions"])
END
if command -v python3 > /dev/null 2>&1; then
  python3 try.py "$dir" "$recipe" > said 2>\&1
  ok $? "the Spack recipe is Python"
  grep -q -x 'configure CC=/mpi/bin/mpicc --with-hdf5=/hdf5 --without-hwloc --without-cuda' said &&
    grep -q -x 'configure CC=/mpi/bin/mpicc --with-hdf5=/hdf5 --with-hwloc --with-cuda=/cuda --with-cuda-arch=80,90' \
      said &&
    grep -q -x "configure CC=/mpi/bin/mpicc --with-hdf5=/hdf5 --without-hwloc --without-cuda --with-hip=gfx90a,gfx942 \
'HIPCC=/hip/bin/hipcc -I/rocprim/include'" said
  ok $? "its arguments of configure"
  grep -q -x "version $version" said && has "$recipe" "espalier-$version.tar.gz"
  ok $? "its version is $version"
fi
has "$image" "espalier-$version.tar.gz" && has "$image" "^ *Version $version\$"
ok $? "the image's version is $version"
"$src/configure" --help > help 2>&1
for option in $(grep -h -o -E -e '--with(out)?-[a-z0-9-]+' "$recipe" "$image" | sed 's/--without/--with/' | sort -u); do
  grep -q -E -e " $option(\[|=| |\$)" help || echo "$option"
done > said
[ -s help ] && [ ! -s said ]
ok $? "configure has all arguments that they give"
# What quickstart needs, without what the tarball has done already, must be in the image.
sed -n "/^needs='/,/'\$/p" "$src/quickstart" | sed -n 's/^\([a-z][a-z0-9-]*\)  *[a-z0-9]* .*/\1/p' |
  grep -v -x -E 'autoconf|automake' |
  while read -r package; do grep -q -E "(^| )$package( |\$)" "$image" || echo "$package"; done > said
check "the image has all packages that quickstart needs" test ! -s said
debian=$src/debian
has "$debian/changelog" "^espalier ($version-" && has "$src/python/pyproject.toml" "^version = \"$version\"\$"
ok $? "the version of the Debian packages and of pyespalier is $version"
soname=$(sed -n 's/^LIBRARY_ABI = //p' "$src/src/api/local.mk")
has "$debian/control" "^Package: libespalier$soname\$" && [ -f "$debian/libespalier$soname.install" ]
ok $? "the package of the library has the number of its interface, $soname"
# The headers and libraries that quickstart needs are needed to build packages.
sed -n "/^needs='/,/'\$/p" "$src/quickstart" | sed -n 's/^\(lib[a-z0-9-]*-dev\)  *[a-z0-9]* .*/\1/p' |
  grep -v -x libc6-dev |
  while read -r package; do grep -q -E "[ ,]$package(,|\$)" "$debian/control" || echo "$package"; done > said
check "debian/control has all libraries that quickstart needs" test ! -s said
for script in "$debian/tests/first-run" "$src/packaging/release.sh"; do
  sh -n "$script" || echo "$script"
done > said 2>&1
check "the scripts of the packages are valid" test ! -s said
finish
