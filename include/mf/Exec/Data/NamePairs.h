//===- NamePairs.h - Names of tensors in two files ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table that maps names of tensors in one file to names in another, with a
// pair of names per line:
//
//   # ours                                       theirs
//   step.1/micro.0/layers.*.attention.wq.matmul = model.layers.*.q_proj
//   step.1/gradient/*                           = grad.*
//
// A star matches any text, the same on both sides, in the order of the stars.
// The first line that matches a name applies.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_DATA_NAMEPAIRS_H
#define MF_EXEC_DATA_NAMEPAIRS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// A parsed table of names.
class NamePairs {
public:
  struct Line {
    unsigned number = 0;
    std::string ours, theirs;
  };

  /// Parses a table. Errors name `path` and the line.
  static llvm::Expected<NamePairs> parse(llvm::StringRef text,
                                         llvm::StringRef path);

  struct Pair {
    std::string theirs;
    /// An index into getLines().
    size_t line = 0;
  };
  /// Returns the other name of `ours`, or none if no line matches.
  std::optional<Pair> find(llvm::StringRef ours) const;

  const std::vector<Line> &getLines() const { return lines; }

private:
  std::vector<Line> lines;
};

} // namespace mf

#endif // MF_EXEC_DATA_NAMEPAIRS_H
