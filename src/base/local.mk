libespalier_a_SOURCES += \
  %D%/bytes.c \
  %D%/bytes.h \
  %D%/debug.c \
  %D%/debug.h \
  %D%/fault.c \
  %D%/fault.h \
  %D%/files.c \
  %D%/files.h \
  %D%/folders.c \
  %D%/folders.h \
  %D%/hd.h \
  %D%/ledger.c \
  %D%/ledger.h \
  %D%/lines.c \
  %D%/lines.h \
  %D%/memory.c \
  %D%/memory.h \
  %D%/resident.c \
  %D%/resident.h \
  %D%/revision.c \
  %D%/revision.h \
  %D%/resumed.c \
  %D%/resumed.h \
  %D%/sparse.h \
  %D%/spool.c \
  %D%/spool.h \
  %D%/timer.c \
  %D%/timer.h \
  %D%/watchdog.c \
  %D%/watchdog.h

EXTRA_DIST += %D%/README.md

# Every make asks for the revision and rewrites the file only when it has changed. Two makes may do so at once (make -j
# all check).
CLEANFILES += %D%/revision_string.h
%D%/revision_string.h: FORCE
	$(AM_V_GEN)$(MKDIR_P) %D% && $(SHELL) $(top_srcdir)/build-aux/revision.sh $(top_srcdir) > $@.$$$$; \
	cmp -s $@.$$$$ $@ && rm -f $@.$$$$ || mv -f $@.$$$$ $@
FORCE:
.PHONY: FORCE
dist-hook:
	$(SHELL) $(top_srcdir)/build-aux/revision.sh $(top_srcdir) > $(distdir)/.revision
%D%/revision.$(OBJEXT): %D%/revision_string.h
