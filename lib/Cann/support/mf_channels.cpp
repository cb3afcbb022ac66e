//===- mf_channels.cpp - Exchanges with other ranks -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf_channels.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace mf_cann {

//===----------------------------------------------------------------------===//
// Connecting
//===----------------------------------------------------------------------===//

CannChannels::CannChannels(const mf::step::Facts &facts,
                           const std::vector<UsedDirection> &uses)
    : rank(facts.rank), world("world", {}) {
  const int64_t numRanks = mf::step::getNumRanks(facts);
  if (numRanks == 1)
    return;
  for (int64_t i = 0; i < numRanks; ++i)
    world.second.push_back(i);
  communicators[world] = nullptr;
  for (const UsedDirection &use : uses) {
    const Group group(
        facts.channels[use.channel].name,
        mf::step::getMembers(facts, use.channel, rank, use.isSend));
    groups[{use.channel, use.isSend}] = group;
    communicators[group] = nullptr;
  }
  // All ranks connect in the order of the map, so that they do not wait for
  // each other in a circle.
  for (auto &entry : communicators)
    entry.second = connect(entry.first);
  check(aclrtCreateStream(&stream), "aclrtCreateStream");
  transfer.allocate(size_t{1} << 20, false, "the memory of transfers");
}

CannChannels::~CannChannels() {
  if (stream)
    aclrtDestroyStream(stream);
  for (const auto &entry : communicators)
    if (entry.second)
      HcclCommDestroy(entry.second);
}

