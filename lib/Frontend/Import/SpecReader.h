//===- SpecReader.h - Typed reads from a model configuration ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_SPECREADER_H
#define MF_LIB_FRONTEND_IMPORT_SPECREADER_H

#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Support/DType.h"
#include "mf/Support/Diagnostic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <initializer_list>
#include <map>

namespace mf {

/// Reads the keys of one map. The argument of every read is the list of a key's
/// names, starting with the preferred one. A missing or null key returns the
/// default. A value of the wrong type is an error at its location and returns
/// the default, too.
class SpecReader {
public:
  using Keys = std::initializer_list<llvm::StringLiteral>;

  SpecReader(Node section, llvm::StringRef sectionName,
             DiagnosticList &diagnostics)
      : diagnostics(diagnostics), section(std::move(section)),
        sectionName(sectionName) {}

  /// Returns the value of the first of `keys` that exists and is not null. It
  /// is an error if two names of one key have different values.
  Node find(Keys keys);

  /// Reads an int from 1 to the largest 32-bit one. The key is required if
  /// `missing` is none.
  int64_t readSize(Keys keys, std::optional<int64_t> missing);
  std::optional<int64_t> readOptionalSize(Keys keys);
  /// Reads any int, such as a token id.
  int64_t readInt(Keys keys, int64_t missing);
  bool readBool(Keys keys, bool missing);
  /// Reads a finite number. Text such as `1e-5`, which YAML 1.1 reads as a
  /// string, is accepted.
  std::optional<double> readNumber(Keys keys);
  /// As readNumber, but the value must be greater than zero.
  double readPositive(Keys keys, double missing);
  std::optional<double> readOptionalPositive(Keys keys);
  /// Reads a share from 0 to below 1.
  double readShare(Keys keys, double missing = 0.0);
  /// As readSize, readPositive and readShare, but null and text such as `1e-5`
  /// are errors, as they are where a class checks that the value is a number.
  int64_t readStrictSize(Keys keys, int64_t missing);
  double readStrictPositive(Keys keys, double missing);
  double readStrictShare(Keys keys, double missing);
  /// Returns an undefined node if there is none, and emits an error for a value
  /// that is not a map.
  Node readMap(Keys keys);
  /// Reads text. A null value returns `missing`.
  std::string readString(Keys keys, llvm::StringRef missing);
  /// Reads `float32`, `float16` or `bfloat16`.
  DType readType(Keys keys, DType missing);

  /// Returns the location of `keys`, or of the start of the map if they are
  /// missing.
  Location locate(Keys keys) const;
  /// Adds a message about the value of `keys`.
  Diagnostic &error(Keys keys, const llvm::Twine &text) const;
  void warn(Keys keys, const llvm::Twine &text) const;
  const Node &getNode() const { return section; }
  llvm::StringRef getName() const { return sectionName; }
  bool wasRead(llvm::StringRef key) const {
    return llvm::is_contained(readKeys, key);
  }
  /// Returns all names passed to reads so far, in order.
  llvm::ArrayRef<llvm::StringRef> getReadKeys() const { return readKeys; }
  void markRead(Keys keys);
  /// Marks a key that has no effect, and says why.
  void markWithoutEffect(llvm::StringLiteral key, llvm::StringRef why);
  /// Returns the keys that were read, as editors show them: each with its other
  /// names, the values that it takes, and its default in the model's class.
  /// Keys of inference and such that are not modelled come last.
  std::vector<KeyHelp> describeKeys() const;
  /// Adds the keys that were read and have values, with their values as text.
  /// Each is preceded by `prefix`.
  void listRead(llvm::StringRef prefix,
                std::map<std::string, std::string> &keys) const;

  DiagnosticList &diagnostics;
  /// What listRead adds for sections that were read beside this one.
  std::map<std::string, std::string> besideKeys;

private:
  llvm::StringRef findKey(Keys keys) const;
  bool hasNumberOrNothing(Keys keys, double missing);
  /// Says what a key takes, and its default.
  void record(Keys keys, llvm::StringRef takes, llvm::StringRef missing = "",
              std::vector<std::string> values = {});
  Diagnostic &rejectValue(Keys keys, const Node &value,
                          const llvm::Twine &wanted);

  Node section;
  llvm::StringRef sectionName;
  llvm::SmallVector<llvm::StringRef> readKeys;
  std::vector<KeyHelp> described;
  /// Names of keys that were reported because another name says otherwise.
  llvm::SmallVector<llvm::StringRef> conflicting;
};

/// Returns whether the YAML has the key: what the dynamic graph takes for a
/// missing one has the place of the section.
bool isWritten(const Node &section, llvm::StringRef key);

/// Warns about the keys of `written` that `reader` did not read: unknown keys,
/// and keys that would change the training step but are not modelled.
void reportUnreadKeys(const SpecReader &reader, const Node &written);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_SPECREADER_H
