//===- Weights.h - Checkpoints under other names ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_TRANSLATE_WEIGHTS_H
#define MF_TOOLS_MF_TRANSLATE_WEIGHTS_H

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

} // namespace mf

#endif // MF_TOOLS_MF_TRANSLATE_WEIGHTS_H
