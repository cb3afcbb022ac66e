//===- SettingsKeys.h - Parameters by the records of keys -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The parameters of Mf_SettingsAttr are a dictionary of all members of a struct
// of TrainingConfig, under the names that their records give.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_SETTINGSKEYS_H
#define MF_DIALECTS_MF_SETTINGSKEYS_H

#include "mf/Frontend/Config/KnownKeys.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace mf::ir {

/// Refers to a struct of TrainingConfig of any type.
struct SettingsRef {
  template <typename Part>
  SettingsRef(const Part &config)
      : part(&partId<Part>), config(const_cast<Part *>(&config)),
        defaults(&getDefaults<Part>()) {}

  PartId part;
  void *config, *defaults;

private:
  template <typename Part> static Part &getDefaults() {
    static Part defaults;
    return defaults;
  }
};

/// Leaves out defaults of keys that omit them.
mlir::DictionaryAttr toKeys(mlir::MLIRContext *context, SettingsRef config);

/// Sets the members that `keys` has. The others keep their values.
void fromKeys(mlir::DictionaryAttr keys, SettingsRef config);

/// Sets the members that the text between `<` and `>` has.
mlir::ParseResult parseKeys(mlir::AsmParser &parser, SettingsRef config);

/// Prints them in the order of their records.
void printKeys(mlir::AsmPrinter &printer, mlir::DictionaryAttr keys,
               PartId part);

/// Checks names, forms and ranges. The values of `config` do not matter.
mlir::LogicalResult
verifyKeys(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
           mlir::DictionaryAttr keys, SettingsRef config);

} // namespace mf::ir

#endif // MF_DIALECTS_MF_SETTINGSKEYS_H
