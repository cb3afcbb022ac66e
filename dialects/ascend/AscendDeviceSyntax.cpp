//===- AscendDeviceSyntax.cpp - How device descriptions are written -------===//
//
// Entries of `key = value` in any order. Each error is placed where the key or
// the number is that it is about.
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/DeviceDescription.h"
#include "mf/Target/TargetFields.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mf;
using namespace mf::ascend;
using target::Fields;

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

namespace {

/// Parses attributes into numbers. Paths are those of parameters, from the
/// attribute that is parsed on.
class DeviceParser {
public:
  explicit DeviceParser(AsmParser &parser)
      : parser(parser), start(parser.getCurrentLocation()) {}

  /// What follows the attribute's mnemonic: `<...>`.
  ParseResult parse(StringRef path, target::ComputeEngine &engine);
  ParseResult parse(StringRef path, target::Memory &memory);
  ParseResult parse(StringRef path, target::HostLink &host);
  ParseResult parse(StringRef path, target::Saturation &saturation);
  ParseResult parse(StringRef path, target::KernelRate &rate);
  ParseResult parse(StringRef path, target::Network &network);
  ParseResult parse(StringRef path, target::Target &target);

  /// Emits an error, if there is one, where its path, which counts from
  /// `path`, was parsed.
  ParseResult report(StringRef path, llvm::Error error);

private:
  /// Parses the value of a key, which ends at `path`.
  using ValueParser = function_ref<ParseResult(StringRef path, StringRef key)>;
  enum class Brackets { Angle, Brace };

  ParseResult parseEntries(StringRef path, Brackets brackets,
                           ValueParser parseValue);
  ParseResult parseOpening(StringRef path, Brackets brackets);
  /// Whether the entries end here.
  bool parseOptionalClosing(Brackets brackets);

  /// Entries that are numbers, and others whose keys are in `others`.
  ParseResult parseFields(StringRef path, const Fields &fields,
                          ArrayRef<StringRef> others, ValueParser parseOther);
  ParseResult parseNumber(StringRef path, const target::Field &field);
  /// A number that is finite or not, `15e-6` included.
  ParseResult parseNumber(StringRef path, double &number);
  ParseResult parseExponent(int64_t digits, double &number);
  ParseResult parseWiring(StringRef path, target::Wiring &wiring);
  /// A value `<...>` or an attribute of the type elsewhere, by its alias.
  template <typename PartAttr, typename Entry>
  ParseResult parsePart(StringRef path, Entry &entry);
  /// `{name = <...>, ...}`; `setName` writes the name into the entry.
  template <typename PartAttr, typename Entry>
  ParseResult
  parseParts(StringRef path, std::vector<Entry> &entries,
             function_ref<ParseResult(Entry &, StringRef key)> setName);
  ParseResult parseKey(StringRef key, target::Target &target);

  ParseResult reportUnknownKey(StringRef path, StringRef key,
                               ArrayRef<StringRef> known);

  /// Where the entry or number of a path is.
  SMLoc getPlace(StringRef path) const;

  AsmParser &parser;
  SMLoc start;
  llvm::StringMap<SMLoc> places;
};

} // namespace

static std::string join(StringRef path, StringRef key) {
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
        e.getPath().empty() ? path.str() : join(path, e.getPath());
    InFlightDiagnostic diagnostic = parser.emitError(getPlace(whole));
    if (!whole.empty())
      diagnostic << whole << ": ";
    diagnostic << e.getMessage();
  });
  return failure();
}

