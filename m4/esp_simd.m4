# SPDX-License-Identifier: GPL-3.0-or-later
# ESP_SIMD: the pair kernels are compiled once per instruction set; the program picks at run time.
# Sets the conditionals HAVE_X86_V3 (AVX2) and HAVE_X86_V4 (AVX-512) where the compiler knows them.
AC_DEFUN([ESP_SIMD_TRY], [
AC_MSG_CHECKING([whether $CC takes $2])
esp_save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS $2 -Werror"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#if !defined __x86_64__
#error not x86-64
#endif
#include <immintrin.h>]], [[__builtin_cpu_init(); return __builtin_cpu_supports("$3");]])],
  [$1=yes], [$1=no])
CFLAGS=$esp_save_CFLAGS
AC_MSG_RESULT([$$1])
])
AC_DEFUN([ESP_SIMD], [
X86_V3_CFLAGS="-march=x86-64-v3" X86_V4_CFLAGS="-march=x86-64-v4 -mprefer-vector-width=512"
ESP_SIMD_TRY([esp_v3], [$X86_V3_CFLAGS], [avx2])
ESP_SIMD_TRY([esp_v4], [$X86_V4_CFLAGS], [avx512f])
esp_simd_summary=baseline
AS_IF([test $esp_v3 = yes], [AC_DEFINE([ESP_HAVE_X86_V3], [1], [Define when AVX2 kernels are built.]) esp_simd_summary="$esp_simd_summary AVX2"])
AS_IF([test $esp_v4 = yes], [AC_DEFINE([ESP_HAVE_X86_V4], [1], [Define when AVX-512 kernels are built.]) esp_simd_summary="$esp_simd_summary AVX-512"])
AM_CONDITIONAL([HAVE_X86_V3], [test $esp_v3 = yes])
AM_CONDITIONAL([HAVE_X86_V4], [test $esp_v4 = yes])
AC_SUBST([X86_V3_CFLAGS]) AC_SUBST([X86_V4_CFLAGS])
])
