//===- PassCheck.cpp - Checks the IR between passes by running it ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "PassCheck.h"
#include "dialects/ascend/AscendDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "passes/Passes.h"

using namespace mlir;

namespace mf::tools {

namespace {

class SnapshotTaker : public PassInstrumentation {
public:
  explicit SnapshotTaker(std::vector<Snapshot> &snapshots)
      : snapshots(snapshots) {}

  void runAfterPass(Pass *pass, Operation *op) override;

private:
  std::vector<Snapshot> &snapshots;
};

} // namespace

static bool areEqual(ModuleOp a, ModuleOp b) {
  return OperationEquivalence::isEquivalentTo(
      a, b, OperationEquivalence::IgnoreLocations);
}

void SnapshotTaker::runAfterPass(Pass *pass, Operation *op) {
  // Pass managers inside of others have no argument.
  if (pass->getArgument().empty())
    return;
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  Snapshot snapshot{pass->getArgument().str(), module.clone(), false};
  const bool isSamePass = snapshots.back().pass == snapshot.pass;
  snapshot.hasChanged = (isSamePass && snapshots.back().hasChanged) ||
                        !areEqual(*snapshots.back().module, *snapshot.module);
  if (isSamePass)
    snapshots.pop_back();
  snapshots.push_back(std::move(snapshot));
}

FailureOr<std::vector<Snapshot>> runWithSnapshots(PassManager &manager,
                                                  ModuleOp module) {
  std::vector<Snapshot> snapshots;
  snapshots.push_back({"", module.clone(), false});
  manager.addInstrumentation(std::make_unique<SnapshotTaker>(snapshots));
  if (failed(manager.run(module)))
    return failure();
  return snapshots;
}

bool canRunAsIs(ModuleOp module) {
  return llvm::all_of(module.getOps<ascend::ProgramOp>(),
                      [](ascend::ProgramOp program) {
                        return program.getArenaBytes().has_value();
                      });
}

interpreter::Comparison
checkRewrite(ModuleOp before, ModuleOp after,
             const interpreter::ComparisonOptions &options) {
  if (canRunAsIs(before) && canRunAsIs(after))
    return interpreter::compareModules(before, after, options);
  PassManager manager(before.getContext());
  manager.addNestedPass<ascend::ProgramOp>(passes::createPlanMemory());
  OwningOpRef<ModuleOp> plannedBefore = before.clone();
  OwningOpRef<ModuleOp> plannedAfter = after.clone();
  if ((canRunAsIs(before) || succeeded(manager.run(*plannedBefore))) &&
      (canRunAsIs(after) || succeeded(manager.run(*plannedAfter))))
    return interpreter::compareModules(*plannedBefore, *plannedAfter, options);
  interpreter::Comparison comparison;
  comparison.differences.emplace_back("there is no memory plan");
  return comparison;
}

const Snapshot &getReference(llvm::ArrayRef<Snapshot> snapshots, size_t index) {
  size_t reference = index - 1;
  while (reference > 0 && !canRunAsIs(*snapshots[reference].module))
    --reference;
  return snapshots[reference];
}

} // namespace mf::tools
