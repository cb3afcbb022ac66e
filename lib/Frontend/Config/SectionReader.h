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
  /// Takes `parent[known.name]`, where an empty section is a missing one, and
  /// checks its keys.
  SectionReader(const Node &parent, llvm::StringRef key,
                const KnownSection &known, DiagnosticList &diagnostics);

  /// Takes `section` itself, an element of a list.
  SectionReader(const Node &section, const KnownSection &known,
                DiagnosticList &diagnostics);

  const Node &getNode() const { return section; }
  /// True if the section has entries. An empty section counts as missing.
  bool isPresent() const { return !section.getEntries().empty(); }
  Node get(llvm::StringRef key) const { return section[key]; }

  /// Reads all keys with a member in `config`. The member is unchanged if the
  /// key is missing.
  void readAll(TrainingConfig &config);
  void read(llvm::StringRef key, TrainingConfig &config);
  /// Warns of all keys that only this struct uses, which the YAML does not ask
  /// for.
  void warnOfKeys(PartId part, const llvm::Twine &reason);

  /// The other reads are for keys that have no member of their own.
  bool readBool(llvm::StringRef key, bool missing);
  int64_t readInt(llvm::StringRef key, int64_t missing);
  double readFloat(llvm::StringRef key, double missing,
                   const NumberRange &range = {});
  std::string readString(llvm::StringRef key, llvm::StringRef missing,
                         llvm::ArrayRef<llvm::StringRef> choices = {});

  /// Emits the error for a value that its key does not accept.
  void rejectValue(llvm::StringRef key, const Node &value,
                   const llvm::Twine &wanted);

  DiagnosticList &diagnostics;

private:
  void read(const KnownKey &key, TrainingConfig &config);

  Node section;
  const KnownSection &known;
};

/// Emits the error for a `value` that is not what is `wanted`.
void rejectValue(const Node &value, const llvm::Twine &wanted,
                 DiagnosticList &diagnostics);

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
