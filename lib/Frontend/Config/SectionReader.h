//===- SectionReader.h - Typed reads from one section -----------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_SECTIONREADER_H
#define MF_LIB_CONFIG_SECTIONREADER_H

#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

/// One section of the YAML and the defaults for its missing keys. A value of
/// the wrong type is an error at its place and the default is returned.
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
  /// Whether the section says anything; an empty one is a missing one.
  bool isPresent() const { return !section.getEntries().empty(); }
  Node get(llvm::StringRef key) const { return section[key]; }

  /// Reads all keys whose values are members of `config`, which keeps its value
  /// where a key is missing.
  void readAll(TrainingConfig &config);
  void read(llvm::StringRef key, TrainingConfig &config);

  /// The other reads are for keys that have no member of their own.
  bool readBool(llvm::StringRef key, bool missing);
  int64_t readInt(llvm::StringRef key, int64_t missing);
  double readFloat(llvm::StringRef key, double missing,
                   const NumberRange &range = {});
  std::string readString(llvm::StringRef key, llvm::StringRef missing,
                         llvm::ArrayRef<llvm::StringRef> choices = {});

  /// The error for a value that is not what its key wants.
  void rejectValue(llvm::StringRef key, const Node &value,
                   const llvm::Twine &wanted);

  DiagnosticList &diagnostics;

private:
  void read(const KnownKey &key, TrainingConfig &config);

  Node section;
  const KnownSection &known;
};

/// The error for a `value` that is not what is `wanted`.
void rejectValue(const Node &value, const llvm::Twine &wanted,
                 DiagnosticList &diagnostics);

/// A float as users write it: a float, an int, or text such as `1e-5` that
/// YAML 1.1 takes for a string because it lacks the point.
std::optional<double> getLenientFloat(const Node &node);

/// These sections take the template's defaults only when absent as a whole;
/// keys missing from a present one take those of the class it names.
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

#endif // MF_LIB_CONFIG_SECTIONREADER_H
