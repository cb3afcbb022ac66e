//===- WrongRewriteTest.cpp - What a wrong rewrite looks like -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Breaks each kind of operation that a pass has made or changed. Running the IR
// must show that it is wrong for half of the kinds or more: not all changes
// matter, such as that of a number that another one is compared with.
//
//===----------------------------------------------------------------------===//

#include "IrSaboteur.h"
#include "LoweredSteps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace mlir;
using namespace mf::tools;

namespace {

/// A pass, and what it has something to do in.
struct BrokenPass {
  const char *pass;
  llvm::StringRef yaml;
  /// Backward is split in two, and tasks of their own recompute.
  bool splitsBackward = false;
  /// Its own operations compute nothing, so that others are broken.
  bool breaksOthers = false;
};

const BrokenPass passes[] = {
    {"mf-read-config", stagesYaml},
    {"mf-insert-adapters", adaptedYaml},
    {"mf-fuse-rotary", fusedYaml},
    {"mf-fuse-swiglu", fusedYaml},
    {"mf-group-matmuls", fusedYaml},
    {"mf-fuse-token-permute", fusedYaml},
    {"mf-fuse-top-k-router", fusedYaml},
    {"mf-fuse-hyper-connections", streamsYaml},
    {"mf-chunk-loss", piecesYaml},
    {"mf-partition", stagesYaml},
    {"mf-mark-memory", stagesYaml},
    {"mf-split-sequence", shardedYaml},
    {"mf-interleave-rows", copiesYaml},
    {"mf-propagate-layouts", shardedYaml},
    {"mf-lower-reshards", shardedYaml},
    {"mf-localize", shardedYaml},
    {"mf-shard-optimizer", shardedYaml},
    {"mf-reduce-in-backward", summandsYaml, false, /*breaksOthers=*/true},
    {"mf-build-backward", stagesYaml},
    {"mf-certify", stagesYaml},
    {"mf-insert-recompute", stagesYaml},
    {"mf-overlap-copies", copiesYaml},
    {"mf-insert-swap", swapsYaml},
    {"mf-split-chunks", stagesYaml},
    {"mf-split-chunks", swapsYaml},
    {"mf-split-chunks", stagesYaml, /*splitsBackward=*/true},
    {"mf-split-chunks", swapsYaml, /*splitsBackward=*/true},
    {"mf-insert-optimizer", stagesYaml},
    {"mf-certify-update", stagesYaml},
    {"mf-fold-gradient-scales", stagesYaml},
    {"mf-build-schedule", stagesYaml},
    {"mf-lower-to-ascend", stagesYaml},
    {"ascend-cast-once", castsYaml, false, /*breaksOthers=*/true},
    {"ascend-fuse-elementwise", stagesYaml},
    {"ascend-legalize-for-cann", cannYaml},
    {"ascend-plan-memory", stagesYaml},
};

LoweredSteps &getSteps(llvm::StringRef yaml) {
  static std::map<std::string, std::unique_ptr<LoweredSteps>> all;
  std::unique_ptr<LoweredSteps> &steps = all[yaml.str()];
  if (steps)
    return *steps;
  const bool isSharded = yaml == shardedYaml || yaml == summandsYaml;
  llvm::StringRef model = "/../../examples/two_layers.mlir";
  if (yaml == fusedYaml)
    model = "/../passes/fuse/Inputs/experts.mlir";
  if (yaml == streamsYaml)
    model = "/../passes/fuse/Inputs/streams.mlir";
  if (yaml == castsYaml)
    model = "/../passes/cast/Inputs/two_layers_bf16.mlir";
  if (yaml == adaptedYaml)
    model = "/../passes/adapters/Inputs/one_linear.mlir";
  if (yaml == piecesYaml)
    model = "/../passes/sequence/Inputs/two_layers.mlir";
  steps = std::make_unique<LoweredSteps>(
      yaml, isSharded, /*hasCuts=*/yaml == copiesYaml,
      (MF_TEST_DATA + model).str(), /*lossChunks=*/yaml == piecesYaml ? 2 : 0);
  return *steps;
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
  return checkRewrite(*getReference(steps.snapshots, index).module, after,
                      options);
}

//===----------------------------------------------------------------------===//
// Operations of a pass
//===----------------------------------------------------------------------===//

/// An operation without the values that it reads.
std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName() << " " << op->getAttrDictionary() << " "
     << op->getOperandTypes() << " " << op->getResultTypes();
  return text;
}

