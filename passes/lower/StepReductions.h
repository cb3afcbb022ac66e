//===- StepReductions.h - Gradient sums during the last backward -*- C++ -*-==//
//
// SPDX-License-Identifier: Apache-2.0
//
// A sum over ranks that needs only collectives is issued by the step, after the
// launch of the last backward that completes the gradient. The update waits for
// it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_STEPREDUCTIONS_H
#define MF_PASSES_LOWER_STEPREDUCTIONS_H

#include "passes/lower/StepCalls.h"
#include "llvm/ADT/MapVector.h"

namespace mf::passes {

class StepReductions {
public:
  /// Determines after which launches of which calls the sums start.
  void place(ProgramBuilder &program, llvm::ArrayRef<StepCall> calls);
  /// Returns the numbers of launches of a call after which sums start,
  /// ascending.
  llvm::SmallVector<int64_t> getLaunches(size_t call) const;
  /// Issues the sums that start while a call runs, which records `events`.
  void emitBeside(StepBlock &step, size_t call, const LaunchEvents &events);
  /// Returns, for each stream, the event of its last sum so far.
  const llvm::MapVector<llvm::StringRef, mlir::Value> &getEnds() const {
    return ends;
  }

private:
  /// A sum over ranks that starts after some launches of a call.
  struct StepReduction {
    int64_t launches;
    ir::ReduceGradientOp op;
  };
  void placeOne(const ProgramBuilder &program, llvm::ArrayRef<StepCall> calls,
                ir::ReduceGradientOp op);
  void emitOne(StepBlock &step, ir::ReduceGradientOp reduction,
               mlir::Value ready);

  /// For each call, its reductions in the order of launches.
  std::vector<std::vector<StepReduction>> reductions;
  llvm::MapVector<llvm::StringRef, mlir::Value> ends;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_STEPREDUCTIONS_H
