//===- HyperConnectionSpec.h - Several residual streams ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Manifold-constrained hyper-connections (mHC, 2025): a token has several
// residual streams. Attention and feed forward read a weighted sum of them.
// Behind each, a matrix mixes the streams, and each gets a share of the result.
// The weights depend on the token. The rows and columns of the matrix sum to 1
// but for rounding, as Sinkhorn and Knopp (1967) make them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_IMPORT_HYPERCONNECTIONSPEC_H
#define MF_FRONTEND_IMPORT_HYPERCONNECTIONSPEC_H

#include <cstdint>

namespace mf {

/// The residual streams of a model.
struct HyperConnectionSpec {
  /// n, the number of streams.
  int64_t streams = 4;
  /// The divisions by column sums; 0 are as 1.
  int64_t iterations = 20;
  /// Of the norm of all streams together.
  double epsilon = 1e-6;
  /// The initial factors of the parts of the weights that depend on the token.
  double initialFactor = 0.01;
  /// The standard deviation of the initial projections to weights.
  double initializerRange = 0.01;
  /// True if the streams are collapsed before the final norm with weights that
  /// depend on the token, false if with their mean.
  bool learnsCollapse = true;
  /// True if the trainer computes a site by fused kernels.
  bool isFused = false;

  /// Returns the number of weights of a site: what it reads of each stream,
  /// what each stream gets, and how they are mixed.
  int64_t getNumWeights() const { return streams * (streams + 2); }
};

} // namespace mf

#endif // MF_FRONTEND_IMPORT_HYPERCONNECTIONSPEC_H
