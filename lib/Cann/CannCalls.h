//===- CannCalls.h - Kernels that CANN has ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_CANNCALLS_H
#define MF_LIB_CANN_CANNCALLS_H

#include "llvm/ADT/StringRef.h"

namespace mf::cann {

/// The function with which a program launches a kernel. It is generated from
/// the kernel's record.
struct CannCall {
  /// The kernel, and the function that launches it.
  llvm::StringRef kernel, function;
  /// The names of the headers that the function needs, without `aclnn_`, with
  /// blanks between them.
  llvm::StringRef headers;
  /// The C++ text of the function's declaration, and that of its definition.
  llvm::StringRef declaration, definition;
};

/// Returns null for a kernel without a counterpart on CANN.
const CannCall *findCannCall(llvm::StringRef kernel);

/// Returns the text of a file of lib/Cann/support, or an empty text if there is
/// none of this name.
llvm::StringRef getSupportFile(llvm::StringRef name);

} // namespace mf::cann

#endif // MF_LIB_CANN_CANNCALLS_H
