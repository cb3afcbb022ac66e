//===- Targets.cpp - The targets of mf-run --------------------------------===//

#include "Targets.h"
#include "mf/Data/AtomicFile.h"
#include "mf/Target/TargetFile.h"
#include "tools/targets/TargetOptions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace mf::tools {

std::optional<target::Target> loadTarget(const Options &options,
                                         mlir::MLIRContext &context,
                                         Messages &messages) {
  SourceMgr sources;
  if (Error error = openTargetOption(options.target, sources)) {
    messages.fail(toString(std::move(error)));
    return std::nullopt;
  }
  mlir::FailureOr<target::Target> target =
      parseTargetOption(sources, context, messages.getErrors());
  if (failed(target))
    return std::nullopt;
  target::Target changed = std::move(*target);
  if (Error error = applySetOptions(changed, options.set)) {
    messages.fail(toString(std::move(error)));
    return std::nullopt;
  }
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
  if (Error error = openTargetOption(options.target, sources))
    return messages.fail(toString(std::move(error)));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::FailureOr<target::Target> target =
      parseTargetOption(sources, context, messages.getErrors());
  if (failed(target))
    return 1;
  std::string text =
      sources.getMemoryBuffer(sources.getMainFileID())->getBuffer().str();
  if (!options.set.empty()) {
    const target::Target before = *target;
    if (Error error = applySetOptions(*target, options.set))
      return messages.fail(toString(std::move(error)));
    text = "// " + options.target + " with " + join(options.set, ", ") + "\n" +
           target::editTarget(text, before, *target, context);
  }
  if (Error error = writeTarget(options, text))
    return messages.fail(toString(std::move(error)));
  return 0;
}

} // namespace mf::tools
