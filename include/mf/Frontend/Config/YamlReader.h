//===- YamlReader.h - A YAML text as a tree ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_YAMLREADER_H
#define MF_FRONTEND_CONFIG_YAMLREADER_H

#include "mf/Frontend/Config/Node.h"

namespace mf {

/// Limits that bound the cost of hostile input. Real files have a few hundred
/// lines.
struct YamlLimits {
  size_t maxBytes = 1 << 20;
  unsigned maxDepth = 64;
  /// The number of nodes with aliases expanded, so that nested aliases cannot
  /// multiply without limit.
  uint64_t maxNodes = 1 << 18;
};

/// Reads the single document in `text`. Errors (syntax, a second document, an
/// unknown tag or alias, a limit) are added to `diagnostics`, and the result is
/// an undefined node. A repeated key is a warning, and its last value counts,
/// as in PyYAML. An empty document is a null node.
Node parseYaml(llvm::StringRef text, llvm::StringRef fileName,
               DiagnosticList &diagnostics, const YamlLimits &limits = {});

/// Reads a file as `parseYaml` does; `-` is standard input.
Node parseYamlFile(llvm::StringRef path, DiagnosticList &diagnostics,
                   const YamlLimits &limits = {});

} // namespace mf

#endif // MF_FRONTEND_CONFIG_YAMLREADER_H
