//===- SpecReader.h - Typed reads from a model configuration ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_SPECREADER_H
#define MF_LIB_FRONTEND_IMPORT_SPECREADER_H

#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Support/DType.h"
#include "mf/Support/Diagnostic.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <initializer_list>
#include <map>

namespace mf {

/// Reads the keys of one map. The argument of every read is the record of a key
/// of model_config, or the list of the names of another key, starting with the
/// preferred name. A missing or null key returns the default. A value of the
/// wrong type is an error at its location and returns the default, too.
class SpecReader {
public:
  /// A record, of whose names the class of the model reads some, or names.
  class Keys {
  public:
    Keys(const ModelKey &record) : record(&record) {}
    Keys(const KnownKey &record) : names{record.name} {}
    Keys(llvm::StringRef name) : names{name} {}
    Keys(llvm::SmallVector<llvm::StringRef> names) : names(std::move(names)) {}
    Keys(std::initializer_list<llvm::StringLiteral> names)
        : names(names.begin(), names.end()) {}

  private:
    friend class SpecReader;
    const ModelKey *record = nullptr;
    llvm::SmallVector<llvm::StringRef> names;
  };

  /// `naming` says which names of a record the model's class reads.
  SpecReader(Node section, llvm::StringRef sectionName,
             DiagnosticList &diagnostics, keys::Naming naming = keys::Llama)
      : diagnostics(diagnostics), naming(naming), section(std::move(section)),
        sectionName(sectionName) {}

  /// Returns the names that the model's class reads.
  llvm::SmallVector<llvm::StringRef> getNames(const Keys &keys) const {
    return keys.record ? keys.record->getNames(naming) : keys.names;
  }
  /// Returns the preferred name.
  llvm::StringRef nameOf(const Keys &keys) const {
    return getNames(keys).front();
  }
  /// Returns the name that counts: the first one with a value, or else the
  /// first one in the map, or else the preferred one.
  llvm::StringRef findName(const Keys &keys) const {
    return findWritten(section, getNames(keys));
  }

  /// Returns the value of the first of `keys` that exists and is not null. It
  /// is an error if two names of one key have different values.
  Node find(const Keys &keys);

  /// Reads an int from 1 to the largest 32-bit one. The key is required if
  /// `missing` is none.
  int64_t readSize(const Keys &keys, std::optional<int64_t> missing);
  std::optional<int64_t> readOptionalSize(const Keys &keys);
  /// Reads any int, such as a token id.
  int64_t readInt(const Keys &keys, int64_t missing);
  bool readBool(const Keys &keys, bool missing);
  /// Reads a finite number. Text such as `1e-5`, which YAML 1.1 reads as a
  /// string, is accepted.
  std::optional<double> readNumber(const Keys &keys);
  /// As readNumber, but the value must be greater than zero.
  double readPositive(const Keys &keys, double missing);
  std::optional<double> readOptionalPositive(const Keys &keys);
  /// Reads a share from 0 to below 1.
  double readShare(const Keys &keys, double missing = 0.0);
  /// As readSize, readPositive and readShare, but null and text such as `1e-5`
  /// are errors, as they are where a class checks that the value is a number.
  int64_t readStrictSize(const Keys &keys, int64_t missing);
  double readStrictPositive(const Keys &keys, double missing);
  double readStrictShare(const Keys &keys, double missing);
  /// Returns an undefined node if there is none, and emits an error for a value
  /// that is not a map.
  Node readMap(const Keys &keys);
  /// Reads text. A null value returns `missing`.
  std::string readString(const Keys &keys, llvm::StringRef missing);
  /// Reads `float32`, `float16` or `bfloat16`.
  DType readType(const Keys &keys, DType missing);

  /// Read a key of another section than the model's, with the default of its
  /// record. It is required if the record has none.
  int64_t readSize(const KnownKey &key);
  bool readBool(const KnownKey &key);
  double readNumberOrDefault(const KnownKey &key);
  std::string readString(const KnownKey &key);

  /// Returns the location of `keys`, or of the start of the map if they are
  /// missing.
  Location locate(const Keys &keys) const;
  /// Adds a message about the value of `keys`, with the name that counts in the
  /// place of "{key}".
  Diagnostic &error(const Keys &keys, const llvm::Twine &text) const;
  void warn(const Keys &keys, const llvm::Twine &text) const;
  const Node &getNode() const { return section; }
  llvm::StringRef getName() const { return sectionName; }
  /// Returns whether the section is that of the dynamic graph's YAML, which has
  /// no model_config.
  bool isOfDynamicGraph() const { return sectionName == "model"; }
  /// Returns the name of the graph that classes with mcore's names are of.
  llvm::StringRef getGraph() const {
    return isOfDynamicGraph() ? "the dynamic graph"
                              : "the mcore training graph";
  }
  bool wasRead(llvm::StringRef key) const {
    return llvm::is_contained(readKeys, key);
  }
  /// Returns all names passed to reads so far, in order.
  llvm::ArrayRef<llvm::StringRef> getReadKeys() const { return readKeys; }
  void markRead(const Keys &keys);
  void markRead(std::initializer_list<Keys> list) {
    for (const Keys &keys : list)
      markRead(keys);
  }
  /// Marks a key that has no effect, and says why.
  void markWithoutEffect(const Keys &keys, llvm::StringRef why);
  /// Returns the keys that were read, as editors show them: each with its other
  /// names, the values that it takes, and its default in the model's class.
  /// Keys of inference and such that are not modelled come last.
  std::vector<KeyHelp> describeKeys() const;
  /// Adds the keys that were read and have values, with their values as text.
  /// Each is preceded by `prefix`.
  void listRead(llvm::StringRef prefix,
                std::map<std::string, std::string> &keys) const;

  DiagnosticList &diagnostics;
  /// The class whose names of keys are read.
  keys::Naming naming;
  /// What listRead adds for sections that were read beside this one.
  std::map<std::string, std::string> besideKeys;

private:
  bool hasNumberOrNothing(const Keys &keys, double missing);
  /// Says what a key takes, and its default.
  void record(const Keys &keys, llvm::StringRef takes,
              llvm::StringRef missing = "",
              std::vector<std::string> values = {});
  Diagnostic &rejectValue(const Keys &keys, const Node &value,
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
