//===- RowBlocksTest.cpp - fine_grain_interleave --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using testing::HasSubstr;

namespace {

struct ResolvedBlocks {
  int64_t blocks;
  std::string messages;
};

ResolvedBlocks resolve(const std::string &interleave,
                       const std::string &parallel) {
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(
      "parallel_config: {" + parallel +
          "}\nmodel:\n  model_config:\n    fine_grain_interleave: " +
          interleave + "\n",
      "t.yaml", diagnostics);
  RankLayout ranks = resolveRanks(config, diagnostics);
  ResolvedBlocks resolved;
  resolved.blocks = resolveRowBlocks(config, ranks, diagnostics);
  resolved.messages = diagnostics.str();
  return resolved;
}

TEST(RowBlocksTest, CountsWhereRanksShareRows) {
  EXPECT_EQ(resolve("2", "model_parallel: 4, use_seq_parallel: True").blocks,
            2);
  EXPECT_EQ(resolve("4", "model_parallel: 2, context_parallel: 2").blocks, 4);
}

TEST(RowBlocksTest, SaysNothingWithoutModelParallelRanks) {
  for (const char *interleave : {"2", "1", "null"}) {
    ResolvedBlocks resolved = resolve(interleave, "data_parallel: 2");
    EXPECT_EQ(resolved.blocks, 1);
    EXPECT_EQ(resolved.messages, "");
  }
  EXPECT_EQ(resolve("1", "model_parallel: 2").messages, "");
  EXPECT_EQ(resolve("null", "model_parallel: 2").messages, "");
}

TEST(RowBlocksTest, NeedsRowsThatAreShared) {
  ResolvedBlocks resolved = resolve("2", "model_parallel: 4");
  EXPECT_EQ(resolved.blocks, 1);
  EXPECT_THAT(resolved.messages,
              HasSubstr("t.yaml:4:28: error: fine_grain_interleave 2 with "
                        "model_parallel 4 needs use_seq_parallel: True or "
                        "context_parallel above 1; expected one of them, or "
                        "fine_grain_interleave: 1"));
}

TEST(RowBlocksTest, IsANumber) {
  EXPECT_THAT(resolve("many", "model_parallel: 4").messages,
              HasSubstr("t.yaml:4:28: error: expected an int up to 65536 for "
                        "'fine_grain_interleave', but got"));
  EXPECT_THAT(resolve("99999999", "model_parallel: 4").messages,
              HasSubstr("expected an int up to 65536"));
}

} // namespace
