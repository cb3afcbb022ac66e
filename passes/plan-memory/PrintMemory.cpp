//===- PrintMemory.cpp - Prints the memory of a planned program -----------===//
// SPDX-License-Identifier: Apache-2.0

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
  explicit PrintMemoryPass(mf::passes::LayerReportHandler handler)
      : handler(std::move(handler)) {}

  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<std::vector<mf::passes::StageReport>> reports =
        mf::passes::makeStageReports(getOperation());
    if (failed(reports))
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
  mf::passes::LayerReportHandler handler;
};

} // namespace

std::unique_ptr<Pass>
mf::passes::createPrintMemory(LayerReportHandler handler) {
  return std::make_unique<PrintMemoryPass>(std::move(handler));
}
