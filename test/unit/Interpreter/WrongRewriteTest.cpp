//===- WrongRewriteTest.cpp - What a wrong rewrite looks like -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The IR after each pass, broken as that pass could break it. Running it must
// show that it is wrong. A pass of the pipeline without such a case fails.
//
//===----------------------------------------------------------------------===//

#include "LoweredSteps.h"
#include "WrongRewrites.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using mf::tools::adaptedYaml;
using mf::tools::cannYaml;
using mf::tools::castsYaml;
using mf::tools::copiesYaml;
using mf::tools::fusedYaml;
using mf::tools::LoweredSteps;
using mf::tools::piecesYaml;
using mf::tools::shardedYaml;
using mf::tools::Snapshot;
using mf::tools::stagesYaml;
using mf::tools::streamsYaml;
using mf::tools::summandsYaml;
using mf::tools::swapsYaml;
using mf::tools::WrongRewrite;

namespace {

LoweredSteps &getSteps(llvm::StringRef yaml) {
  static LoweredSteps stages(stagesYaml), swaps(swapsYaml), cann(cannYaml),
      sharded(shardedYaml, /*isSharded=*/true),
      summands(summandsYaml, /*isSharded=*/true),
      copies(copiesYaml, /*isSharded=*/false, /*hasCuts=*/true),
      fused(fusedYaml, /*isSharded=*/false, /*hasCuts=*/false,
            MF_TEST_DATA "/../passes/fuse/Inputs/experts.mlir"),
      streams(streamsYaml, /*isSharded=*/false, /*hasCuts=*/false,
              MF_TEST_DATA "/../passes/fuse/Inputs/streams.mlir"),
      casts(castsYaml, /*isSharded=*/false, /*hasCuts=*/false,
            MF_TEST_DATA "/../passes/cast/Inputs/two_layers_bf16.mlir"),
      adapted(adaptedYaml, /*isSharded=*/false, /*hasCuts=*/false,
              MF_TEST_DATA "/../passes/adapters/Inputs/one_linear.mlir"),
      pieces(piecesYaml, /*isSharded=*/false, /*hasCuts=*/false,
             MF_TEST_DATA "/../passes/sequence/Inputs/two_layers.mlir",
             /*lossChunks=*/2);
  if (yaml == piecesYaml)
    return pieces;
  if (yaml == castsYaml)
    return casts;
  if (yaml == streamsYaml)
    return streams;
  if (yaml == cannYaml)
    return cann;
  if (yaml == adaptedYaml)
    return adapted;
  if (yaml == fusedYaml)
    return fused;
  if (yaml == summandsYaml)
    return summands;
  if (yaml == shardedYaml)
    return sharded;
  if (yaml == copiesYaml)
    return copies;
  return yaml == stagesYaml ? stages : swaps;
}

/// The last snapshot behind a run of `pass` that did something; 0 if none.
size_t findSnapshot(const LoweredSteps &steps, llvm::StringRef pass) {
  for (size_t i = steps.snapshots.size(); i-- > 1;)
    if (steps.snapshots[i].pass == pass && steps.snapshots[i].hasChanged)
      return i;
  return 0;
}

mf::interpreter::Comparison check(const LoweredSteps &steps, size_t index,
                                  ModuleOp after) {
  mf::interpreter::ComparisonOptions options;
  options.threads = 1;
  // Ranks that cut a tensor, pieces of a loss, and kernels of streams add in
  // another order.
  const bool isRounded =
      steps.isSharded || steps.lossChunks || &steps == &getSteps(streamsYaml);
  options.tolerance = isRounded ? 1e-5 : 0;
  return mf::tools::checkRewrite(
      *mf::tools::getReference(steps.snapshots, index).module, after, options);
}

/// Breaks `right`, which is right. Running it must show that it is wrong.
void expectCaught(LoweredSteps &steps, size_t index, ModuleOp right,
                  const WrongRewrite &rewrite) {
  EXPECT_THAT(check(steps, index, right).differences, testing::IsEmpty())
      << steps.messages;

  OwningOpRef<ModuleOp> wrong = right.clone();
  ASSERT_TRUE(rewrite.apply(*wrong)) << "nothing to break";
  ASSERT_TRUE(succeeded(verify(*wrong))) << "the verifier sees it already";
  steps.messages.clear();
  mf::interpreter::Comparison comparison = check(steps, index, *wrong);
  EXPECT_FALSE(comparison.isSame());
  std::string said = steps.messages;
  llvm::raw_string_ostream os(said);
  comparison.print(os);
  EXPECT_THAT(said, testing::HasSubstr(rewrite.says));
}

class WrongRewriteTest : public testing::TestWithParam<WrongRewrite> {};

TEST_P(WrongRewriteTest, IsCaught) {
  const WrongRewrite &rewrite = GetParam();
  LoweredSteps &steps = getSteps(rewrite.yaml);
  size_t index = findSnapshot(steps, rewrite.pass);
  ASSERT_NE(index, 0U) << steps.messages;
  expectCaught(steps, index, *steps.snapshots[index].module, rewrite);
}

class WrongSplitTest : public testing::TestWithParam<WrongRewrite> {};

TEST_P(WrongSplitTest, IsCaught) {
  const WrongRewrite &rewrite = GetParam();
  LoweredSteps &steps = getSteps(rewrite.yaml);
  size_t index = findSnapshot(steps, rewrite.pass);
  ASSERT_NE(index, 0U) << steps.messages;
  OwningOpRef<ModuleOp> right = steps.snapshots[index - 1].module->clone();
  mf::passes::SplitChunksOptions options;
  options.splitBackward = mf::passes::SplitBackward::Always;
  options.recomputeTasks = mf::passes::RecomputeTasks::Always;
  PassManager manager(right->getContext());
  manager.nest<mf::ir::ModelOp>().addPass(
      mf::passes::createSplitChunks(options));
  ASSERT_TRUE(succeeded(manager.run(*right))) << steps.messages;
  expectCaught(steps, index, *right, rewrite);
}

std::string getTestName(const testing::TestParamInfo<WrongRewrite> &info) {
  std::string name;
  for (char c : llvm::StringRef(info.param.pass))
    name += c == '-' ? '_' : c;
  return name + "_" + info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    , WrongRewriteTest,
    testing::ValuesIn(mf::tools::getWrongRewrites().begin(),
                      mf::tools::getWrongRewrites().end()),
    getTestName);
INSTANTIATE_TEST_SUITE_P(, WrongSplitTest,
                         testing::ValuesIn(mf::tools::getWrongSplits().begin(),
                                           mf::tools::getWrongSplits().end()),
                         getTestName);

TEST(WrongRewritesTest, EveryPassOfThePipelineHasOne) {
  for (llvm::StringRef yaml : {stagesYaml, swapsYaml})
    for (const Snapshot &snapshot :
         llvm::ArrayRef(getSteps(yaml).snapshots).drop_front())
      // A pass that only counts bytes has no results that could be wrong.
      EXPECT_TRUE(snapshot.pass == "mf-account-trainer" ||
                  llvm::any_of(mf::tools::getWrongRewrites(),
                               [&](const WrongRewrite &rewrite) {
                                 return rewrite.pass == snapshot.pass;
                               }))
          << snapshot.pass << " has no wrong rewrite that is caught";
  EXPECT_GT(getSteps(stagesYaml).snapshots.size(), 10U);
}

} // namespace
