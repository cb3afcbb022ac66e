//===- ChunkTerms.h - Terms of a chunk's values ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CERTIFY_CHUNKTERMS_H
#define MF_PASSES_CERTIFY_CHUNKTERMS_H

#include "passes/certify/TermEmitter.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {

/// Runs the operators of a chunk on terms, as if they were lowered one by one:
/// each emits its launches, which find the terms of their operands in buffers.
class ChunkTerms : public TermEmitter {
public:
  explicit ChunkTerms(ir::ChunkOp chunk) : TermEmitter(chunk), chunk(chunk) {}

  /// Runs all operators of the chunk. Reports an error at an operator that has
  /// no term.
  mlir::LogicalResult run();
  /// Returns pairs of terms: those by which recompute may replace values, and
  /// those of the values.
  llvm::ArrayRef<std::pair<program::Term, program::Term>> getEqual() const {
    return equalTerms;
  }

  ir::EmittedBuffer getState(ir::State state,
                             llvm::StringRef parameter) override;
  ir::EmittedBuffer getReport(llvm::StringRef quantity,
                              mlir::RankedTensorType type) override;

private:
  mlir::LogicalResult runOperator(mlir::Operation *op);
  mlir::LogicalResult runSavedForm(ir::SavedFormOpInterface op);
  View getStored(ir::ParamOp param);
  View getStoredOrGathered(ir::ParamOp param);

  ir::ChunkOp chunk;
  llvm::StringMap<View> stored, gathered;
  std::vector<std::pair<program::Term, program::Term>> equalTerms;
};

} // namespace mf::passes

#endif // MF_PASSES_CERTIFY_CHUNKTERMS_H
