//===- ParameterReads.h - Reads of a parameter in layers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_OPTIMIZER_PARAMETERREADS_H
#define MF_PASSES_OPTIMIZER_PARAMETERREADS_H

#include "dialects/mf/MfOps.h"

namespace mf::passes {

/// Returns the cast through which all users of `read` read it; null if there is
/// none. Its result is smaller to send and to keep.
inline ir::CastOp getConversion(ir::GetParamOp read) {
  if (!llvm::hasSingleElement(read->getUsers()))
    return {};
  return llvm::dyn_cast<ir::CastOp>(*read->getUsers().begin());
}

/// Returns the name of an operator on `read`: the parameter's name in its
/// layer, followed by `what`.
inline std::string getNameInLayer(ir::GetParamOp read, llvm::StringRef what) {
  llvm::StringRef name = read.getParam();
  if (auto layer = read->getParentOfType<ir::LayerOp>()) {
    std::string prefix = (layer.getSymName() + ".").str();
    if (size_t at = name.find(prefix); at != llvm::StringRef::npos)
      name = name.drop_front(at + prefix.size());
  }
  return (name + "." + what).str();
}

/// Returns the number of the unit in which the layer of `read` gathers sharded
/// weights, as in the dynamic graph's trainer. Each layer up to the last body
/// layer has its own unit, and all layers after the body share one.
inline int64_t getUnit(ir::GetParamOp read) {
  auto layer = read->getParentOfType<ir::LayerOp>();
  int64_t unit = 0;
  for (auto other :
       layer->getParentOfType<ir::ModelOp>().getBody().getOps<ir::LayerOp>()) {
    if (other == layer || other.getKind() == ir::LayerKind::Head)
      break;
    ++unit;
  }
  return unit;
}

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_PARAMETERREADS_H
