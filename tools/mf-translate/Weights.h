//===- Weights.h - Checkpoints under other names ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_TRANSLATE_WEIGHTS_H
#define MF_TOOLS_MF_TRANSLATE_WEIGHTS_H

#include "dialects/mf/MfOps.h"
#include "mf/Exec/Data/ParameterNames.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"

namespace mf {

/// Registers `--import-hf-weights` and `--export-hf`. Their options are shown
/// in `category`.
void registerWeightTranslations(llvm::cl::OptionCategory &category);

/// Removes `-o FILE` from the arguments if one of these translations is
/// requested. The driver would empty the file before the translation begins,
/// but weights are written whole or not at all, and the output may also be an
/// input.
void takeWeightsOutput(llvm::SmallVectorImpl<char *> &arguments);

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

#endif // MF_TOOLS_MF_TRANSLATE_WEIGHTS_H
