//===- Targets.cpp - The targets of mf-run --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Targets.h"
#include "mf/Decode/TargetFile.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Support/AtomicFile.h"
#include "tools/targets/TargetOptions.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace mf::tools {

/// Gives the link to the host the rates of --d2h-gbps and --h2d-gbps.
static void applyLinkRates(const Options &options, target::HostLink &host) {
  constexpr double bytesPerGb = 1e9;
  if (options.d2hGbps > 0)
    host.toHostBytesPerSecond = host.toDeviceBytesPerSecond =
        options.d2hGbps * bytesPerGb;
  if (options.h2dGbps > 0)
    host.toDeviceBytesPerSecond = options.h2dGbps * bytesPerGb;
}

std::optional<LoadedTarget> loadTarget(const Options &options,
                                       mlir::MLIRContext &context,
                                       Messages &messages) {
  SourceMgr sources;
  if (Error error = openTargetOption(options.target, sources)) {
    messages.fail(toString(std::move(error)));
    return std::nullopt;
  }
  mlir::FailureOr<target::Target> written =
      parseTargetOption(sources, context, messages.getErrors());
  if (failed(written))
    return std::nullopt;
  LoadedTarget loaded;
  loaded.text =
      sources.getMemoryBuffer(sources.getMainFileID())->getBuffer().str();
  loaded.written = *written;
  loaded.changed = std::move(*written);
  if (Error error = applySetOptions(loaded.changed, options.set)) {
    messages.fail(toString(std::move(error)));
    return std::nullopt;
  }
  applyLinkRates(options, loaded.changed.host);
  return loaded;
}

Error writeTarget(const Options &options, const LoadedTarget &loaded,
                  const target::Target &target, StringRef comment,
                  mlir::MLIRContext &context) {
  const std::string text =
      target::editTarget(loaded.text, loaded.written, target, context, comment);
  if (options.output != "-")
    return writeFileAtomically(options.output, text);
  outs() << text;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// --list-targets, --print-target
//===----------------------------------------------------------------------===//

std::string getTargetSummary(StringRef text) {
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
    outs() << formatv("{0,-18} {1}\n", name,
                      getTargetSummary(buffer->getBuffer()));
  }
  return 0;
}

int listParameters(const Options &options, Messages &messages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::optional<LoadedTarget> loaded = loadTarget(options, context, messages);
  if (!loaded)
    return 1;
  for (const target::Parameter &parameter :
       target::getParameters(loaded->changed))
    outs() << parameter.path << ' '
           << target::formatTargetNumber(*parameter.value) << '\n';
  return 0;
}

int printTarget(const Options &options, Messages &messages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const std::optional<LoadedTarget> loaded =
      loadTarget(options, context, messages);
  if (!loaded)
    return 1;
  const std::string comment =
      options.set.empty() ? ""
                          : options.target + " with " + join(options.set, ", ");
  if (Error error =
          writeTarget(options, *loaded, loaded->changed, comment, context))
    return messages.fail(toString(std::move(error)));
  return 0;
}

} // namespace mf::tools
