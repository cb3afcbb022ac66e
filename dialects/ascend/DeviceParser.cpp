//===- DeviceParser.cpp - Parses descriptions of devices ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Parses keys and numbers, and records their places for errors.
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/DeviceParser.h"
#include "dialects/ascend/DeviceDescription.h"
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

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

template <typename PartAttr, typename Entry>
ParseResult DeviceParser::parsePart(StringRef path, Entry &entry) {
  const SMLoc place = parser.getCurrentLocation();
  Attribute given;
  if (parser.parseCustomAttributeWithFallback(
          given, Type(), [&](Attribute &, Type) { return parse(path, entry); }))
    return failure();
  if (!given)
    return success();
  auto part = dyn_cast<PartAttr>(given);
  if (!part)
    return parser.emitError(place)
           << path << ": expected #" << PartAttr::name << ", but got " << given;
  entry = getNumbers(part);
  return success();
}

ParseResult DeviceParser::parse(StringRef path, target::ComputeEngine &engine) {
  if (parseOpening(path, Brackets::Angle))
    return failure();
  return parseEntries(
      path, Brackets::Angle, [&](StringRef keyPath, StringRef key) {
        std::optional<DType> type = parseDType(key);
        if (!type)
          return reportUnknownKey(path, key, {"f32", "bf16", "f16"});
        engine.peaks.push_back({*type, 0});
        return parseNumber(keyPath, getFields(engine).back());
      });
}

/// Rejects keys other than those of numbers.
static ParseResult parseNothing(StringRef, StringRef) { return failure(); }

ParseResult DeviceParser::parse(StringRef path, target::Memory &memory) {
  return parseFields(path, getFields(memory), {}, parseNothing);
}

ParseResult DeviceParser::parse(StringRef path, target::HostLink &host) {
  return parseFields(path, getFields(host), {}, parseNothing);
}

ParseResult DeviceParser::parse(StringRef path,
                                target::Saturation &saturation) {
  return parseFields(path, getFields(saturation), {}, parseNothing);
}

ParseResult DeviceParser::parse(StringRef path, target::KernelRate &rate) {
  return parseFields(path, getFields(rate), target::getMeasureNames(),
                     [&](StringRef keyPath, StringRef key) {
                       target::Saturation saturation;
                       if (parsePart<SaturationAttr>(keyPath, saturation))
                         return failure();
                       saturation.measure = key.str();
                       rate.saturations.push_back(saturation);
                       return success();
                     });
}

ParseResult DeviceParser::parseWiring(StringRef path, target::Wiring &wiring) {
  const SMLoc place = parser.getCurrentLocation();
  StringRef word;
  (void)parser.parseOptionalKeyword(&word);
  std::optional<ascend::Wiring> known = symbolizeWiring(word);
  if (!known)
    return parser.emitError(place) << path << ": expected mesh or switch";
  wiring = *known == ascend::Wiring::Mesh ? target::Wiring::Mesh
                                          : target::Wiring::Switch;
  return success();
}

ParseResult DeviceParser::parse(StringRef path, target::Network &network) {
  const SMLoc opening = parser.getCurrentLocation();
  if (parseFields(path, getFields(network), {"of", "wiring"},
                  [&](StringRef keyPath, StringRef key) -> ParseResult {
                    if (key == "wiring")
                      return parseWiring(keyPath, network.wiring);
                    const SMLoc place = parser.getCurrentLocation();
                    StringRef word;
                    if (failed(parser.parseOptionalKeyword(&word)))
                      return parser.emitError(place)
                             << keyPath << ": expected npu or a network";
                    network.of = word.str();
                    return success();
                  }))
    return failure();
  if (places.contains(joinPath(path, "size")) && network.size == 0)
    return parser.emitError(getPlace(joinPath(path, "size")))
           << joinPath(path, "size")
           << ": expected at least 1; any number of members have no size";
  if (!places.contains(joinPath(path, "wiring")))
    return parser.emitError(opening)
           << "expected " << joinPath(path, "wiring") << ", mesh or switch";
  return success();
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

template <typename PartAttr, typename Entry>
ParseResult DeviceParser::parseParts(
    StringRef path, std::vector<Entry> &entries,
    function_ref<ParseResult(Entry &, StringRef key)> setName) {
  if (parseOpening(path, Brackets::Brace))
    return failure();
  return parseEntries(path, Brackets::Brace,
                      [&](StringRef keyPath, StringRef key) -> ParseResult {
                        Entry entry;
                        if (parsePart<PartAttr>(keyPath, entry) ||
                            setName(entry, key))
                          return failure();
                        entries.push_back(std::move(entry));
                        return success();
                      });
}

ParseResult DeviceParser::parseKey(StringRef key, target::Target &target) {
  if (key == "engines")
    return parseParts<EngineAttr, target::ComputeEngine>(
        key, target.engines,
        [&](target::ComputeEngine &engine, StringRef name) -> ParseResult {
          for (Engine known : {Engine::Cube, Engine::Vector})
            if (mf::getName(known) == name) {
              engine.engine = known;
              return success();
            }
          return parser.emitError(getPlace(joinPath(key, name)))
                 << "unknown engine '" << name << "'; expected cube and vector";
        });
  if (key == "memory")
    return parsePart<MemoryAttr>(key, target.memory);
  if (key == "host")
    return parsePart<HostLinkAttr>(key, target.host);
  if (key == "kernels")
    return parseParts<KernelRateAttr, target::KernelRate>(
        key, target.kernels, [](target::KernelRate &rate, StringRef name) {
          rate.kind = name.str();
          return success();
        });
  if (key == "networks")
    return parseParts<NetworkAttr, target::Network>(
        key, target.networks, [](target::Network &network, StringRef name) {
          network.name = name.str();
          return success();
        });
  for (const target::Field &field : getFields(target))
    if (field.name == key)
      return parseNumber(key, field);
  SmallVector<StringRef> known = {"engines", "memory", "host", "kernels",
                                  "networks"};
  for (const target::Field &field : getFields(target))
    known.push_back(field.name);
  return reportUnknownKey("", key, known);
}

ParseResult DeviceParser::parse(StringRef path, target::Target &target) {
  const SMLoc opening = parser.getCurrentLocation();
  if (parseOpening(path, Brackets::Angle))
    return failure();
  const SMLoc place = parser.getCurrentLocation();
  if (failed(parser.parseOptionalString(&target.name)) || target.name.empty())
    return parser.emitError(place)
           << "expected the target's name, as in #ascend.device<\"my-target\", "
              "...>";
  if (succeeded(parser.parseOptionalComma()) &&
      parseEntries(path, Brackets::Angle,
                   [&](StringRef, StringRef key) -> ParseResult {
                     return parseKey(key, target);
                   }))
    return failure();
  for (StringRef key : {"engines", "memory", "host"})
    if (!places.contains(key))
      return parser.emitError(opening) << "expected '" << key << "'";
  return success();
}
