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

/// The values of a document that was checked. A field that is missing, or has a
/// value of the wrong type, has its default.
class DynamicReader {
public:
  DynamicReader(Node root, DiagnosticList &diagnostics)
      : diagnostics(diagnostics), root(std::move(root)) {}

  /// Returns the value as written, or the default with the section's location.
  Node get(const DynamicKey &key) const;
  /// Returns the value as written, or an undefined node if it is missing or
  /// null.
  Node getWritten(const DynamicKey &key) const;
  /// True if the value is the default, in any spelling.
  bool hasDefault(const DynamicKey &key) const;
  int64_t getInt(const DynamicKey &key) const;
  double getFloat(const DynamicKey &key) const;
  bool getBool(const DynamicKey &key) const;
  std::string getString(const DynamicKey &key) const;
  /// Returns the value of any type; undefined if it is missing.
  Node getAny(const DynamicKey &key) const {
    return getSection(key.section)[key.name];
  }
  /// Returns a section; an empty one with the document's location if it is
  /// missing or not a map.
  Node getSection(llvm::StringRef name) const;

  /// Warns about fields that are neither the section's own nor among `names`,
  /// those of the class that its type names: the trainer ignores them.
  void warnAboutOthers(llvm::StringRef section,
                       llvm::ArrayRef<llvm::StringRef> names) const;
  /// Emits an error of the trainer about a field.
  void error(const DynamicKey &key, const llvm::Twine &text) const;
  void warn(const DynamicKey &key, const llvm::Twine &text) const;
  /// Warns that a field has no effect.
  void warnUnused(const DynamicKey &key, const llvm::Twine &reason) const {
    warn(key, quote(key.name) + " has no effect: " + reason);
  }

  DiagnosticList &diagnostics;

private:
  Location getLocation(const DynamicKey &key) const;

  Node root;
};

/// Return the value as Python's str() prints it, and Python's name of its type.
std::string getPythonText(const Node &value);
llvm::StringRef getPythonType(const Node &value);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICREADER_H
