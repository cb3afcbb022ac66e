//===- TargetFile.h - Targets as files of #ascend.device ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DECODE_TARGETFILE_H
#define MF_DECODE_TARGETFILE_H

#include "mf/Perf/Target/Target.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace mf::target {

/// Returns the names of the targets that are part of mf, sorted.
std::vector<llvm::StringRef> getShippedTargets();

/// Opens the file of a target that is part of mf, or the file at a path. The
/// error lists the targets that are part of mf.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
openTarget(llvm::StringRef nameOrPath);

/// Parses the main file of `sources`, which is an MLIR module with
///   dlti.target_system_spec = #dlti.target_system_spec<"NPU" =
///   #ascend.device<...>>
/// Errors are reported through the context's diagnostics, with their places.
mlir::FailureOr<Target> parseTarget(const llvm::SourceMgr &sources,
                                    mlir::MLIRContext &context);

/// Opens and parses a target. All errors are reported through the context's
/// diagnostics.
mlir::FailureOr<Target> readTarget(llvm::StringRef nameOrPath,
                                   mlir::MLIRContext &context);

/// Prints a target as an MLIR module. `comment` becomes `//` lines at its top.
void printTarget(const Target &target, mlir::MLIRContext &context,
                 llvm::StringRef comment, llvm::raw_ostream &os);

/// Returns the file `text`, which holds the target `from`, with the numbers of
/// `to`. The targets may differ in numbers only. `comment` becomes `//` lines
/// at its top. Comments and other text are preserved if possible. Otherwise the
/// target is printed anew.
std::string editTarget(llvm::StringRef text, const Target &from,
                       const Target &to, mlir::MLIRContext &context,
                       llvm::StringRef comment = "");

} // namespace mf::target

#endif // MF_DECODE_TARGETFILE_H
