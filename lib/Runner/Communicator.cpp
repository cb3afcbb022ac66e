//===- Communicator.cpp - Messages between ranks of a process -------------===//

#include "Communicator.h"
#include "mf/Data/ElementConversion.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <vector>

namespace mf::runner {

/// What is on the way in one channel: for a message `parts` has one entry, the
/// sender's bytes; for a reduction one for each member.
struct Communicator::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::byte *> parts;
  int64_t bytes = 0;
  size_t numArrived = 0;
  /// Counts finished messages or reductions.
  uint64_t generation = 0;
};

Communicator::Communicator(llvm::ArrayRef<program::Channel> channels)
    : channels(channels) {
  for (const program::Channel &channel : channels) {
    states.push_back(std::make_unique<State>());
    states.back()->parts.resize(channel.isAllReduce ? channel.ranks.size() : 1);
  }
}

Communicator::~Communicator() = default;

static llvm::Error makeAborted(const program::Channel &channel) {
  return llvm::createStringError("channel '" + channel.name +
                                 "' is closed because a rank failed");
}

llvm::Error Communicator::send(uint32_t channel, const std::byte *from,
                               int64_t bytes) {
  State &state = *states[channel];
  std::unique_lock<std::mutex> lock(state.mutex);
  // The receiver only reads from it.
  state.parts[0] = const_cast<std::byte *>(from);
  state.bytes = bytes;
  state.numArrived = 1;
  const uint64_t generation = state.generation;
  state.changed.notify_all();
  state.changed.wait(
      lock, [&] { return state.generation != generation || aborted.load(); });
  if (state.generation == generation)
    return makeAborted(channels[channel]);
  return llvm::Error::success();
}

llvm::Error Communicator::receive(uint32_t channel, std::byte *to,
                                  int64_t bytes) {
  State &state = *states[channel];
  std::unique_lock<std::mutex> lock(state.mutex);
  state.changed.wait(lock,
                     [&] { return state.numArrived == 1 || aborted.load(); });
  if (aborted.load())
    return makeAborted(channels[channel]);
  if (state.bytes != bytes)
    return llvm::createStringError("channel '" + channels[channel].name +
                                   "': expected " + std::to_string(bytes) +
                                   " bytes, but got " +
                                   std::to_string(state.bytes));
  std::memcpy(to, state.parts[0], bytes);
  state.numArrived = 0;
  ++state.generation;
  state.changed.notify_all();
  return llvm::Error::success();
}

namespace {

/// Sums `count` elements that every part holds, into every part.
template <typename Element, typename Sum, typename Load, typename Store>
void sumParts(llvm::ArrayRef<std::byte *> parts, int64_t count, Load load,
              Store store) {
  for (int64_t i = 0; i < count; ++i) {
    Sum sum{};
    for (size_t part = 0; part < parts.size(); ++part) {
      const Sum value = load(reinterpret_cast<const Element *>(parts[part])[i]);
      // Not 0 + value, which would turn -0 into 0.
      sum = part == 0 ? value : static_cast<Sum>(sum + value);
    }
    const Element result = store(sum);
    for (std::byte *part : parts)
      reinterpret_cast<Element *>(part)[i] = result;
  }
}

template <typename Element>
void sumExact(llvm::ArrayRef<std::byte *> parts, int64_t bytes) {
  auto same = [](Element value) { return value; };
  sumParts<Element, Element>(parts, bytes / sizeof(Element), same, same);
}

void sum(llvm::ArrayRef<std::byte *> parts, int64_t bytes, DType type) {
  switch (type) {
  case DType::F32:
    return sumExact<float>(parts, bytes);
  case DType::BF16:
    return sumParts<uint16_t, float>(parts, bytes / 2, bfloat16ToFloat,
                                     floatToBfloat16);
  case DType::F16:
    return sumParts<uint16_t, float>(parts, bytes / 2, halfToFloat,
                                     floatToHalf);
  // Unsigned, so that sums wrap around as on the device.
  case DType::I32:
    return sumExact<uint32_t>(parts, bytes);
  case DType::I64:
    return sumExact<uint64_t>(parts, bytes);
  }
}

} // namespace

llvm::Error Communicator::allReduce(uint32_t channel, int64_t rank,
                                    std::byte *data, int64_t bytes,
                                    DType type) {
  State &state = *states[channel];
  const std::vector<int64_t> &members = channels[channel].ranks;
  const size_t place = llvm::find(members, rank) - members.begin();
  std::unique_lock<std::mutex> lock(state.mutex);
  if (aborted.load())
    return makeAborted(channels[channel]);
  state.parts[place] = data;
  if (++state.numArrived == members.size()) {
    sum(state.parts, bytes, type);
    state.numArrived = 0;
    ++state.generation;
    state.changed.notify_all();
    return llvm::Error::success();
  }
  const uint64_t generation = state.generation;
  state.changed.wait(
      lock, [&] { return state.generation != generation || aborted.load(); });
  if (state.generation == generation)
    return makeAborted(channels[channel]);
  return llvm::Error::success();
}

void Communicator::abort() {
  aborted.store(true);
  for (std::unique_ptr<State> &state : states) {
    // Taking the lock orders the store before the waiters' next look.
    std::lock_guard<std::mutex> lock(state->mutex);
    state->changed.notify_all();
  }
}

} // namespace mf::runner
