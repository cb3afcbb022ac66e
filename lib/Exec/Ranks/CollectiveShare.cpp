//===- CollectiveShare.cpp - Computation of collectives -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mf/Exec/Data/ElementConversion.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace mf::program;

namespace mf::ranks {

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The number of elements that are combined at a time.
static constexpr int64_t blockElements = 1024;

/// Copies elements from one type to another that holds their values or rounds
/// them.
static void convert(DType fromType, const void *from, DType toType, void *to,
                    int64_t elements) {
  llvm::cantFail(
      convertElements(fromType,
                      {static_cast<const uint8_t *>(from),
                       static_cast<size_t>(elements * getBytes(fromType))},
                      toType,
                      {static_cast<uint8_t *>(to),
                       static_cast<size_t>(elements * getBytes(toType))}));
}

template <typename Element>
static void add(Element *sum, const Element *part, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) {
    if constexpr (std::is_integral_v<Element>) {
      using Unsigned = std::make_unsigned_t<Element>;
      sum[i] = static_cast<Element>(static_cast<Unsigned>(sum[i]) +
                                    static_cast<Unsigned>(part[i]));
    } else {
      sum[i] += part[i];
    }
  }
}

template <typename Element> static Element getMaximum(Element a, Element b) {
  if constexpr (std::is_floating_point_v<Element>) {
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) ? a : b;
    if (a == b)
      return std::signbit(a) ? b : a;
  }
  return b > a ? b : a;
}

template <typename Element>
static void keepLarger(Element *largest, const Element *part,
                       int64_t elements) {
  for (int64_t i = 0; i < elements; ++i)
    largest[i] = getMaximum(largest[i], part[i]);
}

/// Combines elements in `Element`, whose type is `wideType`.
template <typename Element>
static void reduceAs(DType wideType, llvm::ArrayRef<const std::byte *> parts,
                     std::byte *output, int64_t elements, DType type,
                     Reduction reduction) {
  Element result[blockElements], part[blockElements];
  for (int64_t first = 0; first < elements; first += blockElements) {
    const int64_t count = std::min(blockElements, elements - first);
    const int64_t at = first * getBytes(type);
    convert(type, parts.front() + at, wideType, result, count);
    for (const std::byte *next : parts.drop_front()) {
      convert(type, next + at, wideType, part, count);
      if (reduction == Reduction::Sum)
        add(result, part, count);
      else
        keepLarger(result, part, count);
    }
    convert(wideType, result, type, output + at, count);
  }
}

void reduceParts(llvm::ArrayRef<const std::byte *> parts, std::byte *output,
                 int64_t elements, DType type, Reduction reduction) {
  switch (type) {
  case DType::F32:
  case DType::BF16:
  case DType::F16:
    return reduceAs<float>(DType::F32, parts, output, elements, type,
                           reduction);
  case DType::I32:
    return reduceAs<int32_t>(type, parts, output, elements, type, reduction);
  case DType::I64:
    return reduceAs<int64_t>(type, parts, output, elements, type, reduction);
  case DType::I1:
    llvm_unreachable("masks are not reduced");
  }
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

bool combinesShares(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllToAll;
}

ByteRange getShare(const Exchange &exchange, int64_t inputBytes,
                   size_t numMembers, size_t place) {
  const int64_t elementBytes = getBytes(exchange.type);
  const int64_t elements = inputBytes / elementBytes;
  const auto count = static_cast<int64_t>(numMembers);
  const auto number = static_cast<int64_t>(place);
  // All collectives except all_reduce have parts of equal size.
  const int64_t first = elements * number / count;
  const int64_t end = elements * (number + 1) / count;
  return {first * elementBytes, (end - first) * elementBytes};
}

static void copyBytes(std::byte *to, const std::byte *from, int64_t bytes) {
  if (to != from && bytes > 0)
    std::memcpy(to, from, bytes);
}

void combineShare(const Exchange &exchange,
                  llvm::ArrayRef<const std::byte *> parts, int64_t bytes,
                  std::byte *output) {
  if (exchange.kind != CollectiveKind::AllToAll)
    return reduceParts(parts, output, bytes / getBytes(exchange.type),
                       exchange.type, exchange.reduction);
  for (const std::byte *part : parts) {
    copyBytes(output, part, bytes);
    output += bytes;
  }
}

namespace {

/// One member's view of a collective.
struct Share {
  const Exchange &exchange;
  llvm::ArrayRef<Contribution> members;
  size_t place;

  const Contribution &own() const { return members[place]; }
  ByteRange getRange() const {
    return getShare(exchange, own().inputBytes, members.size(), place);
  }

  /// Combines the share at `output`.
  void combine(std::byte *output) const {
    const ByteRange range = getRange();
    llvm::SmallVector<const std::byte *, 16> parts;
    for (const Contribution &member : members)
      parts.push_back(member.input + range.begin);
    combineShare(exchange, parts, range.bytes, output);
  }
};

} // namespace

/// If inputs are outputs too, only this member reads its part of them.
static void allReduce(const Share &share) {
  const ByteRange range = share.getRange();
  std::byte *result = share.own().output + range.begin;
  share.combine(result);
  for (const Contribution &member : share.members)
    copyBytes(member.output + range.begin, result, range.bytes);
}

static void allGather(const Share &share) {
  std::byte *to = share.own().output;
  for (const Contribution &member : share.members) {
    copyBytes(to, member.input, member.inputBytes);
    to += member.inputBytes;
  }
}

static void broadcast(const Share &share) {
  copyBytes(share.own().output, share.members.front().input,
            share.own().inputBytes);
}

void computeShare(const Exchange &exchange,
                  llvm::ArrayRef<Contribution> members, size_t place) {
  const Share share{exchange, members, place};
  switch (exchange.kind) {
  case CollectiveKind::AllReduce:
    return allReduce(share);
  case CollectiveKind::AllGather:
    return allGather(share);
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return share.combine(share.own().output);
  case CollectiveKind::Broadcast:
    return broadcast(share);
  case CollectiveKind::AllToAllV:
    return takeRows(exchange, members, place);
  }
}

//===----------------------------------------------------------------------===//
// Rows that are exchanged by counts
//===----------------------------------------------------------------------===//

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