using OperationsByKind = std::map<std::string, SmallVector<Operation *>>;

/// The operations that a pass has made or changed. All, if `breaksOthers` or if
/// it has only moved some or changed what they read.
OperationsByKind findChanged(ModuleOp before, ModuleOp after,
                             bool breaksOthers) {
  std::multiset<std::string> known;
  before.walk([&](Operation *op) { known.insert(describe(op)); });
  OperationsByKind changed, all;
  after.walk([&](Operation *op) {
    if (op == after.getOperation())
      return;
    const std::string kind = op->getName().getStringRef().str();
    all[kind].push_back(op);
    const auto found = known.find(describe(op));
    if (found == known.end())
      changed[kind].push_back(op);
    else
      known.erase(found);
  });
  return changed.empty() || breaksOthers ? all : changed;
}

/// Whether a change concerns only what later passes decide, or labels that no
/// token has.
bool isSilent(llvm::StringRef what) {
  return llvm::any_of(
      llvm::ArrayRef<llvm::StringRef>{"ignore_index", "storage_dim",
                                      "parallel_optimizer"},
      [&](llvm::StringRef attribute) {
        return what.starts_with(("changed attribute " + attribute).str());
      });
}

class WrongRewriteTest : public testing::TestWithParam<BrokenPass> {};

TEST_P(WrongRewriteTest, IsSeenInHalfOfTheKindsOfOperations) {
  const BrokenPass &given = GetParam();
  LoweredSteps &steps = getSteps(given.yaml);
  const size_t index = findSnapshot(steps, given.pass);
  ASSERT_NE(index, 0U) << steps.messages;
  ModuleOp before = *steps.snapshots[index - 1].module;
  OwningOpRef<ModuleOp> right = steps.snapshots[index].module->clone();
  if (given.splitsBackward) {
    right = before.clone();
    mf::passes::SplitChunksOptions options;
    options.splitBackward = mf::passes::SplitBackward::Always;
    options.recomputeTasks = mf::passes::RecomputeTasks::Always;
    PassManager manager(right->getContext());
    manager.nest<mf::ir::ModelOp>().addPass(
        mf::passes::createSplitChunks(options));
    ASSERT_TRUE(succeeded(manager.run(*right))) << steps.messages;
  }
  EXPECT_THAT(check(steps, index, *right).differences, testing::IsEmpty())
      << steps.messages;

  IrSaboteur saboteur(1);
  size_t kinds = 0, seen = 0;
  std::string unseen;
  for (const auto &[kind, operations] :
       findChanged(before, *right, given.breaksOthers)) {
    constexpr int maxTries = 60, maxRuns = 10;
    std::string harmless;
    bool isSeen = false;
    for (int tries = 0, runs = 0; tries < maxTries && runs < maxRuns && !isSeen;
         ++tries) {
      OwningOpRef<ModuleOp> wrong = right->clone();
      const std::string what = saboteur.breakOne(
          findChanged(before, *wrong, given.breaksOthers)[kind]);
      if (what.empty() || isSilent(what) || failed(verify(*wrong)))
        continue;
      ++runs;
      isSeen = !check(steps, index, *wrong).isSame();
      harmless += what + "\n";
    }
    kinds += isSeen || !harmless.empty();
    seen += isSeen;
    if (!isSeen)
      unseen += harmless;
  }
  EXPECT_GT(seen, 0U);
  EXPECT_GE(2 * seen, kinds) << unseen;
}

INSTANTIATE_TEST_SUITE_P(, WrongRewriteTest, testing::ValuesIn(passes),
                         [](const testing::TestParamInfo<BrokenPass> &info) {
                           std::string name = std::to_string(info.index) + "_" +
                                              info.param.pass;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
