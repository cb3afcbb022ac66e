//===- AdapterReader.h - Reads pet_config and lora_config -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_ADAPTERREADER_H
#define MF_LIB_FRONTEND_IMPORT_ADAPTERREADER_H

#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Returns the class whose layers a network class uses. This is the class
/// itself, except for the classes with adapters of releases 0.6 and 0.7
/// (LlamaForCausalLMWithLora).
llvm::StringRef getAdaptedClass(llvm::StringRef architecture);

/// Reads model_config.pet_config as `release` does; the default is the newest
/// release. Returns none if there is no such section or it has an error.
/// `architecture` is the network's class in the YAML, which is one of the mcore
/// training graph if `isMcore` is true.
std::optional<LoraSpec> readLora(const Node &section, const Node &architecture,
                                 bool isMcore, std::optional<Release> release,
                                 DiagnosticList &diagnostics);

/// Reads lora_config of the dynamic graph, whose types are checked already.
/// Returns none if there is no such section or it has an error.
std::optional<LoraSpec> readDynamicLora(const Node &section,
                                        DiagnosticList &diagnostics);

/// True if `section`, model_config.pet_config, requests a trained prefix. The
/// class ChatGLM2WithPtuning2 always has one.
bool asksForPrefix(const Node &section, const Node &architecture);

/// Reads the prefix if `asksForPrefix` is true. Returns none after an error.
std::optional<PrefixSpec> readPrefix(const Node &section,
                                     const Node &architecture,
                                     DiagnosticList &diagnostics);

/// Checks that the model that was read can have its prefix.
void checkPrefix(const TrainingConfig &config, const ModelSpec &spec,
                 DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_ADAPTERREADER_H
