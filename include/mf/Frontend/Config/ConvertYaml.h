//===- ConvertYaml.h - Conversion between YAML formats ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_CONVERTYAML_H
#define MF_FRONTEND_CONFIG_CONVERTYAML_H

#include "mf/Frontend/Config/Node.h"
#include <optional>

namespace mf {

/// The adapters of a model: pet_config and lora_config match them in different
/// ways, so they are converted by what they match.
struct MatchedAdapters {
  /// The paths of the layers that have adapters, for example
  /// `decoder.layers.0.self_attention.linear_qkv`.
  std::vector<std::string> paths;
  int64_t rank = 0;
  double alpha = 0, dropout = 0;
};

/// Returns pet_config or lora_config of a YAML; undefined without either.
Node findAdapterSection(const Node &root);

/// Returns the same training in the other YAML format: that of the dynamic
/// graph for one of the static graph, and vice versa. A setting that the other
/// format cannot express is a warning. The result is empty if there are errors.
/// `adapters` are those of the YAML's model, if it has the section for them.
std::string convertYaml(const Node &root,
                        const std::optional<MatchedAdapters> &adapters,
                        DiagnosticList &diagnostics);

/// Prints a tree as text that reads as the same tree.
std::string printYaml(const Node &root);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_CONVERTYAML_H
