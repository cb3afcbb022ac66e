//===- Decoder.h - From the ascend dialect to a Program -------*- C++ -*-===//
//
// The only part of the library that reads IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_DECODER_H
#define MF_PROGRAM_DECODER_H

#include "mf/Program/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

namespace mf::program {

/// A program and the operations its `location` indices stand for.
struct DecodedProgram {
  Program program;
  std::vector<mlir::Location> locations;
};

/// Decodes a verified module that holds one `ascend.program` for each rank.
///
/// Refuses what an engine could not run, with a diagnostic at the operation:
/// operations that are not lowered, buffers without an offset or outside of
/// their memory, ranks that are missing or given twice, streams, statics or
/// routines that do not exist, and channels whose sends and receives do not
/// match in number, order or size. Kernels are not made here.
mlir::FailureOr<DecodedProgram> decodeProgram(mlir::ModuleOp module);

} // namespace mf::program

#endif // MF_PROGRAM_DECODER_H
