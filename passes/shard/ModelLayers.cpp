//===- ModelLayers.cpp - Input of the layout plan -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ModelLayers.h"
#include "mf/Frontend/Families/Family.h"

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

/// An embedding among body layers passes the stream on as they do.
static LayerPosition getPosition(LayerOp layer) {
  switch (layer.getKind()) {
  case LayerKind::Embedding:
    return layer.getFirstPast() > 0 ? LayerPosition::Body
                                    : LayerPosition::Embedding;
  case LayerKind::Body:
    return LayerPosition::Body;
  case LayerKind::Head:
    return LayerPosition::Head;
  }
  llvm_unreachable("unknown kind");
}

/// Returns whether a layer after the last body layer keeps the layout of the
/// stream, whose rows are cut over mp. This is so for the final norm of GLM, of
/// DeepSeek and of the mcore graph (Llama's classes gather before it), and for
/// GLM's head for long sequences, whose weight is not cut.
static bool keepsStream(ModelOp model, LayerOp layer) {
  const FamilyRecord *family = findFamily(model.getFamily().value_or(""));
  if (layer.getKind() != LayerKind::Head || !family || !family->keepsRows)
    return false;
  auto result = cast<RankedTensorType>(layer.getResultTypes().front());
  if (result.getRank() == 3)
    return true;
  return family->keepsRowsInHead &&
         llvm::all_of(layer.getOps<GetParamOp>(), [&](GetParamOp op) {
           auto param = model.lookupSymbol<ParamOp>(op.getParam());
           return param.getFrozen() || !param.getCutsAttr();
         });
}

static std::string getName(Operation *op) {
  if (auto compute = dyn_cast<ComputeOpInterface>(op))
    if (!compute.getCellName().empty())
      return compute.getCellName().str();
  return op->getName().getStringRef().str();
}

void ModelLayers::addParameters(ModelOp op) {
  for (auto param : op.getBody().getOps<ParamOp>()) {
    ShardedParameter parameter;
    parameter.name = param.getSymName().str();
    parameter.shape.assign(param.getTensorType().getShape().begin(),
                           param.getTensorType().getShape().end());
    parameter.isTable = param.getFrozen();
    parameter.mayStayWhole = param.getMayStayWhole();
    if (ArrayAttr cuts = param.getCutsAttr())
      for (auto names : cuts.getAsRange<ArrayAttr>()) {
        Axes &axes = parameter.cuts.emplace_back();
        for (auto name : names.getAsRange<StringAttr>())
          axes.push_back(name.getValue());
      }
    parameterNumbers[parameter.name] = parameters.size();
    model.parameters.push_back(std::move(parameter));
    parameters.push_back(param);
  }
}

/// Returns the number of the data that each argument behind the hidden ones is.
SmallVector<unsigned> ModelLayers::getData(LayerOp op, unsigned numHidden) {
  SmallVector<unsigned> data;
  PlacementAttr placement = op.getPlacementAttr();
  if (!placement)
    return data;
  for (Type type : op.getArgumentTypes().drop_front(numHidden))
    data.push_back(dataNumbers
                       .try_emplace({placement.getStage(),
                                     getStepInputKind(op.getKind(), type)},
                                    dataNumbers.size())
                       .first->second);
  return data;
}

FailureOr<ShardingRule> ModelLayers::getRule(Operation *op) {
  const auto [number, isFirst] = equal.add(op);
  if (!isFirst)
    return rules[number];
  FailureOr<ShardingRule> rule = getShardingRule(op);
  if (succeeded(rule))
    rules.push_back(*rule);
  return rule;
}

LogicalResult ModelLayers::addLayer(LayerOp op) {
  ShardedLayer layer;
  Layer known{op, {}, {}};
  layer.name = op.getSymName().str();
  layer.position = keepsStream(op->getParentOfType<ModelOp>(), op)
                       ? LayerPosition::Body
                       : getPosition(op);
  layer.numArguments = op.getNumArguments();
  layer.numHidden = llvm::count_if(op.getArgumentTypes(), isFloatTensor);
  layer.data = getData(op, layer.numHidden);
  layer.numPast = op.getPast();
  layer.numFuture = op.getFuture();
  layer.firstPiece =
      firstPieces.try_emplace(op.getCell(), layers.size()).first->second;
  llvm::DenseSet<Value> differentiated = findDifferentiated(op, symbols);
  llvm::DenseMap<Value, unsigned> numbers;
  auto addValue = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    ShardedValue &added = layer.values.emplace_back();
    added.shape.assign(type.getShape().begin(), type.getShape().end());
    added.needsGradient = differentiated.contains(value);
    added.isInteger = isa<IntegerType>(type.getElementType());
    numbers[value] = known.values.size();
    known.values.push_back(value);
  };
  llvm::for_each(op.getArguments(), addValue);
  for (Operation &inner : op.getBody().front().without_terminator()) {
    llvm::for_each(inner.getResults(), addValue);
    if (auto read = dyn_cast<GetParamOp>(inner)) {
      layer.values.back().parameter = parameterNumbers.lookup(read.getParam());
      continue;
    }
    ShardedOperator &added = layer.operators.emplace_back();
    added.name = getName(&inner);
    FailureOr<ShardingRule> rule = getRule(&inner);
    if (failed(rule))
      return failure();
    added.rule = std::move(*rule);
    for (Value operand : inner.getOperands())
      added.operands.push_back(numbers.lookup(operand));
    for (Value result : inner.getResults())
      added.results.push_back(numbers.lookup(result));
    known.operators.push_back(&inner);
  }
  for (Value value : getReturn(op).getValues())
    layer.results.push_back(numbers.lookup(value));
  model.layers.push_back(std::move(layer));
  layers.push_back(std::move(known));
  return success();
}

LogicalResult ModelLayers::read(ModelOp op) {
  model.mesh = MeshSizes(MeshAttr::find(op));
  model.batch = static_cast<int64_t>(op.getMicroBatchSize());
  model.sequence = static_cast<int64_t>(op.getSequenceLength());
  if (TrainingAttr training = op.getTrainingAttr()) {
    ParallelAttr parallel = training.getParallel();
    model.sequenceParallel = parallel.getSequenceParallel();
    if (StringAttr algorithm = parallel.getContextParallel()) {
      if (algorithm.getValue() == "ulysses_cp")
        model.headAxes = getMeshAxes("cp", model.mesh);
      else if (algorithm.getValue() == "hybrid_cp")
        model.headAxes = getMeshAxes("cp_ds", model.mesh);
    }
  }
  addParameters(op);
  for (auto layer : op.getBody().getOps<LayerOp>())
    if (failed(addLayer(layer)))
      return failure();
  return success();
}

} // namespace mf::passes
