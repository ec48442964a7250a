# A test prints TAP. NAME runs on one rank; NAME.mpi runs on several rank counts (tests/ranks).
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/tests/seconds.sh \
  $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
TEST_EXTENSIONS = .mpi .sh
LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_COMPILER = $(MPIRUN) $(MPIRUN_FLAGS) -n $(NP)
SH_LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = $(SHELL)
# Tests start more threads than there are cores: those that wait sleep, and leave the core to those that work.
AM_TESTS_ENVIRONMENT += OMP_WAIT_POLICY=$${OMP_WAIT_POLICY:-passive}; export OMP_WAIT_POLICY;
# Where a rank of Open MPI ends with an error, mpirun sleeps for one or two seconds between SIGTERM and SIGKILL, even if
# all have ended: that is a minute for tests of bad input. The program's ranks end together, and have said why before;
# watchdog.sh kills one, and takes the default.
AM_TESTS_ENVIRONMENT += OMPI_MCA_odls_base_sigkill_timeout=$${OMPI_MCA_odls_base_sigkill_timeout:-0}; \
  export OMPI_MCA_odls_base_sigkill_timeout;
# Open MPI counts the cores of the machine, not those of a lane (lane.sh), so ranks that wait would not yield where two
# share its core: each message then takes a time slice.
AM_TESTS_ENVIRONMENT += OMPI_MCA_mpi_yield_when_idle=$${OMPI_MCA_mpi_yield_when_idle:-1}; \
  export OMPI_MCA_mpi_yield_when_idle;

unit_tests = \
  %D%/bound \
  %D%/bound_pairs \
  %D%/brent \
  %D%/choice \
  %D%/choices \
  %D%/collisions \
  %D%/debug \
  %D%/decimal \
  %D%/depth_first \
  %D%/domain \
  %D%/efficiency \
  %D%/essential \
  %D%/few_bodies \
  %D%/field \
  %D%/finder \
  %D%/force \
  %D%/galaxy \
  %D%/galaxy_discs \
  %D%/hierarchies \
  %D%/neighbour_list_verbs \
  %D%/ic \
  %D%/ic_multiples \
  %D%/ic_populations \
  %D%/ic_stars \
  %D%/job \
  %D%/kepler \
  %D%/keys \
  %D%/last_words \
  %D%/lattice \
  %D%/let_pairs \
  %D%/let_protocol \
  %D%/lets \
  %D%/lets_joined \
  %D%/mac \
  %D%/margin \
  %D%/machine_fit \
  %D%/massless \
  %D%/multiples \
  %D%/neighbours \
  %D%/octree \
  %D%/outputs \
  %D%/pair \
  %D%/pair_steps \
  %D%/pairwise \
  %D%/accuracy \
  %D%/params \
  %D%/params_units \
  %D%/particles \
  %D%/physics \
  %D%/placement \
  %D%/plan \
  %D%/replay \
  %D%/reorder \
  %D%/resolved_pairs \
  %D%/schedule \
  %D%/split \
  %D%/softening \
  %D%/soft_walk \
  %D%/stages \
  %D%/stall \
  %D%/sparse \
  %D%/spool \
  %D%/timeline \
  %D%/tuner \
  %D%/cosmology \
  %D%/unit_forces \
  %D%/unit_mail \
  %D%/unit_verbs \
  %D%/units \
  %D%/upper \
  %D%/verbs \
  %D%/walk \
  %D%/walk_active
