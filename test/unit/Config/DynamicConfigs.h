//===- DynamicConfigs.h - YAMLs of the dynamic graph for tests --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_DYNAMICCONFIGS_H
#define MF_TEST_UNIT_CONFIG_DYNAMICCONFIGS_H

#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/StageMap.h"
#include "test/unit/CaseTable.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cstdlib>

namespace mf {

/// A document with few words: sections that a test does not give are these.
struct DynamicYaml {
  std::string training = "{}";
  std::string parallelism = "{}";
  std::string model = "{}";
  std::string rest;

  std::string print() const {
    return "training: " + training + "\nparallelism: " + parallelism +
           "\nlr_scheduler: {type: ConstantWarmUpLR, warmup_ratio: 0}\n"
           "train_dataset: {dataloader: {type: MindDataset}}\n"
           "model: " +
           model + "\n" + rest;
  }
};

/// Reads for a number of ranks; 0 leaves it to the YAML.
class DynamicConfigs : public testing::Test {
protected:
  ~DynamicConfigs() override { unsetenv("RANK_SIZE"); }

  TrainingConfig read(const std::string &yaml, int ranks) {
    if (ranks > 0)
      setenv("RANK_SIZE", std::to_string(ranks).c_str(), /*replace=*/1);
    else
      unsetenv("RANK_SIZE");
    messages = DiagnosticList();
    return parseTrainingConfig(yaml, "t.yaml", messages);
  }

  static std::string makeModel(int64_t layers, llvm::StringRef more = "") {
    return "{model_type: deepseek_v3, architectures: DeepseekV3ForCausalLM, "
           "hidden_dropout: 0.0, attention_dropout: 0.0, num_hidden_layers: " +
           std::to_string(layers) +
           ", num_nextn_predict_layers: 0, n_routed_experts: 8" + more.str() +
           "}";
  }

  std::optional<StageMap> place(const TrainingConfig &config) {
    return StageMap::create(getStageMapOptions(config, messages), messages);
  }

  /// Whether one message has this text.
  bool says(llvm::StringRef text) const {
    return llvm::any_of(messages.getAll(), [&](const Diagnostic &message) {
      return llvm::StringRef(message.message).contains(text);
    });
  }

  /// Reads each line of a table on `ranks`: sections, divided by "; ", and what
  /// they are refused with behind "=>". Other sections are those of `yaml`.
  void expectRefusals(int ranks, const DynamicYaml &yaml,
                      llvm::StringRef table) {
    for (const auto &[given, message] : readTable(table)) {
      SCOPED_TRACE(given.str());
      DynamicYaml changed = yaml;
      llvm::SmallVector<llvm::StringRef> sections;
      given.split(sections, "; ");
      for (llvm::StringRef section : sections) {
        auto [name, value] = section.split(": ");
        if (name == "training")
          changed.training = value.str();
        else if (name == "parallelism")
          changed.parallelism = value.str();
        else if (name == "model")
          changed.model = value.str();
        else
          changed.rest += section.str() + "\n";
      }
      read(changed.print(), ranks);
      EXPECT_TRUE(says(message)) << messages.str();
      EXPECT_TRUE(messages.hasErrors());
    }
  }

  DiagnosticList messages;
};

} // namespace mf

#endif // MF_TEST_UNIT_CONFIG_DYNAMICCONFIGS_H
