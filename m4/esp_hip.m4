# SPDX-License-Identifier: GPL-3.0-or-later
# ESP_HIP: hipcc compiles, and CC links its object file with the HIP runtime. After ESP_CUDA.
#   --with-hip[=LIST]          architectures of AMD devices, e.g. gfx90a,gfx942; without a list gfx90a
# Both macros set what makes the backend of gpu/: GPU_COMPILE and GPU_FLAGS, GPU_LDFLAGS and GPU_LIBS. GPU_CALLS: flags
# of the file with the largest kernels, in which hipcc would else inline every function, for hours.
AC_DEFUN([ESP_HIP], [
AC_ARG_VAR([HIPCC], [HIP compiler]) AC_ARG_VAR([HIPCCFLAGS], [its flags])
AC_ARG_WITH([hip], [AS_HELP_STRING([--with-hip@<:@=LIST@:>@], [backend for AMD GPUs of these architectures, in place of CUDA @<:@gfx90a@:>@])],
  [], [with_hip=no])
esp_hip=no esp_hip_summary=no
AS_IF([test "x$with_hip" != xno], [
  AS_CASE([$with_hip], [yes], [with_hip=gfx90a])
  AC_PATH_PROG([HIPCC], [hipcc], [], [$PATH:/opt/rocm/bin])
  AS_IF([test "x$HIPCC" = x], [AC_MSG_FAILURE([--with-hip was given, and there is no hipcc])])
  : ${HIPCCFLAGS="-O3"}
  GPU_CALLS=-fno-inline-functions
  esp_archs=
  for esp_arch in $(echo "$with_hip" | tr , ' '); do esp_archs="$esp_archs --offload-arch=$esp_arch"; done
  GPU_COMPILE="$HIPCC -x hip -std=c++17 -fPIC -fvisibility=hidden -Wno-unused-result $esp_archs" GPU_FLAGS=$HIPCCFLAGS
  GPU_LDFLAGS= GPU_LIBS="-lamdhip64 -lstdc++ -ldl -lrt -lpthread -lm"
  AS_IF([test -d /opt/rocm/lib], [GPU_LDFLAGS="-L/opt/rocm/lib -Wl,-rpath,/opt/rocm/lib"])
  AC_MSG_CHECKING([whether $CC links what $HIPCC compiles])
  cat > conftest.cu <<_NB
#include <hip/hip_runtime.h>
#include <iostream>
#include <rocprim/device/device_scan.hpp>
__global__ void k(int *p) { *p = 1; }
extern "C" void launch(void) { k<<<1, 1>>>(0); }
_NB
  AS_IF([$GPU_COMPILE -O0 -c conftest.cu -o conftest_cu.o >&AS_MESSAGE_LOG_FD 2>&1], [
    esp_save_LIBS=$LIBS esp_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS $GPU_LDFLAGS" LIBS="conftest_cu.o $GPU_LIBS $LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[void launch(void);]], [[launch();]])], [esp_hip=yes])
    LIBS=$esp_save_LIBS LDFLAGS=$esp_save_LDFLAGS])
  rm -f conftest.cu conftest_cu.o
  AC_MSG_RESULT([$esp_hip])
  AS_IF([test "$esp_hip" = no], [AC_MSG_FAILURE([--with-hip was given, yet HIP does not work (it needs hipcc, the HIP runtime and rocPRIM)])])
  AC_DEFINE([ESP_HAVE_HIP], [1], [Define when gpu/ is built for AMD devices.])
  esp_gpu_name=hip esp_gpu_targets=$with_hip esp_hip_summary="$HIPCC $esp_archs"
])
AS_IF([test "x$esp_gpu_name" != x], [AC_DEFINE([ESP_HAVE_GPU], [1], [Define when the backend of gpu/ is built.])])
AC_DEFINE_UNQUOTED([ESP_GPU_NAME], ["${esp_gpu_name:-cuda}"], [Name of the backend of gpu/: cuda or hip.])
AC_DEFINE_UNQUOTED([ESP_GPU_TARGETS], ["$esp_gpu_targets"], [What its kernels are compiled for.])
AM_CONDITIONAL([HAVE_CUDA], [test "$esp_cuda" = yes])
AM_CONDITIONAL([HAVE_GPU], [test "x$esp_gpu_name" != x])
AC_SUBST([GPU_COMPILE]) AC_SUBST([GPU_FLAGS]) AC_SUBST([GPU_CALLS]) AC_SUBST([GPU_LDFLAGS]) AC_SUBST([GPU_LIBS])
])
