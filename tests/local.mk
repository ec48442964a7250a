# A test prints TAP. NAME runs on one rank; NAME.mpi runs on several rank counts (tests/ranks).
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
TEST_EXTENSIONS = .mpi .sh
LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_COMPILER = $(MPIRUN) $(MPIRUN_FLAGS) -n $(NP)
SH_LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = $(SHELL)

unit_tests = %D%/particles %D%/params %D%/units %D%/ic
mpi_tests = %D%/ic_ranks.mpi
script_tests = %D%/cli.sh %D%/parameter_pages.sh
check_PROGRAMS += $(unit_tests) $(mpi_tests)
TESTS += $(unit_tests) $(mpi_tests) $(script_tests)
EXTRA_DIST += $(script_tests)

%C%_particles_SOURCES = %D%/particles.c %D%/tap.h
%C%_params_SOURCES = %D%/params.c %D%/tap.h
%C%_units_SOURCES = %D%/units.c %D%/tap.h
%C%_ic_SOURCES = %D%/ic.c %D%/tap.h
%C%_ic_ranks_mpi_SOURCES = %D%/ic_ranks.c %D%/tap.h
