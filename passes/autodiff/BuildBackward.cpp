//===- BuildBackward.cpp - Layers to joint chunks -------------------------===//

#include "ChunkBuilder.h"
#include "passes/Passes.h"

namespace mf::passes {
#define GEN_PASS_DEF_BUILDBACKWARD
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using mf::passes::ChunkBuilder;
using mf::passes::ChunkLayers;

namespace {

/// Groups layers by placement. Layers of a chunk are neighbours in the model:
/// chunks are consecutive runs of layers.
FailureOr<SmallVector<ChunkLayers>> groupLayers(ModelOp model) {
  SmallVector<ChunkLayers> chunks;
  DenseSet<Attribute> seen;
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    PlacementAttr placement = layer.getPlacementAttr();
    if (!placement)
      return layer.emitOpError("has no placement; run mf-partition first");
    if (chunks.empty() || chunks.back().placement != placement) {
      if (!seen.insert(placement).second)
        return layer.emitOpError("expected the layers of one chunk to follow "
                                 "each other");
      chunks.push_back({placement, {}});
    }
    chunks.back().layers.push_back(layer);
  }
  return chunks;
}

struct BuildBackwardPass
    : mf::passes::impl::BuildBackwardBase<BuildBackwardPass> {
  void runOnOperation() override {
    ModelOp model = getOperation();
    FailureOr<SmallVector<ChunkLayers>> chunks = groupLayers(model);
    if (failed(chunks))
      return signalPassFailure();
    SymbolTable symbols(model);
    // The pieces of a chunk have its number.
    int64_t index = 0, piece = 0;
    for (ChunkLayers &chunk : *chunks) {
      if (std::exchange(piece, chunk.placement.getPiece()) !=
          chunk.placement.getPiece())
        index = 0;
      if (failed(ChunkBuilder(model, symbols, chunk, index++).build()))
        return signalPassFailure();
    }
    for (ChunkLayers &chunk : *chunks)
      for (LayerOp layer : chunk.layers)
        layer.erase();
    for (CellTreeOp tree :
         llvm::make_early_inc_range(model.getBody().getOps<CellTreeOp>()))
      tree.erase();
  }
};

} // namespace
