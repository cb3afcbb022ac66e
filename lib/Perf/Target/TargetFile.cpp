//===- TargetFile.cpp - Targets as files of #ascend.device ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Target/TargetFile.h"
#include "ShippedTargets.h"
#include "TargetText.h"
#include "dialects/ascend/DeviceDescription.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using mf::ascend::DeviceAttr;

namespace mf::target {

static constexpr StringLiteral specName = "dlti.target_system_spec";
static constexpr StringLiteral deviceName = "NPU";

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::vector<StringRef> getShippedTargets() { return getTargetNames(); }

Expected<std::unique_ptr<MemoryBuffer>> openTarget(StringRef nameOrPath) {
  if (is_contained(getShippedTargets(), nameOrPath)) {
    const std::string file = (nameOrPath + ".mlir").str();
    return MemoryBuffer::getMemBuffer(getTargetText(file), "targets/" + file);
  }
  if (sys::fs::is_directory(nameOrPath))
    return createStringError("'" + nameOrPath +
                             "' is a folder; expected the file of a target");
  if (nameOrPath != "-" && !sys::fs::exists(nameOrPath))
    return createStringError("there is no target '" + nameOrPath +
                             "', nor a file of this name; mf comes with " +
                             join(getShippedTargets(), ", "));
  std::string message;
  std::unique_ptr<MemoryBuffer> buffer =
      mlir::openInputFile(nameOrPath, &message);
  if (!buffer)
    return createStringError(message);
  return buffer;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Returns, for example, "it has devices CPU, GPU".
static std::string describeDevices(mlir::TargetSystemSpecInterface system) {
  std::string text;
  for (mlir::DataLayoutEntryInterface entry : system.getEntries())
    if (auto name = dyn_cast<mlir::StringAttr>(entry.getKey()))
      text += (text.empty() ? "it has " : ", ") + ("\"" + name.str() + "\"");
  return text.empty() ? "it has none" : text;
}

/// Returns the description in a module. Reports an error and returns null if
/// there is none.
static DeviceAttr findDevice(mlir::ModuleOp module, mlir::Location place) {
  mlir::Attribute spec = module->getAttr(specName);
  if (!spec) {
    mlir::emitError(place)
        << "no description of a device; expected module attributes {"
        << specName << " = #" << specName << "<\"" << deviceName
        << "\" = #ascend.device<...>>}";
    return {};
  }
  auto system = dyn_cast<mlir::TargetSystemSpecInterface>(spec);
  if (!system) {
    mlir::emitError(place) << "expected #" << specName << "<\"" << deviceName
                           << "\" = #ascend.device<...>>, but got " << spec;
    return {};
  }
  auto device = system.getDeviceSpecForDeviceID(
      mlir::StringAttr::get(module.getContext(), deviceName));
  if (!device) {
    mlir::emitError(place) << "no device \"" << deviceName << "\" in "
                           << specName << "; " << describeDevices(system);
    return {};
  }
  auto description = dyn_cast<DeviceAttr>(*device);
  if (!description)
    mlir::emitError(place) << "expected \"" << deviceName
                           << "\" = #ascend.device<...>, but got " << *device;
  return description;
}

/// Returns the place of an offset in a file.
static mlir::Location getPlace(mlir::MLIRContext &context,
                               const MemoryBuffer &file, size_t offset) {
  const StringRef before = file.getBuffer().take_front(offset);
  const size_t line = before.count('\n') + 1;
  const size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return mlir::FileLineColLoc::get(&context, file.getBufferIdentifier(), line,
                                   column);
}

mlir::FailureOr<Target> parseTarget(const SourceMgr &sources,
                                    mlir::MLIRContext &context) {
  context.loadDialect<ascend::AscendDialect, mlir::DLTIDialect>();
  const MemoryBuffer &file = *sources.getMemoryBuffer(sources.getMainFileID());
  const std::string text = blankComments(file.getBuffer());
  if (auto bracket = findWrongBracket(text)) {
    mlir::emitError(getPlace(context, file, bracket->offset))
        << bracket->message;
    return mlir::failure();
  }
  SourceMgr blanked;
  blanked.AddNewSourceBuffer(
      MemoryBuffer::getMemBuffer(text, file.getBufferIdentifier()), SMLoc());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(blanked, &context);
  if (!module)
    return mlir::failure();
  // A file without a module is parsed to one that has no place.
  mlir::Location place = module->getLoc();
  const auto parsed = dyn_cast<mlir::FileLineColLoc>(place);
  if (!parsed || parsed.getLine() == 0)
    place = getPlace(context, file, 0);
  DeviceAttr device = findDevice(*module, place);
  if (!device)
    return mlir::failure();
  return getNumbers(device);
}

mlir::FailureOr<Target> readTarget(StringRef nameOrPath,
                                   mlir::MLIRContext &context) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = openTarget(nameOrPath);
  if (!buffer) {
    mlir::emitError(mlir::UnknownLoc::get(&context))
        << toString(buffer.takeError());
    return mlir::failure();
  }
  SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  return parseTarget(sources, context);
}

void printTarget(const Target &target, mlir::MLIRContext &context,
                 StringRef comment, raw_ostream &os) {
  context.loadDialect<ascend::AscendDialect, mlir::DLTIDialect>();
  os << makeComment(comment);
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder.getUnknownLoc());
  mlir::DataLayoutEntryInterface entry =
      mlir::DataLayoutEntryAttr::get(builder.getStringAttr(deviceName),
                                     ascend::getAttribute(&context, target));
  (*module)->setAttr(specName,
                     mlir::TargetSystemSpecAttr::get(&context, {entry}));
  module->print(os);
  os << '\n';
}

} // namespace mf::target
