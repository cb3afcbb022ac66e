//===- ReadFacts.h - The facts of a program, decoded ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_STEP_READFACTS_H
#define MF_LIB_STEP_READFACTS_H

#include "mf/Program/Program.h"
#include "mf/Step/StepRun.h"
#include "llvm/Support/Error.h"

namespace mf::step {

/// Facts in the types of mf.
struct ReadFacts {
  program::Mesh mesh;
  /// The buffers of each stage as statics, in their order.
  std::vector<std::vector<program::Static>> stages;
  SampleOrder sampleOrder = SampleOrder::Whole;
};

/// Returns the mesh of facts without an error.
program::Mesh makeMesh(const Facts &facts);

/// Decodes the facts. Fails if they are those of another version of the
/// interface, or have a name or a number that this version does not know.
llvm::Expected<ReadFacts> readFacts(const Facts &facts);

} // namespace mf::step

#endif // MF_LIB_STEP_READFACTS_H
