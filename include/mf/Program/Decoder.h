//===- Decoder.h - From the ascend dialect to a Program -------*- C++ -*-===//
//
// The only part of the library that reads IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_DECODER_H
#define MF_PROGRAM_DECODER_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Program/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

namespace mf::program {

/// A program and the operations its `location` indices stand for.
struct DecodedProgram {
  Program program;
  std::vector<mlir::Location> locations;
};

/// Decodes a verified module that holds one `ascend.program` for each stage of
/// its `mf.mesh`, which may be absent: then each stage is one rank.
///
/// Refuses what an engine could not run, with a diagnostic at the operation:
/// operations that are not lowered, buffers without an offset or outside of
/// their memory, launches that are not as their kernel's signature says, stages
/// that are missing or given twice, streams, statics or routines that do not
/// exist, slices that do not fit the mesh, groups and peers that are not of the
/// mesh, and channels whose sends and receives, or whose parts in a collective,
/// do not match in number, order, kind or size.
mlir::FailureOr<DecodedProgram> decodeProgram(mlir::ModuleOp module);

/// A program before its memory is planned: all offsets are 0.
struct UnplannedStage {
  StageProgram stage;
  std::vector<LaunchedKernel> kernels;
  /// The operations that the `location` indices stand for.
  std::vector<mlir::Operation *> operations;
};
mlir::FailureOr<UnplannedStage> decodeUnplanned(ascend::ProgramOp program);

/// Says of a kernel's accesses, which are `numInputs` inputs, the outputs and
/// maybe a workspace, what `signature` does with them.
void applySignature(const KernelSignature &signature, size_t numInputs,
                    Instruction &instruction);

} // namespace mf::program

#endif // MF_PROGRAM_DECODER_H
