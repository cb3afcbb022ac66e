//===- Calibrate.cpp - Targets fitted to profiles -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Calibrate.h"
#include "Targets.h"
#include "mf/Perf/Calibration/Calibration.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mf::tools {

static Error calibrateTo(const LoadedTarget &start, const Options &options,
                         mlir::MLIRContext &context) {
  Expected<calibration::Profile> profile =
      calibration::readProfile(options.calibrate);
  if (!profile)
    return profile.takeError();
  Expected<calibration::Calibration> fitted =
      calibration::calibrate(start.changed, *profile);
  if (!fitted)
    return fitted.takeError();
  const std::string comment = calibration::describeCalibration(
      *fitted, options.calibrate, options.target);
  if (Error error =
          writeTarget(options, start, fitted->target, comment, context))
    return error;
  if (!options.quiet)
    calibration::printCalibration(*fitted,
                                  options.output == "-" ? errs() : outs());
  return Error::success();
}

int calibrateTarget(const Options &options, Messages &messages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const std::optional<LoadedTarget> start =
      loadTarget(options, context, messages);
  if (!start)
    return 1;
  if (Error error = calibrateTo(*start, options, context))
    return messages.fail(toString(std::move(error)));
  return 0;
}

} // namespace mf::tools
