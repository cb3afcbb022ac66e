//===- Format.cpp - The format of files with IR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/Format.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include <functional>

using namespace mlir;
using namespace mf::ir;

namespace {

/// The number of a format: that of the release of mf that introduced it.
struct Format : DialectVersion {
  uint64_t major, minor;

  Format(uint64_t major, uint64_t minor) : major(major), minor(minor) {}
  std::string str() const {
    return std::to_string(major) + "." + std::to_string(minor);
  }
  bool operator==(const Format &other) const {
    return major == other.major && minor == other.minor;
  }
};

} // namespace

/// Returns the formats that this mf reads. It writes the last.
static ArrayRef<Format> getFormats() {
  static const Format formats[] = {{0, 1}};
  return formats;
}

std::string mf::ir::describeUnreadFormat(StringRef format) {
  auto numbers = llvm::map_range(getFormats(), std::mem_fn(&Format::str));
  if (llvm::is_contained(numbers, format))
    return "";
  return "is in the format of mf " + format.str() +
         ", but this mf reads the format of mf " + llvm::join(numbers, ", ") +
         "; read it with the mf that wrote it, or write it anew with this mf";
}

void mf::ir::setFormat(ModuleOp module) {
  module->setAttr(formatAttribute, StringAttr::get(module.getContext(),
                                                   getFormats().back().str()));
}

LogicalResult mf::ir::verifyFormat(Operation *op, Attribute value) {
  auto format = dyn_cast<StringAttr>(value);
  if (!format)
    return op->emitOpError("expected a string such as \"")
           << getFormats().back().str() << "\" as mf.format, but got " << value;
  if (!isa<ModuleOp>(op))
    return op->emitOpError("has a format; expected it on the module");
  std::string problem = describeUnreadFormat(format);
  return problem.empty() ? success() : LogicalResult(op->emitOpError(problem));
}

namespace {

struct FormatBytecode : BytecodeDialectInterface {
  explicit FormatBytecode(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(getFormats().back().major);
    writer.writeVarInt(getFormats().back().minor);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    auto format = std::make_unique<Format>(0, 0);
    if (failed(reader.readVarInt(format->major)) ||
        failed(reader.readVarInt(format->minor)))
      return nullptr;
    std::string problem = describeUnreadFormat(format->str());
    if (problem.empty())
      return format;
    reader.emitError() << "the file " << problem;
    return nullptr;
  }
};

} // namespace

void mf::ir::addBytecodeVersion(Dialect &dialect) {
  dialect.addInterfaces<FormatBytecode>();
}
