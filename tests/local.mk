# A test prints TAP. NAME runs on one rank; NAME.mpi runs on several rank counts (tests/ranks).
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
TEST_EXTENSIONS = .mpi .sh
LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_COMPILER = $(MPIRUN) $(MPIRUN_FLAGS) -n $(NP)
SH_LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = $(SHELL)

unit_tests = %D%/particles %D%/params %D%/units %D%/ic
mpi_tests = %D%/snapshot.mpi %D%/ic_ranks.mpi
script_tests = %D%/rules.sh %D%/cli.sh %D%/parameter_pages.sh
# The second tier, of minutes each: make check-slow.
slow_tests = %D%/slow/sanitizers.sh %D%/slow/valgrind.sh %D%/slow/distcheck.sh
check_PROGRAMS += $(unit_tests) $(mpi_tests)
TESTS += $(unit_tests) $(mpi_tests) $(script_tests)
EXTRA_DIST += $(script_tests) $(slow_tests) %D%/slow/common.sh %D%/lsan.supp %D%/valgrind.supp

# With its own summary, so that the logs of make check stay as they are; one after the other, since each uses all cores.
check-slow: all
	$(MAKE) $(AM_MAKEFLAGS) -j1 check TESTS='$(slow_tests)' TEST_SUITE_LOG=slow-suite.log
.PHONY: check-slow
CLEANFILES += slow-suite.log
clean-local:
	-chmod -R u+w slow-sanitizers slow-valgrind slow-distcheck 2>/dev/null
	-rm -rf slow-sanitizers slow-valgrind slow-distcheck

%C%_particles_SOURCES = %D%/particles.c %D%/tap.h
%C%_params_SOURCES = %D%/params.c %D%/tap.h
%C%_units_SOURCES = %D%/units.c %D%/tap.h
%C%_ic_SOURCES = %D%/ic.c %D%/tap.h
%C%_ic_ranks_mpi_SOURCES = %D%/ic_ranks.c %D%/tap.h
%C%_snapshot_mpi_SOURCES = %D%/snapshot.c %D%/files.h %D%/tap.h
