//===- Certificate.h - What a chunk has to compute ------------*- C++ -*-===//
//
// A term stands for a value: a hash of the kernel that makes it, its attributes
// and shapes, and the terms of what it reads, down to the chunk's inputs. Two
// ways to compute a value have one term if they run the same kernels on the
// same values, wherever these lie and however often they are made.
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
  /// The operator of the model that makes it, or the parameter whose gradient
  /// it is; may be empty.
  std::string name;
  Term term = 0;

  bool operator==(const CertifiedResult &other) const {
    return name == other.name && term == other.term;
  }
};

/// The values that the first arguments of a routine behind a chunk's forward
/// are: gradients of the chunk's outputs from 0 on, then arguments of forward
/// from `Certificate::numGradients` on, then outputs that forward hands on.
struct CertifiedArguments {
  std::string routine;
  std::vector<int64_t> values;
};

/// The terms of all that the routines of a chunk give to others for one
/// micro-batch.
struct Certificate {
  /// The values that forward hands on, in the order of its last arguments.
  std::vector<CertifiedResult> outputs;
  /// The values that it adds to the loss, in order.
  std::vector<CertifiedResult> losses;
  /// The gradients that backward hands on behind the arguments that it takes.
  std::vector<CertifiedResult> inputGradients;
  /// The values that are added to the gradients of parameters, in order.
  std::vector<CertifiedResult> gradients;
  /// The values that stay from the last micro-batch in place of gradients.
  std::vector<CertifiedResult> records;
  /// The values of which the largest of all micro-batches stays, in order.
  std::vector<CertifiedResult> largest;
  /// Terms that stand for the same value: the second is used for the first.
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

/// The terms of what a stage's step leaves beside gradients.
struct StepCertificate {
  /// Statics, by name, that the step writes for the next one or for the host.
  std::vector<CertifiedResult> results;
  /// The gradient of a loss, if the stage has one.
  std::optional<Term> lossGradient;
};

} // namespace mf::program

#endif // MF_PROGRAM_CERTIFICATE_H
