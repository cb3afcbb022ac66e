//===- SliceActivation.h - Parts of kept inputs ----------------*- C++ -*-===//

#ifndef MF_PASSES_MARK_SLICEACTIVATION_H
#define MF_PASSES_MARK_SLICEACTIVATION_H

#include "passes/mark/LayerCommunication.h"

namespace mf::passes {

/// Lets ranks that have the same input of a recomputed layer keep a part of it
/// each. Says once where that cannot be.
class ActivationSlicer {
public:
  explicit ActivationSlicer(ir::ModelOp model) : model(model) {}

  void slice(ir::LayerOp layer, const LayerCommunication &communication);

private:
  ir::ModelOp model;
  bool hasWarned = false;
};

} // namespace mf::passes

#endif // MF_PASSES_MARK_SLICEACTIVATION_H
