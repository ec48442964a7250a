EXTRA_DIST += \
  %D%/README.md \
  %D%/spack/repo.yaml \
  %D%/spack/packages/espalier/package.py \
  %D%/apptainer/espalier.def
