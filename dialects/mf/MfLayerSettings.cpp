//===- MfLayerSettings.cpp - The text of layers' settings -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfDialect.h"
#include "mf/Layers/LayerSettings.h"
#include "mf/Support/NearestName.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printRequest(AsmPrinter &printer, MLIRContext *context,
                         const LayerRequest &request) {
  printer << getName(request.key);
  if (namesOperators(request.key)) {
    printer << ' ';
    printer.printString(request.pattern);
  }
  if (request.isUnnamed)
    printer << " unnamed";
  if (request.meansWholePaths)
    printer << " whole";
  if (isSwap(request.key))
    printer << " prefetch " << request.prefetch;
  if (request.countsLayers)
    printer << " layers";
  if (const mf::Location &place = request.location; place.isKnown())
    printer << ' '
            << FileLineColLoc::get(context, place.file, place.line,
                                   place.column);
}

void LayerSettingsAttr::print(AsmPrinter &printer) const {
  const LayerSettings &settings = getValue();
  llvm::ListSeparator comma;
  printer << '<';
  auto start = [&]() -> AsmPrinter & { return printer << StringRef(comma); };
  if (settings.layer != 0)
    start() << "number = " << settings.layer;
  if (settings.commFusion != 1)
    start() << "comm_fusion = " << settings.commFusion;
  for (auto [isSet, name] :
       {std::pair(settings.isSwapOn, "swap_on"),
        std::pair(settings.selectsOperators, "selects"),
        std::pair(settings.sliceActivation, "slices"),
        std::pair(!settings.mpCommRecompute, "keeps_comm")})
    if (isSet)
      start() << name;
  if (!settings.keptOperators.empty()) {
    start() << "kept_operators = [";
    llvm::interleaveComma(settings.keptOperators, printer,
                          [&](StringRef name) { printer.printString(name); });
    printer << ']';
  }
  if (!settings.requests.empty()) {
    start() << "requests = [";
    llvm::interleaveComma(settings.requests, printer,
                          [&](const LayerRequest &request) {
                            printRequest(printer, getContext(), request);
                          });
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// Parses an unknown or missing name as an error that lists the known names.
static ParseResult reportName(AsmParser &parser, SMLoc place, StringRef name,
                              ArrayRef<StringRef> known) {
  return parser.emitError(place, "unknown setting '")
         << name << "'" << suggestOrListNames(name, known);
}

static ParseResult parsePlace(AsmParser &parser, mf::Location &location) {
  Attribute place;
  const SMLoc start = parser.getCurrentLocation();
  OptionalParseResult parsed = parser.parseOptionalAttribute(place);
  if (!parsed.has_value())
    return success();
  if (failed(*parsed))
    return failure();
  auto file = dyn_cast<FileLineColLoc>(place);
  if (!file)
    return parser.emitError(start, "expected a place in a file, but got ")
           << place;
  location = {file.getFilename().str(), file.getLine(), file.getColumn()};
  return success();
}

/// Parses a number from `smallest` to 2^31 - 1.
static ParseResult parseNumber(AsmParser &parser, StringRef what,
                               int64_t smallest, int64_t &number) {
  const SMLoc place = parser.getCurrentLocation();
  if (parser.parseInteger(number))
    return failure();
  if (number < smallest || number > maximumSwapDistance)
    return parser.emitError(place, "expected ")
           << what << " from " << smallest << " to " << maximumSwapDistance
           << ", but got " << number;
  return success();
}

static ParseResult parseRequest(AsmParser &parser, LayerRequest &request) {
  const SMLoc place = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  const std::optional<LayerKey> key = findLayerKey(name);
  if (!key)
    return reportName(parser, place, name,
                      SmallVector<StringRef>(std::begin(layerKeyNames),
                                             std::end(layerKeyNames)));
  request.key = *key;
  if (namesOperators(*key) && parser.parseString(&request.pattern))
    return failure();
  request.isUnnamed = succeeded(parser.parseOptionalKeyword("unnamed"));
  request.meansWholePaths = succeeded(parser.parseOptionalKeyword("whole"));
  if (isSwap(*key)) {
    if (parser.parseKeyword("prefetch") ||
        parseNumber(parser, "prefetch", 1, request.prefetch))
      return failure();
    request.countsLayers = succeeded(parser.parseOptionalKeyword("layers"));
  }
  return parsePlace(parser, request.location);
}

static ParseResult parseItem(AsmParser &parser, LayerSettings &settings) {
  const SMLoc place = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  if (name == "swap_on" || name == "selects" || name == "slices") {
    (name == "swap_on"   ? settings.isSwapOn
     : name == "selects" ? settings.selectsOperators
                         : settings.sliceActivation) = true;
    return success();
  }
  if (name == "keeps_comm") {
    settings.mpCommRecompute = false;
    return success();
  }
  if (name != "number" && name != "comm_fusion" && name != "kept_operators" &&
      name != "requests")
    return reportName(parser, place, name,
                      {"number", "comm_fusion", "swap_on", "selects", "slices",
                       "keeps_comm", "kept_operators", "requests"});
  if (parser.parseEqual())
    return failure();
  if (name == "number")
    return parseNumber(parser, name, 0, settings.layer);
  if (name == "comm_fusion")
    return parseNumber(parser, name, 0, settings.commFusion);
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        if (name == "requests")
          return parseRequest(parser, settings.requests.emplace_back());
        return parser.parseString(&settings.keptOperators.emplace_back());
      });
}

Attribute LayerSettingsAttr::parse(AsmParser &parser, Type) {
  LayerSettings settings;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] {
        return parseItem(parser, settings);
      }))
    return {};
  return get(parser.getContext(), std::move(settings));
}
