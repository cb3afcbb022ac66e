//===- ParameterParts.h - Places of the parts within a tensor ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DATA_PARAMETERPARTS_H
#define MF_LIB_EXEC_DATA_PARAMETERPARTS_H

#include "mf/Exec/Data/ParameterNames.h"
#include <vector>

namespace mf {

/// The shapes of the parts of a tensor, and of parts of the same size. Each is
/// a matrix, or a vector, which is a matrix of one column.
class PartShapes {
public:
  /// Fails if the tensor `name` of dimensions `dims` cannot hold the parts that
  /// its name implies, given the sizes of `layout`.
  static llvm::Expected<PartShapes> create(llvm::StringRef name,
                                           const ParameterName &parsed,
                                           llvm::ArrayRef<int64_t> dims,
                                           const ParameterLayout &layout);

  int64_t getRows(ParameterPart part) const;
  int64_t getColumns() const { return columns; }

  /// Returns the dimensions of a tensor that holds the parts of `name`.
  std::vector<int64_t> getDims(const ParameterName &name) const;

private:
  PartShapes(const ParameterLayout &layout) : layout(layout) {}

  llvm::Error readRows(llvm::StringRef name, const ParameterName &parsed,
                       int64_t rows);
  llvm::Error readStack(llvm::StringRef name, const ParameterName &parsed,
                        llvm::ArrayRef<int64_t> dims);

  ParameterLayout layout;
  int64_t columns = 1;
  /// The number of rows of a part whose size the layout does not define.
  int64_t other = 0;
  bool isVector = false;
};

/// Rows [partRow, partRow + rows) of an expert's part, or of the only one, are
/// a block of a tensor.
struct PartSegment {
  ParameterPart part;
  int64_t expert = -1;
  int64_t partRow = 0;
  int64_t rows = 0;
  BlockPlace place;
};

/// Lists all segments of a tensor `name`. The segments of a part are in the
/// order of its rows.
std::vector<PartSegment> listSegments(const ParameterName &name,
                                      const PartShapes &shapes,
                                      const ParameterLayout &layout);

} // namespace mf

#endif // MF_LIB_EXEC_DATA_PARAMETERPARTS_H
