//===- Format.h - The format of files with IR -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A file that mf writes says on its module in which format it is: `mf.format =
// "0.1"`. A format has the number of the release of mf that introduced it, so
// that a message can say which release reads the file. Bytecode has the number
// as the version of each dialect as well, which MLIR reads before its
// operations.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_FORMAT_H
#define MF_DIALECTS_MF_FORMAT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mf::ir {

constexpr llvm::StringLiteral formatAttribute = "mf.format";

/// Says on a module that it is in the format that this mf writes.
void setFormat(mlir::ModuleOp module);

/// Returns why this mf does not read files in a format, for behind their name;
/// nothing if it does.
std::string describeUnreadFormat(llvm::StringRef format);

mlir::LogicalResult verifyFormat(mlir::Operation *op, mlir::Attribute value);

/// Gives a dialect, when it is loaded, the format as its version in bytecode.
void addBytecodeVersion(mlir::Dialect &dialect);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_FORMAT_H
