//===- AttributeForms.h - Forms of untyped attributes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_ATTRIBUTEFORMS_H
#define MF_DIALECTS_MF_ATTRIBUTEFORMS_H

#include "mlir/IR/BuiltinAttributes.h"
#include <vector>

namespace mf::ir {

bool isInteger(mlir::Attribute attribute);

bool isListOf(mlir::Attribute attribute,
              llvm::function_ref<bool(mlir::Attribute)> isItem);

/// Returns the elements of a list of integers; none if it is null.
std::vector<int64_t> getNumbers(mlir::Attribute list);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_ATTRIBUTEFORMS_H
