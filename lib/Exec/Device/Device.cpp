//===- Device.cpp - One emulated NPU --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/Device.h"
#include "StreamState.h"
#include <cmath>

namespace mf {

Device::Device() = default;

llvm::Expected<std::unique_ptr<Device>> Device::create(const Options &options) {
  for (double rate : {options.hostToDeviceRate, options.deviceToHostRate})
    if (!std::isfinite(rate) || rate < 0)
      return llvm::createStringError(
          "the rate of a link must be a number of bytes per second, or 0 for "
          "no limit");
  if (options.turns)
    if (std::string refusal = options.turns->addDevice(); !refusal.empty())
      return llvm::createStringError("cannot allocate its memory: " + refusal);
  Arena::Options arenaOptions;
  arenaOptions.guard = options.guard;
  arenaOptions.poison = options.poison;
  auto hbm = Arena::create("HBM", options.hbmBytes, arenaOptions);
  if (!hbm)
    return hbm.takeError();
  auto host =
      Arena::create("pinned host memory", options.hostBytes, arenaOptions);
  if (!host)
    return host.takeError();
  std::unique_ptr<Device> device(new Device);
  device->hbm = std::move(*hbm);
  device->host = std::move(*host);
  device->hostToDevice = std::make_unique<CopyLink>(options.hostToDeviceRate);
  device->deviceToHost = std::make_unique<CopyLink>(options.deviceToHostRate);
  device->turns = options.turns;
  device->name = options.name;
  return device;
}

Device::~Device() {
  setFailureHandler(nullptr);
  abort("the device is gone");
  // Streams wait for each other's events, so all must be told to stop (by the
  // abort) before the first is joined.
  streams.clear();
}

Stream &Device::createStream(llvm::StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  streams.emplace_back(new Stream(*this, name));
  return *streams.back();
}

llvm::Error Device::synchronize() {
  std::vector<Stream *> all;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const std::unique_ptr<Stream> &stream : streams)
      all.push_back(stream.get());
  }
  if (turns)
    turns->arrive();
  for (Stream *stream : all)
    stream->state->waitUntilIdle();
  if (hasFailed())
    return llvm::createStringError(getFailure());
  return llvm::Error::success();
}

void Device::abort(const llvm::Twine &reason) {
  std::function<void(const std::string &)> handler;
  std::vector<Stream *> all;
  std::string text = reason.str();
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (failed.load())
      return;
    failure = text;
    failed.store(true);
    handler = failureHandler;
    for (const std::unique_ptr<Stream> &stream : streams)
      all.push_back(stream.get());
  }
  for (Stream *stream : all)
    stream->state->wakeUp();
  if (handler)
    handler(text);
}

std::string Device::getFailure() const {
  if (!failed.load())
    return {};
  std::lock_guard<std::mutex> lock(mutex);
  return failure;
}

void Device::setFailureHandler(
    std::function<void(const std::string &)> handler) {
  std::lock_guard<std::mutex> lock(mutex);
  failureHandler = std::move(handler);
}

} // namespace mf
