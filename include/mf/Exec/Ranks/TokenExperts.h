//===- TokenExperts.h - Tables of experts by token ids ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Hash layers (DeepSeek-V4) choose experts by a frozen table [vocabulary,
// choices]. It is a parameter that nothing trains: files of weights have tables
// of their own, and the initial value is only the first one. Files hold
// integers. Programs hold the same numbers in fp32, because ranks look up the
// rows of the table as those of an embedding.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RANKS_TOKENEXPERTS_H
#define MF_EXEC_RANKS_TOKENEXPERTS_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Program/Program.h"

namespace mf::ranks {

/// Returns whether a tensor that nothing trains and that begins with `value` is
/// such a table.
inline bool isTokenExperts(const program::InitialValue &value) {
  return value.kind == program::InitialValue::Kind::TokenExperts;
}
inline bool isTokenExperts(const program::Static &buffer) {
  return buffer.role == program::Role::Table && buffer.init &&
         isTokenExperts(*buffer.init);
}

/// Returns the shape in files of a table of `shape`. mf writes the type that
/// MindSpore Transformers has. DeepSeek's own files have I64.
inline TensorShape getTokenExpertsFileShape(const TensorShape &shape) {
  return {DType::I32, shape.dims};
}

/// Returns the elements, as `shape` says, of a file's whole table `given`.
/// `shape` is that of the program's whole table, and `value` its initial value.
/// Fails on another shape, on elements that are not integers, and on integers
/// that are not experts.
llvm::Expected<std::vector<uint8_t>>
readTokenExperts(llvm::StringRef name, const TensorView &given,
                 const program::InitialValue &value, const TensorShape &shape);

/// Returns the elements of a file's table from a program's elements of `type`.
std::vector<uint8_t> writeTokenExperts(DType type,
                                       llvm::ArrayRef<uint8_t> bytes);

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_TOKENEXPERTS_H
