//===- Partition.cpp - Layers to pipeline stages and chunks ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/config/ConfigAttributes.h"

namespace mf::passes {
#define GEN_PASS_DEF_PARTITION
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::ir;

namespace {

void emitRemarks(ModelOp model, const StageMap &map) {
  for (auto [chunk, row] : llvm::enumerate(map.getLayersPerStage()))
    for (auto [position, count] : llvm::enumerate(row)) {
      int64_t stage = map.getStage(static_cast<int64_t>(chunk),
                                   static_cast<int64_t>(position));
      remark::analysis(model.getLoc(), remark::RemarkOpts::name("Partition")
                                           .category("partition")
                                           .function(model.getSymName()))
          << remark::add("stage {0} chunk {1}", stage, chunk)
          << remark::metric("layers", count);
    }
}

struct PartitionPass : mf::passes::impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    ModelOp model = getOperation();
    if (failed(mf::passes::checkTraining(model)))
      return signalPassFailure();
    DiagnosticList diagnostics;
    std::optional<StageMap> map =
        mf::passes::createStageMap(model, diagnostics);
    if (!mf::passes::emitDiagnostics(model.getLoc(), diagnostics) || !map)
      return signalPassFailure();
    if (failed(mf::passes::checkMesh(model)))
      return signalPassFailure();
    emitRemarks(model, *map);

    int64_t body = 0;
    for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
      LayerPlace place;
      if (layer.getJoinsNext())
        place = map->getPlace(body);
      else if (layer.isNumbered())
        place = map->getPlace(body++);
      else if (layer.getKind() == LayerKind::Head)
        place = {map->getLastStage(), map->getNumChunks() - 1, 0};
      else
        place = {map->getFirstStage(), 0, 0};
      layer.setPlacementAttr(PlacementAttr::get(&getContext(), place.stage,
                                                place.chunk,
                                                /*piece=*/0,
                                                /*keeps=*/false));
    }
  }
};

} // namespace
