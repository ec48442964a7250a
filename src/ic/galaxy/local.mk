libespalier_a_SOURCES += \
  %D%/disc.h \
  %D%/disc_density.c \
  %D%/disc_draw.c \
  %D%/disc_field.c \
  %D%/disc_moments.c \
  %D%/disc_vertical.c \
  %D%/discs.c \
  %D%/galaxy.h \
  %D%/make.c \
  %D%/make.h \
  %D%/model.h \
  %D%/model_keys.c \
  %D%/model_read.c \
  %D%/orbit.c \
  %D%/profile.c \
  %D%/profile.h \
  %D%/radial.c \
  %D%/report.c \
  %D%/spheres.c
EXTRA_DIST += %D%/README.md
