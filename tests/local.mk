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
  %D%/last_words \
  %D%/lattice \
  %D%/lets \
  %D%/mac \
  %D%/neighbours \
  %D%/octree \
  %D%/outputs \
  %D%/pairwise \
  %D%/params \
  %D%/particles \
  %D%/placement \
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
  %D%/checkpoint.mpi \
  %D%/comm.mpi \
  %D%/cuts_ranks.mpi \
  %D%/domain_ranks.mpi \
  %D%/force_ranks.mpi \
  %D%/formats.mpi \
  %D%/fuzz_input.mpi \
  %D%/guard.mpi \
  %D%/ic_ranks.mpi \
  %D%/snapshot.mpi \
  %D%/snapshot_files.mpi \
  %D%/study.mpi
script_tests = \
  %D%/check.sh \
  %D%/cli.sh \
  %D%/comm_ranks.sh \
  %D%/determinism.sh \
  %D%/docs.sh \
  %D%/files_ranks.sh \
  %D%/full_disk.sh \
  %D%/full_disk_run.sh \
  %D%/jobs.sh \
  %D%/killed.sh \
  %D%/launch.sh \
  %D%/packaging.sh \
  %D%/parameter_pages.sh \
  %D%/plots.sh \
  %D%/plots_input.sh \
  %D%/pynbody.sh \
  %D%/ranks.sh \
  %D%/restart.sh \
  %D%/rules.sh \
  %D%/scaling.sh \
  %D%/several_files.sh \
  %D%/soft_steps.sh \
  %D%/stops.sh \
  %D%/study_ranks.sh \
  %D%/tuning.sh \
  %D%/unsound.sh \
  %D%/watchdog.sh \
  %D%/yt.sh
# Those that read files of the source tree, and could miss one in a tarball: slow/distcheck.sh has only these run again.
tarball_tests = \
  $(unit_tests) \
  %D%/bad_input.mpi \
  %D%/cli.sh \
  %D%/docs.sh \
  %D%/full_disk_run.sh \
  %D%/jobs.sh \
  %D%/packaging.sh \
  %D%/parameter_pages.sh \
  %D%/plots.sh \
  %D%/plots_input.sh \
  %D%/rules.sh \
  %D%/scaling.sh \
  %D%/several_files.sh
# Those by script that are of use below sanitizers: the others are about shell scripts, Python and documents, end by SIGKILL, or count
# what the same code does.
sanitized_tests = \
  %D%/check.sh \
  %D%/cli.sh \
  %D%/files_ranks.sh \
  %D%/full_disk.sh \
  %D%/full_disk_run.sh \
  %D%/launch.sh \
  %D%/ranks.sh \
  %D%/restart.sh \
  %D%/several_files.sh \
  %D%/soft_steps.sh \
  %D%/stops.sh \
  %D%/tuning.sh \
  %D%/unsound.sh \
  %D%/watchdog.sh
# Programs that scripts start.
test_helpers = \
  %D%/full_disk \
  %D%/make_snapshot \
  %D%/poison
# The second tier, of minutes each: make check-slow.
slow_tests = \
  %D%/slow/chain.sh \
  %D%/slow/configure.sh \
  %D%/slow/distcheck.sh \
  %D%/slow/emulator.sh \
  %D%/slow/energy.sh \
  %D%/slow/killed.sh \
  %D%/slow/sanitizers.sh \
  %D%/slow/slurm.sh \
  %D%/slow/valgrind.sh
# Kernels without a device.
emulator_files = \
  %D%/emulator/emu.cc \
  %D%/emulator/emulate.sh \
  %D%/emulator/inc/cub/device/device_radix_sort.cuh \
  %D%/emulator/inc/cub/device/device_scan.cuh \
  %D%/emulator/inc/cub/device/device_select.cuh \
  %D%/emulator/inc/cuda_runtime.h \
  %D%/emulator/inc/nvtx3/nvToolsExt.h \
  %D%/emulator/inc/thrust/iterator/counting_iterator.h \
  %D%/emulator/inc/thrust/iterator/transform_iterator.h
