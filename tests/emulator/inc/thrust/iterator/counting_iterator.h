/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef EMULATOR_COUNTING_ITERATOR_H
#define EMULATOR_COUNTING_ITERATOR_H
#include <cuda_runtime.h>
namespace thrust {
template <class T> struct counting_iterator {
  T first;
  counting_iterator(T f) : first(f) {}
  T operator[](long k) const { return first + (T)k; }
};
}   // namespace thrust
#endif
