# SPDX-License-Identifier: GPL-3.0-or-later
# ESP_NEED(NAME, HEADER, FUNCTION, LIBS, DEBIAN PACKAGE): a library that the build cannot do without.
AC_DEFUN([ESP_NEED], [
AC_CHECK_HEADER([$2], [], [AC_MSG_FAILURE([no $1 header <$2>: install it (Debian: $5)])])
m4_ifval([$3], [
esp_save_LIBS=$LIBS
LIBS="$4 $LIBS"
AC_MSG_CHECKING([for $3 in $4])
AC_LINK_IFELSE([AC_LANG_CALL([], [$3])], [AC_MSG_RESULT([yes])],
  [AC_MSG_RESULT([no])
   AC_MSG_FAILURE([no $1 library: install it (Debian: $5)])])
LIBS=$esp_save_LIBS
ESP_LIBS="$4 $ESP_LIBS"])
])
# ESP_LIBRARIES: inih, GSL, xxHash, Random123 (needed), hwloc (optional).
AC_DEFUN([ESP_LIBRARIES], [
ESP_LIBS=
ESP_NEED([inih], [ini.h], [ini_parse_file], [-linih], [libinih-dev])
ESP_NEED([GSL], [gsl/gsl_statistics_double.h], [gsl_stats_quantile_from_sorted_data], [-lgsl -lgslcblas -lm], [libgsl-dev])
ESP_NEED([xxHash], [xxhash.h], [XXH64], [-lxxhash], [libxxhash-dev])
ESP_NEED([Random123], [Random123/philox.h], [], [], [librandom123-dev])
AC_ARG_WITH([hwloc], [AS_HELP_STRING([--with-hwloc], [report core binding with hwloc @<:@if found@:>@])], [], [with_hwloc=check])
esp_hwloc=no
AS_IF([test "x$with_hwloc" != xno], [
  AC_CHECK_HEADER([hwloc.h], [AC_CHECK_LIB([hwloc], [hwloc_topology_init], [esp_hwloc=yes])])
  AS_IF([test "$with_hwloc:$esp_hwloc" = yes:no], [AC_MSG_FAILURE([--with-hwloc was given, yet hwloc was not found])])])
AS_IF([test $esp_hwloc = yes], [
  AC_DEFINE([ESP_HAVE_HWLOC], [1], [Define when hwloc is there.])
  ESP_LIBS="-lhwloc $ESP_LIBS"])
AC_SUBST([ESP_LIBS])
])
