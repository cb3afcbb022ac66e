//===- AscendDeviceSyntax.cpp - Syntax of device descriptions -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/DeviceDescription.h"
#include "dialects/ascend/DeviceParser.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mf;
using namespace mf::ascend;
using target::Fields;

//===----------------------------------------------------------------------===//
// Printer
//===----------------------------------------------------------------------===//

/// Calls `handle` for the numbers that are required or differ from those of a
/// new entry.
template <typename Entry>
static void forEachPrinted(Entry entry,
                           function_ref<void(const target::Field &)> handle) {
  Entry fresh;
  const Fields initial = getFields(fresh);
  for (auto [index, field] : llvm::enumerate(getFields(entry)))
    if (!field.isOptional || field.getNumber() != initial[index].getNumber())
      handle(field);
}

namespace {

/// Prints `<key = value, ...>` and leaves out the default values.
class EntryPrinter {
public:
  explicit EntryPrinter(AsmPrinter &printer) : printer(printer) {
    printer << '<';
  }
  ~EntryPrinter() { printer << '>'; }
  EntryPrinter(const EntryPrinter &) = delete;
  EntryPrinter &operator=(const EntryPrinter &) = delete;

  /// Prints `key = `, preceded by a comma if needed. The caller prints the
  /// value.
  AsmPrinter &printKey(StringRef key) {
    printer << (std::exchange(isFirst, false) ? "" : ", ") << key << " = ";
    return printer;
  }

  template <typename Entry> void printFields(Entry entry) {
    forEachPrinted(std::move(entry),
                   [&](const target::Field &field) { printField(field); });
  }

  void printField(const target::Field &field) {
    if (auto *const *integer = std::get_if<int64_t *>(&field.value))
      printKey(field.name) << **integer;
    else
      printKey(field.name) << target::formatTargetNumber(field.getNumber());
  }

private:
  AsmPrinter &printer;
  bool isFirst = true;
};

} // namespace

void EngineAttr::print(AsmPrinter &printer) const {
  EntryPrinter entries(printer);
  target::ComputeEngine engine = mf::ascend::getNumbers(*this);
  for (const target::Field &field : getFields(engine))
    entries.printField(field);
}

void MemoryAttr::print(AsmPrinter &printer) const {
  EntryPrinter(printer).printFields(mf::ascend::getNumbers(*this));
}

void HostLinkAttr::print(AsmPrinter &printer) const {
  EntryPrinter(printer).printFields(mf::ascend::getNumbers(*this));
}

void SaturationAttr::print(AsmPrinter &printer) const {
  EntryPrinter(printer).printFields(mf::ascend::getNumbers(*this));
}

void KernelRateAttr::print(AsmPrinter &printer) const {
  EntryPrinter entries(printer);
  entries.printFields(mf::ascend::getNumbers(*this));
  for (NamedAttribute saturation : getSaturations()) {
    entries.printKey(saturation.getName().getValue());
    cast<SaturationAttr>(saturation.getValue()).print(printer);
  }
}

void NetworkAttr::print(AsmPrinter &printer) const {
  EntryPrinter entries(printer);
  entries.printKey("of") << getOf().getValue();
  entries.printKey("wiring") << stringifyWiring(getWiring());
  entries.printFields(mf::ascend::getNumbers(*this));
}

/// Prints the parts in braces, one per line.
template <typename PartAttr>
static void printParts(AsmPrinter &printer, StringRef key,
                       ArrayRef<NamedAttribute> parts) {
  printer << key << " = {";
  printer.increaseIndent();
  for (auto [index, part] : llvm::enumerate(parts)) {
    printer << (index == 0 ? "" : ",");
    printer.printNewline();
    printer << part.getName().getValue() << " = ";
    cast<PartAttr>(part.getValue()).print(printer);
  }
  printer.decreaseIndent();
  printer.printNewline();
  printer << '}';
}

void DeviceAttr::print(AsmPrinter &printer) const {
  auto startLine = [&] {
    printer << ',';
    printer.printNewline();
  };
  printer << '<' << getName();
  printer.increaseIndent();
  startLine();
  printParts<EngineAttr>(printer, "engines", getEngines());
  startLine();
  printer << "memory = ";
  getMemory().print(printer);
  startLine();
  printer << "host = ";
  getHost().print(printer);
  if (!getKernels().empty()) {
    startLine();
    printParts<KernelRateAttr>(printer, "kernels", getKernels());
  }
  if (!getNetworks().empty()) {
    startLine();
    printParts<NetworkAttr>(printer, "networks", getNetworks());
  }
  forEachPrinted(mf::ascend::getNumbers(*this),
                 [&](const target::Field &field) {
                   startLine();
                   printer << field.name << " = "
                           << target::formatTargetNumber(field.getNumber());
                 });
  printer.decreaseIndent();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Attributes by themselves
//===----------------------------------------------------------------------===//

template <typename Entry> static Attribute parseEntry(AsmParser &asmParser) {
  DeviceParser parser(asmParser);
  Entry entry;
  if (parser.parse("", entry) || parser.report("", checkEntry(entry)))
    return {};
  return getAttribute(asmParser.getContext(), entry);
}

Attribute EngineAttr::parse(AsmParser &parser, Type) {
  return parseEntry<target::ComputeEngine>(parser);
}

Attribute MemoryAttr::parse(AsmParser &parser, Type) {
  return parseEntry<target::Memory>(parser);
}

Attribute HostLinkAttr::parse(AsmParser &parser, Type) {
  return parseEntry<target::HostLink>(parser);
}

Attribute SaturationAttr::parse(AsmParser &parser, Type) {
  return parseEntry<target::Saturation>(parser);
}

Attribute KernelRateAttr::parse(AsmParser &parser, Type) {
  return parseEntry<target::KernelRate>(parser);
}

Attribute NetworkAttr::parse(AsmParser &parser, Type) {
  return parseEntry<target::Network>(parser);
}

Attribute DeviceAttr::parse(AsmParser &asmParser, Type) {
  DeviceParser parser(asmParser);
  target::Target target;
  if (parser.parse("", target) || parser.report("", check(target)))
    return {};
  return getAttribute(asmParser.getContext(), target);
}
