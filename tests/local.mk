# A test prints TAP. NAME runs on one rank; NAME.mpi runs on several rank counts (tests/ranks).
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
TEST_EXTENSIONS = .mpi .sh
LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_COMPILER = $(MPIRUN) $(MPIRUN_FLAGS) -n $(NP)
SH_LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = $(SHELL)

unit_tests = \
  %D%/brent \
  %D%/depth_first \
  %D%/domain \
  %D%/essential \
  %D%/force \
  %D%/ic \
  %D%/keys \
  %D%/lattice \
  %D%/lets \
  %D%/mac \
  %D%/octree \
  %D%/outputs \
  %D%/pairwise \
  %D%/params \
  %D%/particles \
  %D%/plan \
  %D%/reorder \
  %D%/split \
  %D%/timeline \
  %D%/tuner \
  %D%/units \
  %D%/verbs \
  %D%/walk \
  %D%/walk_active
mpi_tests = \
  %D%/bad_input.mpi \
  %D%/comm.mpi \
  %D%/domain_ranks.mpi \
  %D%/force_ranks.mpi \
  %D%/formats.mpi \
  %D%/fuzz_input.mpi \
  %D%/ic_ranks.mpi \
  %D%/snapshot.mpi \
  %D%/study.mpi
script_tests = \
  %D%/cli.sh \
  %D%/comm_ranks.sh \
  %D%/determinism.sh \
  %D%/files_ranks.sh \
  %D%/full_disk.sh \
  %D%/parameter_pages.sh \
  %D%/plots.sh \
  %D%/ranks.sh \
  %D%/rules.sh \
  %D%/study_ranks.sh \
  %D%/tuning.sh \
  %D%/watchdog.sh \
  %D%/yt.sh
# Programs that scripts start.
test_helpers = \
  %D%/full_disk \
  %D%/make_snapshot
# The second tier, of minutes each: make check-slow.
slow_tests = \
  %D%/slow/distcheck.sh \
  %D%/slow/energy.sh \
  %D%/slow/sanitizers.sh \
  %D%/slow/valgrind.sh
check_PROGRAMS += $(unit_tests) $(mpi_tests) $(test_helpers)
TESTS += $(unit_tests) $(mpi_tests) $(script_tests)
EXTRA_DIST += $(script_tests) $(slow_tests) %D%/tap.sh %D%/slow/common.sh %D%/lsan.supp %D%/valgrind.supp

# With its own summary, so that the logs of make check stay as they are; one after the other, since each uses all cores.
check-slow: all
	$(MAKE) $(AM_MAKEFLAGS) -j1 check TESTS='$(slow_tests)' TEST_SUITE_LOG=slow-suite.log
.PHONY: check-slow
CLEANFILES += slow-suite.log
clean-local:
	-chmod -R u+w slow-sanitizers slow-valgrind slow-distcheck slow-energy 2>/dev/null
	-rm -rf slow-sanitizers slow-valgrind slow-distcheck slow-energy

%C%_comm_mpi_SOURCES = %D%/comm.c %D%/tap.h
%C%_particles_SOURCES = %D%/particles.c %D%/tap.h
%C%_snapshot_mpi_SOURCES = %D%/snapshot.c %D%/files.h %D%/tap.h
%C%_params_SOURCES = %D%/params.c %D%/tap.h
%C%_units_SOURCES = %D%/units.c %D%/tap.h
%C%_ic_SOURCES = %D%/ic.c %D%/tap.h
%C%_ic_ranks_mpi_SOURCES = %D%/ic_ranks.c %D%/tap.h
%C%_formats_mpi_SOURCES = %D%/formats.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_bad_input_mpi_SOURCES = %D%/bad_input.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_fuzz_input_mpi_SOURCES = %D%/fuzz_input.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_full_disk_SOURCES = %D%/full_disk.c %D%/files.h %D%/tap.h
%C%_make_snapshot_SOURCES = %D%/make_snapshot.c %D%/files.h %D%/tap.h
%C%_domain_SOURCES = %D%/domain.c %D%/chance.h %D%/tap.h
%C%_domain_ranks_mpi_SOURCES = %D%/domain_ranks.c %D%/chance.h %D%/tap.h
%C%_essential_SOURCES = %D%/essential.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_keys_SOURCES = %D%/keys.c %D%/chance.h %D%/tap.h
%C%_lattice_SOURCES = %D%/lattice.c %D%/chance.h %D%/tap.h
%C%_lets_SOURCES = %D%/lets.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_mac_SOURCES = %D%/mac.c %D%/chance.h %D%/tap.h
%C%_outputs_SOURCES = %D%/outputs.c %D%/tap.h
%C%_depth_first_SOURCES = %D%/depth_first.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_pairwise_SOURCES = %D%/pairwise.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_plan_SOURCES = %D%/plan.c %D%/tap.h
%C%_split_SOURCES = %D%/split.c %D%/tap.h
%C%_timeline_SOURCES = %D%/timeline.c %D%/chance.h %D%/tap.h
%C%_brent_SOURCES = %D%/brent.c %D%/chance.h %D%/tap.h
%C%_tuner_SOURCES = %D%/tuner.c %D%/chance.h %D%/tap.h
%C%_force_SOURCES = %D%/force.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_octree_SOURCES = %D%/octree.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_reorder_SOURCES = %D%/reorder.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_verbs_SOURCES = %D%/verbs.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_walk_SOURCES = %D%/walk.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h %D%/walks.h
%C%_walk_active_SOURCES = %D%/walk_active.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h %D%/walks.h
%C%_force_ranks_mpi_SOURCES = %D%/force_ranks.c %D%/chance.h %D%/sets.h %D%/tap.h
%C%_study_mpi_SOURCES = %D%/study.c %D%/chance.h %D%/sets.h %D%/tap.h
