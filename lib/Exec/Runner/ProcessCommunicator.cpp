//===- ProcessCommunicator.cpp - Ranks in several processes ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProcessCommunicator.h"
#include "GroupBarrier.h"
#include <cstring>
#include <optional>

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

namespace {

/// A group whose ranks are in several processes, from the view of one process.
struct SpreadGroup {
  std::vector<int64_t> members;
  /// The places of the members in this process. The first of them receives for
  /// all.
  std::vector<size_t> here;
  /// The places of the other members.
  std::vector<size_t> elsewhere;
  /// The first place of `elsewhere` in each process.
  std::vector<size_t> receivers;
  std::optional<GroupBarrier> barrier;
};

/// One member's part in a collective.
struct MemberPart {
  SpreadGroup &group;
  size_t place;
  uint32_t channel;
  const program::Exchange &exchange;
  const Contribution &own;

  size_t getNumMembers() const { return group.members.size(); }
  bool isReceiver() const { return place == group.here.front(); }
  ranks::ByteRange getShareOf(size_t member) const {
    return ranks::getShare(exchange, own.inputBytes, getNumMembers(), member);
  }
  /// Returns whether `member` has a block of the data that all members need. In
  /// a broadcast only the first one does.
  bool hasBlock(size_t member) const {
    return exchange.kind != CollectiveKind::Broadcast || member == 0;
  }

  ranks::ByteRange getBlock(size_t member) const {
    if (exchange.kind == CollectiveKind::AllReduce)
      return getShareOf(member);
    if (exchange.kind == CollectiveKind::AllGather)
      return {static_cast<int64_t>(member) * own.inputBytes, own.inputBytes};
    return {0, own.inputBytes};
  }

  /// Returns the block of a member of this process.
  const std::byte *getBlockData(size_t member,
                                const Contribution &contribution) const {
    return exchange.kind == CollectiveKind::AllReduce
               ? contribution.output + getBlock(member).begin
               : contribution.input;
  }
};

class ProcessCommunicator : public Communicator {
public:
  ProcessCommunicator(Mesh givenMesh, std::vector<Channel> givenChannels,
                      Transport &transport, int64_t ranksPerProcess,
                      int64_t firstTag)
      : mesh(std::move(givenMesh)), channels(std::move(givenChannels)),
        transport(transport), ranksPerProcess(ranksPerProcess),
        firstTag(firstTag), local(makeLocalCommunicator(mesh, channels)) {}

  int64_t countTags() const {
    return static_cast<int64_t>(channels.size()) * ranksPerProcess *
           ranksPerProcess;
  }

  llvm::Error send(uint32_t channel, int64_t rank, const std::byte *from,
                   int64_t bytes, WorkTimes *times) override {
    const int64_t to = channels[channel].getMembers(mesh, rank, true).back();
    if (isHere(to))
      return local->send(channel, rank, from, bytes, times);
    Message message = makeSend(channel, rank, to, from, bytes);
    return move(channel, message, {});
  }
  llvm::Error receive(uint32_t channel, int64_t rank, std::byte *to,
                      int64_t bytes, WorkTimes *times) override {
    const int64_t from =
        channels[channel].getMembers(mesh, rank, false).front();
    if (isHere(from))
      return local->receive(channel, rank, to, bytes, times);
    Message message = makeReceive(channel, from, rank, to, bytes);
    return move(channel, message, from);
  }
  llvm::Error collective(uint32_t channel, int64_t rank,
                         const Exchange &exchange, const Contribution &own,
                         WorkTimes *times) override {
    std::vector<int64_t> members = channels[channel].getMembers(mesh, rank);
    if (llvm::all_of(members, [&](int64_t other) { return isHere(other); }))
      return local->collective(channel, rank, exchange, own, times);
    SpreadGroup &group = groups.find(channel, std::move(members),
                                     [&](std::vector<int64_t> ofGroup) {
                                       return makeGroup(std::move(ofGroup));
                                     });
    const auto place = static_cast<size_t>(llvm::find(group.members, rank) -
                                           group.members.begin());
    const MemberPart part{group, place, channel, exchange, own};
    {
      std::lock_guard<std::mutex> lock(group.barrier->mutex);
      group.barrier->contributions[group.barrier->getPlace(rank)] = own;
    }
    if (!meet(group))
      return makeAborted(channels[channel]);
    // The messages show the sizes of members in other processes.
    if (llvm::Error error = group.barrier->checkSizes(channels[channel], own))
      return error;
    const bool takesRows = exchange.kind == CollectiveKind::AllToAllV;
    if (takesRows || combinesShares(exchange.kind)) {
      if (llvm::Error error = takesRows ? takeRows(part) : combine(part))
        return error;
      // After this no member reads inputs any more.
      if (!meet(group))
        return makeAborted(channels[channel]);
    }
    if (takesRows || exchange.kind == CollectiveKind::ReduceScatter ||
        exchange.kind == CollectiveKind::AllToAll)
      return llvm::Error::success();
    if (llvm::Error error = spread(part))
      return error;
    // After this no member reads outputs any more.
    if (!meet(group))
      return makeAborted(channels[channel]);
    return llvm::Error::success();
  }
  void abort() override {
    aborted.store(true);
    local->abort();
    transport.interrupt();
    groups.forEach([](SpreadGroup &group) { group.barrier->release(); });
  }

private:
  int64_t getProcess(int64_t rank) const { return rank / ranksPerProcess; }
  bool isHere(int64_t rank) const {
    return getProcess(rank) == transport.getProcess();
  }

