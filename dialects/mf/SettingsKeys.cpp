//===- SettingsKeys.cpp - Parameters by the records of keys ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/SettingsKeys.h"
#include "dialects/mf/SettingForms.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace mf::ir {

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

DictionaryAttr toKeys(MLIRContext *context, SettingsRef config) {
  Builder builder(context);
  NamedAttrList keys;
  for (const KnownKey *key : getMembers(config.part))
    if (Attribute value = toAttribute(builder, key->member(config.config));
        value && !(key->omitsDefault &&
                   value == toAttribute(builder, key->member(config.defaults))))
      keys.set(key->getParameter(), value);
  return keys.getDictionary(context);
}

void fromKeys(DictionaryAttr keys, SettingsRef config) {
  for (const KnownKey *key : getMembers(config.part))
    if (Attribute value = keys.get(key->getParameter()))
      fromAttribute(value, key->member(config.config));
}

static const KnownKey *findParameter(PartId part, llvm::StringRef name) {
  for (const KnownKey *key : getMembers(part))
    if (key->getParameter() == name)
      return key;
  return nullptr;
}

static InFlightDiagnostic reportUnknown(InFlightDiagnostic error, PartId part,
                                        llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> known;
  for (const KnownKey *key : getMembers(part))
    known.push_back(key->getParameter());
  error << "unknown parameter '" << name << "'"
        << suggestOrListNames(name, known);
  return error;
}

/// Appends a value to an error. Numbers are printed without their type, which
/// users do not write.
static InFlightDiagnostic reportValue(InFlightDiagnostic error,
                                      Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return std::move(error << number.getValueAsDouble());
  if (isInteger(value))
    return std::move(error << cast<IntegerAttr>(value).getInt());
  return std::move(error << value);
}

LogicalResult verifyKeys(EmitError emitError, DictionaryAttr keys,
                         SettingsRef config) {
  for (NamedAttribute item : keys) {
    const llvm::StringRef name = item.getName();
    const KnownKey *key = findParameter(config.part, name);
    if (!key)
      return reportUnknown(emitError(), config.part, name);
    const std::string wanted =
        findMismatch(*key, item.getValue(), key->member(config.config));
    if (!wanted.empty())
      return reportValue(emitError() << "expected " << name << " to be "
                                     << wanted << ", but got ",
                         item.getValue());
  }
  return success();
}

/// Parses a floating-point number, which may be written as an integer.
static ParseResult parseNumber(AsmParser &parser, Attribute &value) {
  double number = 0;
  if (parser.parseFloat(number))
    return failure();
  value = parser.getBuilder().getF64FloatAttr(number);
  return success();
}

ParseResult parseKeys(AsmParser &parser, SettingsRef config) {
  const SMLoc place = parser.getCurrentLocation();
  NamedAttrList keys;
  auto parseKey = [&]() -> ParseResult {
    const SMLoc start = parser.getCurrentLocation();
    llvm::StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    const KnownKey *key = findParameter(config.part, name);
    if (!key)
      return reportUnknown(parser.emitError(start), config.part, name);
    if (keys.get(name))
      return parser.emitError(start)
             << "expected " << name << " once, but got it again";
    const KeyField member = key->member(config.config);
    const bool isNumber =
        std::holds_alternative<double *>(member) ||
        std::holds_alternative<std::optional<double> *>(member);
    Attribute value;
    if (parser.parseEqual() ||
        (isNumber ? parseNumber(parser, value) : parser.parseAttribute(value)))
      return failure();
    keys.set(name, value);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseKey))
    return failure();
  const DictionaryAttr values = keys.getDictionary(parser.getContext());
  if (failed(
          verifyKeys([&] { return parser.emitError(place); }, values, config)))
    return failure();
  fromKeys(values, config);
  return success();
}

void printKeys(AsmPrinter &printer, DictionaryAttr keys, PartId part) {
  llvm::ListSeparator separator;
  printer << '<';
  for (const KnownKey *key : getMembers(part)) {
    Attribute value = keys.get(key->getParameter());
    if (!value)
      continue;
    const llvm::StringRef comma = separator;
    printer << comma << key->getParameter() << " = ";
    if (auto number = dyn_cast<FloatAttr>(value))
      printer.printFloat(number.getValue());
    else
      printer.printAttributeWithoutType(value);
  }
  printer << '>';
}

} // namespace mf::ir
