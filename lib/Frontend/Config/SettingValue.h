//===- SettingValue.h - New values for keys of a YAML -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_SETTINGVALUE_H
#define MF_LIB_FRONTEND_CONFIG_SETTINGVALUE_H

#include "mf/Frontend/Config/Node.h"

namespace mf {

/// A value to be written: a scalar, a list, a map, or some keys of a section.
struct SettingValue {
  enum class Kind : uint8_t {
    Scalar,
    List,
    Map,
    Section, ///< A map of which the other keys are kept.
  };
  using Entry = std::pair<std::string, SettingValue>;

  Kind kind = Kind::Section;
  /// A scalar's text, without quotes.
  std::string text;
  bool isString = false;
  /// True for a string that is written in quotes, also if the YAML has no
  /// quotes at its place.
  bool isQuoted = false;
  std::vector<SettingValue> elements;
  std::vector<Entry> entries;

  static SettingValue fromInt(int64_t value);
  static SettingValue fromBool(bool value);
  /// Returns the value for a name, which is written without quotes.
  static SettingValue fromName(llvm::StringRef name);
  static SettingValue fromPattern(llvm::StringRef pattern);
  static SettingValue fromInts(const std::vector<int64_t> &values);
  static SettingValue fromNode(const Node &node);
  static SettingValue makeList() { return makeCollection(Kind::List); }
  static SettingValue makeMap() { return makeCollection(Kind::Map); }

  bool isCollection() const { return kind != Kind::Scalar; }
  bool isMapOrSection() const {
    return kind == Kind::Map || kind == Kind::Section;
  }
  /// Returns the section at `key` of this one. Creates it if it is missing.
  SettingValue &getSection(llvm::StringRef key);
  /// Adds the value at a path of keys, `parallel_config.pipeline_stage`.
  void set(llvm::StringRef path, SettingValue value);
  const SettingValue *find(llvm::StringRef key) const;
  /// Adds all values of another section to this one. The other section's value
  /// wins if both have one.
  void merge(const SettingValue &other);

private:
  static SettingValue makeCollection(Kind kind);
};

/// True if `node` already has this value.
bool says(const Node &node, const SettingValue &value);

/// The spaces in the lists of a file.
struct FlowStyle {
  /// The text between elements.
  llvm::StringRef separator = ", ";
  /// Inside brackets.
  llvm::StringRef padding = "";
};

/// Returns a key, in single quotes unless it is a plain name.
std::string printKey(llvm::StringRef key);
/// Returns the value as text on one line.
std::string printFlow(const SettingValue &value, const FlowStyle &style = {});
/// Returns a map as lines, each indented by `indent` blanks and the last
/// without a line end. Lists of numbers are in brackets.
std::string printBlock(const SettingValue &value, size_t indent, size_t step,
                       llvm::StringRef lineEnd);
/// Returns an element of a block list, starting with `- `. Lines after the
/// first are indented by `indent` blanks.
std::string printBlockElement(const SettingValue &value, size_t indent,
                              size_t step, llvm::StringRef lineEnd);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_SETTINGVALUE_H
