bin_PROGRAMS += espalier
espalier_SOURCES = %D%/main.c
libespalier_a_SOURCES += %D%/fault.c %D%/fault.h %D%/memory.c %D%/memory.h %D%/particles.c %D%/particles.h \
  %D%/params.h %D%/params.def %D%/units.h %D%/run.h %D%/force.h %D%/run.c %D%/force.c %D%/revision.c %D%/revision.h

# The revision is asked for at every make, and rewritten only when it changed. Two makes may do so at once (make -j all check).
CLEANFILES += %D%/revision_string.h
%D%/revision_string.h: FORCE
	$(AM_V_GEN)$(MKDIR_P) %D% && $(SHELL) $(top_srcdir)/build-aux/revision.sh $(top_srcdir) > $@.$$$$; \
	cmp -s $@.$$$$ $@ && rm -f $@.$$$$ || mv -f $@.$$$$ $@
FORCE:
.PHONY: FORCE
dist-hook:
	$(SHELL) $(top_srcdir)/build-aux/revision.sh $(top_srcdir) > $(distdir)/.revision
%D%/revision.$(OBJEXT): %D%/revision_string.h
