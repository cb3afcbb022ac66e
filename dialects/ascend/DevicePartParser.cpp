//===- DevicePartParser.cpp - Parts of device descriptions ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/DeviceDescription.h"
#include "dialects/ascend/DeviceParser.h"

using namespace mlir;
using namespace mf;
using namespace mf::ascend;

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
