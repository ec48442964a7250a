#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The scripts of doc/gallery, with few particles and short times: their pictures are made. The figure of README.md has
# the numbers of the pages.
. "${srcdir:-.}/tests/slow/common.sh"
here=$PWD
plan 8
scratch gallery
cd "$scratch_dir" || exit 99
PATH=$here:$here/tests:$src/tools:$PATH
export PATH GALLERY=small MPLCONFIGDIR="$scratch_dir" OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
gallery="collision core-collapse matrix showcase m31"
python=$("$src/tools/espalier-plot" --find 2> /dev/null) || python=
# the script of a picture that the page does not name, or a picture without a script
names=$(cd "$src/doc/gallery" && for f in *.sh; do echo "${f%.sh}"; done | sort | tr '\n' ' ')
[ "$names" = "$(printf '%s\n' $gallery | sort | tr '\n' ' ')" ] &&
  for name in $gallery; do grep -q "gallery/$name.sh" "$src/doc/gallery.md" || exit 1; done
result $? "the page names all scripts: $names"
if [ -z "$python" ]; then
  for name in $gallery "the figure of README" "other times"; do
    skip "$name" "no python3 with h5py, numpy and matplotlib"
  done
  finish
fi
for name in $gallery; do
  try 300 "$name.log" "$name: its picture is made" sh -c "sh '$src/doc/gallery/$name.sh' && test -s $name.png"
done
# words FILE.svg: the labels and numbers of a figure, without those of ticks
words() { sed -n 's/.*<text[^>]*>\([^<]\{1,\}\)<.*/\1/p' "$1" | sort; }
"$src/doc/gallery/speed.py" -o speed.svg > speed.log 2>&1 && words speed.svg > now &&
  words "$src/doc/images/speed.svg" > kept && [ "$(grep -c . kept)" -ge 20 ] && cmp -s now kept
result $? "the figure of README has the times of the pages"
# this check finds other numbers
mkdir doc && cp -r "$src/doc/gallery" "$src/doc/performance.md" "$src/doc/star-clusters.md" doc &&
  ln -s "$src/tools" tools && sed -i 's/^\(| Plummer | 40\)\.5/\1.6/' doc/performance.md &&
  doc/gallery/speed.py -o other.svg > other.log 2>&1 && words other.svg > other && ! cmp -s other kept
result $? "other times are found"
finish
