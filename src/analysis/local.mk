libespalier_a_SOURCES += \
  %D%/analysis.c \
  %D%/analysis.h \
  %D%/binaries.c \
  %D%/binaries.h \
  %D%/bound.c \
  %D%/bound.h \
  %D%/cluster.c \
  %D%/cluster.h \
  %D%/decimal.c \
  %D%/decimal.h \
  %D%/escapes.c \
  %D%/escapes.h \
  %D%/exact.c \
  %D%/exact.h \
  %D%/inner_energy.c \
  %D%/inner_energy.h \
  %D%/map_file.c \
  %D%/map_file.h \
  %D%/multiples.c \
  %D%/multiples.h \
  %D%/near_tree.c \
  %D%/near_tree.h \
  %D%/projection.c \
  %D%/projection.h \
  %D%/quantiles.c \
  %D%/quantiles.h \
  %D%/stars.c \
  %D%/stars.h \
  %D%/subset.c \
  %D%/subset.h
EXTRA_DIST += %D%/README.md
