libespalier_a_SOURCES += \
  %D%/held_folder.c \
  %D%/held_folder.h \
  %D%/last_words.c \
  %D%/last_words.h \
  %D%/lock.c \
  %D%/lock.h \
  %D%/status.c \
  %D%/status.h
EXTRA_DIST += %D%/README.md