/// The first member gets the root information from HCCL and writes a file, for
/// which the others wait.
HcclComm CannChannels::connect(const Group &group) const {
  const char *folder = std::getenv("MF_ROOT_INFO_DIR");
  if (!folder)
    throw std::runtime_error("MF_ROOT_INFO_DIR is not set: expected an empty "
                             "folder that all ranks see");
  std::string path = std::string(folder) + "/" + group.first;
  for (const int64_t member : group.second)
    path += "-" + std::to_string(member);
  HcclRootInfo root;
  const bool isRoot = group.second.front() == rank;
  if (isRoot) {
    check(HcclGetRootInfo(&root), "HcclGetRootInfo");
    std::ofstream(path + ".part", std::ios::binary)
        .write(root.internal, sizeof(root.internal));
    if (std::rename((path + ".part").c_str(), path.c_str()) != 0)
      throw std::runtime_error("cannot write " + path);
  } else {
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!std::ifstream(path, std::ios::binary)
                .read(root.internal, sizeof(root.internal))) {
      if (std::chrono::steady_clock::now() >= limit)
        throw std::runtime_error("channel '" + group.first + "': rank " +
                                 std::to_string(group.second.front()) +
                                 " has not written " + path + " within 120 s");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclBufferSize = bufferMegabytes;
  config.hcclDeterministic = 1;
  std::snprintf(config.hcclCommName, sizeof(config.hcclCommName), "%s",
                group.first.c_str());
  const auto place = std::find(group.second.begin(), group.second.end(), rank) -
                     group.second.begin();
  HcclComm made = nullptr;
  if (const int code = HcclCommInitRootInfoConfig(
          static_cast<uint32_t>(group.second.size()), &root,
          static_cast<uint32_t>(place), &config, &made))
    fail("HcclCommInitRootInfoConfig of channel '" + group.first + "'", code);
  if (isRoot)
    std::remove(path.c_str());
  return made;
}

void CannChannels::broadcast(int64_t root, void *bytes, size_t size) {
  auto *host = static_cast<char *>(bytes);
  while (size > 0) {
    const size_t part = std::min(size, transfer.getSize());
    if (rank == root)
      check(aclrtMemcpy(transfer.get(), part, host, part,
                        ACL_MEMCPY_HOST_TO_DEVICE),
            "aclrtMemcpy");
    check(HcclBroadcast(transfer.get(), part, HCCL_DATA_TYPE_UINT8,
                        static_cast<uint32_t>(root), communicators.at(world),
                        stream),
          "HcclBroadcast");
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    if (rank != root)
      check(aclrtMemcpy(host, part, transfer.get(), part,
                        ACL_MEMCPY_DEVICE_TO_HOST),
            "aclrtMemcpy");
    host += part;
    size -= part;
  }
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

void send(const RankExchange &exchange, char *from, uint64_t bytes) {
  if (!exchange.isSkipped())
    exchange.check(HcclSend(from, bytes, HCCL_DATA_TYPE_UINT8, 1,
                            exchange.channels().get(exchange.channel, true),
                            exchange.getStream()),
                   "HcclSend");
}

void receive(const RankExchange &exchange, char *to, uint64_t bytes) {
  if (!exchange.isSkipped())
    exchange.check(HcclRecv(to, bytes, HCCL_DATA_TYPE_UINT8, 0,
                            exchange.channels().get(exchange.channel, false),
                            exchange.getStream()),
                   "HcclRecv");
}

void allReduce(const RankExchange &exchange, char *from, char *to,
               uint64_t count, HcclDataType type, HcclReduceOp op) {
  if (!exchange.isSkipped())
    exchange.check(HcclAllReduce(from, to, count, type, op,
                                 exchange.collective(), exchange.getStream()),
                   "HcclAllReduce");
}

void reduceScatter(const RankExchange &exchange, char *from, char *to,
                   uint64_t count, HcclDataType type, HcclReduceOp op) {
  if (!exchange.isSkipped())
    exchange.check(HcclReduceScatter(from, to, count, type, op,
                                     exchange.collective(),
                                     exchange.getStream()),
                   "HcclReduceScatter");
}

void allGather(const RankExchange &exchange, char *from, char *to,
               uint64_t count, HcclDataType type) {
  if (!exchange.isSkipped())
    exchange.check(HcclAllGather(from, to, count, type, exchange.collective(),
                                 exchange.getStream()),
                   "HcclAllGather");
}

void broadcast(const RankExchange &exchange, char *from, char *to,
               uint64_t count, HcclDataType type, uint64_t bytes) {
  if (exchange.isSkipped())
    return;
  if (from != to && exchange.channels().getPlace(exchange.channel, true) == 0)
    exchange.rank.copy(exchange.stream, to, from, bytes,
                       ACL_MEMCPY_DEVICE_TO_DEVICE);
  exchange.check(HcclBroadcast(to, count, type, 0, exchange.collective(),
                               exchange.getStream()),
                 "HcclBroadcast");
}

void allToAll(const RankExchange &exchange, char *from, char *to,
              uint64_t count, HcclDataType type) {
  if (exchange.isSkipped())
    return;
  const uint32_t size = exchange.channels().getSize(exchange.channel, true);
  const std::vector<uint64_t> counts(size, count / size);
  std::vector<uint64_t> places;
  for (uint32_t i = 0; i < size; ++i)
    places.push_back(i * (count / size));
  exchange.check(HcclAlltoAllV(from, counts.data(), places.data(), type, to,
                               counts.data(), places.data(), type,
                               exchange.collective(), exchange.getStream()),
                 "HcclAlltoAllV");
}

/// The numbers of elements by member, and the offset of each member's.
struct MemberElements {
  std::vector<uint64_t> counts, places;
  uint64_t total = 0;
};

static MemberElements readElements(const RankExchange &exchange,
                                   const CountedRows &rows,
                                   const char *counts) {
  const uint32_t size = exchange.channels().getSize(exchange.channel, true);
  const std::vector<float> values =
      exchange.rank.stream(exchange.stream)
          .readValues(counts, size * rows.experts);
  for (const float value : values)
    exchange.rank.stream(exchange.stream)
        .require(value >= 0 && value < 16777216.0F,
                 "a number of rows is no whole number from 0 on");
  MemberElements elements;
  for (uint32_t member = 0; member < size; ++member) {
    uint64_t number = 0;
    for (size_t i = 0; i < rows.experts; ++i)
      number += static_cast<uint64_t>(values[member * rows.experts + i]);
    elements.places.push_back(elements.total);
    elements.counts.push_back(number * rows.width);
    elements.total += elements.counts.back();
  }
  return elements;
}

void allToAllV(const RankExchange &exchange, const CannTensor &from,
               const CannTensor &to, const CountedRows &rows,
               HcclDataType type) {
  CannStream &stream = exchange.rank.stream(exchange.stream);
  stream.begin("all_to_all_v", exchange.place);
  stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(to), scalar(rows.fill));
  if (exchange.isSkipped())
    return;
  const MemberElements sent = readElements(exchange, rows, rows.sendCounts),
                       received =
                           readElements(exchange, rows, rows.receiveCounts);
  stream.require(sent.total <= static_cast<uint64_t>(count(from.dims)) &&
                     received.total <= static_cast<uint64_t>(count(to.dims)),
                 "there are more rows for a rank than it has room for");
  exchange.check(
      HcclAlltoAllV(from.data, sent.counts.data(), sent.places.data(), type,
                    to.data, received.counts.data(), received.places.data(),
                    type, exchange.collective(), exchange.getStream()),
      "HcclAlltoAllV");
}

} // namespace mf_cann
