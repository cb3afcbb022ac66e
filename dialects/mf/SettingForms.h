//===- SettingForms.h - Values of a YAML as attributes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_SETTINGFORMS_H
#define MF_DIALECTS_MF_SETTINGFORMS_H

#include "mf/Frontend/Config/KnownKeys.h"
#include "mlir/IR/Builders.h"

namespace mf::ir {

//===----------------------------------------------------------------------===//
// Forms of attributes
//===----------------------------------------------------------------------===//

bool isInteger(mlir::Attribute attribute);

bool isListOf(mlir::Attribute attribute,
              llvm::function_ref<bool(mlir::Attribute)> isItem);

/// Returns whether this is a list of layer indices, `array<i64: 0, 2>`.
bool areLayerNumbers(mlir::Attribute attribute);

/// Returns whether this is a bool, a list of counts per stage, a list of bools
/// and such lists (one per chunk), or a list of layer indices.
bool isSelection(mlir::Attribute attribute);

/// Returns the elements of a list of integers; none if it is null.
std::vector<int64_t> getNumbers(mlir::Attribute list);

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Returns a place as an attribute, which is null if it is unknown.
mlir::Attribute toPlace(mlir::MLIRContext *context, const Location &location);
Location fromPlace(mlir::Attribute place);

/// Returns the value of a member as an attribute: null for an absent value and
/// for an empty list of texts.
mlir::Attribute toAttribute(mlir::Builder &builder, const KeyField &member);

/// Sets a member to the value of an attribute of its form.
void fromAttribute(mlir::Attribute attribute, const KeyField &member);

/// Returns the form and range of a member's attribute, in words, if this
/// attribute does not have them. Returns nothing if it does.
std::string findMismatch(const KnownKey &key, mlir::Attribute attribute,
                         const KeyField &member);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_SETTINGFORMS_H
