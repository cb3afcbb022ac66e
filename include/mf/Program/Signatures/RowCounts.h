//===- RowCounts.h - Row counts of an all_to_all_v --------------*- C++ -*-===//
//
// The sizes of an all_to_all_v are data. The code that moves rows and the code
// that checks its result must refuse the same counts, in the same words.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SIGNATURES_ROWCOUNTS_H
#define MF_SIGNATURES_ROWCOUNTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The counts of one member of a group, as many for each member of the group as
/// a member has experts.
struct RowCounts {
  /// Rows of the input for each expert of each member. The rows lie in this
  /// order.
  llvm::ArrayRef<float> send;
  /// Rows that each member sends for each expert of this one.
  llvm::ArrayRef<float> receive;
};

/// Why an exchange cannot be done.
struct RowCountError {
  /// The member that it is about.
  size_t member = 0;
  std::string reason;
};

/// Checks that all counts are whole numbers from 0 on, that none of the inputs,
/// of `rows` rows each, has fewer rows than it sends, that senders and
/// receivers agree, and that all outputs have room, of `room` rows each, for
/// the rows that arrive. `ranks` are the names of the members in messages. If
/// several have no room, the error is about the one at which most rows arrive.
std::optional<RowCountError> checkRowCounts(llvm::ArrayRef<RowCounts> members,
                                            llvm::ArrayRef<int64_t> ranks,
                                            int64_t rows, int64_t room);

/// The sum of counts that were checked.
int64_t sumRows(llvm::ArrayRef<float> counts);

/// The start of messages about an exchange, before the reason: the operator
/// that it belongs to, or its channel if that has no name.
std::string describeRowExchange(llvm::StringRef cell, llvm::StringRef channel);

} // namespace mf

#endif // MF_SIGNATURES_ROWCOUNTS_H
