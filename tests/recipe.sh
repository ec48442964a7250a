# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh disable=SC2154
# The recipes of doc/readers.md, for yt.sh and pynbody.sh. Before: tests/tap.sh is read, and $here, $src, $dir are set.

# recipe_snapshots: $dir/model and $dir/physical, folders with output/snapshot_000.hdf5, of the same particles
recipe_snapshots() {
  mkdir -p "$dir/model/output" "$dir/physical" || return 1
  "$here/espalier" ic plummer -n 2000 -o "$dir/model/output/snapshot_000.hdf5" > log 2>&1 < /dev/null || return 1
  printf '%s\n' '[Input]' 'InitCondFile = ../model/output/snapshot_000.hdf5' '[Units]' 'UnitVelocity_in_cm_per_s = 2.07417e7' \
    '[Gravity]' 'Softening = 0.1' '[Time]' 'TimeMax = 0.001' > physical/run.ini
  (cd physical && "$here/espalier" run run.ini) > log 2>&1 < /dev/null
}
# recipe NAME PICTURE PYTHON: for both snapshots the recipe below '## NAME', and look.py, which sees the recipe's variables
recipe() {
  awk -v heading="## $1" '/^## / { here = $0 == heading } /^```/ { code = here && /python/; next } code { print }' "$src/doc/readers.md" > recipe.py
  for kind in model physical; do
    { cat "$dir/recipe.py"
      printf 'kind = "%s"\npicture = "%s"\n' "$kind" "$2"
      cat "$dir/look.py"
      if [ -n "$2" ]; then cat << 'END'; fi
import matplotlib.image
import numpy
pixels = matplotlib.image.imread(picture)[..., :3]
height, width = pixels.shape[:2]
middle = pixels[height // 4:3 * height // 4, width // 4:3 * width // 4]
colours = len(numpy.unique((middle * 255).astype(int).reshape(-1, 3), axis=0))
print(f"# {picture}: {width} x {height} pixels, {colours} colours, deviation {middle.std():.3f}")
assert width >= 400 and height >= 400 and colours >= 8 and middle.std() > 0.05
END
    } > "$kind/recipe.py"
    (cd "$kind" && rm -f "${2:-none}" && MPLBACKEND=Agg MPLCONFIGDIR="$dir" timeout 120 "$3" recipe.py) > out 2> err
    status=$?
    grep '^#' "$dir/out"
    [ $status = 0 ]
    ok $? "$("$3" -c "import $1; print('$1', $1.__version__)" 2> log | tail -n 1): the recipe, $kind"
  done
}
