//===- DecodedModule.h - A module's program as an analysis ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_DECODEDMODULE_H
#define MF_PASSES_DECODEDMODULE_H

#include "mf/Decode/Decoder.h"

namespace mf::passes {

/// The decoded program of a module, an analysis of MLIR: the module is decoded
/// once for successive passes that do not change it, which they say by
/// preserving all analyses.
class DecodedModule {
public:
  explicit DecodedModule(mlir::ModuleOp module)
      : decoded(program::decodeProgram(module)) {}

  /// Returns null if decoding has failed, with a diagnostic.
  const program::DecodedProgram *get() const {
    return mlir::succeeded(decoded) ? &*decoded : nullptr;
  }
  const program::Program *getProgram() const {
    return mlir::succeeded(decoded) ? &decoded->program : nullptr;
  }

private:
  mlir::FailureOr<program::DecodedProgram> decoded;
};

} // namespace mf::passes

#endif // MF_PASSES_DECODEDMODULE_H
