//===- Decoder.h - From the ascend dialect to a Program -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// This is the only part of the library that reads IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DECODE_DECODER_H
#define MF_DECODE_DECODER_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

namespace mf::program {

/// A program and the operations that its `location` indices refer to.
struct DecodedProgram {
  Program program;
  std::vector<mlir::Location> locations;

  /// Emits an error at the operation that it refers to, with its notes.
  void emit(const LocatedError &error) const;
};

/// Decodes a verified module that holds one `ascend.program` for each stage of
/// its `mf.mesh`, which may be absent: then each stage is one rank.
///
/// Refuses what an engine could not run, with a diagnostic at the operation:
/// operations that are not lowered, buffers without an offset or outside of
/// their memory, launches that do not match their kernel's signature, stages
/// that are missing or defined twice, streams, statics or routines that do not
/// exist, slices that do not fit the mesh, groups and peers that are not part
/// of the mesh, and channels whose sends and receives, or whose sides of a
/// collective, do not match in number, order, kind or size.
mlir::FailureOr<DecodedProgram> decodeProgram(mlir::ModuleOp module);

/// A stage whose memory is not planned yet: all its offsets are 0.
struct UnplannedStage {
  StageProgram stage;
  std::vector<LaunchedKernel> kernels;
  /// The operations that the `location` indices refer to.
  std::vector<mlir::Operation *> operations;
};
mlir::FailureOr<UnplannedStage> decodeUnplanned(ascend::ProgramOp program);

/// Sets how a kernel uses each of its accesses, as `signature` defines it. The
/// accesses are `numInputs` inputs, the outputs and, optionally, a workspace.
void applySignature(const KernelSignature &signature, size_t numInputs,
                    Instruction &instruction);

} // namespace mf::program

#endif // MF_DECODE_DECODER_H
