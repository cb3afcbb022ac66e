//===- CannNeeds.h - Temporary memory of functions of CANN ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Functions of CANN take some operands in other types or shapes than our
// kernels do, and some kernels are sequences of several functions. Both need
// temporary memory. This library finds how much a launch needs: it runs the
// statements of the kernel's record on shapes alone. Emitted programs run the
// same statements, so that the two cannot disagree.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CANN_NEEDS_CANNNEEDS_H
#define MF_CANN_NEEDS_CANNNEEDS_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf::cann {

/// The temporary memory that a launch of a kernel needs on CANN.
struct CannNeeds {
  /// Whether the kernel's record says how programs on CANN launch it.
  bool isOnCann = false;
  /// The reason why the program cannot launch the kernel with these operands
  /// and attributes. Empty if it can.
  std::string refusal;
  /// The number of CANN's functions that the program calls.
  int64_t functions = 0;
  /// The sum of the sizes of all temporaries in bytes. Each size includes the
  /// alignment and the slack that CANN asks for behind a buffer.
  int64_t bytes = 0;
  /// Whether CANN adds up in any order, so that results may differ from run to
  /// run in their last bits.
  bool isInAnyOrder = false;
  /// The types and shapes of the temporaries for messages, for example
  /// "i64[4], f32[4x8]".
  std::string temporaries;
};

/// Returns what a launch of the kernel needs. The operands and attributes of
/// `spec` must agree with the kernel's signature.
CannNeeds getCannNeeds(const KernelSpec &spec);

} // namespace mf::cann

#endif // MF_CANN_NEEDS_CANNNEEDS_H
