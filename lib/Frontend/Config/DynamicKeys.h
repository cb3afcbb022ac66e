//===- DynamicKeys.h - Fields of the dynamic-graph trainer ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The sections of the YAML that MindSpore Transformers' dynamic-graph trainer
// reads, with one record per field: its type in Python, its default, its
// meaning, and whether a training step depends on it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICKEYS_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICKEYS_H

#include "mf/Frontend/Config/Node.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf {

/// A type that the trainer checks values against, by its name in messages.
struct DynamicType {
  /// The name as Python prints it; empty for a type that nothing checks.
  llvm::StringLiteral name;
  /// The kinds of values that it takes, as bits.
  unsigned kinds = 0;
  /// The type of a list's elements; null if nothing checks them.
  const DynamicType *element = nullptr;

  bool takes(NodeKind kind) const {
    return (kinds >> static_cast<unsigned>(kind) & 1) != 0;
  }
};

/// The use of a field's value.
enum class DynamicUse : uint8_t {
  Used,     ///< Another value changes the program or produces a message.
  NoEffect, ///< The step does not depend on the value.
  Section   ///< The fields of the section have their own table.
};

struct DynamicKey {
  llvm::StringLiteral name = "";
  DynamicType type;
  /// The default as a YAML writes it; empty if there is none.
  llvm::StringLiteral missing = "";
  llvm::StringLiteral meaning = "";
  DynamicUse use = DynamicUse::Used;
  /// The trainer's behaviour, which does not depend on the value. A value other
  /// than the default produces a warning with this text.
  llvm::StringLiteral instead = "";
  /// The trainer fails without it.
  bool isRequired = false;
};

struct DynamicSection {
  /// The names of the maps around it, separated by dots; empty for the
  /// document.
  llvm::StringLiteral name;
  /// The class that messages of the trainer name.
  llvm::StringLiteral className;
  /// Other fields go on to the class that `type` names, or are kept.
  bool takesOthers;
  llvm::ArrayRef<DynamicKey> keys;
  /// Null is the same as no section.
  bool isOptional = false;

  const DynamicKey *find(llvm::StringRef key) const;
};

/// Returns all sections in the order of the documentation. The first is the
/// document itself.
llvm::ArrayRef<DynamicSection> getDynamicSections();
/// Returns the section of this name, which must exist.
const DynamicSection &getDynamicSection(llvm::StringRef name);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICKEYS_H
