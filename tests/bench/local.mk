# hard_bench and hermite_bench measure hard forces; not part of `all`: make tests/bench/hard_bench.
if HAVE_CUDA
EXTRA_PROGRAMS = %D%/hard_bench %D%/hermite_bench
%C%_hard_bench_SOURCES = %D%/hard_bench.cu
%C%_hermite_bench_SOURCES = %D%/hermite_bench.cu
-include $(wildcard %D%/*.d)
endif
EXTRA_DIST += %D%/hard_bench.cu %D%/hermite_bench.cu %D%/memory.sh
CLEANFILES += %D%/*.d %D%/hard_bench %D%/hermite_bench
