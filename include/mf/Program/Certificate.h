//===- Certificate.h - The values that a chunk must compute ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A term stands for a value. It is a hash of the kernel that computes the
// value, the kernel's attributes and shapes, and the terms of its operands,
// down to the chunk's inputs. Two computations have the same term if they run
// the same kernels on the same values, regardless of where these are stored and
// how often they are computed.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_CERTIFICATE_H
#define MF_PROGRAM_CERTIFICATE_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mf::program {

using Term = uint64_t;

/// A result of a chunk.
struct CertifiedResult {
  /// The operator of the model that computes it, the part of the loss that it
  /// is, or the parameter whose gradient it is. May be empty.
  std::string name;
  Term term = 0;

  bool operator==(const CertifiedResult &other) const {
    return name == other.name && term == other.term;
  }
};

/// The first arguments of a routine that runs after a chunk's forward, as
/// numbers of values. Gradients of the chunk's outputs are numbered from 0,
/// arguments of forward from `Certificate::numGradients`, and the outputs that
/// forward passes on after them.
struct CertifiedArguments {
  std::string routine;
  std::vector<int64_t> values;
};

/// The terms of all values that the routines of a chunk pass to other chunks,
/// to the loss or to parameters for one micro-batch.
struct Certificate {
  /// The values that forward passes on, in the order of its last arguments.
  std::vector<CertifiedResult> outputs;
  /// The values that forward adds to the loss, in order.
  std::vector<CertifiedResult> losses;
  /// The gradients that backward passes on, in the order of its last arguments.
  std::vector<CertifiedResult> inputGradients;
  /// The values that are added to the gradients of parameters, in order.
  std::vector<CertifiedResult> gradients;
  /// The values of which a step keeps those of the last micro-batch, in place
  /// of gradients.
  std::vector<CertifiedResult> records;
  /// The values of which a step keeps the maximum over micro-batches, in order.
  std::vector<CertifiedResult> largest;
  /// Pairs of terms that stand for the same value. The second replaces the
  /// first.
  std::vector<std::pair<Term, Term>> equal;
  int64_t numArguments = 0;
  int64_t numGradients = 0;
  std::vector<CertifiedArguments> taken;

  /// Returns whether both pass the same values to other chunks, regardless of
  /// the routines that compute them.
  bool givesSame(const Certificate &other) const {
    return outputs == other.outputs && losses == other.losses &&
           inputGradients == other.inputGradients &&
           gradients == other.gradients && records == other.records &&
           numArguments == other.numArguments &&
           numGradients == other.numGradients;
  }
};

/// The terms of the values that a stage's step leaves, except gradients.
struct StepCertificate {
  /// The statics that the step writes for the next step or for the host, by
  /// name.
  std::vector<CertifiedResult> results;
  /// The gradient of a loss, if the stage has one.
  std::optional<Term> lossGradient;
};

} // namespace mf::program

#endif // MF_PROGRAM_CERTIFICATE_H
