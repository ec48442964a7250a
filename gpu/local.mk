# nvcc compiles whole translation units (no -rdc): no device link, so $(CC) links. The table is C.
SUFFIXES = .cu
AM_V_NVCC = $(AM_V_NVCC_@AM_V@)
AM_V_NVCC_ = $(AM_V_NVCC_@AM_DEFAULT_V@)
AM_V_NVCC_0 = @echo "  NVCC    " $@;
NVCC_ALL = $(NVCC) -std=c++17 -Xcompiler -fPIC,-fvisibility=hidden,-Wswitch $(CUDA_GENCODE) $(DEFS) \
  $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(NVCCFLAGS)
.cu.o:
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && $(NVCC_ALL) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

gpu_sources =
include %D%/device/local.mk
include %D%/tree/local.mk
include %D%/walk/local.mk
include %D%/hard_walk/local.mk
include %D%/neighbour_lists/local.mk
include %D%/direct/local.mk
include %D%/let/local.mk
include %D%/exchange/local.mk
include %D%/step/local.mk
if HAVE_CUDA
libespalier_a_SOURCES += $(gpu_sources)
-include $(wildcard %D%/*/*.d)
endif
EXTRA_DIST += $(gpu_sources) %D%/README.md
CLEANFILES += %D%/*/*.d
