//===- Targets.cpp - The targets of mf-run --------------------------------===//

#include "Targets.h"
#include "mf/Data/AtomicFile.h"
#include "mf/Target/TargetFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace mf::tools {

/// Changes one number, as `path=number` says.
static Error applySetting(target::Target &target, StringRef setting) {
  const auto [path, text] = setting.split('=');
  double number = 0;
  if (path.trim().empty() || text.trim().getAsDouble(number))
    return createStringError(
        "expected path=number, as networks.hccs.collective_share=0.5");
  return setParameter(target, path.trim(), number);
}

/// Parses the target in `sources`.
static mlir::FailureOr<target::Target> parseTarget(SourceMgr &sources,
                                                   mlir::MLIRContext &context,
                                                   Messages &messages) {
  mlir::SourceMgrDiagnosticHandler handler(sources, &context,
                                           messages.getErrors());
  return target::parseTarget(sources, context);
}

/// Changes a target as --set says; false behind an error.
static bool applySettings(const Options &options, target::Target &target,
                          Messages &messages) {
  for (const std::string &setting : options.set)
    if (Error error = applySetting(target, setting)) {
      messages.fail("--set " + setting + ": " + toString(std::move(error)));
      return false;
    }
  // One number may contradict another.
  if (Error error = target::check(target)) {
    messages.fail("--set: " + toString(std::move(error)));
    return false;
  }
  return true;
}

/// Makes the file of --target the main file of `sources`; false behind an
/// error.
static bool openTarget(const Options &options, SourceMgr &sources,
                       Messages &messages) {
  if (options.target.empty()) {
    messages.fail("expected --target=NAME or FILE; --list-targets prints the "
                  "names");
    return false;
  }
  auto buffer = target::openTarget(options.target);
  if (!buffer) {
    messages.fail("--target: " + toString(buffer.takeError()));
    return false;
  }
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  return true;
}

std::optional<target::Target> loadTarget(const Options &options,
                                         mlir::MLIRContext &context,
                                         Messages &messages) {
  SourceMgr sources;
  if (!openTarget(options, sources, messages))
    return std::nullopt;
  mlir::FailureOr<target::Target> target =
      parseTarget(sources, context, messages);
  if (failed(target))
    return std::nullopt;
  target::Target changed = std::move(*target);
  if (!applySettings(options, changed, messages))
    return std::nullopt;
  return changed;
}

Error writeTarget(const Options &options, StringRef text) {
  if (options.output != "-")
    return writeFileAtomically(options.output, text);
  outs() << text;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// --list-targets, --print-target
//===----------------------------------------------------------------------===//

/// The first sentence of the comment that a file begins with.
static std::string getSummary(StringRef text) {
  std::string summary;
  while (text.consume_front("//")) {
    const auto [line, rest] = text.split('\n');
    summary += line.rtrim();
    text = rest;
  }
  const size_t end = StringRef(summary).find(". ");
  return StringRef(summary).take_front(end).trim().rtrim('.').str();
}

int listTargets() {
  for (StringRef name : target::getShippedTargets()) {
    auto buffer = cantFail(target::openTarget(name));
    outs() << formatv("{0,-18} {1}\n", name, getSummary(buffer->getBuffer()));
  }
  return 0;
}

int listParameters(const Options &options, Messages &messages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::optional<target::Target> target = loadTarget(options, context, messages);
  if (!target)
    return 1;
  for (const target::Parameter &parameter : target::getParameters(*target))
    outs() << parameter.path << ' ' << format("%.15g", *parameter.value)
           << '\n';
  return 0;
}

int printTarget(const Options &options, Messages &messages) {
  SourceMgr sources;
  if (!openTarget(options, sources, messages))
    return 1;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::FailureOr<target::Target> target =
      parseTarget(sources, context, messages);
  if (failed(target))
    return 1;
  std::string text =
      sources.getMemoryBuffer(sources.getMainFileID())->getBuffer().str();
  if (!options.set.empty()) {
    const target::Target before = *target;
    if (!applySettings(options, *target, messages))
      return 1;
    text = "// " + options.target + " with " + join(options.set, ", ") + "\n" +
           target::editTarget(text, before, *target, context);
  }
  if (Error error = writeTarget(options, text))
    return messages.fail(toString(std::move(error)));
  return 0;
}

} // namespace mf::tools
