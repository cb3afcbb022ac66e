//===- RoutineExchanges.h - Collectives in a routine -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_ROUTINEEXCHANGES_H
#define MF_PASSES_LOWER_ROUTINEEXCHANGES_H

#include "passes/lower/ProgramBuilder.h"

namespace mf::passes {

/// Places collectives among a routine's launches, each on the stream of its
/// communicator. A collective starts after the launches before it. The compute
/// stream waits for it before it first reads the collective's output, or writes
/// a buffer that the collective uses.
class RoutineExchanges {
public:
  RoutineExchanges(ProgramBuilder &program, mlir::OpBuilder &builder)
      : program(program), builder(builder) {}

  void communicate(mlir::Location loc, const ir::EmittedCollective &collective,
                   llvm::StringRef cell);

  /// Must be called before the compute stream, or work that it starts, reads
  /// and writes these buffers.
  void waitFor(mlir::ValueRange read, mlir::ValueRange written);

  /// Must be called at the end of the routine.
  void waitForAll();

private:
  /// A collective for which the compute stream has not waited yet.
  struct Pending {
    /// The buffers that it reads, and the buffer that it writes.
    llvm::SmallVector<mlir::Value, 3> inputs;
    mlir::Value output, done;
    mlir::Location loc;
  };
  void wait(const Pending &exchange);

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  llvm::SmallVector<Pending> pending;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_ROUTINEEXCHANGES_H
