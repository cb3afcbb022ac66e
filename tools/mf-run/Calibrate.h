//===- Calibrate.h - Targets fitted to profiles -----------------*- C++ -*-===//

#ifndef MF_TOOLS_MF_RUN_CALIBRATE_H
#define MF_TOOLS_MF_RUN_CALIBRATE_H

#include "mf/Target/Target.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

namespace mf::tools {

/// What `mf-run --calibrate` is given.
struct CalibrateOptions {
  /// A profile, as calibration::readProfile takes it.
  std::string folder;
  /// What is fitted, and what --target called it.
  target::Target start;
  std::string startName;
  /// Where the target is written in one step; "-" for standard output.
  std::string output;
  bool quiet = false;
};

/// Fits a target to a profile, writes it, and prints how well it fits: to
/// standard output, or to standard error if the target goes there. Without an
/// error the file is whole; with one it is what it was before.
llvm::Error calibrateTarget(const CalibrateOptions &options,
                            mlir::MLIRContext &context);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RUN_CALIBRATE_H
