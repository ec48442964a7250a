# nvcc compiles whole translation units (no -rdc): no device link, so $(CC) links. The table is C.
SUFFIXES = .cu
AM_V_NVCC = $(AM_V_NVCC_@AM_V@)
AM_V_NVCC_ = $(AM_V_NVCC_@AM_DEFAULT_V@)
AM_V_NVCC_0 = @echo "  NVCC    " $@;
NVCC_ALL = $(NVCC) -std=c++17 $(CUDA_GENCODE) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(NVCCFLAGS)
.cu.o:
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && $(NVCC_ALL) -MMD -MF $(@:.o=.d) -MT $@ -c $< -o $@

gpu_sources = %D%/backend_cuda.c %D%/blocks.cuh %D%/boxes.cu %D%/build.cu %D%/cells.cuh %D%/check.cu %D%/choice.cuh %D%/choose.cu %D%/choose.h %D%/depth_first.cu \
  %D%/depth_first.cuh %D%/device.cu %D%/device.cuh %D%/direct.cu %D%/exchange.cu %D%/family.cu %D%/few_walk.cu %D%/forest.cu %D%/group_walk.cu \
  %D%/groups.cu %D%/items.cu %D%/hard.cu %D%/hard.cuh %D%/integrate.cu %D%/let.cuh %D%/lists.cuh %D%/memory.cu %D%/memory.cuh %D%/moments.cu \
  %D%/nccl.cu %D%/neighbours.cu %D%/neighbours.cuh %D%/neighbours_make.cu %D%/order.cu %D%/order.cuh %D%/pack.cu %D%/pairs.cuh %D%/pairwise.cu %D%/pairwise.cuh \
  %D%/permute.cu %D%/ranges.cu %D%/reduce.cuh %D%/resort.cu %D%/results.cuh %D%/select.cuh %D%/sets.cu %D%/sources.cuh %D%/stall.cu %D%/taylor.cuh %D%/team.cuh %D%/traverse.cuh %D%/update.cu %D%/verbs.h \
  %D%/walk.cu %D%/walk.cuh
if HAVE_CUDA
libespalier_a_SOURCES += $(gpu_sources)
# measures hard forces; not part of `all`
EXTRA_PROGRAMS = %D%/hard_bench
gpu_hard_bench_SOURCES = %D%/hard_bench.cu
-include $(wildcard %D%/*.d)
endif
EXTRA_DIST += $(gpu_sources) %D%/hard_bench.cu %D%/README.md
CLEANFILES += %D%/*.d %D%/hard_bench
