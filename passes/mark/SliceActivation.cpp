//===- SliceActivation.cpp - Parts of kept inputs -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/SliceActivation.h"
#include "mlir/IR/Remarks.h"
#include "passes/mark/SlicePlan.h"

using namespace mlir;
using namespace mf::ir;
using mf::passes::ActivationSlicer;
using mf::passes::LayerCommunication;
using mf::passes::SliceDecision;

/// Returns the hidden input or, if a rank first takes its own part of it, that
/// part.
static Value findInput(LayerOp layer, const LayerCommunication &communication) {
  for (Value argument : layer.getArguments()) {
    if (!isFloatTensor(argument.getType()))
      continue;
    while (argument.hasOneUse()) {
      auto user = dyn_cast<ComputeOpInterface>(*argument.getUsers().begin());
      if (!user || !communication.isInserted(user) || user.isView())
        break;
      argument = user->getResult(0);
    }
    return argument;
  }
  return nullptr;
}

bool ActivationSlicer::slice(LayerOp layer,
                             const LayerCommunication &communication) {
  MeshAttr mesh = MeshAttr::find(model);
  Value input = findInput(layer, communication);
  if (!mesh || !input || mesh.getNumRanks() == mesh.getSize("pp"))
    return false;
  remark::RemarkOpts options = remark::RemarkOpts::name("SliceActivation")
                                   .category("recompute")
                                   .function(layer.getSymName());
  auto type = cast<RankedTensorType>(input.getType());
  LayoutAttr layout = LayoutAttr::find(type);
  if (!layout) {
    remark::missed(layer.getLoc(), options) << remark::add(
        "the kept input is not sliced: which ranks have it is not known");
    return false;
  }
  MeshSizes sizes(mesh);
  RankedTensorType local = getLocalType(type, layout, sizes);
  SliceDecision decision = planSlice(sizes, Layout(layout, type.getRank()),
                                     local ? local.getDimSize(0) : 1);
  if (decision.axes.empty()) {
    remark::missed(layer.getLoc(), options)
        << remark::add("the kept input is not sliced: {0}", decision.reason);
    if (!decision.isWarning || hasWarned)
      return false;
    hasWarned = true;
    DictionaryAttr locations = model.getTrainingAttr().getLocations();
    auto place =
        locations ? locations.getAs<LocationAttr>("recompute_slice_activation")
                  : LocationAttr();
    emitWarning(place ? mlir::Location(place) : model.getLoc())
        << "recompute_slice_activation has no effect: the kept input of '"
        << layer.getSymName() << "' is not sliced, as " << decision.reason;
    return false;
  }
  OpBuilder builder(layer.getContext());
  builder.setInsertionPointAfterValue(input);
  auto kept = KeepPartOp::create(builder, layer.getLoc(), input,
                                 builder.getStrArrayAttr(decision.axes));
  kept.setCellName("input");
  kept.setRecomputeMark(RecomputeKind::Full);
  input.replaceAllUsesExcept(kept, kept);
  int64_t bytes = getTensorBytes(local);
  remark::passed(layer.getLoc(), options)
      << remark::add("of the kept input {0}", decision.reason)
      << remark::metric("bytes", bytes)
      << remark::metric("bytes kept", bytes / sizes.getNumParts(decision.axes));
  return true;
}
