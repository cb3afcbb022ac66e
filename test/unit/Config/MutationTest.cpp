//===- MutationTest.cpp - Broken YAML files -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Real files, mutated: the readers must neither crash nor hang, say the same
// twice, and name a place in what they say. A longer run is nightly, one with
// coverage is scripts/fuzz-yaml.sh.
//
//===----------------------------------------------------------------------===//

#include "YamlMutations.h"
#include "test/fuzz/ReadEverything.h"
#include "test/unit/Campaign.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

TEST(MutationTest, MutatedFilesAreReadOrRejected) {
  std::vector<std::string> texts = readYamlTexts();
  ASSERT_EQ(texts.size(), 41U);
  const CellTree tree = makeFuzzTree();
  YamlMutator mutator(getCampaignSeed(20251120));
  const size_t numRounds =
      std::max<size_t>(getCampaignCount(40 * texts.size()) / texts.size(), 10);
  size_t rejected = 0;
  size_t accepted = 0;
  for (size_t round = 0; round < numRounds; ++round) {
    for (const std::string &original : texts) {
      std::string text = original;
      for (size_t i = 0, count = 1 + mutator.below(6); i < count; ++i)
        mutator.mutate(text, texts);
      std::string said = readEverything(text, tree);
      ASSERT_EQ(said, readEverything(text, tree));
      bool hasError = said.find("error: ") != std::string::npos;
      ++(hasError ? rejected : accepted);
      for (char c : said)
        ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << said;
    }
  }
  // The mutations are neither too weak nor too strong to tell something.
  const size_t fewest = numRounds * texts.size() * 3 / 16;
  EXPECT_GT(rejected, fewest);
  EXPECT_GT(accepted, fewest);
}

TEST(MutationTest, EveryPrefixOfAFileIsReadOrRejected) {
  std::string text = readYamlTexts()[0].substr(0, 3000);
  const CellTree tree = makeFuzzTree();
  for (size_t length = 0; length < text.size(); length += 7)
    readEverything(llvm::StringRef(text).take_front(length), tree);
}

} // namespace
