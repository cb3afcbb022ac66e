//===- NameRegex.h - A regular expression over one name ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LAYERS_NAMEREGEX_H
#define MF_LAYERS_NAMEREGEX_H

#include "llvm/ADT/StringRef.h"
#include <memory>
#include <optional>
#include <string>

namespace mf {

/// A regular expression that is matched against one name.
class NameRegex {
public:
  /// Compiles `text`. If that fails, there is a message and nothing matches.
  explicit NameRegex(llvm::StringRef text);

  /// Returns whether it matches the whole name, as Python's re.fullmatch does.
  bool fullMatch(llvm::StringRef name) const;
  /// Returns whether it matches a prefix of the name, as Python's re.match
  /// does.
  bool matchStart(llvm::StringRef name) const;
  /// Returns whether it matches some part of the name, as Python's re.search
  /// does.
  bool search(llvm::StringRef name) const;
  bool isValid() const { return message.empty(); }
  const std::string &getMessage() const { return message; }

private:
  /// Returns what `call` says of the compiled expression; false without one, or
  /// if the library throws.
  template <typename Call> bool matches(Call call) const;

  struct Compiled;
  std::shared_ptr<Compiled> compiled;
  /// The text itself if it has no special characters.
  std::optional<std::string> literal;
  std::string message;
};

} // namespace mf

#endif // MF_LAYERS_NAMEREGEX_H
