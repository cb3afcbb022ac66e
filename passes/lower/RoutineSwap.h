//===- RoutineSwap.h - Copies of swapped values in a routine ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_ROUTINESWAP_H
#define MF_PASSES_LOWER_ROUTINESWAP_H

#include "passes/lower/ProgramBuilder.h"

namespace mf::passes {

/// Places the copies between device and host among a routine's launches, with
/// the events that order them. A copy that must start before the routine
/// becomes an argument, and is recorded in the program as an early prefetch.
class RoutineSwap {
public:
  RoutineSwap(ProgramBuilder &program, ascend::RoutineOp routine,
              mlir::OpBuilder &builder)
      : program(program), routine(routine), builder(builder),
        numBufferArguments(routine.getArgumentTypes().size()) {}

  /// Must be called before each launch is made. Waits for copies out whose
  /// memory is released here.
  void beforeLaunch();
  /// Must be called with each launch that is made.
  void addLaunch(mlir::Operation *launch) { launches.push_back(launch); }

  /// Starts to copy `buffer` to `host` at this point.
  void copyOut(mlir::Location loc, mlir::Value buffer, mlir::Value host,
               int64_t distance);

  /// Returns a device buffer for `tensor`. Slot `slot` is copied to it before
  /// the next launch, which is the first to read it.
  mlir::Value copyBack(mlir::Location loc, int64_t slot, mlir::Type tensor,
                       int64_t distance);

  /// Waits for the copies that are not complete yet, and sets the routine's
  /// final type.
  void finish();

private:
  mlir::Value startCopy(mlir::Location loc, llvm::StringRef stream,
                        ascend::StreamKind kind, mlir::Value source,
                        mlir::Value target);
  void wait(mlir::Location loc, mlir::Value event);

  struct Release {
    int64_t kernel;
    mlir::Location loc;
    mlir::Value event;
  };

  ProgramBuilder &program;
  ascend::RoutineOp routine;
  mlir::OpBuilder &builder;
  unsigned numBufferArguments;
  llvm::SmallVector<mlir::Operation *> launches;
  llvm::SmallVector<Release> releases;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_ROUTINESWAP_H
