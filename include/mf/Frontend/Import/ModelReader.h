//===- ModelReader.h - Reads the model of a YAML ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_IMPORT_MODELREADER_H
#define MF_FRONTEND_IMPORT_MODELREADER_H

#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

/// Parses `1.4`, `1.4.0` or `r1.4.0-beta2`. None if the text is not a release.
std::optional<Release> parseRelease(llvm::StringRef text);

/// Adds the keys of a config.json to model_config, as the mcore training graph
/// does with the one in pretrained_model_dir. The YAML's keys take precedence.
void addPretrainedConfig(const Node &root, TrainingConfig &config,
                         DiagnosticList &diagnostics);

/// Reads the model of a training YAML. Errors (such as an unknown architecture
/// or sizes that do not fit together) are added to `diagnostics`, and none is
/// returned. A key with a value that is not modelled is a warning. `keys`, if
/// given, receives the keys that the model's class reads, also after an error.
std::optional<ModelSpec> readModelSpec(const TrainingConfig &config,
                                       const ModelOverrides &overrides,
                                       DiagnosticList &diagnostics,
                                       std::vector<KeyHelp> *keys = nullptr);

/// Reads the model of a Hugging Face config.json (Llama, Mistral, Qwen2, Qwen3,
/// Mixtral, Qwen2-MoE, Qwen3-MoE, DeepSeek-V2 and V3). Parameters are in fp32,
/// and it computes in `torch_dtype` with flash attention, batch 1 and at most
/// 4096 tokens, unless `overrides` defines otherwise.
std::optional<ModelSpec> readHuggingFaceSpec(const Node &root,
                                             const ModelOverrides &overrides,
                                             DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_FRONTEND_IMPORT_MODELREADER_H
