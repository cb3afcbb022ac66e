//===- CollectiveShare.cpp - Computation of collectives -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/CollectiveShare.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Ranks/RowShare.h"
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

} // namespace mf::ranks
