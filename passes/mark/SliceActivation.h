//===- SliceActivation.h - Parts of kept inputs ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_MARK_SLICEACTIVATION_H
#define MF_PASSES_MARK_SLICEACTIVATION_H

#include "passes/mark/LayerCommunication.h"

namespace mf::passes {

/// Lets ranks that hold the same input of a recomputed layer each keep only a
/// part of it. Reports once if that is not possible.
class ActivationSlicer {
public:
  explicit ActivationSlicer(ir::ModelOp model) : model(model) {}

  bool slice(ir::LayerOp layer, const LayerCommunication &communication);

private:
  ir::ModelOp model;
  bool hasWarned = false;
};

} // namespace mf::passes

#endif // MF_PASSES_MARK_SLICEACTIVATION_H
