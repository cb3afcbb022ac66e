//===- mf_rank.cpp - A device and its streams -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf_rank.h"

namespace mf_cann {

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

CannTensor CannStream::makeScratch(const Dims &dims, aclDataType type) {
  const size_t begin = scratchBytes;
  const auto bytes = static_cast<size_t>(count(dims) * getBytes(type));
  scratchBytes += getRoom(bytes);
  if (scratchBytes > lentBytes)
    throw std::runtime_error(describe(name) + ": needs " +
                             std::to_string(scratchBytes) +
                             " bytes for temporaries, but the plan has " +
                             std::to_string(lentBytes));
  return {lent + begin, type, dims, {}};
}

void CannStream::allowAnyOrder() {
  // Atlas A2 and A3. Ascend 950 has the mode.
  isOrdered = std::strncmp(aclrtGetSocName(), "Ascend910", 9) != 0;
}

void CannStream::requireHost() const {
  require(!rank.captures(), "the host reads a value in the middle, which "
                            "cannot be captured; run without --capture");
}

CannTensor CannStream::getCausalMask() const { return rank.getCausalMask(); }

float CannStream::getHostValue(const CannTensor &x) {
  requireHost();
  executors.noteVarying();
  return rank.getHostValue(x.data);
}

std::vector<float> CannStream::readValues(const char *from,
                                          size_t number) const {
  requireHost();
  std::vector<float> values(number);
  const size_t bytes = number * sizeof(float);
  check(aclrtSynchronizeStream(handle), "aclrtSynchronizeStream");
  check(
      aclrtMemcpy(values.data(), bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_HOST),
      "aclrtMemcpy");
  return values;
}

void CannStream::tellMade(std::initializer_list<KeptOutput> made) const {
  if (rank.asks() || !*place || !rank.getKept().keeps())
    return;
  check(aclrtSynchronizeStream(handle), "aclrtSynchronizeStream");
  rank.getKept().add(place, made);
}

int64_t CannStream::getPosition(const CannTensor &x) const {
  const int32_t *value = rank.findKnown(x.data);
  require(value, "expected a position that does not change from step to step");
  return *value;
}

void CannStream::readSmall(const CannTensor &x, void *bytes) const {
  const auto size = static_cast<size_t>(count(x.dims) * getBytes(x.type));
  if (const int32_t *value = rank.findKnown(x.data)) {
    std::memcpy(bytes, value, sizeof(*value));
    return;
  }
  if (const char *loaded = rank.findLoaded(x.data, size)) {
    check(aclrtMemcpy(bytes, size, loaded, size, ACL_MEMCPY_HOST_TO_HOST),
          "aclrtMemcpy");
    return;
  }
  check(aclrtSynchronizeStream(handle), "aclrtSynchronizeStream");
  check(aclrtMemcpy(bytes, size, x.data, size, ACL_MEMCPY_DEVICE_TO_HOST),
        "aclrtMemcpy");
}

void CannStream::drawMask(const CannTensor &draw,
                          const std::vector<CannTensor> &firsts,
                          const CannTensor &mask, double rate, int64_t key,
                          const Dims &whole, Dims starts, const Dims &cutDims) {
  requireHost();
  if (rank.asks()) {
    staging.reserve(static_cast<size_t>(packBits(mask).dims.back()));
    return;
  }
  mf::step::StepMask drawn;
  readSmall(draw, &drawn.draw);
  for (size_t i = 0; i < firsts.size(); ++i) {
    int32_t first = 0;
    readSmall(firsts[i], &first);
    starts[static_cast<size_t>(cutDims[i])] += first;
  }
  drawn.sizes.assign(mask.dims.begin(), mask.dims.end());
  drawn.whole.assign(whole.begin(), whole.end());
  drawn.starts.assign(starts.begin(), starts.end());
  drawn.rate = rate;
  drawn.key = key;
  std::vector<uint8_t> bits;
  mf::step::drawMask(drawn, bits);
  staging.copy(mask.data, bits.data(), bits.size(), handle);
}

bool CannStream::isSet(const CannTensor &flag) {
  if (rank.asks())
    return false;
  auto known = flags.find(flag.data);
  if (known != flags.end())
    return known->second;
  return flags[flag.data] = readValues(flag.data, 1).front() != 0;
}

void CannStream::failToPrepare(const char *function, aclnnStatus status) const {
  fail(describe(std::string(function) + "GetWorkspaceSize"), status);
}

void CannStream::launch(const char *function,
                        std::unique_ptr<CannExecutor> made,
                        CannExecutor *executor, LaunchPhase run) {
  const uint64_t bytes = executor->getWorkspaceBytes();
  if (rank.asks()) {
    const size_t needed = bytes ? getRoom(bytes) : 0;
    if (needed > neededBytes) {
      neededBytes = needed;
      needyPlace = describe(function);
    }
    executors.keep(std::move(made));
    return;
  }
  if (bytes > workspace.getSize())
    throw std::runtime_error(
        describe(function) + ": needs " + std::to_string(bytes) +
        " bytes of workspace, but at the start it needed at most " +
        std::to_string(workspace.getSize()));
  if (const aclnnStatus status = executor->run(run, workspace.get(), handle))
    fail(describe(function), status);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

CannRank::CannRank(size_t arenaBytes, size_t hostBytes, size_t numStreams,
                   size_t numEvents, const std::string &largest) {
  check(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1),
        "aclrtCtxSetSysParamOpt");
  // CANN requires slack after the last buffer.
  arena.allocate(getRoom(arenaBytes), false, "the arena (" + largest + ")");
  hostMemory.allocate(hostBytes, true, "the host memory");
  std::memset(hostMemory.get(), 0, hostMemory.getSize());
  for (size_t i = 0; i < numStreams; ++i)
    streams.push_back(std::make_unique<CannStream>(*this));
  events.resize(numEvents);
  isInModel.resize(numEvents);
  for (aclrtEvent &event : events)
    check(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC),
          "aclrtCreateEventExWithFlag");
}