mpi_tests = \
  %D%/amuse_model.mpi \
  %D%/analysis_ranks.mpi \
  %D%/bad_input.mpi \
  %D%/bad_storage.mpi \
  %D%/checkpoint.mpi \
  %D%/comm.mpi \
  %D%/contract.mpi \
  %D%/expansion.mpi \
  %D%/energy_ranks.mpi \
  %D%/cuts_ranks.mpi \
  %D%/domain_ranks.mpi \
  %D%/fof_ranks.mpi \
  %D%/force_ranks.mpi \
  %D%/formats.mpi \
  %D%/frame_ranks.mpi \
  %D%/fuzz_input.mpi \
  %D%/galaxy_ranks.mpi \
  %D%/guard.mpi \
  %D%/halo_ranks.mpi \
  %D%/hard_ranks.mpi \
  %D%/ic_ranks.mpi \
  %D%/changes.mpi \
  %D%/library.mpi \
  %D%/snapshot.mpi \
  %D%/snapshot_faults.mpi \
  %D%/snapshot_files.mpi \
  %D%/stages_ranks.mpi \
  %D%/step_ranks.mpi \
  %D%/study.mpi
script_tests = \
  %D%/analysis.sh \
  %D%/binaries_run.sh \
  %D%/check.sh \
  %D%/cli.sh \
  %D%/changes_runs.sh \
  %D%/close_pairs.sh \
  %D%/cluster_runs.sh \
  %D%/cluster_table.sh \
  %D%/collision_runs.sh \
  %D%/comm_ranks.sh \
  %D%/traces.sh \
  %D%/comoving.sh \
  %D%/determinism.sh \
  %D%/convert.sh \
  %D%/convert_files.sh \
  %D%/docs.sh \
  %D%/files_ranks.sh \
  %D%/find.sh \
  %D%/fof.sh \
  %D%/folders.sh \
  %D%/force_at.sh \
  %D%/external.sh \
  %D%/frame.sh \
  %D%/full_disk.sh \
  %D%/full_disk_run.sh \
  %D%/interfaces.sh \
  %D%/galaxy_command.sh \
  %D%/galaxy_programs.sh \
  %D%/jobs.sh \
  %D%/killed.sh \
  %D%/launch.sh \
  %D%/massless_runs.sh \
  %D%/memory.sh \
  %D%/packaging.sh \
  %D%/pairs_energy.sh \
  %D%/parameter_pages.sh \
  %D%/planning.sh \
  %D%/plots.sh \
  %D%/plots_analysis.sh \
  %D%/plots_binaries.sh \
  %D%/plots_galaxy.sh \
  %D%/plots_input.sh \
  %D%/plots_maps.sh \
  %D%/plots_model.sh \
  %D%/plots_units.sh \
  %D%/pynbody.sh \
  %D%/python.sh \
  %D%/python_process.sh \
  %D%/quickstart.sh \
  %D%/ranks.sh \
  %D%/restart.sh \
  %D%/rules.sh \
  %D%/scheme.sh \
  %D%/scaling.sh \
  %D%/schemes.sh \
  %D%/several_files.sh \
  %D%/softening_runs.sh \
  %D%/shellcheck.sh \
  %D%/soft_steps.sh \
  %D%/ic_files.sh \
  %D%/interrupt.sh \
  %D%/signals.sh \
  %D%/star_units.sh \
  %D%/device_ranks.sh \
  %D%/stops.sh \
  %D%/study_ranks.sh \
  %D%/study_steps.sh \
  %D%/study_time.sh \
  %D%/system_check.sh \
  %D%/terminal.sh \
  %D%/true_energy.sh \
  %D%/tuning.sh \
  %D%/units_files.sh \
  %D%/units_of_file.sh \
  %D%/values_with_units.sh \
  %D%/unsound.sh \
  %D%/unwritten.sh \
  %D%/watchdog.sh \
  %D%/yt.sh
# Those by script that measure times: they run alone, whatever -j says.
alone_tests = \
  %D%/tuning.sh
# Those that take longest begin first, so that two end at about the same time.
long_tests = \
  %D%/ranks.sh \
  %D%/plots.sh \
  %D%/stops.sh \
  %D%/watchdog.sh \
  %D%/comoving.sh \
  %D%/scaling.sh \
  %D%/plots_model.sh \
  %D%/plots_maps.sh \
  %D%/plots_galaxy.sh \
  %D%/plots_input.sh \
  %D%/external.sh \
  %D%/folders.sh \
  %D%/rules.sh \
  %D%/study_time.sh \
  %D%/traces.sh \
  %D%/cuts_ranks.mpi
