//===- CertificateTest.cpp - Wrong rewrites that no proof may accept ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Breaks the IR behind each pass from mf-certify on at random, runs the rest of
// the pipeline and its proofs, and runs what these accept: it must give the
// bits of the model. MF_SEED and MF_COUNT draw others, and more.
//
//===----------------------------------------------------------------------===//

#include "LoweredSteps.h"
#include "WrongRewrites.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassRegistry.h"
#include "test/unit/Campaign.h"
#include "gtest/gtest.h"
#include <random>
#include <string>

using namespace mf;
using namespace mlir;
using mf::tools::LoweredSteps;

namespace {

/// Breaks one operation of a training step at random: leaves it out, repeats
/// it, exchanges operands, takes another operand, changes an attribute or
/// exchanges what a function returns. Breaks the functions and routines of
/// chunks, in the mf dialect or in the ascend dialect, and their runs in a
/// schedule or calls in a step; not what updates parameters.
class IrSaboteur {
public:
  explicit IrSaboteur(uint64_t seed) : random(seed) {}

  /// Says what it did; empty if there was nothing to do in the operation that
  /// it drew.
  std::string breakOne(mlir::ModuleOp module);

private:
  size_t draw(size_t count);
  std::string leaveOut(mlir::Operation *op);
  std::string repeat(mlir::Operation *op);
  std::string exchange(mlir::Operation *op);
  std::string takeAnother(mlir::Operation *op);
  std::string changeAttribute(mlir::Operation *op);
  mlir::Attribute change(mlir::Attribute attribute);
  bool isBreakable(mlir::Operation *op);

  std::mt19937_64 random;
};

size_t IrSaboteur::draw(size_t count) { return random() % count; }

/// Whether an operation of the step's own copies or sums what is kept.
bool usesStatics(Operation *op) {
  return isa<ascend::CopyOp, ascend::CollectiveOp>(op) &&
         llvm::any_of(op->getOperands(), [](Value operand) {
           return operand.getDefiningOp<ascend::GlobalOp>() != nullptr;
         });
}

/// Whether an operation computes something that a certificate has.
bool IrSaboteur::isBreakable(Operation *op) {
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

/// An operation with a result gives way to an operand of its type; one on
/// buffers is left out.
std::string IrSaboteur::leaveOut(Operation *op) {
  if (op->getNumResults() == 0 && !op->hasTrait<OpTrait::IsTerminator>()) {
    op->erase();
    return "left out";
  }
  for (OpOperand &operand : op->getOpOperands())
    if (op->getNumResults() > 0 &&
        operand.get().getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand.get());
      return "left out";
    }
  return "";
}

/// An operation with a result is done to its own result again.
std::string IrSaboteur::repeat(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return "";
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  if (op->getNumResults() == 0) {
    builder.clone(*op);
    return "repeated";
  }
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (operand.getType() == op->getResult(0).getType()) {
      Operation *clone = builder.clone(*op);
      op->getResult(0).replaceAllUsesExcept(clone->getResult(0), clone);
      clone->setOperand(number, op->getResult(0));
      return "done again to its result";
    }
  return "";
}

std::string IrSaboteur::exchange(Operation *op) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    for (unsigned j = i + 1; j < op->getNumOperands(); ++j)
      if (op->getOperand(i).getType() == op->getOperand(j).getType() &&
          op->getOperand(i) != op->getOperand(j))
        pairs.emplace_back(i, j);
  if (pairs.empty())
    return "";
  auto [i, j] = pairs[draw(pairs.size())];
  Value first = op->getOperand(i);
  op->setOperand(i, op->getOperand(j));
  op->setOperand(j, first);
  return "exchanged operands " + std::to_string(i) + " and " +
         std::to_string(j);
}

std::string IrSaboteur::takeAnother(Operation *op) {
  if (op->getNumOperands() == 0)
    return "";
  const unsigned number = draw(op->getNumOperands());
  Value operand = op->getOperand(number);
  SmallVector<Value> others;
  auto consider = [&](Value value) {
    if (value != operand && value.getType() == operand.getType())
      others.push_back(value);
  };
  for (Value argument : op->getBlock()->getArguments())
    consider(argument);
  for (Operation &before :
       llvm::make_range(op->getBlock()->begin(), Block::iterator(op)))
    for (Value result : before.getResults())
      consider(result);
  if (others.empty())
    return "";
  op->setOperand(number, others[draw(others.size())]);
  return "took another operand " + std::to_string(number);
}

Attribute IrSaboteur::change(Attribute attribute) {
  Builder builder(attribute.getContext());
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return builder.getBoolAttr(!flag.getValue());
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return builder.getIntegerAttr(integer.getType(),
                                  integer.getInt() == 0 || draw(2) == 0
                                      ? integer.getInt() + 1
                                      : integer.getInt() - 1);
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return builder.getFloatAttr(real.getType(),
                                real.getValueAsDouble() * 1.5 + 0.125);
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    if (dictionary.empty())
      return {};
    NamedAttrList entries(dictionary);
    NamedAttribute chosen = *(dictionary.begin() + draw(dictionary.size()));
    Attribute changed = change(chosen.getValue());
    if (!changed)
      return {};
    entries.set(chosen.getName(), changed);
    return entries.getDictionary(attribute.getContext());
  }
  if (auto steps = dyn_cast<ascend::FusedKernelsAttr>(attribute)) {
    SmallVector<StringAttr> kernels(steps.getKernels());
    StringAttr &kernel = kernels[draw(kernels.size())];
    kernel =
        builder.getStringAttr(kernel == "aclnnMul" ? "aclnnAdd" : "aclnnMul");
    return ascend::FusedKernelsAttr::get(
        attribute.getContext(), kernels, steps.getOperands(),
        steps.getAttributes(), steps.getTypes());
  }
  return {};
}

std::string IrSaboteur::changeAttribute(Operation *op) {
  SmallVector<NamedAttribute> attributes(op->getAttrs());
  if (attributes.empty())
    return "";
  const NamedAttribute &chosen = attributes[draw(attributes.size())];
  Attribute changed = change(chosen.getValue());
  if (!changed || changed == chosen.getValue())
    return "";
  op->setAttr(chosen.getName(), changed);
  return "changed attribute " + chosen.getName().str();
}

std::string IrSaboteur::breakOne(ModuleOp module) {
  SmallVector<Operation *> operations;
  module.walk([&](Operation *op) {
    if (op != module.getOperation() && isBreakable(op))
      operations.push_back(op);
  });
  if (operations.empty())
    return "";
  Operation *op = operations[draw(operations.size())];
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().skipRegions().useLocalScope());
  std::string done;
  switch (draw(5)) {
  case 0:
    done = leaveOut(op);
    break;
  case 1:
    done = repeat(op);
    break;
  case 2:
    done = exchange(op);
    break;
  case 3:
    done = takeAnother(op);
    break;
  default:
    done = changeAttribute(op);
  }
  return done.empty() ? "" : done + ": " + text;
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
    const std::string what = saboteur.breakOne(*wrong);
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
