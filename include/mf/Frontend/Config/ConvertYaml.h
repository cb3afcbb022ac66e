//===- ConvertYaml.h - Conversion between YAML formats ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_CONVERTYAML_H
#define MF_FRONTEND_CONFIG_CONVERTYAML_H

#include "mf/Frontend/Config/Node.h"

namespace mf {

/// Returns the same training in the other YAML format: that of the dynamic
/// graph for one of the static graph, and vice versa. A setting that the other
/// format cannot express is a warning. The result is empty if there are errors.
std::string convertYaml(const Node &root, DiagnosticList &diagnostics);

/// Prints a tree as text that reads as the same tree.
std::string printYaml(const Node &root);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_CONVERTYAML_H
