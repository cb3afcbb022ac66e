//===- RowCounts.h - Row counts of an all_to_all_v --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The sizes of an all_to_all_v are data. The code that moves rows and the code
// that checks its result must reject the same counts with the same messages.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_SIGNATURES_ROWCOUNTS_H
#define MF_PROGRAM_SIGNATURES_ROWCOUNTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// The counts of one member of a group. Each list has an entry for every member
/// of the group and every expert of a member.
struct RowCounts {
  /// The number of rows of the input that go to each expert of each member. The
  /// rows are stored in this order.
  llvm::ArrayRef<float> send;
  /// The number of rows that each member sends to each expert of this member.
  llvm::ArrayRef<float> receive;
};

/// The reason why an exchange cannot be done.
struct RowCountError {
  /// The index of the member that the error is about.
  size_t member = 0;
  std::string reason;
};

/// Checks that all counts are non-negative integers, that no member sends more
/// rows than the `rows` rows of its input, that senders and receivers agree,
/// and that the rows that arrive fit the `room` rows of each output. `ranks`
/// are the names of the members in messages. If several outputs are too small,
/// the error is about the member at which most rows arrive.
std::optional<RowCountError> checkRowCounts(llvm::ArrayRef<RowCounts> members,
                                            llvm::ArrayRef<int64_t> ranks,
                                            int64_t rows, int64_t room);

/// Returns the sum of counts that checkRowCounts accepted.
int64_t sumRows(llvm::ArrayRef<float> counts);

/// Returns the start of messages about an exchange, which precedes the reason.
/// It names the operator that the exchange belongs to, or its channel if the
/// operator has no name.
std::string describeRowExchange(llvm::StringRef cell, llvm::StringRef channel);

} // namespace mf

#endif // MF_PROGRAM_SIGNATURES_ROWCOUNTS_H
