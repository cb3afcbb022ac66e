//===- ExpertLayer.h - A feed forward with experts --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Tokens are rows x tokens x width here: a router sees each row on its own.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_IMPORT_EXPERTLAYER_H
#define MF_LIB_FRONTEND_IMPORT_EXPERTLAYER_H

#include "CellBuilder.h"

namespace mf {

/// The results of a feed forward with experts for the residual stream; `loss`
/// is a scalar in fp32, or null.
struct ExpertResult {
  mlir::Value hidden, loss;
};

/// True if layers with experts return a loss.
bool hasExpertLoss(const ModelSpec &spec);

/// Applies the routed experts and the shared ones, if there are any, to a
/// normalised input [batch, sequence, hidden] in the compute type.
ExpertResult addExperts(CellBuilder &cells, mlir::Value input);

/// The experts that process each token.
struct Choice {
  mlir::Value gates;   ///< [rows, tokens, k], in the router's type
  mlir::Value experts; ///< [rows, tokens, k], integers
  mlir::Value loss;    ///< As in ExpertResult.
};

/// Scores, and the experts that they choose, of tokens [rows, tokens, hidden],
/// in the routed experts' Cell. `byToken` has the experts of tokens that are
/// chosen by their ids, [rows, tokens, k]; null if scores choose.
Choice addRouter(CellBuilder &cells, const RouterNames &names,
                 mlir::Value tokens, mlir::Value byToken = {});

/// Returns the auxiliary and z losses as one scalar. Their operands are the
/// products of the router's input with its weight and their scores, both [rows,
/// tokens, experts], and the share of the choices of each expert.
mlir::Value addRouterLoss(CellBuilder &cells, const RouterNames &names,
                          mlir::Value products, mlir::Value scores,
                          mlir::Value shares);

/// For each expert, returns its share of the choices in a row of the losses:
/// [rows, experts], or [rows, pieces, experts] if the losses have shorter rows;
/// fp32.
mlir::Value addShares(CellBuilder &cells, const RouterNames &names,
                      mlir::Value chosen);

/// Returns `values` divided by their sums over the last dimension.
mlir::Value divideBySum(CellBuilder &cells, const RouterNames &names,
                        mlir::Value values);

/// Returns the name of SwiGLU as one operator of a feed forward; empty if it is
/// not one.
llvm::StringRef getFusedSwiglu(const CellBuilder &cells);

/// Sends tokens to experts with a capacity, and the results back: [rows,
/// tokens, hidden].
mlir::Value addCapacityExperts(CellBuilder &cells, mlir::Value tokens,
                               const Choice &choice);

/// Sends tokens to experts that process all of them, and the results back.
mlir::Value addDroplessExperts(CellBuilder &cells, const DroplessNames &names,
                               mlir::Value tokens, const Choice &choice);

/// Returns the sum over a token's choices of rows [rows, tokens * k, hidden],
/// weighted with its gates.
mlir::Value addWeighedSum(CellBuilder &cells, mlir::Value rows,
                          mlir::Value gates, llvm::StringRef cast,
                          llvm::StringRef reshape, llvm::StringRef weigh,
                          llvm::StringRef sum);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_EXPERTLAYER_H
