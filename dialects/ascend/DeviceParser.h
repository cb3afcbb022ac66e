//===- DeviceParser.h - Parses descriptions of devices ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_ASCEND_DEVICEPARSER_H
#define MF_DIALECTS_ASCEND_DEVICEPARSER_H

#include "mf/Perf/Target/TargetFields.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringMap.h"

namespace mf::ascend {

/// Returns the path of a key inside of `path`, which may be empty.
std::string joinPath(llvm::StringRef path, llvm::StringRef key);

/// Parses attributes into numbers. Paths are those of target::Parameter,
/// relative to the attribute that is parsed.
class DeviceParser {
public:
  explicit DeviceParser(mlir::AsmParser &parser)
      : parser(parser), start(parser.getCurrentLocation()) {}

  /// Each of these parses the text after the attribute's mnemonic: `<...>`.
  mlir::ParseResult parse(llvm::StringRef path, target::ComputeEngine &engine);
  mlir::ParseResult parse(llvm::StringRef path, target::Memory &memory);
  mlir::ParseResult parse(llvm::StringRef path, target::HostLink &host);
  mlir::ParseResult parse(llvm::StringRef path, target::Saturation &saturation);
  mlir::ParseResult parse(llvm::StringRef path, target::KernelRate &rate);
  mlir::ParseResult parse(llvm::StringRef path, target::Network &network);
  mlir::ParseResult parse(llvm::StringRef path, target::Target &target);

  /// Emits an error, if there is one, at the place where the value at its path
  /// was parsed. The path is relative to `path`.
  mlir::ParseResult report(llvm::StringRef path, llvm::Error error);

private:
  /// Parses the value of a key. `path` ends with the key.
  using ValueParser = llvm::function_ref<mlir::ParseResult(
      llvm::StringRef path, llvm::StringRef key)>;
  enum class Brackets { Angle, Brace };

  mlir::ParseResult parseEntries(llvm::StringRef path, Brackets brackets,
                                 ValueParser parseValue);
  mlir::ParseResult parseOpening(llvm::StringRef path, Brackets brackets);
  /// Parses the closing bracket if the entries end here.
  bool parseOptionalClosing(Brackets brackets);

  /// Parses entries that are numbers, and others whose keys are in `others`.
  mlir::ParseResult parseFields(llvm::StringRef path,
                                const target::Fields &fields,
                                llvm::ArrayRef<llvm::StringRef> others,
                                ValueParser parseOther);
  mlir::ParseResult parseNumber(llvm::StringRef path,
                                const target::Field &field);
  /// Parses a number, which may be infinite or NaN, or have the form `15e-6`.
  mlir::ParseResult parseNumber(llvm::StringRef path, double &number);
  mlir::ParseResult parseExponent(int64_t digits, double &number);
  mlir::ParseResult parseWiring(llvm::StringRef path, target::Wiring &wiring);
  /// Parses a value `<...>`, or an alias of an attribute of the type.
  template <typename PartAttr, typename Entry>
  mlir::ParseResult parsePart(llvm::StringRef path, Entry &entry);
  /// Parses `{name = <...>, ...}`. `setName` writes the name into the entry.
  template <typename PartAttr, typename Entry>
  mlir::ParseResult
  parseParts(llvm::StringRef path, std::vector<Entry> &entries,
             llvm::function_ref<mlir::ParseResult(Entry &, llvm::StringRef key)>
                 setName);
  mlir::ParseResult parseKey(llvm::StringRef key, target::Target &target);

  mlir::ParseResult reportUnknownKey(llvm::StringRef path, llvm::StringRef key,
                                     llvm::ArrayRef<llvm::StringRef> known);

  /// Returns the place of the entry or number at a path.
  llvm::SMLoc getPlace(llvm::StringRef path) const;

  mlir::AsmParser &parser;
  llvm::SMLoc start;
  llvm::StringMap<llvm::SMLoc> places;
};

} // namespace mf::ascend

#endif // MF_DIALECTS_ASCEND_DEVICEPARSER_H
