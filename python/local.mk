EXTRA_DIST += \
  %D%/README.md \
  %D%/pyproject.toml \
  %D%/setup.py \
  %D%/espalier/__init__.py \
  %D%/espalier/_library.py \
  %D%/espalier/ic.py \
  %D%/espalier/plots.py \
  %D%/espalier/py.typed \
  %D%/espalier/quantities.py \
  %D%/espalier/simulation.py \
  %D%/espalier/snapshot.py \
  %D%/espalier/tables.py
# The tools draw by it: beside them where Espalier is installed, as in the source tree.
nobase_dist_pkgdata_DATA += \
  %D%/espalier_plots/__init__.py \
  %D%/espalier_plots/cluster.py \
  %D%/espalier_plots/facts.py \
  %D%/espalier_plots/galaxy.py \
  %D%/espalier_plots/measure.py \
  %D%/espalier_plots/multiples.py \
  %D%/espalier_plots/pictures.py \
  %D%/espalier_plots/style.py \
  %D%/espalier_plots/yt_dataset.py
