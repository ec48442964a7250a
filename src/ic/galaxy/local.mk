libespalier_a_SOURCES += \
  %D%/disc.h \
  %D%/disc_density.c \
  %D%/disc_draw.c \
  %D%/disc_field.c \
  %D%/disc_moments.c \
  %D%/disc_vertical.c \
  %D%/discs.c \
  %D%/galaxy.h \
  %D%/radial.c
EXTRA_DIST += %D%/README.md