# Those by script that take seconds: rules of the source tree, pages, the command line.
quick_scripts = \
  %D%/convert.sh \
  %D%/docs.sh \
  %D%/folders.sh \
  %D%/interfaces.sh \
  %D%/packaging.sh \
  %D%/parameter_pages.sh \
  %D%/quickstart.sh \
  %D%/rules.sh \
  %D%/shellcheck.sh \
  %D%/system_check.sh \
  %D%/units_files.sh
# Those that read files of the source tree, and could miss one in a tarball: slow/distcheck.sh has only these run again.
tarball_tests = \
  %D%/bad_input.mpi \
  %D%/cli.sh \
  %D%/docs.sh \
  %D%/full_disk_run.sh \
  %D%/ic_files.sh \
  %D%/interfaces.sh \
  %D%/jobs.sh \
  %D%/packaging.sh \
  %D%/parameter_pages.sh \
  %D%/plots.sh \
  %D%/plots_input.sh \
  %D%/plots_maps.sh \
  %D%/plots_model.sh \
  %D%/quickstart.sh \
  %D%/rules.sh \
  %D%/scaling.sh \
  %D%/schemes.sh \
  %D%/several_files.sh \
  %D%/shellcheck.sh
# Those by script whose C code no unit test runs, for sanitizers: the others are about shell scripts, Python and
# documents, end by SIGKILL, wait for clocks, or run what these run.
sanitized_tests = \
  %D%/check.sh \
  %D%/cli.sh \
  %D%/cluster_runs.sh \
  %D%/files_ranks.sh \
  %D%/find.sh \
  %D%/external.sh \
  %D%/fof.sh \
  %D%/frame.sh \
  %D%/full_disk.sh \
  %D%/full_disk_run.sh \
  %D%/restart.sh \
  %D%/scheme.sh \
  %D%/several_files.sh \
  %D%/soft_steps.sh \
  %D%/interrupt.sh \
  %D%/unsound.sh \
  %D%/unwritten.sh
# Programs that scripts start.
test_helpers = \
  %D%/full_disk \
  %D%/make_snapshot \
  %D%/pending \
  %D%/poison \
  %D%/true_energy
# Those for which sanitizers take minutes, and whose code others run as well: the third tier has them.
unsanitized_tests = \
  %D%/check.sh \
  %D%/cli.sh \
  %D%/cluster_runs.sh \
  %D%/external.sh \
  %D%/files_ranks.sh \
  %D%/restart.sh \
  %D%/scheme.sh \
  %D%/galaxy_discs \
  %D%/interrupt.sh \
  %D%/several_files.sh \
  %D%/soft_steps.sh \
  %D%/unwritten.sh \
  %D%/fof.sh \
  %D%/force \
  %D%/frame.sh \
  %D%/full_disk_run.sh \
  %D%/cuts_ranks.mpi \
  %D%/energy_ranks.mpi \
  %D%/expansion.mpi \
  %D%/few_bodies \
  %D%/force_ranks.mpi \
  %D%/ic \
  %D%/ic_multiples \
  %D%/ic_populations \
  %D%/ic_stars \
  %D%/let_pairs \
  %D%/lets_joined \
  %D%/massless \
  %D%/pair_steps \
  %D%/reorder \
  %D%/snapshot_faults.mpi \
  %D%/soft_walk \
  %D%/step_ranks.mpi \
  %D%/study.mpi \
  %D%/walk \
  %D%/walk_active
# The second tier, of minutes each: make check-slow. These run two at a time, the longest first; slow_alone after them,
# one by one, since they send signals at certain moments.
slow_together = \
  %D%/slow/sanitized_units.sh \
  %D%/slow/hip.sh \
  %D%/slow/emulator.sh \
  %D%/slow/faults.sh \
  %D%/slow/slurm.sh \
  %D%/slow/valgrind.sh \
  %D%/slow/many_ranks.sh \
  %D%/slow/sanitized_scripts.sh \
  %D%/slow/clusters.sh \
  %D%/slow/chain.sh \
  %D%/slow/site.sh \
  %D%/slow/configure.sh
