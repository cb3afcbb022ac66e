//===- PrintMemory.cpp - Prints the memory of a planned program -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Decode/TargetFile.h"
#include "passes/DecodedModule.h"
#include "passes/Passes.h"
#include "passes/plan-memory/StageReport.h"

namespace mf::passes {
#define GEN_PASS_DEF_PRINTMEMORY
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;

namespace {

// This is a pass on the module, because passes on programs print in any order.
struct PrintMemoryPass : mf::passes::impl::PrintMemoryBase<PrintMemoryPass> {
  using PrintMemoryBase::PrintMemoryBase;
  PrintMemoryPass(const mf::passes::PrintMemoryOptions &options,
                  mf::passes::LayerReportHandler handler)
      : PrintMemoryBase(options), handler(std::move(handler)) {}

  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<std::vector<mf::passes::StageReport>> reports =
        mf::passes::makeStageReports(getOperation(), [&] {
          return getAnalysis<mf::passes::DecodedModule>().getProgram();
        });
    if (failed(reports) || failed(addNeeds(*reports)))
      return signalPassFailure();
    llvm::json::Array stages;
    for (const mf::passes::StageReport &report : *reports)
      if (json || handler)
        stages.push_back(report.toJson());
      else
        report.print(llvm::errs());
    llvm::json::Object all{{"stages", std::move(stages)}};
    if (handler)
      handler(std::move(all));
    else if (json)
      llvm::errs() << llvm::json::Value(std::move(all)) << '\n';
  }

private:
  /// Adds what a device needs for each stage, if there is a target that knows.
  LogicalResult
  addNeeds(llvm::MutableArrayRef<mf::passes::StageReport> reports);

  mf::passes::LayerReportHandler handler;
};

} // namespace

LogicalResult PrintMemoryPass::addNeeds(
    llvm::MutableArrayRef<mf::passes::StageReport> reports) {
  if (targetName.empty())
    return success();
  FailureOr<target::Target> device =
      target::readTarget(targetName, getContext());
  const program::Program *program =
      getAnalysis<mf::passes::DecodedModule>().getProgram();
  if (failed(device) || !program)
    return failure();
  for (mf::passes::StageReport &report : reports)
    if (llvm::Error error =
            mf::passes::addDeviceNeed(report, *program, device->memory))
      return getOperation().emitError(llvm::toString(std::move(error)));
  return success();
}

std::unique_ptr<Pass>
mf::passes::createPrintMemory(const PrintMemoryOptions &options,
                              LayerReportHandler handler) {
  return std::make_unique<PrintMemoryPass>(options, std::move(handler));
}