ParseResult DeviceParser::reportUnknownKey(StringRef path, StringRef key,
                                           ArrayRef<StringRef> known) {
  InFlightDiagnostic diagnostic = parser.emitError(getPlace(join(path, key)))
                                  << "unknown key '" << key << "'";
  if (!path.empty())
    diagnostic << " of " << path;
  return diagnostic << "; did you mean '" << target::getNearest(key, known)
                    << "'?";
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
    const std::string keyPath = join(path, key);
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
    if (!field.isOptional && !places.contains(join(path, field.name)))
      return parser.emitError(opening)
             << "expected " << join(path, field.name) << ", as "
             << target::getDescription(field.range);
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

ParseResult DeviceParser::parseNumber(StringRef path,
                                      const target::Field &field) {
  // Errors about the number are placed at it.
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

/// Behind the digits of an integer: of `15e-6` MLIR reads 15, then a word `e`,
/// and of `15e6` a word `e6`.
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
    // One bit more, so that what is unsigned stays so.
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

/// For entries that have only numbers.
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
  if (places.contains(join(path, "size")) && network.size == 0)
    return parser.emitError(getPlace(join(path, "size")))
           << join(path, "size")
           << ": expected at least 1; any number of members have no size";
  if (!places.contains(join(path, "wiring")))
    return parser.emitError(opening)
           << "expected " << join(path, "wiring") << ", mesh or switch";
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
          return parser.emitError(getPlace(join(key, name)))
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
  return reportUnknownKey(
      "", key,
      {"engines", "memory", "host", "kernels", "networks", "step_latency"});
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

//===----------------------------------------------------------------------===//
// Printer
//===----------------------------------------------------------------------===//

namespace {

/// Prints `<key = value, ...>`, without what is as in a new entry.
class EntryPrinter {
public:
  explicit EntryPrinter(AsmPrinter &printer) : printer(printer) {
    printer << '<';
  }
  ~EntryPrinter() { printer << '>'; }
  EntryPrinter(const EntryPrinter &) = delete;
  EntryPrinter &operator=(const EntryPrinter &) = delete;

  /// `key = `, behind a comma if needed; the value is the caller's.
  AsmPrinter &printKey(StringRef key) {
    printer << (std::exchange(isFirst, false) ? "" : ", ") << key << " = ";
    return printer;
  }

  template <typename Entry> void printFields(Entry entry) {
    Entry fresh;
    const Fields initial = getFields(fresh);
    for (auto [index, field] : llvm::enumerate(getFields(entry)))
      if (!field.isOptional || field.getNumber() != initial[index].getNumber())
        printField(field);
  }

  void printField(const target::Field &field) {
    if (auto *const *integer = std::get_if<int64_t *>(&field.value))
      printKey(field.name) << **integer;
    else
      printKey(field.name) << target::formatNumber(field.getNumber());
  }

private:
  AsmPrinter &printer;
  bool isFirst = true;
};

} // namespace

void EngineAttr::print(AsmPrinter &printer) const {
  EntryPrinter entries(printer);
  target::ComputeEngine engine = getNumbers(*this);
  for (const target::Field &field : getFields(engine))
    entries.printField(field);
}

void MemoryAttr::print(AsmPrinter &printer) const {
  EntryPrinter(printer).printFields(getNumbers(*this));
}

void HostLinkAttr::print(AsmPrinter &printer) const {
  EntryPrinter(printer).printFields(getNumbers(*this));
}

void SaturationAttr::print(AsmPrinter &printer) const {
  EntryPrinter(printer).printFields(getNumbers(*this));
}

void KernelRateAttr::print(AsmPrinter &printer) const {
  EntryPrinter entries(printer);
  entries.printFields(getNumbers(*this));
  for (NamedAttribute saturation : getSaturations()) {
    entries.printKey(saturation.getName().getValue());
    cast<SaturationAttr>(saturation.getValue()).print(printer);
  }
}

void NetworkAttr::print(AsmPrinter &printer) const {
  EntryPrinter entries(printer);
  entries.printKey("of") << getOf().getValue();
  entries.printKey("wiring") << stringifyWiring(getWiring());
  entries.printFields(getNumbers(*this));
}

/// A line for each part, in braces.
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
  if (double latency = getStepLatency().getValueAsDouble(); latency != 0) {
    startLine();
    printer << "step_latency = " << target::formatNumber(latency);
  }
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
