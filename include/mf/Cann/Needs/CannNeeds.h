//===- CannNeeds.h - What CANN needs beside operands ------------*- C++ -*-===//
//
// Functions of CANN take some operands in other types or shapes than our
// kernels, and some kernels are several functions. This finds the memory for
// what lies between them: it runs the statements of the kernel's record, the
// very ones that programs on CANN run, without calling anything.
//
//===----------------------------------------------------------------------===//

#ifndef MF_CANN_NEEDS_CANNNEEDS_H
#define MF_CANN_NEEDS_CANNNEEDS_H

#include "mf/Program/Signatures/KernelSpec.h"

namespace mf::cann {

struct CannNeeds {
  /// Whether the kernel's record says how programs on CANN launch it.
  bool isOnCann = false;
  /// Bytes of all temporaries, each with the alignment and the slack of a
  /// buffer of its own.
  int64_t bytes = 0;
  /// Their types and sizes: "i64[4], f32[4x8]".
  std::string temporaries;
};

/// `spec` agrees with its signature, and its shapes are those of the kernel.
CannNeeds getCannNeeds(const KernelSpec &spec);

} // namespace mf::cann

#endif // MF_CANN_NEEDS_CANNNEEDS_H
