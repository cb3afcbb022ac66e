//===- CertificateTest.cpp - Wrong rewrites that no proof may accept ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Breaks the IR behind each pass from mf-certify on at random, runs the rest of
// the pipeline and its proofs, and runs what these accept: it must give the
// bits of the model. MF_SEED and MF_COUNT draw others, and more.
//
//===----------------------------------------------------------------------===//

#include "IrSaboteur.h"
#include "LoweredSteps.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassRegistry.h"
#include "test/unit/Campaign.h"
#include "gtest/gtest.h"
#include <string>

using namespace mf;
using namespace mlir;
using mf::tools::IrSaboteur;
using mf::tools::LoweredSteps;

namespace {

/// Whether an operation of the step's own copies or sums what is kept.
bool usesStatics(Operation *op) {
  return isa<ascend::CopyOp, ascend::CollectiveOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value operand) {
           return operand.getDefiningOp<ascend::GlobalOp>() != nullptr;
         });
}

/// Whether an operation computes something that a certificate has: it is in the
/// functions and routines of chunks, in the mf dialect or in the ascend
/// dialect, or in their runs in a schedule or calls in a step. What updates
/// parameters does not.
bool isBreakable(Operation *op) {
  Operation *parent = op->getParentOp();
  if (isa<ir::ChunkOp, ir::ForwardOp, ir::RecomputeOp, ir::BackwardOp,
          ir::BackwardWeightsOp, ir::UpdateOp>(parent))
    return !isa<ir::CutOp, ir::GetParamOp>(op);
  if (isa<ir::ScheduleOp>(parent))
    return isa<ir::RunForwardOp, ir::RunRecomputeOp, ir::RunBackwardOp,
               ir::RunBackwardWeightsOp, ir::RunUpdateOp, ir::LossGradientOp>(
        op);
  if (isa<ascend::CallOp>(op))
    return true;
  if (isa<ascend::StepOp>(parent))
    return usesStatics(op);
  return isa<ascend::RoutineOp>(parent) &&
         isa<ascend::LaunchOp, ascend::CopyOp, ascend::CollectiveOp,
             ascend::SlotOp>(op);
}

std::string breakOne(IrSaboteur &saboteur, ModuleOp module) {
  SmallVector<Operation *> operations;
  module.walk([&](Operation *op) {
    if (op != module.getOperation() && isBreakable(op))
      operations.push_back(op);
  });
  return saboteur.breakOne(operations);
}

/// A pass, and how a pipeline names it.
struct PipelinePass {
  llvm::StringRef name;
  llvm::StringRef text;
  /// The YAML in which it has something to do.
  llvm::StringRef yaml;
  bool isOfModel;
};

constexpr PipelinePass pipeline[] = {
    {"mf-insert-recompute", "mf.chunk(mf-insert-recompute)",
     mf::tools::stagesYaml, true},
    {"mf-overlap-copies", "mf.chunk(mf-overlap-copies)", mf::tools::swapsYaml,
     true},
    {"mf-insert-swap", "mf.chunk(mf-insert-swap)", mf::tools::swapsYaml, true},
    {"mf-split-chunks", "mf-split-chunks", mf::tools::stagesYaml, true},
    {"mf-insert-optimizer", "mf-insert-optimizer", "", true},
    {"mf-certify-update", "mf-certify-update", mf::tools::stagesYaml, true},
    {"mf-fold-gradient-scales", "mf-fold-gradient-scales",
     mf::tools::stagesYaml, true},
    {"mf-build-schedule", "mf-build-schedule", mf::tools::stagesYaml, true},
    {"mf-lower-to-ascend", "mf-lower-to-ascend", mf::tools::stagesYaml, false},
    {"ascend-cast-once", "ascend.program(ascend-cast-once)",
     mf::tools::castsYaml, false},
    {"ascend-fuse-elementwise", "ascend.program(ascend-fuse-elementwise)",
     mf::tools::stagesYaml, false},
    {"ascend-plan-memory", "ascend.program(ascend-plan-memory)",
     mf::tools::swapsYaml, false},
};

