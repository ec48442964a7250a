libespalier_a_SOURCES += \
  %D%/choice.c \
  %D%/choice.h \
  %D%/parts.h \
  %D%/promise.c \
  %D%/promise.h \
  %D%/radii.c \
  %D%/scheme_choice.c \
  %D%/scheme_choice_again.c \
  %D%/scheme_choice_words.c \
  %D%/settings.c \
  %D%/settings.h
EXTRA_DIST += %D%/README.md
