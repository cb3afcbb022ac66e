//===- mf_channels.h - Exchanges with other ranks ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each channel of the program has one communicator of HCCL for each of its
// groups that contain this rank.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_SUPPORT_MF_CHANNELS_H
#define MF_LIB_CANN_SUPPORT_MF_CHANNELS_H

#include "hccl/hccl.h"
#include "mf/Step/StepRun.h"
#include "mf_rank.h"

namespace mf_cann {

/// A direction of a channel that a stage uses. Collectives count as sending.
struct UsedDirection {
  size_t channel;
  bool isSend;
};

/// The communicators of a rank. To connect, ranks exchange HCCL's root
/// information by files in the folder MF_ROOT_INFO_DIR, which all ranks must
/// see.
class CannChannels {
public:
  /// The size of each of the two buffers of a communicator, in MB.
  static constexpr uint32_t bufferMegabytes = 20;

  CannChannels(const mf::step::Facts &facts,
               const std::vector<UsedDirection> &uses);
  CannChannels(const CannChannels &) = delete;
  CannChannels &operator=(const CannChannels &) = delete;
  ~CannChannels();

  HcclComm get(size_t channel, bool isSend) const {
    return communicators.at(groups.at({channel, isSend}));
  }
  /// Returns the index of this rank in the channel's group.
  uint32_t getPlace(size_t channel, bool isSend) const {
    const std::vector<int64_t> &members = groups.at({channel, isSend}).second;
    return static_cast<uint32_t>(
        std::find(members.begin(), members.end(), rank) - members.begin());
  }
  uint32_t getSize(size_t channel, bool isSend) const {
    return static_cast<uint32_t>(groups.at({channel, isSend}).second.size());
  }
  size_t getBufferBytes() const {
    return communicators.size() * 2 * (size_t{bufferMegabytes} << 20);
  }

  /// Copies bytes of rank `root` to all ranks.
  void broadcast(int64_t root, void *bytes, size_t size);

private:
  /// The name of a channel and the members of a group, in their order.
  using Group = std::pair<std::string, std::vector<int64_t>>;

  HcclComm connect(const Group &group) const;

  int64_t rank;
  std::map<std::pair<size_t, bool>, Group> groups;
  std::map<Group, HcclComm> communicators;
  /// The group of all ranks; empty if there is only one rank.
  Group world;
  aclrtStream stream = nullptr;
  CannBlock transfer;
};

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// An exchange of a rank. `place` is its operator in the model, for errors.
struct RankExchange {
  CannRank &rank;
  size_t stream;
  size_t channel;
  const char *place;

  CannChannels &channels() const { return rank.getChannels(); }
  aclrtStream getStream() const { return rank.stream(stream).get(); }
  HcclComm collective() const { return channels().get(channel, true); }
  bool isSkipped() const { return rank.asks(); }
  void check(int code, const char *function) const {
    if (code != 0)
      fail(std::string(function) +
               (*place ? " of '" + std::string(place) + "'" : ""),
           code);
  }
};

/// The rows of an exchange, whose counts are on the device.
struct CountedRows {
  /// The counts of rows: `experts` numbers for each member.
  const char *sendCounts, *receiveCounts;
  size_t experts;
  /// The number of elements of a row, and the value of rows that nobody sends.
  uint64_t width;
  double fill;
};

void send(const RankExchange &exchange, char *from, uint64_t bytes);
void receive(const RankExchange &exchange, char *to, uint64_t bytes);
void allReduce(const RankExchange &exchange, char *from, char *to,
               uint64_t count, HcclDataType type, HcclReduceOp op);
/// `count` is the number of elements that are received.
void reduceScatter(const RankExchange &exchange, char *from, char *to,
                   uint64_t count, HcclDataType type, HcclReduceOp op);
/// `count` is the number of elements that are sent.
void allGather(const RankExchange &exchange, char *from, char *to,
               uint64_t count, HcclDataType type);
/// Copies the input of the first member to all outputs.
void broadcast(const RankExchange &exchange, char *from, char *to,
               uint64_t count, HcclDataType type, uint64_t bytes);
/// Each member gets `count` elements of the input.
void allToAll(const RankExchange &exchange, char *from, char *to,
              uint64_t count, HcclDataType type);
/// HCCL takes the counts from the host, so this function waits until those on
/// the device are known.
void allToAllV(const RankExchange &exchange, const CannTensor &from,
               const CannTensor &to, const CountedRows &rows,
               HcclDataType type);

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_CHANNELS_H
