//===- WeightLayout.h - Layout of a model's weights -------------*- C++ -*-===//

#ifndef MF_TOOLS_TRANSLATE_WEIGHTLAYOUT_H
#define MF_TOOLS_TRANSLATE_WEIGHTLAYOUT_H

#include "dialects/mf/MfOps.h"
#include "mf/Exec/Data/ParameterNames.h"

namespace mf {

/// Heads, experts and layers of `model`, from its operators and parameters.
ParameterLayout readParameterLayout(ir::ModelOp model);

/// The parameters that a checkpoint holds: neither constants nor what only
/// stands for another one or for the log.
std::vector<NamedShape> listParameters(ir::ModelOp model);

/// How the Hugging Face model of the same architecture names its parameters.
NameScheme getHuggingFaceScheme(ir::ModelOp model,
                                const ParameterLayout &layout);

/// Whether layers that predict more tokens take another hidden state than
/// Hugging Face's do, before the model's last norm.
bool predictsFromOtherState(ir::ModelOp model);

} // namespace mf

#endif // MF_TOOLS_TRANSLATE_WEIGHTLAYOUT_H
