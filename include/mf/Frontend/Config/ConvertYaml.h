//===- ConvertYaml.h - One format of the YAML as the other ------*- C++ -*-===//

#ifndef MF_CONFIG_CONVERTYAML_H
#define MF_CONFIG_CONVERTYAML_H

#include "mf/Frontend/Config/Node.h"

namespace mf {

/// The same training in the YAML of the other format: that of the dynamic graph
/// for one of the static graph, and the other way round. Each setting for which
/// the other format has no words is a warning. Empty with errors.
std::string convertYaml(const Node &root, DiagnosticList &diagnostics);

/// A tree as a text that reads as the same tree.
std::string printYaml(const Node &root);

} // namespace mf

#endif // MF_CONFIG_CONVERTYAML_H