slow_alone = \
  %D%/slow/killed.sh
# The third tier, before a release: make check-release. What users get beside the program: a tarball, packages, the
# tutorials, the gallery, the worker for AMUSE, traces for SimGrid.
release_tests = \
  %D%/slow/sanitizers_all.sh \
  %D%/slow/emulator_all.sh \
  %D%/slow/emulator_64.sh \
  %D%/slow/energy.sh \
  %D%/slow/killed_often.sh \
  %D%/slow/distcheck.sh \
  %D%/slow/packages.sh \
  %D%/slow/tutorials.sh \
  %D%/slow/amuse.sh \
  %D%/slow/gallery.sh \
  %D%/slow/simgrid.sh
slow_tests = $(slow_together) $(slow_alone) $(release_tests)
# These run in the build of those.
%D%/slow/sanitized_scripts.log: %D%/slow/sanitized_units.log
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
# NAME and NAME.mpi have the source NAME.c.
test_headers = %D%/binaries.h %D%/chance.h %D%/cuts.h %D%/everywhere.h %D%/files.h %D%/house.h %D%/ic_sets.h \
  %D%/kernels.h %D%/list_rig.h %D%/orbits.h %D%/ranks.h %D%/ranks_case.h %D%/reference.h %D%/rig.h %D%/set_params.h \
  %D%/sets.h %D%/soft_sums.h %D%/sums_ranks.h %D%/tap.h %D%/trace.h %D%/walks.h %D%/writers.h
check_PROGRAMS += $(unit_tests) $(mpi_tests) $(test_helpers)
# Unit tests come first: their answer is there within a minute.
TESTS += $(unit_tests) $(mpi_tests) $(script_tests)
EXTRA_DIST += \
  $(test_headers) \
  $(script_tests) \
  $(slow_tests) \
  %D%/slow/sanitizers.sh \
  %D%/agama_stub.c \
  %D%/slurm/cluster \
  %D%/galaxy_programs.py \
  %D%/interfaces.py \
  %D%/plots_galaxy.py \
  %D%/plots_input.py \
  %D%/plots_maps.py \
  %D%/python.py \
  %D%/python_process.py \
  %D%/plots_layout.py \
  %D%/plots_starter.py \
  %D%/cluster_table.py \
  %D%/comoving.py \
  %D%/rules_code.py \
  %D%/schemes.py \
  %D%/lane.sh \
  %D%/seconds.sh \
  %D%/recipe.sh \
  %D%/harness.sh \
  %D%/judge.py \
  %D%/codespell-words \
  %D%/slow/common.sh \
  %D%/fuzz/README.md \
  %D%/fuzz/asan.supp \
  %D%/fuzz/fuzz.c \
  %D%/fuzz/fuzz.sh \
  %D%/slow/fault_runs.py \
  %D%/slow/fault_shim.c \
  %D%/slow/faults.py \
  %D%/slow/faults_aimed.py \
  %D%/lsan.supp \
  %D%/valgrind.supp \
  $(emulator_files)

# Parts of the tests, each with summaries of its own, so that the logs of make check stay as they are:
#   check-quick      unit tests, then those of MPI, rules and pages: under two minutes on two cores, compilation of the
#                    tests included
#   check-together   all of make check, TESTS_AT_ONCE at a time where a busy machine cannot break them
#   check-slow       the second tier
#   check-release    the third tier
# The targets go on after a failure and then fail.
TESTS_AT_ONCE = 2
# Ranks are not bound to cores, since two programs that run at once would be bound to the same; the lines of a test stay
# together.
SUITE = OMPI_MCA_hwloc_base_binding_policy=$${OMPI_MCA_hwloc_base_binding_policy:-none} \
  $(MAKE) $(AM_MAKEFLAGS) -j$(TESTS_AT_ONCE) -Otarget check
