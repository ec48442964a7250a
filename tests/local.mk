# A test prints TAP. NAME runs on one rank; NAME.mpi runs on several rank counts (tests/ranks).
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
TEST_EXTENSIONS = .mpi .sh
LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_DRIVER = $(TAP_DRIVER)
MPI_LOG_COMPILER = $(MPIRUN) $(MPIRUN_FLAGS) -n $(NP)
SH_LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = $(SHELL)

unit_tests = %D%/particles
mpi_tests = %D%/snapshot.mpi %D%/formats.mpi %D%/bad_input.mpi %D%/fuzz_input.mpi
script_tests = %D%/files_ranks.sh %D%/full_disk.sh %D%/yt.sh
test_helpers = %D%/full_disk %D%/make_snapshot
check_PROGRAMS += $(unit_tests) $(mpi_tests) $(test_helpers)
AM_TESTS_ENVIRONMENT += MPIRUN='$(MPIRUN) $(MPIRUN_FLAGS)'; export MPIRUN;
TESTS += $(unit_tests) $(mpi_tests) $(script_tests)
EXTRA_DIST += $(script_tests)

%C%_particles_SOURCES = %D%/particles.c %D%/tap.h
%C%_snapshot_mpi_SOURCES = %D%/snapshot.c %D%/files.h %D%/tap.h
%C%_formats_mpi_SOURCES = %D%/formats.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_bad_input_mpi_SOURCES = %D%/bad_input.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_fuzz_input_mpi_SOURCES = %D%/fuzz_input.c %D%/writers.h %D%/files.h %D%/tap.h
%C%_full_disk_SOURCES = %D%/full_disk.c %D%/files.h %D%/tap.h
%C%_make_snapshot_SOURCES = %D%/make_snapshot.c %D%/files.h %D%/tap.h
