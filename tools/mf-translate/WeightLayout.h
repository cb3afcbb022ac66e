//===- WeightLayout.h - Layout of a model's weights -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_TRANSLATE_WEIGHTLAYOUT_H
#define MF_TOOLS_MF_TRANSLATE_WEIGHTLAYOUT_H

#include "dialects/mf/MfOps.h"
#include "mf/Exec/Data/ParameterNames.h"

namespace mf {

/// Returns the heads, experts and layers of `model`, which it finds from the
/// model's operators and parameters.
ParameterLayout readParameterLayout(ir::ModelOp model);

/// Returns the parameters that a checkpoint contains: all except constants,
/// aliases of other parameters and records for the log.
std::vector<NamedShape> listParameters(ir::ModelOp model);

/// Returns the names of the parameters in the Hugging Face model of the same
/// architecture.
NameScheme getHuggingFaceScheme(ir::ModelOp model,
                                const ParameterLayout &layout);

/// True if layers that predict more tokens read a different hidden state than
/// Hugging Face's: the one before the model's last norm.
bool predictsFromOtherState(ir::ModelOp model);

} // namespace mf

#endif // MF_TOOLS_MF_TRANSLATE_WEIGHTLAYOUT_H
