//===- ReadModel.h - Models for tests ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_IMPORT_READMODEL_H
#define MF_TEST_UNIT_IMPORT_READMODEL_H

#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "llvm/ADT/Twine.h"
#include "gtest/gtest.h"

namespace mf {

/// The model of a YAML in test/data/mindformers; fails the test if it has
/// errors.
inline ModelSpec readModel(const llvm::Twine &path,
                           const ModelOverrides &overrides = {}) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfigFile(
      (MF_TEST_DATA "/mindformers/" + path).str(), diagnostics);
  std::optional<ModelSpec> spec = readModelSpec(config, overrides, diagnostics);
  EXPECT_TRUE(spec.has_value()) << diagnostics.str();
  return spec.value_or(ModelSpec());
}

/// The model of a model_config of these lines, and other sections; messages go
/// to `diagnostics`.
inline std::optional<ModelSpec>
readModelConfig(llvm::StringRef lines, DiagnosticList &diagnostics,
                llvm::StringRef arch = "LlamaForCausalLM",
                const ModelOverrides &overrides = {},
                llvm::StringRef sections = "") {
  std::string text = "model:\n  arch: {type: " + arch.str() +
                     "}\n  model_config:\n    type: LlamaConfig\n";
  llvm::SmallVector<llvm::StringRef> split;
  lines.split(split, '\n', -1, false);
  for (llvm::StringRef line : split)
    text += "    " + line.str() + "\n";
  text += sections;
  DiagnosticList reading;
  TrainingConfig config = parseTrainingConfig(text, "train.yaml", reading);
  EXPECT_FALSE(reading.hasErrors()) << reading.str();
  return readModelSpec(config, overrides, diagnostics);
}

inline ModelSpec readModelConfig(llvm::StringRef lines,
                                 llvm::StringRef arch = "LlamaForCausalLM",
                                 llvm::StringRef sections = "") {
  DiagnosticList diagnostics;
  std::optional<ModelSpec> spec =
      readModelConfig(lines, diagnostics, arch, {}, sections);
  EXPECT_TRUE(spec.has_value()) << diagnostics.str();
  return spec.value_or(ModelSpec());
}

/// moe_config in one line, which is line 7 behind two lines of model_config.
inline std::string getSections(llvm::StringRef keys) {
  return ("moe_config: {expert_num: 8, num_experts_chosen: 2, " + keys + "}\n")
      .str();
}

} // namespace mf

#endif // MF_TEST_UNIT_IMPORT_READMODEL_H
