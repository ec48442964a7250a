EXTRA_DIST += %D%/README.md
libespalier_a_SOURCES += \
  %D%/bound_pair.h \
  %D%/cosmology.c \
  %D%/cosmology.h \
  %D%/field.h \
  %D%/hermite.h \
  %D%/kepler.h \
  %D%/pair.h \
  %D%/pair_steps.h \
  %D%/reach.h \
  %D%/split.h \
  %D%/units.c \
  %D%/units.h
