//===- NamePairs.h - Names of tensors in two files ------------*- C++ -*-===//
//
// A table that says which tensor of one file is which of another, a pair of
// names on a line:
//
//   # ours                                       theirs
//   step.1/micro.0/layers.*.attention.wq.matmul = model.layers.*.q_proj
//   step.1/gradient/*                           = grad.*
//
// A star stands for any text, the same on both sides, in the order of the
// stars. The first line that fits a name counts.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DATA_NAMEPAIRS_H
#define MF_DATA_NAMEPAIRS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace mf {

class NamePairs {
public:
  struct Line {
    unsigned number = 0;
    std::string ours, theirs;
  };

  /// `path` is for errors, which name the line.
  static llvm::Expected<NamePairs> parse(llvm::StringRef text,
                                         llvm::StringRef path);

  struct Pair {
    std::string theirs;
    /// Position in `getLines`.
    size_t line = 0;
  };
  /// The other name of `ours`; none if no line fits.
  std::optional<Pair> find(llvm::StringRef ours) const;

  const std::vector<Line> &getLines() const { return lines; }

private:
  std::vector<Line> lines;
};

} // namespace mf

#endif // MF_DATA_NAMEPAIRS_H
