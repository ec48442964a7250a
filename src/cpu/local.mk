EXTRA_DIST += %D%/README.md
libespalier_a_SOURCES += \
  %D%/active.c \
  %D%/backend_cpu.c \
  %D%/build.c \
  %D%/device.c \
  %D%/device.h \
  %D%/direct.c \
  %D%/energy.c \
  %D%/groups.c \
  %D%/integrate.c \
  %D%/let.c \
  %D%/list_isa.h \
  %D%/moments.c \
  %D%/order.c \
  %D%/pair_loops.h \
  %D%/simd.h \
  %D%/update.c \
  %D%/walk.c \
  %D%/walk_isa.h \
  %D%/walk_parts.h \
  %D%/walk_results.c

# The inner loops once per instruction set. Fast-math is right for them alone: lists hold finite numbers only, and sums
# may be reordered.
KERNEL_FLAGS = -O3 -ffast-math -fno-math-errno -Wno-psabi
noinst_LIBRARIES += libkernels_generic.a
KERNEL_LIBS = libkernels_generic.a
libkernels_generic_a_SOURCES = %D%/list_isa.c %D%/walk_isa.c
libkernels_generic_a_CPPFLAGS = $(AM_CPPFLAGS) -DESP_ISA=generic
libkernels_generic_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_FLAGS)
if HAVE_X86_V3
noinst_LIBRARIES += libkernels_avx2.a
KERNEL_LIBS += libkernels_avx2.a
libkernels_avx2_a_SOURCES = %D%/list_isa.c %D%/walk_isa.c
libkernels_avx2_a_CPPFLAGS = $(AM_CPPFLAGS) -DESP_ISA=avx2
libkernels_avx2_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_FLAGS) $(X86_V3_CFLAGS)
endif
if HAVE_X86_V4
noinst_LIBRARIES += libkernels_avx512.a
KERNEL_LIBS += libkernels_avx512.a
libkernels_avx512_a_SOURCES = %D%/list_isa.c %D%/walk_isa.c
libkernels_avx512_a_CPPFLAGS = $(AM_CPPFLAGS) -DESP_ISA=avx512
libkernels_avx512_a_CFLAGS = $(AM_CFLAGS) $(KERNEL_FLAGS) $(X86_V4_CFLAGS)
endif
