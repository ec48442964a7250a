# nvcc or hipcc compiles whole translation units (no -rdc): no device link, so $(CC) links. The table is C.
SUFFIXES = .cu
AM_V_GPU = $(AM_V_GPU_@AM_V@)
AM_V_GPU_ = $(AM_V_GPU_@AM_DEFAULT_V@)
AM_V_GPU_0 = @echo "  GPU     " $@;
GPU_ALL = $(GPU_COMPILE) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(GPU_FLAGS)
.cu.o:
	$(AM_V_GPU)$(MKDIR_P) $(@D) && $(GPU_ALL) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@
%D%/neighbour_lists/unit_loop.o: GPU_FLAGS += $(GPU_CALLS)

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
if HAVE_GPU
libespalier_a_SOURCES += $(gpu_sources)
-include $(wildcard %D%/*/*.d)
endif
EXTRA_DIST += $(gpu_sources) %D%/README.md
CLEANFILES += %D%/*/*.d
