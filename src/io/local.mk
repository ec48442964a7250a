libespalier_a_SOURCES += \
  %D%/columns.c \
  %D%/columns.h \
  %D%/h5.c \
  %D%/h5.h \
  %D%/h5_driver.c \
  %D%/h5_driver.h \
  %D%/h5_file.c \
  %D%/h5_file.h \
  %D%/table_file.c \
  %D%/table_file.h
EXTRA_DIST += %D%/README.md
