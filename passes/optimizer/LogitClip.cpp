//===- LogitClip.cpp - Weights that shrink with large logits --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/LogitClip.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include <numeric>

using namespace mlir;
using namespace mf::ir;

/// Returns the axes that cut the rows that a rank stores, but not the rows that
/// its layers use.
static SmallVector<Attribute> getSharingAxes(ParamOp param) {
  SmallVector<Attribute> axes;
  LayoutAttr stored = param.getStoredLayout(), used = param.getLayoutAttr();
  if (!stored)
    return axes;
  auto getRowAxes = [](LayoutAttr layout) {
    return cast<ArrayAttr>(layout.getCuts()[0]).getValue();
  };
  ArrayRef<Attribute> known = used ? getRowAxes(used) : ArrayRef<Attribute>();
  for (Attribute axis : getRowAxes(stored))
    if (!llvm::is_contained(known, axis))
      axes.push_back(axis);
  return axes;
}

static LogicalResult clip(OpBuilder &builder, ParamOp param,
                          FloatAttr threshold, Value overflow) {
  Location loc = param.getLoc();
  LogitClipAttr clip = *param.getLogitClip();
  MatricesAttr matrices = *param.getMatrices();
  const std::vector<int64_t> rest = matrices.getTail();
  auto largest =
      SymbolTable::lookupNearestSymbolFrom<ParamOp>(param, clip.getLargest());
  const int64_t rows = param.getLocalType().getDimSize(0);
  if (!largest ||
      matrices.countPeriods(rows) != largest.getLocalType().getNumElements())
    return param.emitError("weights of a rank that are clipped by their "
                           "logits (qk_clip_threshold) must be those of its "
                           "own heads, but a rank has ")
           << rows << " rows of '" << param.getSymName()
           << "'; set qk_clip_enabled to False, or let q_lora_rank be a size";
  auto type = RankedTensorType::get({rows}, builder.getF32Type());
  Value factors =
      LogitFactorsOp::create(builder, loc, type, clip.getLargest(), overflow,
                             threshold, matrices.getSizes(), clip.getRoots(),
                             builder.getI64IntegerAttr(std::accumulate(
                                 rest.begin(), rest.end(), int64_t(0))));
  for (Attribute axis : getSharingAxes(param)) {
    ArrayAttr axes = builder.getArrayAttr(axis);
    const int64_t parts = getGroupSize(param, axes);
    if (parts == 1)
      continue;
    type = type.clone(ArrayRef<int64_t>{type.getDimSize(0) / parts});
    factors = OwnPartOp::create(builder, loc, type, factors, axes, int64_t(0));
  }
  ScaleRowsOp::create(builder, loc,
                      FlatSymbolRefAttr::get(param.getSymNameAttr()), factors);
  return success();
}

LogicalResult mf::passes::clipLogits(OpBuilder &builder,
                                     OptimizerAttr optimizer,
                                     ArrayRef<ParamOp> params, Value overflow) {
  MuonAttr muon = optimizer.getMuon();
  std::optional<double> threshold;
  if (muon)
    threshold = muon.getConfig().logitThreshold;
  if (!threshold)
    return success();
  for (ParamOp param : params)
    if (param.needsGradient() && param.getLogitClip() &&
        failed(clip(builder, param, builder.getF64FloatAttr(*threshold),
                    overflow)))
      return failure();
  return success();
}
