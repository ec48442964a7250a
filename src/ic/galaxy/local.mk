libespalier_a_SOURCES += \
  %D%/discs_missing.c \
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
