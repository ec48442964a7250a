bin_PROGRAMS += espalier
espalier_SOURCES = %D%/main.c
libespalier_a_SOURCES += %D%/fault.c %D%/fault.h %D%/memory.c %D%/memory.h %D%/particles.c %D%/particles.h \
  %D%/params.h %D%/params.def %D%/units.h %D%/run.h %D%/force.h %D%/backend.c %D%/backend.h %D%/hd.h %D%/keys.h %D%/lattice.h %D%/mac.h \
  %D%/octree.c %D%/octree.h %D%/split.h %D%/timeline.c %D%/timeline.h %D%/diagnostics.c %D%/diagnostics.h %D%/plan.c %D%/plan.h \
  %D%/radius.c %D%/radius.h %D%/sim.c %D%/sim.h %D%/step.c %D%/step.h %D%/timer.c %D%/timer.h %D%/run.c %D%/force.c %D%/revision.c %D%/revision.h

# The revision is asked for at every make, and rewritten only when it changed.
CLEANFILES += %D%/revision_string.h
%D%/revision_string.h: FORCE
	$(AM_V_GEN)$(MKDIR_P) %D% && $(SHELL) $(top_srcdir)/build-aux/revision.sh $(top_srcdir) > $@.new; \
	cmp -s $@.new $@ && rm -f $@.new || mv -f $@.new $@
FORCE:
.PHONY: FORCE
dist-hook:
	$(SHELL) $(top_srcdir)/build-aux/revision.sh $(top_srcdir) > $(distdir)/.revision
%D%/revision.$(OBJEXT): %D%/revision_string.h
