//===- RowShare.cpp - Rows that are exchanged by counts -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/RowShare.h"
#include "mf/Exec/Data/ElementConversion.h"
#include <algorithm>
#include <cstring>

using namespace mf::program;

namespace mf::ranks {

RowCounts getCounts(const Exchange &exchange, const Contribution &member,
                    size_t numMembers) {
  const size_t size = exchange.rows.experts * numMembers;
  return {llvm::ArrayRef(member.send, size),
          llvm::ArrayRef(member.receive, size)};
}

std::optional<RowCountError> findRowCountError(const Exchange &exchange,
                                               llvm::StringRef channel,
                                               llvm::ArrayRef<RowCounts> counts,
                                               llvm::ArrayRef<int64_t> ranks,
                                               const Contribution &own) {
  const int64_t rowBytes = exchange.rows.rowBytes;
  std::optional<RowCountError> error = checkRowCounts(
      counts, ranks, own.inputBytes / rowBytes, own.outputBytes / rowBytes);
  if (error)
    error->reason =
        describeRowExchange(exchange.rows.cell, channel) + ": " + error->reason;
  return error;
}

/// Returns the range of bytes that `counts` assign to the member at `place`.
static ByteRange getRange(const Exchange &exchange,
                          llvm::ArrayRef<float> counts, size_t place) {
  const size_t experts = exchange.rows.experts;
  const int64_t rowBytes = exchange.rows.rowBytes;
  return {sumRows(counts.take_front(place * experts)) * rowBytes,
          sumRows(counts.slice(place * experts, experts)) * rowBytes};
}

ByteRange getRowsFor(const Exchange &exchange, const RowCounts &counts,
                     size_t place) {
  return getRange(exchange, counts.send, place);
}

ByteRange getRowsFrom(const Exchange &exchange, const RowCounts &counts,
                      size_t place) {
  return getRange(exchange, counts.receive, place);
}

void fillRest(const Exchange &exchange, const RowCounts &counts,
              const Contribution &own) {
  const auto fill = static_cast<float>(exchange.rows.fill);
  uint8_t element[sizeof(float)];
  const int64_t size = getBytes(exchange.type);
  llvm::cantFail(convertElements(
      DType::F32, {reinterpret_cast<const uint8_t *>(&fill), sizeof(fill)},
      exchange.type, {element, static_cast<size_t>(size)}));
  const int64_t begin = sumRows(counts.receive) * exchange.rows.rowBytes;
  const int64_t bytes = own.outputBytes - begin;
  if (bytes == 0)
    return;
  std::memcpy(own.output + begin, element, size);
  for (int64_t filled = size; filled < bytes; filled *= 2)
    std::memcpy(own.output + begin + filled, own.output + begin,
                std::min(filled, bytes - filled));
}

void takeRows(const Exchange &exchange, llvm::ArrayRef<Contribution> members,
              size_t place) {
  const Contribution &own = members[place];
  const RowCounts ownCounts = getCounts(exchange, own, members.size());
  std::byte *to = own.output;
  for (const Contribution &member : members) {
    const ByteRange rows = getRowsFor(
        exchange, getCounts(exchange, member, members.size()), place);
    if (rows.bytes > 0)
      std::memcpy(to, member.input + rows.begin, rows.bytes);
    to += rows.bytes;
  }
  fillRest(exchange, ownCounts, own);
}

} // namespace mf::ranks
