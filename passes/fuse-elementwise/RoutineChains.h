//===- RoutineChains.h - The chains of one routine ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_FUSE_ELEMENTWISE_ROUTINECHAINS_H
#define MF_PASSES_FUSE_ELEMENTWISE_ROUTINECHAINS_H

#include "dialects/ascend/AscendDialect.h"
#include "passes/fuse-elementwise/ChainPlan.h"

namespace mf::passes {

/// A routine in the form of a ChainGraph, and the application of its plan.
class RoutineChains {
public:
  /// `calls` must be all calls of the routine.
  RoutineChains(ascend::RoutineOp routine,
                llvm::ArrayRef<ascend::CallOp> calls);

  const ChainGraph &getGraph() const { return graph; }

  /// Replaces the launches of each chain by one, which belongs to the operator
  /// of its result, and renumbers launches where calls record events.
  void apply(const ChainPlan &plan);

private:
  void addLaunch(ascend::LaunchOp launch);
  int64_t getValue(mlir::Value value);
  int64_t getBuffer(mlir::Value root);
  bool isUnclear(mlir::Value value) const;
  void describeBuffers();
  void makeBefore(mlir::Value value, mlir::Operation *op);
  void build(const PlannedChain &chain);
  void recount(const ChainPlan &plan);

  ascend::RoutineOp routine;
  llvm::SmallVector<ascend::CallOp> calls;
  /// For each argument of the routine, whether it may share memory with others.
  std::vector<bool> unclearArguments;
  ChainGraph graph;
  std::vector<ascend::LaunchOp> launches;
  /// Values, and the buffers that they are (parts of), by index.
  std::vector<mlir::Value> values, roots;
  llvm::DenseMap<mlir::Value, int64_t> valueNumbers;
  llvm::DenseMap<mlir::Attribute, int64_t> globals, slots;
  llvm::DenseMap<mlir::Value, int64_t> others;
  /// Positions in the routine. An operation that was moved has the position of
  /// the one that it was moved before.
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
};

} // namespace mf::passes

#endif // MF_PASSES_FUSE_ELEMENTWISE_ROUTINECHAINS_H
