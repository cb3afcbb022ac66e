//===- ParsedConfigs.h - YAMLs of the static graph for tests ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CONFIG_PARSEDCONFIGS_H
#define MF_TEST_UNIT_CONFIG_PARSEDCONFIGS_H

#include "mf/Frontend/Config/ConfigReader.h"
#include "gmock/gmock.h"

namespace mf {

struct ParsedConfig {
  TrainingConfig config;
  DiagnosticList diagnostics;
};

inline ParsedConfig parse(llvm::StringRef text) {
  ParsedConfig parsed;
  parsed.config = parseTrainingConfig(text, "t.yaml", parsed.diagnostics);
  return parsed;
}

/// The messages about `text`, which must hold `expected`.
inline void expectMessage(llvm::StringRef text, llvm::StringRef expected) {
  EXPECT_THAT(parse(text).diagnostics.str(), testing::HasSubstr(expected.str()))
      << text.str();
}

} // namespace mf

#endif // MF_TEST_UNIT_CONFIG_PARSEDCONFIGS_H
