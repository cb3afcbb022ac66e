//===- Weights.h - Checkpoints under other names ----------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_TRANSLATE_WEIGHTS_H
#define MF_TOOLS_MF_TRANSLATE_WEIGHTS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"

namespace mf {

/// Registers `--import-hf-weights` and `--export-hf`, whose options are shown
/// under `category`.
void registerWeightTranslations(llvm::cl::OptionCategory &category);

/// Takes `-o FILE` out of the arguments if one of them is asked for: the
/// driver would empty the file before the translation begins, but weights
/// appear whole or not at all, and may be read from where they are written to.
void takeWeightsOutput(llvm::SmallVectorImpl<char *> &arguments);

} // namespace mf

#endif // MF_TOOLS_MF_TRANSLATE_WEIGHTS_H
