//===- TrainedParameters.cpp - Trained parameters by stage ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/TrainedParameters.h"

using namespace mlir;
using namespace mf::ir;
using mf::passes::TrainedParameters;

LogicalResult TrainedParameters::build(ModelOp model) {
  mlir::SymbolTable symbols(model);
  llvm::StringMap<std::tuple<int64_t, int64_t, int64_t>> chunks;
  for (auto backward : model.getBody().getOps<GradientFunctionOpInterface>()) {
    // The other version of a chunk computes the same gradients.
    if (backward.getPlacement().getKeeps())
      continue;
    int64_t stage = backward.getPlacement().getStage();
    for (auto name : backward.getGradients().getAsRange<FlatSymbolRefAttr>()) {
      auto param = symbols.lookup<ParamOp>(name.getValue());
      if (!param)
        return backward->emitOpError("expected a parameter, but got '")
               << name.getValue() << "'";
      PlacementAttr place = backward.getPlacement();
      auto [known, isNew] = chunks.try_emplace(
          param.getSymName(), stage, place.getChunk(), place.getPiece());
      auto [knownStage, knownChunk, knownPiece] = known->second;
      // All pieces of the sequence add to one gradient.
      if (!isNew && knownStage == stage && knownChunk == place.getChunk() &&
          knownPiece != place.getPiece())
        continue;
      if (!stages.try_emplace(param.getSymName(), stage).second)
        return backward->emitOpError("expected '")
               << param.getSymName()
               << "' to be read by one chunk; tie a second parameter to it "
                  "for the other";
      byStage[stage].push_back(param);
    }
  }
  for (ParamOp param : model.getBody().getOps<ParamOp>())
    if (!param.getTied() && !param.getUpdateRule() &&
        stages.contains(param.getSymName()))
      positions.try_emplace(param.getSymName(), positions.size());
  return groupTied(model);
}

LogicalResult TrainedParameters::groupTied(ModelOp model) {
  for (ParamOp param : model.getBody().getOps<ParamOp>()) {
    std::optional<StringRef> owner = param.getTied();
    if (!owner || !stages.contains(param.getSymName()))
      continue;
    auto ownerStage = stages.find(*owner);
    if (ownerStage == stages.end())
      return param.emitOpError("is tied to '")
             << *owner << "', which no chunk trains";
    Tied &group = tied[*owner];
    if (group.names.empty())
      group.stages.push_back(ownerStage->second);
    group.names.push_back(FlatSymbolRefAttr::get(param.getSymNameAttr()));
    group.stages.push_back(stages.lookup(param.getSymName()));
  }
  return success();
}
