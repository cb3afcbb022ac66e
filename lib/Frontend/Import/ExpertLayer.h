//===- ExpertLayer.h - A feed forward with experts --------------*- C++ -*-===//
//
// Tokens are rows x tokens x width here: a router sees each row on its own.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_IMPORT_EXPERTLAYER_H
#define MF_LIB_IMPORT_EXPERTLAYER_H

#include "CellBuilder.h"
#include "ExpertNames.h"

namespace mf {

/// The results of a feed forward with experts for the residual stream; `loss`
/// is a scalar in fp32, or null.
struct ExpertResult {
  mlir::Value hidden, loss;
};

/// Whether layers with experts give a loss.
bool hasExpertLoss(const ModelSpec &spec);

/// Routed experts and, if there are any, shared ones on a normalised input
/// [batch, sequence, hidden], in the compute type.
ExpertResult addExperts(CellBuilder &cells, mlir::Value input);

/// The experts that a token goes to.
struct Choice {
  mlir::Value gates;   ///< [rows, tokens, k], the router's type
  mlir::Value experts; ///< [rows, tokens, k], ints
  mlir::Value loss;    ///< as in ExpertResult
};

/// Scores, and the experts that they choose, of tokens [rows, tokens, hidden],
/// in the routed experts' Cell.
Choice addRouter(CellBuilder &cells, const RouterNames &names,
                 mlir::Value tokens);

/// Auxiliary and z losses as one scalar, of a router's products with its weight
/// and their scores, both [rows, tokens, experts], and of the shares of choices
/// that experts get.
mlir::Value addRouterLoss(CellBuilder &cells, const RouterNames &names,
                          mlir::Value products, mlir::Value scores,
                          mlir::Value shares);

/// The share of a row's choices that each expert gets: [rows, experts], fp32.
mlir::Value addShares(CellBuilder &cells, const RouterNames &names,
                      mlir::Value chosen);

/// `values` divided by their sums over the last dimension.
mlir::Value divideBySum(CellBuilder &cells, const RouterNames &names,
                        mlir::Value values);

/// Tokens through experts with a capacity and back: [rows, tokens, hidden].
mlir::Value addCapacityExperts(CellBuilder &cells, const ExpertNames &names,
                               mlir::Value tokens, const Choice &choice);

/// Tokens through experts that take all, and back.
mlir::Value addDroplessExperts(CellBuilder &cells, const DroplessNames &names,
                               mlir::Value tokens, const Choice &choice);

/// The sum over a token's choices of rows [rows, tokens * k, hidden] weighed
/// with its gates.
mlir::Value addWeighedSum(CellBuilder &cells, mlir::Value rows,
                          mlir::Value gates, llvm::StringRef cast,
                          llvm::StringRef reshape, llvm::StringRef weigh,
                          llvm::StringRef sum);

} // namespace mf

#endif // MF_LIB_IMPORT_EXPERTLAYER_H
