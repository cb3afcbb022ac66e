//===- YamlConversion.h - YAMLs in the other format -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_TRANSLATE_YAMLCONVERSION_H
#define MF_TOOLS_MF_TRANSLATE_YAMLCONVERSION_H

#include "ModelImport.h"

namespace mf::tools {

/// Writes a training YAML in the other of the two formats. Adapters are those
/// of the YAML's model; if the model of the result has others, that is an
/// error.
mlir::LogicalResult convertYaml(const ImportOptions &options,
                                const llvm::MemoryBuffer &buffer,
                                llvm::raw_ostream &output,
                                mlir::MLIRContext *context);

} // namespace mf::tools

#endif // MF_TOOLS_MF_TRANSLATE_YAMLCONVERSION_H
