//===- TrainedWeights.cpp - Trained weights of a model with a prefix ------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/adapters/TrainedWeights.h"

using namespace mf::ir;

namespace mf::passes {

void printTrained(ModelOp model, llvm::raw_ostream &os) {
  int64_t trained = 0, all = 0;
  std::string lines;
  llvm::raw_string_ostream text(lines);
  for (auto param : model.getBody().getOps<ParamOp>()) {
    if (param.getFrozen() || param.getUpdateRule() || param.getTied())
      continue;
    const int64_t count = param.getTensorType().getNumElements();
    all += count;
    if (param.getUntrained())
      continue;
    trained += count;
    text << param.getSymName() << ": " << count << " elements\n";
  }
  if (trained < all)
    os << lines << "trained elements: " << trained << " of " << all << '\n';
}

} // namespace mf::passes
