//===- CannCalls.h - Kernels that CANN has ----------------------*- C++ -*-===//

#ifndef MF_LIB_CANN_CANNCALLS_H
#define MF_LIB_CANN_CANNCALLS_H

#include "llvm/ADT/StringRef.h"

namespace mf::cann {

/// How a program launches a kernel; generated from the kernel's record.
struct CannCall {
  /// The kernel, and the function that launches it.
  llvm::StringRef kernel, function;
  /// The headers that it includes, by their names behind `aclnn_`, with blanks
  /// between them.
  llvm::StringRef headers;
  /// The C++ text of the function's declaration, and that of its definition.
  llvm::StringRef declaration, definition;
};

/// Null for a kernel without a counterpart.
const CannCall *findCannCall(llvm::StringRef kernel);

/// A file of lib/Cann/support, by its name; empty if there is none.
llvm::StringRef getSupportFile(llvm::StringRef name);

} // namespace mf::cann

#endif // MF_LIB_CANN_CANNCALLS_H
