//===- NoPlanError.h - Error of a search without a plan ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PLAN_SOLVER_NOPLANERROR_H
#define MF_PLAN_SOLVER_NOPLANERROR_H

#include "llvm/Support/Error.h"

namespace mf::solver {

/// The input is valid, but nothing fits, or the search ended before it found a
/// plan that fits. Tools return a distinct exit code for it.
class NoPlanError : public llvm::ErrorInfo<NoPlanError, llvm::StringError> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): as LLVM asks for
  static char ID;

  explicit NoPlanError(const llvm::Twine &message)
      : ErrorInfo(message, llvm::inconvertibleErrorCode()) {}
};

} // namespace mf::solver

#endif // MF_PLAN_SOLVER_NOPLANERROR_H
