//===- TargetOptions.cpp - Options --target and --set ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/targets/TargetOptions.h"
#include "dialects/mf/ErrorCollector.h"
#include "mf/Decode/TargetFile.h"
#include "mlir/IR/Diagnostics.h"

using namespace llvm;

namespace mf::tools {

Error openTargetOption(StringRef target, SourceMgr &sources) {
  if (target.empty())
    return createStringError("expected --target=NAME or FILE; mf-run "
                             "--list-targets prints the names");
  auto buffer = target::openTarget(target);
  if (!buffer)
    return createStringError("--target: " + toString(buffer.takeError()));
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  return Error::success();
}

mlir::FailureOr<target::Target> parseTargetOption(SourceMgr &sources,
                                                  mlir::MLIRContext &context,
                                                  raw_ostream &errors) {
  mlir::SourceMgrDiagnosticHandler handler(sources, &context, errors);
  return target::parseTarget(sources, context);
}

Expected<target::Target> readTargetOption(StringRef target) {
  SourceMgr sources;
  if (Error error = openTargetOption(target, sources))
    return error;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ErrorCollector errors(context);
  mlir::FailureOr<target::Target> parsed =
      target::parseTarget(sources, context);
  if (failed(parsed))
    return errors.take("--target: '" + target.str() + "' is not a target");
  return std::move(*parsed);
}

/// Changes one number.
static Error applySetOption(target::Target &target, StringRef setting) {
  const auto [path, text] = setting.split('=');
  double number = 0;
  if (path.trim().empty() || text.trim().getAsDouble(number))
    return createStringError(
        "expected path=number, as networks.hccs.collective_share=0.5");
  return setParameter(target, path.trim(), number);
}

Error applySetOptions(target::Target &target, ArrayRef<std::string> settings) {
  for (const std::string &setting : settings)
    if (Error error = applySetOption(target, setting))
      return createStringError("--set " + setting + ": " +
                               toString(std::move(error)));
  // The numbers are checked together, as one may contradict another.
  if (Error error = target::check(target))
    return createStringError("--set: " + toString(std::move(error)));
  return Error::success();
}

} // namespace mf::tools