  /// Returns the tag of a message. It does not contain the processes of sender
  /// and receiver, by which the transport distinguishes messages anyway.
  int64_t getTag(uint32_t channel, int64_t from, int64_t to) const {
    return firstTag +
           (channel * ranksPerProcess + from % ranksPerProcess) *
               ranksPerProcess +
           to % ranksPerProcess;
  }
  Message makeSend(uint32_t channel, int64_t from, int64_t to,
                   const std::byte *data, int64_t bytes) const {
    return Message::makeSend(getProcess(to), getTag(channel, from, to), data,
                             bytes);
  }
  Message makeReceive(uint32_t channel, int64_t from, int64_t to,
                      std::byte *data, int64_t bytes) const {
    return Message::makeReceive(getProcess(from), getTag(channel, from, to),
                                data, bytes);
  }

  std::unique_ptr<SpreadGroup> makeGroup(std::vector<int64_t> members) const {
    auto group = std::make_unique<SpreadGroup>();
    std::vector<int64_t> ranksHere, processes;
    for (size_t place = 0; place < members.size(); ++place) {
      if (isHere(members[place])) {
        group->here.push_back(place);
        ranksHere.push_back(members[place]);
        continue;
      }
      group->elsewhere.push_back(place);
      if (llvm::is_contained(processes, getProcess(members[place])))
        continue;
      processes.push_back(getProcess(members[place]));
      group->receivers.push_back(place);
    }
    group->members = std::move(members);
    group->barrier.emplace(std::move(ranksHere));
    return group;
  }

  bool meet(SpreadGroup &group) {
    std::unique_lock<std::mutex> lock(group.barrier->mutex);
    return group.barrier->waitForAll(lock, aborted);
  }

