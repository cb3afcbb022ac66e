//===- HeadLayer.cpp - Final norm, head and losses ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BodyLayer.h"
#include "NextTokenLayers.h"
#include <cmath>

using namespace mlir;
using namespace mf::ir;

namespace mf {

/// Returns the Cell of the model, or the parameter, that holds a part.
static std::string getModelCell(const ModelSpec &spec, ParameterPart part) {
  return findCell(getFamily(spec.family).cells.model,
                  getFacts(spec, /*hasExperts=*/false), part);
}

std::string getTableName(const ModelSpec &spec, ParameterPart table) {
  return findParameter(getFamily(spec.family).cells.model,
                       getFacts(spec, /*hasExperts=*/false), table);
}

SmallVector<StringRef, 2> getVocabularyAxes(VocabularyCut cut) {
  switch (cut) {
  case VocabularyCut::None:
    return {};
  case VocabularyCut::Model:
    return {"mp"};
  case VocabularyCut::ContextAndModel:
    return {"cp", "mp"};
  case VocabularyCut::All:
    return {"dp", "cp", "mp"};
  }
  llvm_unreachable("unknown cut");
}

void addFinalNorm(ModelOp model, const ModelSpec &spec, Type hidden,
                  int64_t numKept) {
  SmallVector<Type> types(static_cast<size_t>(numKept) + 1, hidden);
  CellBuilder cells(model, spec, "norm_out", LayerKind::Head,
                    getModelCell(spec, ParameterPart::FinalNorm), types, types);
  SmallVector<Value> results;
  for (int64_t index = 0; index < numKept; ++index)
    results.push_back(cells.getArgument(index));
  results.push_back(cells.addNorm(cells.getArgument(numKept)));
  cells.returnValues(results);
}

namespace {

class HeadBuilder {
public:
  HeadBuilder(ModelOp model, const ModelSpec &spec, Type hidden)
      : spec(spec), depth(spec.nextTokens.depth),
        cells(model, spec, headLayer, LayerKind::Head,
              getModelCell(spec, ParameterPart::Head),
              getArguments(model, spec, hidden), getLosses(model, spec)) {}

  void build() {
    Value weight = addWeight();
    SmallVector<Value> losses;
    for (auto [index, logits] : llvm::enumerate(addAllLogits(weight)))
      losses.push_back(addLoss(logits, static_cast<int64_t>(index)));
    nameLosses();
    cells.returnValues(losses);
  }

private:
  static SmallVector<Type> getArguments(ModelOp model, const ModelSpec &spec,
                                        Type hidden) {
    SmallVector<Type> types(static_cast<size_t>(spec.nextTokens.depth) + 1,
                            hidden);
    types.push_back(
        RankedTensorType::get({spec.microBatchSize, spec.sequenceLength},
                              IntegerType::get(model.getContext(), 32)));
    return types;
  }
  static SmallVector<Type> getLosses(ModelOp model, const ModelSpec &spec) {
    return SmallVector<Type>(
        static_cast<size_t>(spec.nextTokens.depth) + 1,
        RankedTensorType::get({}, Float32Type::get(model.getContext())));
  }

  Value addWeight() {
    const std::string table = getTableName(spec);
    ParameterTraits traits;
    traits.cuts = {getVocabularyAxes(spec.headCut), {}};
    traits.mayStayWhole = true;
    if (spec.tiesWordEmbeddings) {
      traits.tiedTo = table;
      traits.parallelOptimizer = spec.parallelOptimizerTable;
    }
    const DType type = spec.tiesWordEmbeddings
                           ? spec.embeddingType
                           : spec.headType.value_or(spec.paramType);
    Value weight = cells.addParameter(
        "weight", {spec.vocabSize, spec.hiddenSize}, type,
        cells.getWeightInit(spec.hiddenSize, spec.vocabSize), traits);
    return spec.normalizesHead ? normalizeRows(weight) : weight;
  }

  /// Returns the head's weight with rows of length 1: RMSNorm without its
  /// factor sqrt(hidden).
  Value normalizeRows(Value weight) {
    int64_t hidden = spec.hiddenSize;
    double width = static_cast<double>(hidden);
    ParameterTraits traits;
    traits.frozen = true;
    Value factor = cells.addParameter(
        headFactor, {hidden}, spec.paramType,
        cells.getInit(InitKind::Constant, 1.0 / std::sqrt(width)), traits);
    return cells.create<RmsNormOp>("real_div", weight, factor, 1e-5 / width)
        .getResult();
  }

  Value addLogits(Value hidden, Value weight) {
    hidden = cells.cast(hidden, spec.computeType, "cast");
    weight = cells.cast(weight, spec.computeType, "cast");
    Value logits = cells.create<MatmulOp>("matmul", hidden, weight, false, true)
                       .getResult();
    return cells.cast(logits, DType::F32, "cast");
  }

  /// Returns the logits of the model and of each depth. DeepSeek's head runs
  /// once, on the concatenated tokens of all depths.
  SmallVector<Value> addAllLogits(Value weight) {
    SmallVector<Value> hidden;
    for (int64_t index = depth; index >= 0; --index)
      hidden.push_back(cells.getArgument(index));
    if (!spec.nextTokens.joinsHeads || depth == 0) {
      for (Value &value : hidden)
        value = addLogits(value, weight);
      return hidden;
    }
    Value all =
        cells.create<ConcatOp>("concat", hidden, /*axis=*/1).getResult();
    Value logits = addLogits(all, weight);
    const int64_t length = spec.sequenceLength;
    for (int64_t index = 0; index <= depth; ++index)
      hidden[static_cast<size_t>(index)] =
          cells.slice(logits, 1, index * length, length, "slice");
    return hidden;
  }

  /// Returns the loss for the labels `index` tokens later. The last tokens have
  /// none.
  Value addLoss(Value logits, int64_t index) {
    const int64_t rows = spec.microBatchSize * spec.sequenceLength;
    logits = cells.reshape(logits, {rows, spec.vocabSize}, "reshape");
    Value labels = cells.getArgument(depth + 1);
    if (index > 0)
      labels = cells.shiftTokens(labels, index, spec.ignoreTokenId);
    labels = cells.reshape(labels, {rows}, "reshape");
    Value loss = cells
                     .create<CrossEntropyOp>(index == 0 ? "loss" : "mtp_loss",
                                             logits, labels, spec.ignoreTokenId)
                     .getLoss();
    if (index == 0)
      return loss;
    const double weight =
        spec.nextTokens.lossFactor / static_cast<double>(depth);
    return cells.scale(loss, weight, "mtp_loss_scale");
  }

  /// A loss that is the only one of the model needs no name.
  void nameLosses() {
    if (depth == 0 && getLayerLossName(spec).first.empty())
      return;
    SmallVector<std::string> later;
    for (int64_t index = 1; index <= depth; ++index)
      later.push_back("mtp_" + std::to_string(index) + "_loss");
    SmallVector<std::pair<StringRef, double>> parts = {{"lm_loss", 1.0}};
    for (StringRef name : later)
      parts.emplace_back(name, 1.0);
    cells.nameLosses(parts);
  }

  const ModelSpec &spec;
  const int64_t depth;
  CellBuilder cells;
};

} // namespace

void addHead(ModelOp model, const ModelSpec &spec, Type hidden) {
  HeadBuilder(model, spec, hidden).build();
}

} // namespace mf
