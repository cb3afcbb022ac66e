//===- HyperConnections.h - Several residual streams ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The streams of a token are side by side in the last dimension of the residual
// stream, [batch, sequence, streams * hidden].
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_IMPORT_HYPERCONNECTIONS_H
#define MF_LIB_FRONTEND_IMPORT_HYPERCONNECTIONS_H

#include "CellBuilder.h"

namespace mf {

/// A place at which attention or a feed forward reads the streams and adds to
/// them.
class HyperConnection {
public:
  /// Adds the weights of the site, in a Cell `name`.
  HyperConnection(CellBuilder &cells, llvm::StringRef name,
                  mlir::Value streams);

  /// Returns the weighted sum of the streams, [batch, sequence, hidden].
  mlir::Value getInput() const { return input; }
  /// Mixes the streams and adds a share of `result` to each.
  mlir::Value addResult(mlir::Value result);

private:
  /// Returns factor * weights + bias of one part of the weights.
  mlir::Value takePart(mlir::Value weights, mlir::Value bias,
                       llvm::StringRef factor, int64_t start, int64_t size);

  CellBuilder &cells;
  std::string name;
  /// [batch, sequence, streams, hidden] in fp32.
  mlir::Value streams;
  mlir::Value input, shares, mixing;
};

/// Returns streams that are all `hidden`.
mlir::Value addStreams(CellBuilder &cells, mlir::Value hidden);

/// Returns one hidden state of all streams: the mean, or a sum with weights of
/// the open Cell.
mlir::Value collapseStreams(CellBuilder &cells, mlir::Value streams);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_HYPERCONNECTIONS_H
