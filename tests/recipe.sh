# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh disable=SC2154
# The recipes of doc/readers.md, for yt.sh and pynbody.sh. Before: tests/harness.sh is read.

# recipe_snapshots: model and physical, folders with output/snapshot_000.hdf5, of the same particles
recipe_snapshots() {
  mkdir -p model/output physical
  model plummer -n 2000 -o model/output/snapshot_000.hdf5
  parameters physical/run.ini Input:InitCondFile=../model/output/snapshot_000.hdf5 Units:GravityConstantInternal= \
    Units:UnitVelocity_in_cm_per_s=2.07417e7 Gravity:Softening=0.1 Time:TimeMax=0.001
  (cd physical && launch 0 run run.ini) > said 2>&1
}
# recipe NAME PICTURE PYTHON: for both snapshots the recipe below '## NAME', and look.py, which sees the recipe's
# variables
recipe() {
  awk -v heading="## $1" '/^## / { here = $0 == heading } /^```/ { code = here && /python/; next } code { print }' \
    "$src/doc/readers.md" > recipe.py
  for kind in model physical; do
    { cat recipe.py
      printf 'kind = "%s"\npicture = "%s"\n' "$kind" "$2"
      cat look.py
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
    (cd "$kind" && rm -f "${2:-none}" && MPLBACKEND=Agg timeout 120 "$3" recipe.py) > said 2> err
    status=$?
    grep '^#' said
    ok $status "$("$3" -c "import $1; print('$1', $1.__version__)" 2> /dev/null | tail -n 1): the recipe, $kind"
  done
}
