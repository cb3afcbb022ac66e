//===- Settings.h - Options of the command line -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_BENCHMARKS_KERNELS_SETTINGS_H
#define MF_BENCHMARKS_KERNELS_SETTINGS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace mf {

struct Settings {
  int threads = 2;
  /// Spent on each kernel.
  double seconds = 0.3;
  /// Part of a kernel's name or title.
  std::string filter;
  bool processorTime = false;

  /// Seconds on the wall, or of the processors divided by the threads.
  double getTime() const;
  double timeOnce(llvm::function_ref<void()> work) const;
};

} // namespace mf

#endif // MF_BENCHMARKS_KERNELS_SETTINGS_H
