//===- DeviceParser.cpp - Parses descriptions of devices ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Parses keys and numbers, and records their places for errors.
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/DeviceParser.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mf;
using namespace mf::ascend;
using target::Fields;

std::string mf::ascend::joinPath(StringRef path, StringRef key) {
  return path.empty() ? key.str() : (path + "." + key).str();
}

SMLoc DeviceParser::getPlace(StringRef path) const {
  for (; !path.empty(); path = path.rsplit('.').first) {
    auto found = places.find(path);
    if (found != places.end())
      return found->second;
    if (!path.contains('.'))
      break;
  }
  return start;
}

ParseResult DeviceParser::report(StringRef path, llvm::Error error) {
  if (!error)
    return success();
  llvm::handleAllErrors(std::move(error), [&](const target::TargetError &e) {
    const std::string whole =
        e.getPath().empty() ? path.str() : joinPath(path, e.getPath());
    InFlightDiagnostic diagnostic = parser.emitError(getPlace(whole));
    if (!whole.empty())
      diagnostic << whole << ": ";
    diagnostic << e.getMessage();
  });
  return failure();
}

ParseResult DeviceParser::reportUnknownKey(StringRef path, StringRef key,
                                           ArrayRef<StringRef> known) {
  InFlightDiagnostic diagnostic =
      parser.emitError(getPlace(joinPath(path, key)))
      << "unknown key '" << key << "'";
  if (!path.empty())
    diagnostic << " of " << path;
  return diagnostic << suggestOrListNames(key, known);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

ParseResult DeviceParser::parseOpening(StringRef path, Brackets brackets) {
  if (succeeded(brackets == Brackets::Angle ? parser.parseOptionalLess()
                                            : parser.parseOptionalLBrace()))
    return success();
  InFlightDiagnostic diagnostic =
      parser.emitError(parser.getCurrentLocation())
      << "expected '" << (brackets == Brackets::Angle ? "<" : "{") << "'";
  if (!path.empty())
    diagnostic << " behind '" << path << " ='";
  return diagnostic;
}

bool DeviceParser::parseOptionalClosing(Brackets brackets) {
  return succeeded(brackets == Brackets::Angle ? parser.parseOptionalGreater()
                                               : parser.parseOptionalRBrace());
}

ParseResult DeviceParser::parseEntries(StringRef path, Brackets brackets,
                                       ValueParser parseValue) {
  while (!parseOptionalClosing(brackets)) {
    const SMLoc place = parser.getCurrentLocation();
    StringRef key;
    if (failed(parser.parseOptionalKeyword(&key)))
      return parser.emitError(place)
             << "expected a key and '=' or '"
             << (brackets == Brackets::Angle ? ">" : "}") << "'"
             << (path.empty() ? Twine() : " in " + path);
    const std::string keyPath = joinPath(path, key);
    if (!places.try_emplace(keyPath, place).second)
      return parser.emitError(place) << keyPath << ": is there twice";
    if (parser.parseEqual() || parseValue(keyPath, key))
      return failure();
    if (succeeded(parser.parseOptionalComma()))
      continue;
    if (!parseOptionalClosing(brackets))
      return parser.emitError(parser.getCurrentLocation())
             << "expected ',' or '" << (brackets == Brackets::Angle ? ">" : "}")
             << "' behind " << keyPath;
    break;
  }
  return success();
}

ParseResult DeviceParser::parseFields(StringRef path, const Fields &fields,
                                      ArrayRef<StringRef> others,
                                      ValueParser parseOther) {
  const SMLoc opening = parser.getCurrentLocation();
  if (parseOpening(path, Brackets::Angle) ||
      parseEntries(path, Brackets::Angle,
                   [&](StringRef keyPath, StringRef key) {
                     for (const target::Field &field : fields)
                       if (field.name == key)
                         return parseNumber(keyPath, field);
                     if (llvm::is_contained(others, key))
                       return parseOther(keyPath, key);
                     SmallVector<StringRef> known(others);
                     for (const target::Field &field : fields)
                       known.push_back(field.name);
                     return reportUnknownKey(path, key, known);
                   }))
    return failure();
  for (const target::Field &field : fields)
    if (!field.isOptional && !places.contains(joinPath(path, field.name)))
      return parser.emitError(opening)
             << "expected " << joinPath(path, field.name) << ", as "
             << target::getDescription(field.range);
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

ParseResult DeviceParser::parseNumber(StringRef path,
                                      const target::Field &field) {
  // Errors about the number are reported at this place.
  places[path] = parser.getCurrentLocation();
  double number = 0;
  if (parseNumber(path, number))
    return failure();
  if (report(path.drop_back(std::min(path.size(), field.name.size() + 1)),
             checkRange(field, number)))
    return failure();
  assign(field, number);
  return success();
}

/// Parses the rest of a number after the digits of an integer. MLIR lexes
/// `15e-6` as 15 and a word `e`, and `15e6` as 15 and a word `e6`.
ParseResult DeviceParser::parseExponent(int64_t digits, double &number) {
  const SMLoc place = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    return success();
  int64_t exponent = 0;
  bool isExponent = word.consume_front_insensitive("e");
  if (isExponent && word.empty()) {
    const bool isNegative = succeeded(parser.parseOptionalMinus());
    if (!isNegative)
      (void)parser.parseOptionalPlus();
    if (parser.parseInteger(exponent))
      return failure();
    exponent = isNegative ? -exponent : exponent;
  } else {
    isExponent = isExponent && !word.getAsInteger(10, exponent);
  }
  if (!isExponent)
    return parser.emitError(place)
           << "expected ',' behind a number, which is in bytes, seconds and "
              "operations without a unit";
  const std::string text =
      std::to_string(digits) + "e" + std::to_string(exponent);
  number = std::strtod(text.c_str(), nullptr);
  return success();
}

ParseResult DeviceParser::parseNumber(StringRef path, double &number) {
  const SMLoc place = parser.getCurrentLocation();
  Attribute value;
  OptionalParseResult result = parser.parseOptionalAttribute(value);
  if (result.has_value() && failed(*result))
    return failure();
  if (auto decimal = dyn_cast_if_present<FloatAttr>(value)) {
    number = decimal.getValueAsDouble();
    return success();
  }
  auto integer = dyn_cast_if_present<IntegerAttr>(value);
  std::optional<int64_t> digits;
  if (integer && !isa<BoolAttr>(value))
    // One more bit keeps unsigned values non-negative.
    digits = integer.getType().isUnsignedInteger()
                 ? integer.getValue()
                       .zext(integer.getValue().getBitWidth() + 1)
                       .trySExtValue()
                 : integer.getValue().trySExtValue();
  if (!digits)
    return parser.emitError(place) << path << ": expected a number";
  number = static_cast<double>(*digits);
  return parseExponent(*digits, number);
}
