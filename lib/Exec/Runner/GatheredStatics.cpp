//===- GatheredStatics.cpp - Statics of ranks of any process --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "GatheredStatics.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::runner {

llvm::Expected<llvm::ArrayRef<uint8_t>> GatheredStatics::get(int64_t rank,
                                                             uint32_t number) {
  const bool isHere = llvm::is_contained(runner.getLocalRanks(), rank);
  if (isWriter() && isHere)
    return llvm::ArrayRef<uint8_t>(runner.getStatic(rank, number));
  if (isWriter()) {
    received.resize(runner.getProgram().getStageOf(rank).statics[number].bytes);
    if (llvm::Error error =
            processes->receive(processes->getProcess(rank), received))
      return error;
    return llvm::ArrayRef<uint8_t>(received);
  }
  if (isHere)
    if (llvm::Error error =
            processes->sendToFirst(runner.getStatic(rank, number)))
      return error;
  return llvm::ArrayRef<uint8_t>();
}

} // namespace mf::runner
