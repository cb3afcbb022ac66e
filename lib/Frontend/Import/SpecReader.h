//===- SpecReader.h - Typed reads from a model configuration ----*- C++ -*-===//

#ifndef MF_LIB_IMPORT_SPECREADER_H
#define MF_LIB_IMPORT_SPECREADER_H

#include "mf/Frontend/Config/Node.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <initializer_list>

namespace mf {

/// Reads the keys of one map. Every read takes the names a key goes by, the
/// preferred one first; a missing or null key gives the default, a value of
/// the wrong type is an error at its place and gives the default too.
class SpecReader {
public:
  using Keys = std::initializer_list<llvm::StringLiteral>;

  SpecReader(Node section, llvm::StringRef sectionName,
             DiagnosticList &diagnostics)
      : diagnostics(diagnostics), section(std::move(section)),
        sectionName(sectionName) {}

  /// The value under the first of `keys` that is there and not null. Two
  /// names of one key with different values are an error.
  Node find(Keys keys);

  /// An int of at least 1 that fits 32 bits; `missing` none means required.
  int64_t readSize(Keys keys, std::optional<int64_t> missing);
  std::optional<int64_t> readOptionalSize(Keys keys);
  /// Any int, such as a token id.
  int64_t readInt(Keys keys, int64_t missing);
  bool readBool(Keys keys, bool missing);
  /// A finite number; text such as `1e-5`, which YAML 1.1 takes for a string,
  /// counts.
  std::optional<double> readNumber(Keys keys);
  /// As readNumber, greater than zero.
  double readPositive(Keys keys, double missing);
  std::optional<double> readOptionalPositive(Keys keys);
  /// A share from 0 to below 1.
  double readShare(Keys keys, double missing = 0.0);
  /// Text; null gives `missing`.
  std::string readString(Keys keys, llvm::StringRef missing);
  /// `float32`, `float16` or `bfloat16`.
  DType readType(Keys keys, DType missing);

  /// Where `keys` is written, or else where the map starts.
  Location locate(Keys keys) const;
  const Node &getNode() const { return section; }
  llvm::StringRef getName() const { return sectionName; }
  bool wasRead(llvm::StringRef key) const {
    return llvm::is_contained(readKeys, key);
  }
  /// All names asked for, in the order of the reads.
  llvm::ArrayRef<llvm::StringRef> getReadKeys() const { return readKeys; }
  void markRead(Keys keys);

  DiagnosticList &diagnostics;

private:
  llvm::StringRef findKey(Keys keys) const;
  void rejectValue(Keys keys, const Node &value, const llvm::Twine &wanted);

  Node section;
  llvm::StringRef sectionName;
  llvm::SmallVector<llvm::StringRef> readKeys;
};

} // namespace mf

#endif // MF_LIB_IMPORT_SPECREADER_H