check_PROGRAMS += $(unit_tests) $(mpi_tests) $(test_helpers)
TESTS += $(unit_tests) $(mpi_tests) $(script_tests)
EXTRA_DIST += \
  $(script_tests) \
  $(slow_tests) \
  %D%/slurm/cluster \
  %D%/slurm/same.py \
  %D%/plots_input.py \
  %D%/plots_layout.py \
  %D%/tap.sh \
  %D%/restart_common.sh \
  %D%/slow/common.sh \
  %D%/lsan.supp \
  %D%/valgrind.supp \
  $(emulator_files)

# With its own summary, so that the logs of make check stay as they are; one after the other, since each uses all cores.
check-slow: all
	$(MAKE) $(AM_MAKEFLAGS) -j1 check TESTS='$(slow_tests)' TEST_SUITE_LOG=slow-suite.log
.PHONY: check-slow
CLEANFILES += slow-suite.log
clean-local:
	-chmod -R u+w slow-sanitizers slow-valgrind slow-chain slow-distcheck slow-emulator slow-energy slow-slurm 2>/dev/null
	-rm -rf slow-sanitizers slow-valgrind slow-chain slow-distcheck slow-emulator slow-energy slow-slurm

%C%_checkpoint_mpi_SOURCES = %D%/checkpoint.c %D%/chance.h %D%/files.h %D%/tap.h
%C%_guard_mpi_SOURCES = %D%/guard.c %D%/files.h %D%/tap.h
%C%_poison_SOURCES = %D%/poison.c
%C%_comm_mpi_SOURCES = %D%/comm.c %D%/tap.h
%C%_particles_SOURCES = %D%/particles.c %D%/tap.h
%C%_snapshot_mpi_SOURCES = %D%/snapshot.c %D%/files.h %D%/tap.h
%C%_snapshot_files_mpi_SOURCES = %D%/snapshot_files.c %D%/files.h %D%/tap.h
%C%_params_SOURCES = %D%/params.c %D%/tap.h
%C%_units_SOURCES = %D%/units.c %D%/tap.h
%C%_ic_SOURCES = %D%/ic.c %D%/tap.h
%C%_ic_ranks_mpi_SOURCES = %D%/ic_ranks.c %D%/tap.h
%C%_formats_mpi_SOURCES = %D%/formats.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_bad_input_mpi_SOURCES = %D%/bad_input.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_fuzz_input_mpi_SOURCES = %D%/fuzz_input.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_full_disk_SOURCES = %D%/full_disk.c %D%/files.h %D%/tap.h
%C%_make_snapshot_SOURCES = %D%/make_snapshot.c %D%/files.h %D%/tap.h
%C%_cuts_ranks_mpi_SOURCES = %D%/cuts_ranks.c %D%/chance.h %D%/cuts.h %D%/tap.h
%C%_domain_SOURCES = %D%/domain.c %D%/chance.h %D%/cuts.h %D%/tap.h
%C%_domain_ranks_mpi_SOURCES = %D%/domain_ranks.c %D%/chance.h %D%/everywhere.h %D%/tap.h
%C%_essential_SOURCES = %D%/essential.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_keys_SOURCES = %D%/keys.c %D%/chance.h %D%/tap.h
%C%_last_words_SOURCES = %D%/last_words.c %D%/tap.h
%C%_lattice_SOURCES = %D%/lattice.c %D%/chance.h %D%/tap.h
%C%_lets_SOURCES = %D%/lets.c %D%/chance.h %D%/house.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_mac_SOURCES = %D%/mac.c %D%/chance.h %D%/tap.h
%C%_neighbours_SOURCES = %D%/neighbours.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h %D%/walks.h
%C%_outputs_SOURCES = %D%/outputs.c %D%/tap.h
%C%_depth_first_SOURCES = %D%/depth_first.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_pairwise_SOURCES = %D%/pairwise.c %D%/chance.h %D%/rig.h %D%/sets.h %D%/tap.h
%C%_placement_SOURCES = %D%/placement.c %D%/tap.h
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
%C%_force_ranks_mpi_SOURCES = %D%/force_ranks.c %D%/chance.h %D%/everywhere.h %D%/sets.h %D%/tap.h
%C%_study_mpi_SOURCES = %D%/study.c %D%/chance.h %D%/sets.h %D%/tap.h
