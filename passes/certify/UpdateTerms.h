//===- UpdateTerms.h - Terms of the results of an update --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CERTIFY_UPDATETERMS_H
#define MF_PASSES_CERTIFY_UPDATETERMS_H

#include "passes/certify/TermEmitter.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace mf::passes {

/// Runs the update of a stage on terms, and also the values that a step
/// computes in addition: the mean of losses and their gradient.
class UpdateTerms : public TermEmitter {
public:
  explicit UpdateTerms(ir::UpdateOp update);

  /// Runs all operators of the update. Reports an error at an operator that has
  /// no term.
  mlir::LogicalResult run();
  /// Returns the terms of the statics that the update writes, by their names.
  std::vector<program::CertifiedResult> getResults() const;
  /// Returns the term of the gradient of a loss; none if the stage has no loss.
  std::optional<program::Term> getLossGradient() const { return lossGradient; }

  ir::EmittedBuffer getState(ir::State state,
                             llvm::StringRef parameter) override;
  ir::EmittedBuffer getReport(llvm::StringRef quantity,
                              mlir::RankedTensorType type) override;

private:
  mlir::LogicalResult runOperator(mlir::Operation *op);
  void runLosses();
  View createHostScalar(mlir::RankedTensorType type, unsigned argument);
  View multiply(const View &value, double factor);
  ir::State getOwnState(ir::State state, ir::ParamOp param) const;
  program::Term getInitial(ir::State state, ir::ParamOp param) const;

  ir::UpdateOp update;
  llvm::StringSet<> trained;
  /// The states and the results, by the names of their statics.
  std::map<std::string, View> states, results;
  std::optional<program::Term> lossGradient;
};

} // namespace mf::passes

#endif // MF_PASSES_CERTIFY_UPDATETERMS_H
