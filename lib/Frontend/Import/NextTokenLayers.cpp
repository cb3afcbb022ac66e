//===- NextTokenLayers.cpp - Layers that predict later tokens -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NextTokenLayers.h"
#include "BodyLayer.h"
#include "HyperConnections.h"

using namespace mlir;
using namespace mf::ir;

namespace mf {

static std::string number(StringRef prefix, int64_t index) {
  return (prefix + "." + Twine(index)).str();
}

static SmallVector<Value> getArguments(const CellBuilder &cells, int64_t begin,
                                       int64_t end) {
  SmallVector<Value> values;
  for (int64_t index = begin; index < end; ++index)
    values.push_back(cells.getArgument(index));
  return values;
}

//===----------------------------------------------------------------------===//
// The embedding of a later token
//===----------------------------------------------------------------------===//

/// The parameters are tied to the first table, which may be on another stage.
/// The last tokens of a sequence have no next token; 0 is used instead.
void NextTokenLayers::addEmbedding(int64_t index) {
  // The hidden state of the depth before, and of all before that.
  const int64_t numHidden = 1 + index;
  SmallVector<Type> arguments = getHiddenTypes(numHidden);
  arguments.push_back(
      RankedTensorType::get({spec.microBatchSize, spec.sequenceLength},
                            IntegerType::get(model.getContext(), 32)));
  const NextTokenNames &next = family.operators.nextTokens;
  const std::string first = getTableName(spec);
  CellBuilder cells(model, spec, number("mtp_embeddings", index),
                    LayerKind::Embedding, number(next.embedding, index),
                    arguments, getHiddenTypes(numHidden + 1));
  cells.joinNext();
  ParameterTraits traits;
  traits.cuts = {getVocabularyAxes(spec.tableCut), {}};
  traits.mayStayWhole = true;
  traits.parallelOptimizer = spec.parallelOptimizerTable;
  traits.tiedTo = first;
  Value table = cells.addParameter(
      next.table, {spec.vocabSize, spec.hiddenSize}, spec.embeddingType,
      cells.getWeightInit(spec.hiddenSize, spec.vocabSize), traits);
  Value tokens = cells.shiftTokens(cells.getArgument(numHidden), index + 1, 0);
  auto rows = RankedTensorType::get(
      getShape(tokens), getFloatType(model.getContext(), spec.embeddingType));
  SmallVector<int64_t> shape(rows.getShape());
  shape.push_back(spec.hiddenSize);
  Value embedding = cells
                        .create<EmbeddingOp>("gather", rows.clone(shape),
                                             ValueRange{table, tokens})
                        .getResult();
  SmallVector<Value> results = getArguments(cells, 0, numHidden);
  results.push_back(cells.cast(embedding, spec.residualType, "cast"));
  cells.returnValues(results);
}

//===----------------------------------------------------------------------===//
// Joining, and the layer
//===----------------------------------------------------------------------===//

std::string NextTokenLayers::getJoinCell(PartList parts) const {
  return findCell(family.cells.join, {}, parts);
}

/// Concatenates both normalised values and projects the result. In the mcore
/// graph the embedding comes first, and the outputs are cut over ranks as in
/// other linear layers, but not in the dynamic graph.
Value NextTokenLayers::join(CellBuilder &cells, Value previous,
                            Value embedding) {
  auto addNorm = [&](ParameterPart part, Value value) {
    CellBuilder::Cell norm(cells, getJoinCell(part));
    return cells.addNorm(value);
  };
  SmallVector<Value> both = {
      addNorm(ParameterPart::PredictionHiddenNorm, previous),
      addNorm(ParameterPart::PredictionEmbeddingNorm, embedding)};
  LinearTraits traits;
  PartList parts = {ParameterPart::PredictionFromHidden,
                    ParameterPart::PredictionFromEmbedding};
  if (cells.family.joinsAfterNorm) {
    std::swap(both[0], both[1]);
    std::swap(parts.parts[0], parts.parts[1]);
  }
  if (!cells.family.joinsAfterNorm || spec.nextTokens.joinsWhole)
    traits.axes.clear();
  Value joined = cells.concatLast(both, "concat");
  CellBuilder::Cell linear(cells, getJoinCell(parts));
  joined = cells.addLinear(joined, spec.hiddenSize, traits);
  return cells.cast(joined, spec.residualType, "cast");
}

/// The arguments are the newest hidden state, the older ones and the embedding.
/// The results are the joined value and all hidden states.
void NextTokenLayers::addFuser(int64_t index) {
  const int64_t numHidden = 1 + index;
  CellBuilder cells(model, spec, number("mtp_hidden_fusers", index),
                    LayerKind::Body, number(family.cells.joins, index),
                    getHiddenTypes(numHidden + 1),
                    getHiddenTypes(numHidden + 1));
  cells.setCellTree(nextTokenCells);
  cells.joinNext();
  SmallVector<Value> results = {
      join(cells, cells.getArgument(0), cells.getArgument(numHidden))};
  results.append(getArguments(cells, 0, numHidden));
  cells.returnValues(results);
}

/// The loss of the layer, if it has one, follows the hidden states.
SmallVector<Type> NextTokenLayers::getResultTypes(int64_t numHidden,
                                                  bool hasLoss) const {
  SmallVector<Type> types = getHiddenTypes(numHidden);
  if (hasLoss)
    types.push_back(
        RankedTensorType::get({}, Float32Type::get(hidden.getContext())));
  return types;
}

void NextTokenLayers::addLayer(int64_t index) {
  const int64_t layer = spec.numLayers + index, numHidden = 2 + index;
  const bool hasExperts = spec.hasExperts(layer);
  CellBuilder cells(
      model, spec, number("layers", layer), LayerKind::Body,
      number(family.cells.layers, layer), getHiddenTypes(numHidden),
      getResultTypes(numHidden, hasLayerLoss(spec, layer, hasExperts)));
  cells.setCellTree(hasExperts ? expertCells : bodyCells);
  cells.layerIndex = layer;
  SmallVector<Value, 2> made =
      addBodyLayer(cells, cells.getArgument(0), hasExperts);
  SmallVector<Value> results = {made.front()};
  results.append(getArguments(cells, 1, numHidden));
  llvm::append_range(results, ArrayRef(made).drop_front());
  cells.returnValues(results);
}

/// Joining, the layer and its norm as one.
void NextTokenLayers::addWholeLayer(int64_t index) {
  const NextTokenNames &next = family.operators.nextTokens;
  const int64_t numHidden = 1 + index;
  // The layer is built like the last layer of the decoder.
  const int64_t layer = spec.numLayers + index;
  const bool hasExperts = spec.hasExperts(spec.numLayers - 1);
  CellBuilder cells(
      model, spec, number(family.cells.joins, index), LayerKind::Body,
      number(family.cells.joins, index), getHiddenTypes(numHidden + 1),
      getResultTypes(numHidden + 1, hasLayerLoss(spec, layer, hasExperts)));
  cells.setCellTree(nextTokenCells);
  cells.layerIndex = layer;
  Value value = join(cells, cells.getArgument(0), cells.getArgument(numHidden));
  SmallVector<Value, 2> made;
  if (spec.streams)
    value = addStreams(cells, value);
  {
    CellBuilder::Cell cell(cells, next.layer);
    made = addBodyLayer(cells, value, hasExperts);
  }
  if (spec.streams) {
    CellBuilder::Cell cell(cells, next.streamsHead);
    made.front() = collapseStreams(cells, made.front());
  }
  CellBuilder::Cell norm(cells, getJoinCell(ParameterPart::PredictionNorm));
  SmallVector<Value> results = {cells.addNorm(made.front())};
  results.append(getArguments(cells, 0, numHidden));
  llvm::append_range(results, ArrayRef(made).drop_front());
  cells.returnValues(results);
}

void NextTokenLayers::add(int64_t index) {
  addEmbedding(index);
  if (getFamily(spec.family).joinsAfterNorm) {
    addWholeLayer(index);
    return;
  }
  addFuser(index);
  addLayer(index);
}

/// The newest hidden state comes first, so that of depth d of D is at index D -
/// 1 - d.
void NextTokenLayers::addOutputNorms() {
  const int64_t depth = spec.nextTokens.depth;
  const std::string norm =
      findCell(family.cells.model, {}, ParameterPart::PredictionNorm);
  for (int64_t index = 0; index < depth; ++index) {
    CellBuilder cells(model, spec, number("mtp_norms", index), LayerKind::Head,
                      number(StringRef(norm).drop_back(2), index),
                      getHiddenTypes(depth + 1), getHiddenTypes(depth + 1));
    SmallVector<Value> results = getArguments(cells, 0, depth + 1);
    Value &own = results[static_cast<size_t>(depth - 1 - index)];
    own = cells.addNorm(own);
    cells.returnValues(results);
  }
}

} // namespace mf
