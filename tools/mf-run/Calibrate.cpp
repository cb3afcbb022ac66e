//===- Calibrate.cpp - Targets fitted to profiles -------------------------===//

#include "Calibrate.h"
#include "mf/Calibration/Calibration.h"
#include "mf/Data/AtomicFile.h"
#include "mf/Target/TargetFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mf::tools {

Error calibrateTarget(const CalibrateOptions &options,
                      mlir::MLIRContext &context) {
  Expected<calibration::Profile> profile =
      calibration::readProfile(options.folder);
  if (!profile)
    return profile.takeError();
  Expected<calibration::Calibration> fitted =
      calibration::calibrate(options.start, *profile);
  if (!fitted)
    return fitted.takeError();
  std::string text;
  raw_string_ostream os(text);
  target::printTarget(fitted->target, context,
                      calibration::describeCalibration(*fitted, options.folder,
                                                       options.startName),
                      os);
  const bool toOutput = options.output == "-";
  if (toOutput)
    outs() << text;
  else if (Error error = writeFileAtomically(options.output, text))
    return error;
  if (!options.quiet)
    calibration::printCalibration(*fitted, toOutput ? errs() : outs());
  return Error::success();
}

} // namespace mf::tools
