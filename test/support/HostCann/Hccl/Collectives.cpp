//===- Collectives.cpp - What collectives compute -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Communicators.h"
#include "mf/Exec/Ranks/CollectiveShare.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

namespace mf::hostcann {
namespace {

DType getReducedType(HcclDataType type) {
  switch (type) {
  case HCCL_DATA_TYPE_FP16:
    return DType::F16;
  case HCCL_DATA_TYPE_BFP16:
    return DType::BF16;
  case HCCL_DATA_TYPE_INT32:
    return DType::I32;
  case HCCL_DATA_TYPE_INT64:
    return DType::I64;
  default:
    return DType::F32;
  }
}

/// Combines the elements from `first` on that all ranks bring, in the order of
/// ranks, so that every rank has the same bits.
llvm::Error reduce(const SharedGroup &group, const CollectiveCall &call,
                   uint64_t first, uint64_t count) {
  const uint64_t bytes = getElementBytes(call.type);
  std::vector<std::vector<char>> inputs;
  llvm::SmallVector<const std::byte *, 8> parts;
  for (uint32_t i = 0; i < group.getNumRanks(); ++i) {
    auto input = group.readInput(i, first * bytes, count * bytes);
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
    parts.push_back(reinterpret_cast<const std::byte *>(inputs.back().data()));
  }
  ranks::reduceParts(parts, static_cast<std::byte *>(call.receive),
                     static_cast<int64_t>(count), getReducedType(call.type),
                     call.reduction == HCCL_REDUCE_SUM ? Reduction::Sum
                                                       : Reduction::Max);
  return llvm::Error::success();
}

/// Copies bytes of another rank's input to `to`.
llvm::Error take(const SharedGroup &group, uint32_t rank, uint64_t offset,
                 uint64_t bytes, char *to) {
  auto input = group.readInput(rank, offset, bytes);
  if (!input)
    return input.takeError();
  std::memcpy(to, input->data(), bytes);
  return llvm::Error::success();
}

} // namespace

uint64_t getElementBytes(HcclDataType type) {
  switch (type) {
  case HCCL_DATA_TYPE_INT8:
  case HCCL_DATA_TYPE_UINT8:
    return 1;
  case HCCL_DATA_TYPE_INT16:
  case HCCL_DATA_TYPE_UINT16:
  case HCCL_DATA_TYPE_FP16:
  case HCCL_DATA_TYPE_BFP16:
    return 2;
  case HCCL_DATA_TYPE_INT32:
  case HCCL_DATA_TYPE_UINT32:
  case HCCL_DATA_TYPE_FP32:
    return 4;
  case HCCL_DATA_TYPE_INT64:
  case HCCL_DATA_TYPE_UINT64:
  case HCCL_DATA_TYPE_FP64:
    return 8;
  }
  return 0;
}

llvm::Error runAllReduce(const SharedGroup &group, const CollectiveCall &call) {
  return reduce(group, call, 0, call.receiveCount);
}

llvm::Error runReduceScatter(const SharedGroup &group,
                             const CollectiveCall &call) {
  return reduce(group, call, call.receiveCount * group.getRank(),
                call.receiveCount);
}

llvm::Error runAllGather(const SharedGroup &group, const CollectiveCall &call) {
  const uint64_t bytes = call.sendCount * getElementBytes(call.type);
  for (uint32_t i = 0; i < group.getNumRanks(); ++i)
    if (llvm::Error error = take(group, i, 0, bytes,
                                 static_cast<char *>(call.receive) + i * bytes))
      return error;
  return llvm::Error::success();
}

llvm::Error runBroadcast(const SharedGroup &group, const CollectiveCall &call) {
  if (group.getRank() == call.root)
    return llvm::Error::success();
  return take(group, call.root, 0,
              call.receiveCount * getElementBytes(call.type),
              static_cast<char *>(call.receive));
}

llvm::Error runAlltoAll(const SharedGroup &group, const CollectiveCall &call) {
  const uint32_t numRanks = group.getNumRanks(), rank = group.getRank();
  const uint64_t bytes = getElementBytes(call.type);
  const uint64_t countBytes = numRanks * sizeof(uint64_t);
  for (uint32_t i = 0; i < numRanks; ++i) {
    uint64_t count = 0, place = 0;
    auto read = [&](uint64_t offset, uint64_t &value) {
      return take(group, i, offset + rank * sizeof(uint64_t), sizeof(value),
                  reinterpret_cast<char *>(&value));
    };
    if (llvm::Error error = read(0, count))
      return error;
    if (llvm::Error error = read(countBytes, place))
      return error;
    if (count != call.receiveCounts[i])
      return group.makeError(
          llvm::formatv("{0}: rank {1} sends {2} elements, but {3} are "
                        "expected from it",
                        call.function, i, count, call.receiveCounts[i])
              .str());
    char *to =
        static_cast<char *>(call.receive) + call.receivePlaces[i] * bytes;
    if (llvm::Error error =
            take(group, i, 2 * countBytes + place * bytes, count * bytes, to))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error runMessage(const SharedGroup &group, const CollectiveCall &call) {
  if (call.receiveCount == 0)
    return llvm::Error::success();
  return take(group, call.root, 0,
              call.receiveCount * getElementBytes(call.type),
              static_cast<char *>(call.receive));
}

llvm::Error runBarrier(const SharedGroup &, const CollectiveCall &) {
  return llvm::Error::success();
}

} // namespace mf::hostcann
