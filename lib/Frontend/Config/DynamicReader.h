//===- DynamicReader.h - Sections of the dynamic-graph trainer --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICREADER_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICREADER_H

#include "DynamicKeys.h"
#include "llvm/ADT/Twine.h"

namespace mf {

/// Checks the names and types of all fields of a document, with the trainer's
/// messages. Warns about values that the trainer does not implement.
void checkDynamicFields(const Node &root, DiagnosticList &diagnostics);

/// The values of one section that was checked. A field that is missing, or has
/// a value of the wrong type, has its default.
class DynamicReader {
public:
  DynamicReader(const Node &root, llvm::StringRef name,
                DiagnosticList &diagnostics);

  /// Returns the value as written, or the default with the section's location.
  Node get(llvm::StringRef key) const;
  /// Returns the value as written, or an undefined node if it is missing or
  /// null.
  Node getWritten(llvm::StringRef key) const;
  int64_t getInt(llvm::StringRef key) const;
  double getFloat(llvm::StringRef key) const;
  bool getBool(llvm::StringRef key) const;
  std::string getString(llvm::StringRef key) const;
  const Node &getNode() const { return section; }

  /// Warns about fields that are neither the section's own nor among `names`,
  /// those of the class that its type names: the trainer ignores them.
  void warnAboutOthers(llvm::ArrayRef<llvm::StringRef> names) const;
  /// Emits an error of the trainer about a field.
  void error(llvm::StringRef key, const llvm::Twine &text) const;
  void warn(llvm::StringRef key, const llvm::Twine &text) const;

  DiagnosticList &diagnostics;

private:
  const DynamicSection &known;
  Node section;
};

/// Return the value as Python's str() prints it, and Python's name of its type.
std::string getPythonText(const Node &value);
llvm::StringRef getPythonType(const Node &value);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICREADER_H
