//===- SectionReader.h - Typed reads from one section -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_SECTIONREADER_H
#define MF_LIB_FRONTEND_CONFIG_SECTIONREADER_H

#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

/// One section of the YAML and the defaults of its missing keys. A value of the
/// wrong type is an error at its location, and the default is returned.
class SectionReader {
public:
  /// Checks the keys of `section`. An empty section is a missing one.
  SectionReader(const Node &section, const KnownSection &known,
                DiagnosticList &diagnostics);

  const Node &getNode() const { return section; }
  /// True if the section has entries. An empty section counts as missing.
  bool isPresent() const { return !section.getEntries().empty(); }
  Node get(const KnownKey &key) const { return section[key.name]; }
  /// Returns the value of the key with this member.
  template <typename Part, typename Value> Node get(Value Part::*member) const {
    return get(known::findKey(member));
  }

  /// Reads all keys with a member in `config`. The member is unchanged if the
  /// key is missing.
  void readAll(TrainingConfig &config);
  void read(const KnownKey &key, TrainingConfig &config);
  /// Warns of all keys that only this struct uses, which the YAML does not ask
  /// for.
  void warnOfKeys(PartId part, const llvm::Twine &reason);

  /// The other reads are for keys that have no member of their own.
  bool readBool(const KnownKey &key, bool missing);
  int64_t readInt(const KnownKey &key, int64_t missing);
  double readFloat(const KnownKey &key, double missing,
                   const NumberRange &range = {});
  std::string readString(const KnownKey &key, llvm::StringRef missing,
                         llvm::ArrayRef<llvm::StringRef> choices = {});

  /// Emits the error for a value that its key does not accept.
  void rejectValue(const KnownKey &key, const Node &value,
                   const llvm::Twine &wanted);
  /// Emits the error for the value that the key has.
  void rejectValue(const KnownKey &key, const llvm::Twine &wanted) {
    rejectValue(key, get(key), wanted);
  }

  DiagnosticList &diagnostics;

private:
  Node section;
  const KnownSection &known;
};

/// If the whole section is missing, the template's defaults apply. For a
/// missing key in an existing section, the defaults of the class apply that the
/// section names.
void readRunnerWrapper(const Node &root, TrainingConfig &config,
                       DiagnosticList &diagnostics);
void readOptimizer(const Node &root, TrainingConfig &config,
                   DiagnosticList &diagnostics);
void readLrSchedules(const Node &root, TrainingConfig &config,
                     DiagnosticList &diagnostics);

/// Reads swap_config. The lists are checked even when swap is off, as MindSpore
/// Transformers does; prefetch values only when on.
void readSwapConfig(const Node &root, TrainingConfig &config,
                    DiagnosticList &diagnostics);

/// Reads `callbacks`, and `callback`, as the documentation calls it. Callbacks
/// that only print or save are passed over.
void readCallbacks(const Node &root, TrainingConfig &config,
                   DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_SECTIONREADER_H
