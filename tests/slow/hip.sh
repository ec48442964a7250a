#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# All of gpu/ compiles and links for AMD devices with the packages of Debian, and the program says what it was built
# for. No device is needed. Kernels are hardly optimised here, and objects that know of no device are those of the build
# folder.
. "${srcdir:-.}/tests/slow/common.sh"
command -v hipcc > /dev/null ||
  skip_all "no hipcc: apt-get install hipcc libamdhip64-dev librocprim-dev rocm-device-libs"
build=$PWD
plan 4
scratch hip
cd "$scratch_dir" || exit 99
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)   # nproc obeys these variables
try 300 configure.log "configure --with-hip" \
  "$src/configure" -q --with-hip=gfx90a HIPCCFLAGS=-O1 CFLAGS=-O0 CC="${MPICC:-mpicc}" ||
  give_up
# Make takes what is newer than its source and than the marks of folders, and knows no headers before it has compiled.
for name in .dirstamp '*.o'; do
  (cd "$build" && find src mpi -name "$name" -exec tar -cf - {} +) | tar -xmf - 2> /dev/null
done
devices='ESP_(HAVE_)?(GPU|CUDA|HIP)'
if grep -q -r -E "$devices" --include='*.h' "$src/src" "$src/mpi"; then find src mpi -name '*.o' -exec rm {} +; fi
(cd "$src" && grep -r -l -E "$devices" --include='*.c' src mpi) | while read -r file; do rm -f "${file%.c}.o"; done
try 1500 make.log "everything compiles and links for gfx90a" "$MAKE" -j "$cores" espalier || give_up
echo "# $(grep -c '^  GPU ' make.log) files of gpu/ compiled for gfx90a"
./espalier info > info.log 2>&1
grep -q 'built for hip: gfx90a' info.log
result $? "espalier info says so" || cat info.log
./espalier ic plummer -n 100 -s 1 -o ic.hdf5 > ic.log 2>&1 && {
  printf '[Input]\nInitCondFile = ic.hdf5\n[Time]\nTimeMax = 0.01\n[Device]\nBackend = cuda\n' > a.ini
  ! ./espalier run a.ini > run.log 2>&1 && grep -q 'Backend = cuda is not available: this build has cpu and hip' run.log
}
result $? "the backend of the other vendor is refused by a sentence"
finish
