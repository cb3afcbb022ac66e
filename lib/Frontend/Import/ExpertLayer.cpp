//===- ExpertLayer.cpp - A feed forward with experts ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertLayer.h"
#include "BodyLayer.h"
#include <limits>
#include <optional>

using namespace mlir;
using namespace mf::ir;

namespace mf {

bool hasExpertLoss(const ModelSpec &spec) {
  const RouterSpec &router = spec.experts->router;
  return !router.losses.empty() || router.zLossFactor != 0.0;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Returns the shapes between [batch, sequence, width] and [rows, tokens,
/// width]. The samples of a data-parallel rank are concatenated before they
/// are split into rows, so that a rank keeps its own rows.
static SmallVector<SmallVector<int64_t>> getRowShapes(const ModelSpec &spec,
                                                      int64_t width) {
  const ExpertSpec &experts = *spec.experts;
  int64_t replicas = spec.ranks.dataParallel;
  int64_t samples = spec.microBatchSize, length = spec.sequenceLength;
  SmallVector<SmallVector<int64_t>> shapes = {{samples, length, width}};
  auto add = [&](ArrayRef<int64_t> shape) {
    if (shapes.back() != shape)
      shapes.emplace_back(shape);
  };
  if (experts.numPieces > 1) {
    // A replica has one sequence.
    add({replicas, experts.numPieces,
         experts.numRows / replicas / experts.numPieces, experts.rowLength,
         width});
    add({experts.numRows, experts.rowLength, width});
    return shapes;
  }
  add({replicas, samples / replicas * length, width});
  if (experts.numRows != replicas) {
    add({replicas, experts.numRows / replicas, experts.rowLength, width});
    add({experts.numRows, experts.rowLength, width});
  }
  return shapes;
}

static Value toRows(CellBuilder &cells, Value value, StringRef leaf) {
  for (const auto &shape : getRowShapes(cells.spec, getShape(value).back()))
    if (getShape(value) != ArrayRef(shape))
      value = cells.reshape(value, shape, leaf);
  return value;
}

static Value fromRows(CellBuilder &cells, Value value, StringRef leaf) {
  auto shapes = getRowShapes(cells.spec, getShape(value).back());
  for (const auto &shape : llvm::reverse(shapes))
    if (getShape(value) != ArrayRef(shape))
      value = cells.reshape(value, shape, leaf);
  return value;
}

//===----------------------------------------------------------------------===//
// Shared experts
//===----------------------------------------------------------------------===//

/// Returns the sigmoid of one product for each token: the gate of the shared
/// experts.
static Value addSharedGate(CellBuilder &cells, const ExpertNames &names,
                           Value tokens) {
  const ModelSpec &spec = cells.spec;
  DType type = spec.experts->router.type;
  const std::string linear = cells.getCell(ParameterPart::SharedRouter);
  Value weight;
  {
    CellBuilder::Cell cell(cells, linear);
    weight = cells.addParameter("weight", {1, spec.hiddenSize}, type,
                                cells.getWeightInit(spec.hiddenSize, 1), {});
  }
  Value input = cells.cast(tokens, type, names.castGate);
  Value product =
      cells.create<MatmulOp>(linear + ".matmul", input, weight, false, true)
          .getResult();
  Value gate =
      cells.create<SigmoidOp>(names.activateGate, product.getType(), product)
          .getResult();
  return cells.cast(gate, spec.computeType, names.castGate);
}

StringRef getFusedSwiglu(const CellBuilder &cells) {
  return cells.spec.experts->fusions.swiglu ? cells.names.experts.swiglu : "";
}

/// Every rank has shared experts whole and its own rows, so no axis cuts them.
static Value addSharedExperts(CellBuilder &cells, const ExpertNames &names,
                              Value tokens) {
  const ExpertSpec &experts = *cells.spec.experts;
  FeedForwardTraits traits;
  traits.cell = "shared_experts";
  traits.size = experts.sharedWidth;
  traits.isCut = false;
  traits.fused = getFusedSwiglu(cells);
  Value shared = addFeedForward(cells, tokens, traits);
  if (!experts.gatesShared)
    return shared;
  Value gate = addSharedGate(cells, names, tokens);
  return cells.multiply(shared, gate, names.applyGate);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Returns the experts of tokens that are chosen by their ids, [rows, tokens,
/// k]; null in a layer in which scores choose. `input` is that of the layer.
static Value addTokenExperts(CellBuilder &cells, const ExpertNames &names,
                             Value input) {
  const ModelSpec &spec = cells.spec;
  const ExpertSpec &experts = *spec.experts;
  if (cells.layerIndex >= spec.numHashLayers)
    return {};
  StringRef leaf = names.tokenTable;
  ParameterTraits traits;
  traits.frozen = true;
  const int64_t chosen = experts.router.numChosen;
  Value table =
      cells.addParameter(leaf, {spec.vocabSize, chosen}, DType::F32,
                         cells.getInit(InitKind::TokenExperts,
                                       static_cast<double>(experts.numExperts)),
                         traits);
  auto type = cast<RankedTensorType>(table.getType())
                  .clone({spec.microBatchSize, spec.sequenceLength, chosen});
  Value rows =
      cells
          .create<EmbeddingOp>(leaf, type, ValueRange{table, cells.getTokens()})
          .getResult();
  const int64_t replicas = spec.ranks.dataParallel;
  if (experts.numRows != replicas && spec.microBatchSize != replicas) {
    // Ranks with parts of several sequences exchange activations to have whole
    // rows, and no values of tables and tokens alone. Zeros of the input make
    // an activation of the choice.
    Value zeros =
        cells.cast(cells.sliceLast(input, 0, 1, leaf), DType::F32, leaf);
    zeros = cells.compare(zeros, Comparison::Less,
                          -std::numeric_limits<double>::infinity(), leaf);
    rows = cells.add(rows, zeros, leaf);
  }
  return cells.castToIndex(toRows(cells, rows, "reshape"), leaf);
}

static Value addRoutedExperts(CellBuilder &cells, const ExpertNames &names,
                              Value tokens, Value byToken, Value &loss) {
  std::optional<CellBuilder::Cell> cell;
  const ExpertSpec &experts = *cells.spec.experts;
  if (experts.sharedWidth > 0 && !names.routed.empty())
    cell.emplace(cells, names.routed);
  Choice choice =
      addRouter(cells, experts.capacity ? names.capacityRouter : names.router,
                tokens, byToken);
  loss = choice.loss;
  if (experts.capacity)
    return addCapacityExperts(cells, tokens, choice);
  return addDroplessExperts(cells, names.dropless, tokens, choice);
}

ExpertResult addExperts(CellBuilder &cells, Value input) {
  const ModelSpec &spec = cells.spec;
  const ExpertNames &names = cells.names.experts;
  CellBuilder::Cell cell(cells, names.cell);
  Value tokens = cells.cast(input, spec.computeType, names.cast);
  Value byToken = addTokenExperts(cells, names, tokens);
  tokens = toRows(cells, tokens, "reshape");
  ExpertResult result;
  Value output = addRoutedExperts(cells, names, tokens, byToken, result.loss);
  if (spec.experts->sharedWidth > 0)
    output = cells.add(output, addSharedExperts(cells, names, tokens), "add");
  result.hidden = fromRows(cells, output, "reshape");
  return result;
}

Value addWeighedSum(CellBuilder &cells, Value rows, Value gates, StringRef cast,
                    StringRef reshape, StringRef weigh, StringRef sum) {
  SmallVector<int64_t> shape(getShape(gates));
  shape.push_back(1);
  gates = cells.cast(gates, cells.spec.computeType, cast);
  gates = cells.reshape(gates, shape, reshape);
  shape.back() = getShape(rows).back();
  rows = cells.reshape(rows, shape, reshape);
  rows = cells.multiply(rows, gates, weigh);
  return cells.reduceSum(rows, {2}, sum);
}

} // namespace mf
