//===- YamlReading.h - Messages about a YAML in an editor -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_LSP_SERVER_YAMLREADING_H
#define MF_TOOLS_MF_LSP_SERVER_YAMLREADING_H

#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Support/Diagnostic.h"
#include "mlir/IR/MLIRContext.h"
#include <optional>
#include <string>
#include <vector>

namespace mf::lsp {

/// The messages about a text and the facts that its reading found.
struct YamlReading {
  /// Errors and warnings without duplicates.
  std::vector<Diagnostic> messages;
  /// True if the YAML has the format of the dynamic graph; none if the text is
  /// not valid YAML.
  std::optional<bool> isDynamic;
  /// Names of the operators and Cells of the model's layers as the Cell tree
  /// has them; empty if the text describes no model.
  std::vector<std::string> cells;
  /// The keys that the model's class reads; empty if the text names no class.
  std::vector<KeyHelp> modelKeys;
};

/// Reads `text` as mf-translate and mf-opt do: the sections, the model, and the
/// passes that assign layers to stages and patterns to operators.
YamlReading readYaml(llvm::StringRef text, llvm::StringRef fileName,
                     mlir::MLIRContext &context);

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_YAMLREADING_H
