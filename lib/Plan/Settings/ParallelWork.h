//===- ParallelWork.h - Independent work on several threads -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SETTINGS_PARALLELWORK_H
#define MF_LIB_PLAN_SETTINGS_PARALLELWORK_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mf::planner {

/// Returns the number of processors, at least one.
size_t getNumProcessors();

/// Calls `work` once for each number below `count`, in any order, on at most
/// `numThreads` threads including the caller's. Returns the text of each call's
/// error, by number; it is empty if there was none.
std::vector<std::string>
runInParallel(size_t count, llvm::function_ref<llvm::Error(size_t)> work,
              size_t numThreads = getNumProcessors());

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_PARALLELWORK_H