CannRank::~CannRank() {
  // After an error, work that uses the memory freed here may still run.
  for (const std::unique_ptr<CannStream> &stream : streams)
    aclrtSynchronizeStream(stream->get());
  for (const aclrtEvent event : events)
    aclrtDestroyEvent(event);
  streams.clear();
}

size_t CannRank::getWorkspaceBytes() const {
  size_t bytes = mask.getSize() + bufferBytes;
  for (const std::unique_ptr<CannStream> &stream : streams)
    bytes += stream->getNeededBytes();
  return bytes;
}

void CannRank::failWithoutRoom(size_t needed, size_t room,
                               const char *whose) const {
  std::string text = "operators and communicators need " +
                     std::to_string(needed) + " bytes beside the arena of " +
                     std::to_string(arena.getSize()) + ", but " + whose +
                     std::to_string(room) + ": " +
                     std::to_string(needed - room) + " are missing";
  text += "; communicators: " + std::to_string(bufferBytes) +
          "; the mask of causal attention: " + std::to_string(mask.getSize());
  for (const std::unique_ptr<CannStream> &stream : streams)
    if (const size_t bytes = stream->getNeededBytes())
      text += "; " + stream->getNeedyPlace() + ": " + std::to_string(bytes);
  throw std::runtime_error(
      text + "; recompute or swap more, so that the arena is smaller");
}

void CannRank::allocateWorkspaces(int64_t room) {
  const size_t needed = getWorkspaceBytes();
  if (room >= 0 && needed > static_cast<size_t>(room))
    failWithoutRoom(needed, static_cast<size_t>(room), "the plan leaves ");
  // Only workspaces are not allocated yet.
  const size_t allocated = bufferBytes + mask.getSize();
  size_t free = 0, total = 0;
  check(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), "aclrtGetMemInfo");
  if (needed - allocated > free)
    failWithoutRoom(needed, free + allocated, "the device has ");
  for (const std::unique_ptr<CannStream> &stream : streams)
    stream->allocateWorkspace();
}

/// CANN takes the mask of causal attention in a compressed form, which always
/// has the same size.
CannTensor CannRank::getCausalMask() {
  constexpr int64_t size = 2048;
  if (!mask.get()) {
    mask.allocate(getRoom(size * size), false, "the causal mask");
    std::vector<uint8_t> values(size * size);
    for (size_t row = 0; row < size; ++row)
      for (size_t column = row + 1; column < size; ++column)
        values[row * size + column] = 1;
    check(aclrtMemcpy(mask.get(), mask.getSize(), values.data(), values.size(),
                      ACL_MEMCPY_HOST_TO_DEVICE),
          "aclrtMemcpy");
  }
  return {mask.get(), ACL_BOOL, {size, size}, {}};
}

} // namespace mf_cann
