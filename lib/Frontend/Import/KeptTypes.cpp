//===- KeptTypes.cpp - Types in which ranks keep weights ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KeptTypes.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mf::ir;

/// Returns the type that `read` is converted to, or its own.
static Type getUsedType(Operation *user, GetParamOp read) {
  auto conversion = dyn_cast<CastOp>(user);
  return getElementTypeOrSelf(conversion ? conversion.getType()
                                         : read.getType());
}

void mf::keepReadTypes(ModelOp model) {
  const SymbolTable symbols(model);
  // Tied weights are one, and have the type in which all layers read them.
  llvm::MapVector<StringRef, SmallVector<ParamOp>> groups;
  llvm::StringMap<llvm::SmallDenseSet<Type>> types;
  for (auto param : model.getBody().getOps<ParamOp>())
    groups[param.getTied().value_or(param.getSymName())].push_back(param);
  model.walk([&](GetParamOp read) {
    auto param = symbols.lookup<ParamOp>(read.getParam());
    for (Operation *user : read->getUsers())
      types[param.getTied().value_or(param.getSymName())].insert(
          getUsedType(user, read));
  });
  for (const auto &[owner, params] : groups) {
    const auto &used = types[owner];
    for (ParamOp param : params) {
      Type own = param.getTensorType().getElementType();
      if (!param.getFrozen() && !KeptType::find(param) && used.size() == 1 &&
          *used.begin() != own)
        KeptType::setOn(param, *used.begin());
    }
  }
}
