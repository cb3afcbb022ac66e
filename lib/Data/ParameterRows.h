//===- ParameterRows.h - Where the parts lie in a tensor ------*- C++ -*-===//

#ifndef MF_LIB_DATA_PARAMETERROWS_H
#define MF_LIB_DATA_PARAMETERROWS_H

#include "mf/Data/ParameterNames.h"
#include <vector>

namespace mf {

/// The numbers of rows of the parts around one tensor: of those in it and of
/// those that are as large.
class PartRows {
public:
  /// Fails if the tensor called `name` of dimensions `dims` cannot hold the
  /// parts that its name says, given the heads of `layout`.
  static llvm::Expected<PartRows> create(llvm::StringRef name,
                                         const ParameterName &parsed,
                                         llvm::ArrayRef<int64_t> dims,
                                         const ParameterLayout &layout);

  int64_t getRows(ParameterPart part) const;

private:
  int64_t query = 0;
  int64_t keyValue = 0;
  /// Of every other part.
  int64_t other = 0;
};

/// Rows [partRow, partRow + rows) of a part are rows [row, ...) of a tensor.
struct PartSegment {
  ParameterPart part;
  int64_t partRow = 0;
  int64_t row = 0;
  int64_t rows = 0;
};

/// All rows of a tensor with `parts` in `order`, from the first to the last.
std::vector<PartSegment> listSegments(llvm::ArrayRef<ParameterPart> parts,
                                      RowOrder order, const PartRows &rows,
                                      const ParameterLayout &layout);

} // namespace mf

#endif // MF_LIB_DATA_PARAMETERROWS_H
