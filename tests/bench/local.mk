# hard_bench and neighbour_list_bench measure hard forces; not part of `all`: make tests/bench/hard_bench.
if HAVE_CUDA
EXTRA_PROGRAMS = %D%/hard_bench %D%/neighbour_list_bench
%C%_hard_bench_SOURCES = %D%/hard_bench.cu
%C%_neighbour_list_bench_SOURCES = %D%/neighbour_list_bench.cu
-include $(wildcard %D%/*.d)
endif
EXTRA_DIST += %D%/hard_bench.cu %D%/neighbour_list_bench.cu %D%/memory.sh
CLEANFILES += %D%/*.d %D%/hard_bench %D%/neighbour_list_bench
