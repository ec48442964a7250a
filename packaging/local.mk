EXTRA_DIST += \
  %D%/README.md \
  %D%/amuse/Makefile \
  %D%/amuse/amuse_espalier/__init__.py \
  %D%/amuse/amuse_espalier/interface.py \
  %D%/amuse/calls.h \
  %D%/amuse/interface.c \
  %D%/amuse/model.c \
  %D%/amuse/model.h \
  %D%/amuse/stops.c \
  %D%/amuse/stops.h \
  %D%/amuse/store.c \
  %D%/amuse/store.h \
  %D%/amuse/test_espalier.py \
  %D%/spack/repo.yaml \
  %D%/spack/packages/espalier/package.py \
  %D%/apptainer/espalier.def
