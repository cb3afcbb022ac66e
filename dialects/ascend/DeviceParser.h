//===- DeviceParser.h - Parses descriptions of devices ----------*- C++ -*-===//

#ifndef MF_DIALECTS_ASCEND_DEVICEPARSER_H
#define MF_DIALECTS_ASCEND_DEVICEPARSER_H

#include "mf/Perf/Target/TargetFields.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringMap.h"

namespace mf::ascend {

/// The path of a key inside of `path`, which may be empty.
std::string joinPath(llvm::StringRef path, llvm::StringRef key);

/// Parses attributes into numbers. Paths are those of parameters, from the
/// attribute that is parsed on.
class DeviceParser {
public:
  explicit DeviceParser(mlir::AsmParser &parser)
      : parser(parser), start(parser.getCurrentLocation()) {}

  /// Each parses the text behind the attribute's mnemonic: `<...>`.
  mlir::ParseResult parse(llvm::StringRef path, target::ComputeEngine &engine);
  mlir::ParseResult parse(llvm::StringRef path, target::Memory &memory);
  mlir::ParseResult parse(llvm::StringRef path, target::HostLink &host);
  mlir::ParseResult parse(llvm::StringRef path, target::Saturation &saturation);
  mlir::ParseResult parse(llvm::StringRef path, target::KernelRate &rate);
  mlir::ParseResult parse(llvm::StringRef path, target::Network &network);
  mlir::ParseResult parse(llvm::StringRef path, target::Target &target);

  /// Emits an error, if there is one, where its path, which counts from
  /// `path`, was parsed.
  mlir::ParseResult report(llvm::StringRef path, llvm::Error error);

private:
  /// Parses the value of a key, which ends at `path`.
  using ValueParser = llvm::function_ref<mlir::ParseResult(
      llvm::StringRef path, llvm::StringRef key)>;
  enum class Brackets { Angle, Brace };

  mlir::ParseResult parseEntries(llvm::StringRef path, Brackets brackets,
                                 ValueParser parseValue);
  mlir::ParseResult parseOpening(llvm::StringRef path, Brackets brackets);
  /// Whether the entries end here.
  bool parseOptionalClosing(Brackets brackets);

  /// Entries that are numbers, and others whose keys are in `others`.
  mlir::ParseResult parseFields(llvm::StringRef path,
                                const target::Fields &fields,
                                llvm::ArrayRef<llvm::StringRef> others,
                                ValueParser parseOther);
  mlir::ParseResult parseNumber(llvm::StringRef path,
                                const target::Field &field);
  /// A number that is finite or not, `15e-6` included.
  mlir::ParseResult parseNumber(llvm::StringRef path, double &number);
  mlir::ParseResult parseExponent(int64_t digits, double &number);
  mlir::ParseResult parseWiring(llvm::StringRef path, target::Wiring &wiring);
  /// A value `<...>` or an attribute of the type elsewhere, by its alias.
  template <typename PartAttr, typename Entry>
  mlir::ParseResult parsePart(llvm::StringRef path, Entry &entry);
  /// `{name = <...>, ...}`; `setName` writes the name into the entry.
  template <typename PartAttr, typename Entry>
  mlir::ParseResult
  parseParts(llvm::StringRef path, std::vector<Entry> &entries,
             llvm::function_ref<mlir::ParseResult(Entry &, llvm::StringRef key)>
                 setName);
  mlir::ParseResult parseKey(llvm::StringRef key, target::Target &target);

  mlir::ParseResult reportUnknownKey(llvm::StringRef path, llvm::StringRef key,
                                     llvm::ArrayRef<llvm::StringRef> known);

  /// The place of the entry or number at a path.
  llvm::SMLoc getPlace(llvm::StringRef path) const;

  mlir::AsmParser &parser;
  llvm::SMLoc start;
  llvm::StringMap<llvm::SMLoc> places;
};

} // namespace mf::ascend

#endif // MF_DIALECTS_ASCEND_DEVICEPARSER_H
