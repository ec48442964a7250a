libespalier_a_SOURCES += \
  %D%/columns.c \
  %D%/columns.h \
  %D%/h5.c \
  %D%/h5.h
EXTRA_DIST += %D%/README.md
