//===- PropagateLayouts.cpp - Layouts of a model's tensors ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayoutVerifier.h"
#include "ModelLayers.h"
#include "ReshardCollective.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"

namespace mf::passes {
#define GEN_PASS_DEF_PROPAGATELAYOUTS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;
using namespace mf::passes;

namespace {

/// Applies the plan of one layer to the IR.
class LayerWriter {
public:
  LayerWriter(ModelOp model, const ModelLayers::Layer &layer,
              const LayerLayouts &planned)
      : model(model), layer(layer), planned(planned),
        builder(model.getContext()), values(layer.values) {}

  void write();

private:
  RankedTensorType getType(unsigned value, Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return RankedTensorType::get(
        tensor.getShape(), tensor.getElementType(),
        planned.layouts[value].getAttr(builder.getContext()));
  }
  void writeReshard(const PlannedReshard &reshard);

  ModelOp model;
  const ModelLayers::Layer &layer;
  const LayerLayouts &planned;
  OpBuilder builder;
  /// The values of the layer, followed by resharded ones.
  SmallVector<Value> values;
};

} // namespace

void LayerWriter::writeReshard(const PlannedReshard &reshard) {
  Value from = values[reshard.from];
  Operation *end = getReturn(layer.op);
  builder.setInsertionPoint(reshard.before < layer.operators.size()
                                ? layer.operators[reshard.before]
                                : end);
  if (!reshard.view.empty()) {
    RankedTensorType type = getType(
        reshard.to, RankedTensorType::get(
                        reshard.view, getElementTypeOrSelf(from.getType())));
    auto view =
        ReshapeOp::create(builder, from.getLoc(), type, ValueRange{from});
    view.setCellName(reshard.name);
    values.push_back(view);
    return;
  }
  auto made = ReshardOp::create(builder, from.getLoc(),
                                getType(reshard.to, from.getType()), from,
                                builder.getStringAttr(reshard.name));
  values.push_back(made);

  LayerOp op = layer.op;
  std::optional<ReshardCollective> collective = getReshardCollective(
      planned.layouts[reshard.from], planned.layouts[reshard.to]);
  MeshSizes mesh(MeshAttr::find(model));
  RankedTensorType whole = made.getType();
  auto getBytes = [&](unsigned value) {
    return getTensorBytes(getLocalType(
        whole, planned.layouts[value].getAttr(builder.getContext()), mesh));
  };
  remark::analysis(
      op.getLoc(),
      remark::RemarkOpts::name("Reshard").category("shard").function(
          op.getSymName()))
      << remark::add("{0} becomes {1}", reshard.name,
                     mf::passes::getName(collective->kind))
      << remark::metric("bytes",
                        std::max(getBytes(reshard.from), getBytes(reshard.to)));
}

void LayerWriter::write() {
  for (auto [number, value] : llvm::enumerate(values))
    value.setType(getType(number, value.getType()));
  for (const PlannedReshard &reshard : planned.reshards)
    writeReshard(reshard);
  for (auto [op, operands] : llvm::zip_equal(layer.operators, planned.operands))
    for (auto [number, operand] : llvm::enumerate(operands))
      op->setOperand(number, values[operand]);
  ReturnOp end = getReturn(layer.op);
  for (auto [number, result] : llvm::enumerate(planned.results))
    end->setOperand(number, values[result]);
  LayerOp op = layer.op;
  op.setFunctionType(builder.getFunctionType(op.getBody().getArgumentTypes(),
                                             end->getOperandTypes()));
}

static LogicalResult report(ModelOp model, const ModelLayers &known,
                            const LayoutError &error) {
  Operation *op = model;
  if (error.parameter)
    op = known.parameters[*error.parameter];
  else if (error.layer)
    op = error.op ? known.layers[*error.layer].operators[*error.op]
                  : LayerOp(known.layers[*error.layer].op).getOperation();
  if (error.axis.empty())
    return op->emitOpError("cannot be sharded: ") << error.message;
  TrainingAttr training = model.getTrainingAttr();
  LocationAttr place;
  if (training)
    place = training.getLocation(mf::getRankKey(error.axis));
  InFlightDiagnostic diagnostic =
      place ? emitError(place) : op->emitOpError("cannot be sharded: ");
  if (place) {
    if (error.layer)
      diagnostic << "'" << LayerOp(known.layers[*error.layer].op).getSymName()
                 << "' cannot be sharded: ";
    else
      diagnostic << "'" << model.getSymName() << "' cannot be sharded: ";
    if (error.op)
      diagnostic << "operator " << op->getAttr("name") << ": ";
  }
  return diagnostic << error.message << "; choose another "
                    << mf::getRankKey(error.axis,
                                      training && training.getDynamicGraph());
}

/// A model that has collectives is already written for a single rank.
static bool isSharded(ModelOp model) {
  WalkResult result = model.walk([](Operation *op) {
    return op->hasTrait<ChangesLayout>() ? WalkResult::interrupt()
                                         : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {

struct PropagateLayoutsPass
    : mf::passes::PrintingPass<
          mf::passes::impl::PropagateLayoutsBase<PropagateLayoutsPass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    ModelOp model = getOperation();
    MeshAttr mesh = MeshAttr::find(model);
    if (!mesh || mesh.getNumRanks() == mesh.getSize("pp") || isSharded(model))
      return;
    ModelLayers known;
    if (failed(known.read(model)))
      return signalPassFailure();
    LayoutError error;
    std::optional<LayoutPlan> plan = planLayouts(known.model, error);
    if (!plan) {
      (void)report(model, known, error);
      return signalPassFailure();
    }
    for (const std::string &warning : plan->warnings)
      model.emitWarning(warning);
    if (printPlan)
      plan->print(known.model, mf::passes::PrintedPlan(model).os());
    for (auto [layer, planned] : llvm::zip_equal(known.layers, plan->layers))
      LayerWriter(model, layer, planned).write();
    ShardingVerifier verifier;
    for (const ModelLayers::Layer &layer : known.layers)
      if (failed(verifier.verify(layer.op)))
        return signalPassFailure();
  }
};

} // namespace
