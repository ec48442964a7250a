/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The split kernels: one table for the parameter `Kernel`, the pair law and the loops that are compiled for a kernel.
 * For C11 and CUDA. X(KERNEL, name in parameter files). The polynomials SPLIT_K_KERNEL, SPLIT_K1_KERNEL and
 * SPLIT_K2_KERNEL are in gravity/split.h. Snapshots and checkpoints state a kernel by its place in the table, so a new
 * kernel is the last line. */
#ifndef SPLIT_KERNELS_H
#define SPLIT_KERNELS_H

#define SPLIT_KERNELS(X) \
  X(QUINTIC, "quintic")  \
  X(DLL, "dll")          \
  X(SEPTIC, "septic")

#define SPLIT_KERNEL_VALUE(kernel, name) SPLIT_##kernel,
enum split_kernel { SPLIT_KERNELS(SPLIT_KERNEL_VALUE) SPLIT_KERNEL_COUNT };
#endif
