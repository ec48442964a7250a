bin_PROGRAMS += espalier
espalier_SOURCES = %D%/main.c %D%/commands.c %D%/commands.h %D%/commands_run.c %D%/commands_ic.c %D%/info.c %D%/info.h
libespalier_a_SOURCES += %D%/fault.c %D%/fault.h %D%/memory.c %D%/memory.h %D%/particles.c %D%/particles.h \
  %D%/params.c %D%/params.h %D%/params.def %D%/params_read.c %D%/params_rules.c %D%/params_write.c %D%/params_nearest.c \
  %D%/params_nearest.h %D%/units.c %D%/units.h %D%/run.h %D%/force.h %D%/run.c %D%/force.c %D%/revision.c %D%/revision.h

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
