//===- NoPlanError.h - There is no plan, or none was found -----*- C++ -*-===//

#ifndef MF_TOOLS_MF_PLAN_NOPLANERROR_H
#define MF_TOOLS_MF_PLAN_NOPLANERROR_H

#include "llvm/Support/Error.h"

namespace mf::tools {

/// The input is fine, but nothing fits, or the search ended too early. It has
/// an exit code of its own.
class NoPlanError : public llvm::ErrorInfo<NoPlanError, llvm::StringError> {
public:
  // NOLINTNEXTLINE(readability-identifier-naming): as LLVM asks for
  static char ID;

  explicit NoPlanError(const llvm::Twine &message)
      : ErrorInfo(message, llvm::inconvertibleErrorCode()) {}
};

} // namespace mf::tools

#endif // MF_TOOLS_MF_PLAN_NOPLANERROR_H
