//===- BuildBackward.cpp - Layers to joint chunks -------------------------===//
// SPDX-License-Identifier: Apache-2.0

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

/// Groups layers by placement. A chunk consists of consecutive layers of the
/// model.
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

/// Returns the index of the first chunk that reads a trained weight; 0 if none
/// does. Layers of later pieces of the sequence read the same weights.
int64_t findFirstTrained(ArrayRef<ChunkLayers> chunks,
                         const SymbolTable &symbols) {
  auto readsTrained = [&](LayerOp layer) {
    return llvm::any_of(layer.getBody().getOps<GetParamOp>(),
                        [&](GetParamOp read) {
                          auto param = symbols.lookup<ParamOp>(read.getParam());
                          return param && param.needsGradient();
                        });
  };
  for (auto [index, chunk] : llvm::enumerate(chunks))
    if (chunk.placement.getPiece() == 0 &&
        llvm::any_of(chunk.layers, readsTrained))
      return static_cast<int64_t>(index);
  return 0;
}

struct BuildBackwardPass
    : mf::passes::impl::BuildBackwardBase<BuildBackwardPass> {
  void runOnOperation() override {
    ModelOp model = getOperation();
    FailureOr<SmallVector<ChunkLayers>> chunks = groupLayers(model);
    if (failed(chunks))
      return signalPassFailure();
    SymbolTable symbols(model);
    const int64_t firstTrained = findFirstTrained(*chunks, symbols);
    // All pieces of a chunk have its index.
    int64_t index = 0, piece = 0;
    for (ChunkLayers &chunk : *chunks) {
      if (std::exchange(piece, chunk.placement.getPiece()) !=
          chunk.placement.getPiece())
        index = 0;
      if (failed(ChunkBuilder(model, symbols, chunk, index++, firstTrained)
                     .build()))
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
