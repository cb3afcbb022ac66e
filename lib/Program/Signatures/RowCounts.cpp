//===- RowCounts.cpp - Row counts of an all_to_all_v ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/RowCounts.h"
#include "mf/Program/Signatures/Collective.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

namespace mf {

/// Returns whether a count is a whole number, which a NaN is not.
static bool isWhole(float count) {
  return count >= 0 && std::isfinite(count) && std::trunc(count) == count;
}

namespace {

/// The counts of a group whose members have `experts` experts each.
class CountChecker {
public:
  CountChecker(llvm::ArrayRef<RowCounts> members, llvm::ArrayRef<int64_t> ranks)
      : members(members), ranks(ranks),
        experts(members.front().send.size() / members.size()) {}

  std::optional<std::string> checkSent(size_t member, int64_t rows) const {
    llvm::ArrayRef<float> counts = members[member].send;
    // Counts may be too large for integers until they are compared.
    double sum = 0;
    for (auto [expert, count] : llvm::enumerate(counts)) {
      if (!isWhole(count))
        return llvm::formatv("expected a number of rows, but got {0} to send "
                             "for expert {1}",
                             formatDigits(count, 6), expert)
            .str();
      sum += count;
    }
    if (sum > static_cast<double>(rows))
      return llvm::formatv("expected to send at most the {0} rows of its "
                           "input, but got {1}",
                           rows, formatFixed(sum, 0))
          .str();
    return std::nullopt;
  }

  std::optional<std::string> checkAgreement(size_t member) const {
    for (size_t from = 0; from < members.size(); ++from)
      for (size_t expert = 0; expert < experts; ++expert) {
        const float received = members[member].receive[from * experts + expert];
        const float sent = members[from].send[member * experts + expert];
        if (received == sent)
          continue;
        return llvm::formatv("expects {0} rows of rank {1} for expert {2}, but "
                             "that sends {3}",
                             formatDigits(received, 6), ranks[from],
                             member * experts + expert, formatDigits(sent, 6))
            .str();
      }
    return std::nullopt;
  }

  /// Returns the error if the rows exceed the room. All other checks must come
  /// before.
  std::optional<RowCountError> checkRoom(int64_t room) const {
    size_t fullest = 0;
    int64_t most = -1;
    for (auto [member, counts] : llvm::enumerate(members)) {
      const int64_t rows = sumRows(counts.receive);
      if (rows <= most)
        continue;
      most = rows;
      fullest = member;
    }
    if (most <= room)
      return std::nullopt;
    std::vector<int64_t> rows(experts);
    for (auto [place, count] : llvm::enumerate(members[fullest].receive))
      rows[place % experts] += static_cast<int64_t>(count);
    const auto largest = std::max_element(rows.begin(), rows.end());
    const auto expert =
        static_cast<int64_t>(fullest * experts) + (largest - rows.begin());
    return RowCountError{
        fullest,
        llvm::formatv(
            "{0} rows would arrive, {1} of them for expert {2}, the most, but "
            "there is room for {3}; import with a larger --expert-room",
            most, *largest, expert, room)
            .str()};
  }

private:
  llvm::ArrayRef<RowCounts> members;
  llvm::ArrayRef<int64_t> ranks;
  size_t experts;
};

} // namespace

std::optional<RowCountError> checkRowCounts(llvm::ArrayRef<RowCounts> members,
                                            llvm::ArrayRef<int64_t> ranks,
                                            int64_t rows, int64_t room) {
  const CountChecker checker(members, ranks);
  for (size_t member = 0; member < members.size(); ++member)
    if (std::optional<std::string> reason = checker.checkSent(member, rows))
      return RowCountError{member, std::move(*reason)};
  for (size_t member = 0; member < members.size(); ++member)
    if (std::optional<std::string> reason = checker.checkAgreement(member))
      return RowCountError{member, std::move(*reason)};
  return checker.checkRoom(room);
}

int64_t sumRows(llvm::ArrayRef<float> counts) {
  int64_t rows = 0;
  for (float count : counts)
    rows += static_cast<int64_t>(count);
  return rows;
}

std::string describeRowExchange(llvm::StringRef cell, llvm::StringRef channel) {
  const llvm::StringRef kind = getName(CollectiveKind::AllToAllV);
  if (cell.empty())
    return llvm::formatv("{0} on channel '{1}'", kind, channel).str();
  return llvm::formatv("{0} of '{1}'", kind, cell).str();
}

} // namespace mf
