/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef EMULATOR_TRANSFORM_ITERATOR_H
#define EMULATOR_TRANSFORM_ITERATOR_H
#include <cuda_runtime.h>
namespace thrust {
template <class I, class F> struct transform_it {
  I in;
  F f;
  auto operator[](long k) const { return f(in[k]); }
};
template <class I, class F> transform_it<I, F> make_transform_iterator(I i, F f) { return {i, f}; }
}   // namespace thrust
#endif