/// The passes behind number `first` and the proofs.
std::string getRest(size_t first) {
  std::string ofModel, ofProgram;
  for (const PipelinePass &pass :
       llvm::ArrayRef(pipeline).drop_front(first + 1))
    (pass.isOfModel ? ofModel : ofProgram) += pass.text.str() + ",";
  if (!ofModel.empty()) {
    ofModel.pop_back();
    ofModel = "mf.model(" + ofModel + "),";
  }
  return "builtin.module(" + ofModel + ofProgram + "ascend-verify-program)";
}

class CertificateTest : public testing::TestWithParam<size_t> {
protected:
  void SetUp() override {
    static const bool registered = [] {
      mf::passes::registerMfPasses();
      return true;
    }();
    (void)registered;
  }
};

/// How often what was broken came to which end.
struct Counts {
  int64_t broken = 0, refused = 0, byTerms = 0, harmless = 0, missed = 0;
};

TEST_P(CertificateTest, AcceptsNoOtherBits) {
  const PipelinePass &pass = pipeline[GetParam()];
  LoweredSteps steps(pass.yaml, /*isSharded=*/false, /*hasCuts=*/false,
                     pass.yaml == mf::tools::castsYaml ? MF_TEST_DATA
                         "/../passes/cast/Inputs/two_layers_bf16.mlir"
                                                       : MF_TEST_DATA
                         "/../../examples/two_layers.mlir");
  size_t index = 0;
  for (size_t i = 1; i < steps.snapshots.size(); ++i)
    if (steps.snapshots[i].pass == pass.name)
      index = i;
  ASSERT_NE(index, 0U) << steps.messages;
  ModuleOp right = *steps.snapshots[index].module;
  ModuleOp reference = *steps.snapshots.back().module;
  IrSaboteur saboteur(mf::getCampaignSeed(1) + GetParam());
  PassManager manager(right->getContext());
  ASSERT_TRUE(succeeded(parsePassPipeline(
      llvm::StringRef(getRest(GetParam())).drop_front(15).drop_back(1),
      manager)));
  OwningOpRef<ModuleOp> whole = right.clone();
  ASSERT_TRUE(succeeded(manager.run(*whole))) << steps.messages;
  Counts counts;
  const auto wanted = static_cast<int64_t>(mf::getCampaignCount(15));
  for (int64_t tries = 0; counts.broken < wanted && tries < 50 * wanted;
       ++tries) {
    OwningOpRef<ModuleOp> wrong = right.clone();
    const std::string what = breakOne(saboteur, *wrong);
    if (what.empty() || failed(verify(*wrong)))
      continue;
    ++counts.broken;
    steps.messages.clear();
    if (failed(manager.run(*wrong))) {
      ++counts.refused;
      counts.byTerms +=
          llvm::StringRef(steps.messages).contains("expected the term");
      continue;
    }
    mf::interpreter::ComparisonOptions options;
    options.threads = 1;
    if (mf::tools::checkRewrite(reference, *wrong, options).isSame()) {
      ++counts.harmless;
      continue;
    }
    ++counts.missed;
    ADD_FAILURE() << "accepted behind " << pass.name.str()
                  << ", though it gives other bits: " << what;
  }
  EXPECT_GT(counts.refused, 0);
  std::cout << pass.name.str() << ": " << counts.broken << " broken, "
            << counts.refused << " refused (" << counts.byTerms
            << " by their terms), " << counts.harmless << " harmless, "
            << counts.missed << " wrong\n"
            << "detection: wrong rewrites: " << counts.broken << " injected, "
            << counts.refused << " detected, " << counts.harmless
            << " harmless, " << counts.missed << " missed\n";
}

std::vector<size_t> getNumbers() {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < std::size(pipeline); ++i)
    if (!pipeline[i].yaml.empty())
      numbers.push_back(i);
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(, CertificateTest, testing::ValuesIn(getNumbers()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           std::string name;
                           for (char c : pipeline[info.param].name)
                             name += c == '-' ? '_' : c;
                           return name;
                         });

} // namespace
