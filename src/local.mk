bin_PROGRAMS += espalier
espalier_SOURCES = \
  %D%/main.c \
  %D%/commands.c \
  %D%/commands.h \
  %D%/commands_run.c \
  %D%/commands_ic.c \
  %D%/info.c \
  %D%/info.h \
  %D%/manual.c \
  %D%/manual.h
libespalier_a_SOURCES += \
  %D%/backend.c \
  %D%/backend.h \
  %D%/brent.c \
  %D%/brent.h \
  %D%/diagnostics.c \
  %D%/diagnostics.h \
  %D%/check.c \
  %D%/check.h \
  %D%/cuboids.h \
  %D%/essential.h \
  %D%/fault.c \
  %D%/fault.h \
  %D%/going_on.c \
  %D%/going_on.h \
  %D%/logs.c \
  %D%/logs.h \
  %D%/outputs.c \
  %D%/outputs.h \
  %D%/bench.c \
  %D%/bench.h \
  %D%/curve.c \
  %D%/curve.h \
  %D%/probes.c \
  %D%/probes.h \
  %D%/force.c \
  %D%/force.h \
  %D%/hd.h \
  %D%/keys.h \
  %D%/lattice.h \
  %D%/mac.h \
  %D%/memory.c \
  %D%/memory.h \
  %D%/octree.c \
  %D%/octree.h \
  %D%/params.c \
  %D%/params.def \
  %D%/params.h \
  %D%/params_nearest.c \
  %D%/params_nearest.h \
  %D%/params_read.c \
  %D%/params_rules.c \
  %D%/params_write.c \
  %D%/particles.c \
  %D%/particles.h \
  %D%/placement.c \
  %D%/placement.h \
  %D%/plan.c \
  %D%/plan.h \
  %D%/radius.c \
  %D%/radius.h \
  %D%/result_file.c \
  %D%/result_file.h \
  %D%/revision.c \
  %D%/revision.h \
  %D%/roots.c \
  %D%/roots.h \
  %D%/run.c \
  %D%/run.h \
  %D%/run_parts.h \
  %D%/run_save.c \
  %D%/sampling.h \
  %D%/sim.c \
  %D%/sim.h \
  %D%/split.h \
  %D%/start.c \
  %D%/start.h \
  %D%/sums.h \
  %D%/step.c \
  %D%/step.h \
  %D%/substep_log.c \
  %D%/substep_log.h \
  %D%/substeps.c \
  %D%/substeps.h \
  %D%/timeline.c \
  %D%/timeline.h \
  %D%/timer.c \
  %D%/timer.h \
  %D%/traffic.c \
  %D%/traffic.h \
  %D%/tuner.c \
  %D%/tuner.h \
  %D%/tuning.c \
  %D%/tuning.h \
  %D%/units.c \
  %D%/units.h \
  %D%/watchdog.c \
  %D%/watchdog.h
libespalier_a_SOURCES += \
  %D%/checkpoint.c \
  %D%/checkpoint.h \
  %D%/checkpoint_list.c \
  %D%/checkpoint_list.h \
  %D%/checkpoint_read.c \
  %D%/control.c \
  %D%/control.h \
  %D%/guard.c \
  %D%/guard.h \
  %D%/last_words.c \
  %D%/last_words.h \
  %D%/lock.c \
  %D%/lock.h \
  %D%/params_changed.c \
  %D%/params_changed.h \
  %D%/state.c \
  %D%/state.h \
  %D%/status.c \
  %D%/status.h
libespalier_a_SOURCES += \
  %D%/study.c \
  %D%/study.h \
  %D%/study_table.c \
  %D%/study_table.h \
  %D%/virtual.c \
  %D%/virtual.h

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
