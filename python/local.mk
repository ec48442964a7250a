EXTRA_DIST += \
  %D%/README.md \
  %D%/pyproject.toml \
  %D%/setup.py \
  %D%/espalier/__init__.py \
  %D%/espalier/_library.py \
  %D%/espalier/ic.py \
  %D%/espalier/py.typed \
  %D%/espalier/simulation.py \
  %D%/espalier/snapshot.py
