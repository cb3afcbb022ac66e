//===- LossParts.h - The losses whose sum is the loss -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A step reports the losses that it adds up apart, if there are several: that
// of the next token (lm_loss), that of the experts (aux_loss, or in the dynamic
// graph load_balancing_loss, the mean over layers without its factor) and that
// of each later token (mtp_1_loss). These are the names in the logs of
// MindSpore Transformers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_LOSSPARTS_H
#define MF_EXEC_DATA_LOSSPARTS_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>
#include <vector>

namespace mf {

/// The reported parts by name.
using LossParts = std::vector<std::pair<std::string, float>>;

/// Returns whether a reported quantity is a part of the loss.
bool isLossPart(llvm::StringRef quantity);

/// Sorts parts as logs have them: the next token, experts, later tokens.
void sortLossParts(LossParts &parts);

} // namespace mf

#endif // MF_EXEC_DATA_LOSSPARTS_H