  /// Sends every other process the shares of this member's input that its
  /// members combine, and combines this member's share.
  llvm::Error combine(const MemberPart &part) {
    const std::vector<int64_t> &members = part.group.members;
    const int64_t rank = members[part.place];
    const ByteRange own = part.getShareOf(part.place);
    std::byte *const result =
        part.own.output +
        (part.exchange.kind == CollectiveKind::AllReduce ? own.begin : 0);
    // Parts of an all_to_all arrive where they belong.
    const bool isMoved = part.exchange.kind == CollectiveKind::AllToAll;
    const std::unique_ptr<std::byte[]> room(
        isMoved ? nullptr
                : new std::byte[part.group.elsewhere.size() * own.bytes]);
    llvm::SmallVector<const std::byte *, 16> parts(members.size());
    llvm::SmallVector<Message, 16> messages;
    llvm::SmallVector<int64_t, 16> senders;
    for (auto [number, place] : llvm::enumerate(part.group.elsewhere)) {
      std::byte *to = isMoved ? result + place * own.bytes
                              : room.get() + number * own.bytes;
      parts[place] = to;
      messages.push_back(
          makeReceive(part.channel, members[place], rank, to, own.bytes));
      senders.push_back(members[place]);
      const ByteRange theirs = part.getShareOf(place);
      messages.push_back(makeSend(part.channel, rank, members[place],
                                  part.own.input + theirs.begin, theirs.bytes));
    }
    for (auto [place, contribution] :
         llvm::zip(part.group.here, part.group.barrier->contributions))
      parts[place] = contribution.input + own.begin;
    if (llvm::Error error = move(part.channel, messages, senders))
      return error;
    combineShare(part.exchange, parts, own.bytes, result);
    return llvm::Error::success();
  }
  /// Sends every member the rows for its experts and receives those for this
  /// one's where they belong.
  llvm::Error takeRows(const MemberPart &part) {
    SpreadGroup &group = part.group;
    const Exchange &exchange = part.exchange;
    llvm::Expected<std::vector<float>> gathered = gatherCounts(part);
    if (!gathered)
      return gathered.takeError();
    const size_t count = gathered->size() / group.members.size() / 2;
    std::vector<RowCounts> counts;
    for (llvm::ArrayRef<float> rest = *gathered; !rest.empty();
         rest = rest.drop_front(2 * count))
      counts.push_back({rest.take_front(count), rest.slice(count, count)});
    if (llvm::Error error = group.barrier->checkRows(
            channels[part.channel], exchange, counts, part.place, group.members,
            part.own, aborted))
      return error;
    const int64_t rank = group.members[part.place];
    llvm::SmallVector<Message, 16> messages;
    llvm::SmallVector<int64_t, 16> senders;
    for (const size_t place : group.elsewhere) {
      const ByteRange mine = getRowsFrom(exchange, counts[part.place], place);
      if (mine.bytes > 0) {
        messages.push_back(makeReceive(part.channel, group.members[place], rank,
                                       part.own.output + mine.begin,
                                       mine.bytes));
        senders.push_back(group.members[place]);
      }
      const ByteRange theirs = getRowsFor(exchange, counts[part.place], place);
      if (theirs.bytes > 0)
        messages.push_back(makeSend(part.channel, rank, group.members[place],
                                    part.own.input + theirs.begin,
                                    theirs.bytes));
    }
    if (llvm::Error error = move(part.channel, messages, senders))
      return error;
    for (auto [place, contribution] :
         llvm::zip(group.here, group.barrier->contributions)) {
      const ByteRange from = getRowsFor(exchange, counts[place], part.place);
      const ByteRange to = getRowsFrom(exchange, counts[part.place], place);
      if (to.bytes > 0)
        std::memcpy(part.own.output + to.begin, contribution.input + from.begin,
                    to.bytes);
    }
    fillRest(exchange, counts[part.place], part.own);
    return llvm::Error::success();
  }
  /// Sends the counts of all members to every member: what each sends and
  /// receives, in the order of the group. They are small, and all members that
  /// have them find the same errors.
  llvm::Expected<std::vector<float>> gatherCounts(const MemberPart &part) {
    const std::vector<int64_t> &members = part.group.members;
    const int64_t rank = members[part.place];
    const size_t count = part.exchange.rows.experts * members.size();
    std::vector<float> all(2 * count * members.size());
    auto write = [&](size_t place, const Contribution &contribution) {
      float *to = &all[2 * count * place];
      std::copy_n(contribution.send, count, to);
      std::copy_n(contribution.receive, count, to + count);
    };
    for (auto [place, contribution] :
         llvm::zip(part.group.here, part.group.barrier->contributions))
      write(place, contribution);
    llvm::SmallVector<Message, 16> messages;
    llvm::SmallVector<int64_t, 16> senders;
    const auto bytes = static_cast<int64_t>(2 * count * sizeof(float));
    auto getCounts = [&](size_t place) {
      return reinterpret_cast<std::byte *>(&all[2 * count * place]);
    };
    for (const size_t place : part.group.elsewhere) {
      messages.push_back(makeReceive(part.channel, members[place], rank,
                                     getCounts(place), bytes));
      senders.push_back(members[place]);
      messages.push_back(makeSend(part.channel, rank, members[place],
                                  getCounts(part.place), bytes));
    }
    if (llvm::Error error = move(part.channel, messages, senders))
      return error;
    return all;
  }
  /// Sends all blocks to every member: once to each process, where the other
  /// members copy them.
  llvm::Error spread(const MemberPart &part) {
    SpreadGroup &group = part.group;
    const std::vector<int64_t> &members = group.members;
    const int64_t rank = members[part.place];
    llvm::ArrayRef<Contribution> contributions = group.barrier->contributions;
    llvm::SmallVector<Message, 16> messages;
    llvm::SmallVector<int64_t, 16> senders;
    if (part.hasBlock(part.place))
      for (const size_t receiver : group.receivers)
        messages.push_back(makeSend(part.channel, rank, members[receiver],
                                    part.getBlockData(part.place, part.own),
                                    part.getBlock(part.place).bytes));
    if (part.isReceiver())
      for (const size_t place : group.elsewhere)
        if (part.hasBlock(place)) {
          const ByteRange block = part.getBlock(place);
          messages.push_back(makeReceive(part.channel, members[place], rank,
                                         part.own.output + block.begin,
                                         block.bytes));
          senders.push_back(members[place]);
        }
    if (llvm::Error error = move(part.channel, messages, senders))
      return error;
    auto copy = [&](const std::byte *from, ByteRange to) {
      if (part.own.output + to.begin != from && to.bytes > 0)
        std::memcpy(part.own.output + to.begin, from, to.bytes);
    };
    if (part.isReceiver())
      for (auto [place, contribution] : llvm::zip(group.here, contributions))
        if (part.hasBlock(place))
          copy(part.getBlockData(place, contribution), part.getBlock(place));
    if (!meet(group))
      return makeAborted(channels[part.channel]);
    if (!part.isReceiver())
      copy(contributions.front().output, {0, part.own.outputBytes});
    return llvm::Error::success();
  }
  /// Transfers messages. `senders` are the ranks that sent the received ones,
  /// in the order of `messages`.
  llvm::Error move(uint32_t channel, llvm::MutableArrayRef<Message> messages,
                   llvm::ArrayRef<int64_t> senders) {
    if (aborted.load() || !transport.exchange(messages))
      return makeAborted(channels[channel]);
    size_t received = 0;
    for (const Message &message : messages) {
      if (message.isSend)
        continue;
      if (message.arrivedBytes != message.bytes)
        return makeError(channels[channel],
                         ": expected " + llvm::Twine(message.bytes) +
                             " bytes, but rank " +
                             llvm::Twine(senders[received]) + " sent " +
                             llvm::Twine(message.arrivedBytes));
      ++received;
    }
    return llvm::Error::success();
  }

  const Mesh mesh;
  const std::vector<Channel> channels;
  Transport &transport;
  const int64_t ranksPerProcess;
  const int64_t firstTag;
  /// Performs exchanges within this process.
  const std::unique_ptr<Communicator> local;
  std::atomic<bool> aborted{false};
  ChannelGroups<SpreadGroup> groups;
};

} // namespace

llvm::Expected<std::unique_ptr<Communicator>>
makeProcessCommunicator(Mesh mesh, std::vector<Channel> channels,
                        Transport &transport, int64_t ranksPerProcess,
                        int64_t firstTag) {
  auto communicator = std::make_unique<ProcessCommunicator>(
      std::move(mesh), std::move(channels), transport, ranksPerProcess,
      firstTag);
  const int64_t available = transport.getMaximumTag() + 1 - firstTag;
  if (communicator->countTags() > available)
    return llvm::createStringError(
        "expected at most " + std::to_string(available) +
        " pairs of ranks and channels for this MPI, but got " +
        std::to_string(communicator->countTags()) +
        ": run fewer ranks in each process");
  return std::move(communicator);
}

} // namespace mf::runner
