//===- SectionReader.h - Typed reads from one section -----------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_SECTIONREADER_H
#define MF_LIB_CONFIG_SECTIONREADER_H

#include "KnownKeys.h"
#include <limits>

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

  bool readBool(llvm::StringRef key, bool missing);
  int64_t readInt(llvm::StringRef key, int64_t missing, int64_t smallest = 1,
                  int64_t largest = std::numeric_limits<int32_t>::max());
  double readFloat(llvm::StringRef key, double missing);
  std::string readString(llvm::StringRef key, llvm::StringRef missing);

  /// The error for a value that is not what its key wants.
  void rejectValue(llvm::StringRef key, const Node &value,
                   const llvm::Twine &wanted);

  DiagnosticList &diagnostics;

private:
  Node section;
  llvm::StringRef name;
};

/// A float as users write it: a float, an int, or text such as `1e-5` that
/// YAML 1.1 takes for a string because it lacks the point.
std::optional<double> getLenientFloat(const Node &node);

} // namespace mf

#endif // MF_LIB_CONFIG_SECTIONREADER_H