# Tests of MPI and by script, two at a time, have half of the cores each; the former two threads a rank, on two cores as
# everywhere.
LANE = $(SHELL) $(top_srcdir)/tests/lane.sh
LANES = $(SUITE) SH_LOG_COMPILER='$(LANE) $(SHELL)' \
  MPI_LOG_COMPILER='env OMP_NUM_THREADS=$${OMP_NUM_THREADS:-2} $(LANE) $(MPI_LOG_COMPILER)'
# Programs are compiled side by side all the same. Optimisation of these takes longer than their unoptimised code runs.
brief_tests = %D%/few_bodies %D%/hierarchies %D%/kepler %D%/resolved_pairs %D%/unit_forces %D%/unit_mail \
  %D%/unit_verbs
COMPILED = $(MAKE) $(AM_MAKEFLAGS) -j$(TESTS_AT_ONCE) CFLAGS='$(CFLAGS) -O1' $(brief_tests) && \
  $(MAKE) $(AM_MAKEFLAGS) -j$(TESTS_AT_ONCE) $(check_PROGRAMS)
ALONE = $(COMPILED) && $(MAKE) $(AM_MAKEFLAGS) -j1 check
check-quick: all
	$(ALONE) TESTS='$(unit_tests) $(mpi_tests) $(quick_scripts)' TEST_SUITE_LOG=quick-suite.log
check-together: all
	status=0; rm -f test-seconds; \
	$(COMPILED) && $(LANES) TESTS='$(unit_tests)' TEST_SUITE_LOG=unit-suite.log LOG_COMPILER='$(LANE)' || status=1; \
	$(LANES) TESTS='$(long_tests) $(filter-out $(long_tests) $(alone_tests),$(mpi_tests) $(script_tests))' \
	  TEST_SUITE_LOG=together-suite.log || status=1; \
	$(ALONE) TESTS='$(alone_tests)' TEST_SUITE_LOG=alone-suite.log || status=1; exit $$status
check-slow: all
	status=0; rm -f test-seconds; \
	$(LANES) TESTS='$(slow_together)' TEST_SUITE_LOG=slow-suite.log || status=1; \
	$(ALONE) TESTS='$(slow_alone)' TEST_SUITE_LOG=slow-alone-suite.log || status=1; exit $$status
check-release: all
	rm -f test-seconds; $(LANES) TESTS='$(release_tests)' TEST_SUITE_LOG=release-suite.log
.PHONY: check-quick check-together check-slow check-release
CLEANFILES += test-seconds lane-1.lock lane-2.lock quick-suite.log unit-suite.log together-suite.log alone-suite.log \
  slow-suite.log slow-alone-suite.log release-suite.log
slow_folders = slow-sanitizers slow-valgrind slow-chain slow-clusters slow-distcheck slow-emulator slow-emulator-64 \
  slow-gallery slow-energy slow-faults slow-hip slow-packages slow-simgrid slow-slurm
clean-local:
	-chmod -R u+w $(slow_folders) 2>/dev/null
	-rm -rf fuzz-* $(slow_folders)

# Roots that need not set errno are computed as vectors.
%C%_true_energy_CFLAGS = $(AM_CFLAGS) -fno-math-errno
%C%_amuse_model_mpi_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/src/api   # as of an installed library
%C%_amuse_model_mpi_LDADD = $(LIBRARY_SHARED) -lm
%C%_amuse_model_mpi_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,$(abs_top_builddir)/lib
# The shared library, as a user's program has it.
%C%_changes_mpi_LDADD = $(LIBRARY_SHARED) -lm
%C%_changes_mpi_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,$(abs_top_builddir)/lib
%C%_library_mpi_LDADD = $(LIBRARY_SHARED) -lm
%C%_library_mpi_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,$(abs_top_builddir)/lib
