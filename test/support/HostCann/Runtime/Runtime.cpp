//===- Runtime.cpp - Devices, memory and work of a process ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Runtime/Runtime.h"
#include "acl/acl_base.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace mf::hostcann {
namespace {

thread_local std::string recentError, shownError;
thread_local int32_t currentDevice = -1;

constexpr size_t blockAlignment = 64;

uint64_t readNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  uint64_t number = 0;
  if (!text || llvm::StringRef(text).getAsInteger(10, number))
    return otherwise;
  return number;
}

} // namespace

int fail(int code, const llvm::Twine &text) {
  recentError = text.str();
  if (std::getenv("MF_HOST_CANN_REPORT"))
    llvm::errs() << "host CANN: " << recentError << " (" << code << ")\n";
  return code;
}

Runtime &Runtime::get() {
  // The object is never destroyed, because streams may still run when the
  // process ends.
  static auto *runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() = default;

int32_t Runtime::getDevice() { return currentDevice; }

int Runtime::require(bool needsDevice) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isInitialized)
    return fail(ACL_ERROR_UNINITIALIZE, "call aclInit first");
  if (needsDevice && !devices.count(currentDevice))
    return fail(ACL_ERROR_RT_CONTEXT_NULL,
                "this thread has no device: call aclrtSetDevice first");
  return ACL_SUCCESS;
}

int Runtime::setDeterministic(bool on) {
  if (const int code = require(/*needsDevice=*/true))
    return code;
  isInOrder = on;
  return ACL_SUCCESS;
}

int Runtime::initialize() {
  std::lock_guard<std::mutex> lock(mutex);
  if (isInitialized)
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit was called before");
  isInitialized = true;
  numDevices = static_cast<int32_t>(readNumber("MF_HOST_CANN_DEVICES", 8));
  memoryLimit = readNumber("MF_HOST_CANN_MEMORY", size_t{64} << 30);
  return ACL_SUCCESS;
}

int Runtime::finalize() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isInitialized)
    return fail(ACL_ERROR_UNINITIALIZE, "aclFinalize without aclInit");
  isInitialized = false;
  isInOrder = false;
  std::vector<std::string> left = {memory.describeLeaks()};
  if (!streams.empty())
    left.push_back(std::to_string(streams.size()) + " streams");
  if (!events.empty())
    left.push_back(std::to_string(events.size()) + " events");
  if (!models.empty())
    left.push_back(std::to_string(models.size()) + " captured models");
  for (const std::function<std::string()> &report : leakReports)
    left.push_back(report());
  llvm::erase(left, std::string());
  streams.clear();
  events.clear();
  models.clear();
  devices.clear();
  memory.releaseAll();
  order = AccessOrder();
  currentDevice = -1;
  if (!left.empty())
    return fail(ACL_ERROR_INTERNAL_ERROR, "leak: aclFinalize finds " +
                                              llvm::join(left, ", ") +
                                              " that nobody freed");
  return ACL_SUCCESS;
}

void Runtime::addLeakReport(std::function<std::string()> report) {
  std::lock_guard<std::mutex> lock(mutex);
  leakReports.push_back(std::move(report));
}

int Runtime::setDevice(int32_t device) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isInitialized)
    return fail(ACL_ERROR_UNINITIALIZE, "call aclInit first");
  if (device < 0 || device >= numDevices)
    return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                llvm::formatv("there is no device {0}, expected 0 to {1}",
                              device, numDevices - 1)
                    .str());
  DeviceState &state = devices[device];
  if (!state.device) {
    auto made = Device::create({});
    if (!made)
      return fail(ACL_ERROR_INTERNAL_ERROR, llvm::toString(made.takeError()));
    state.device = std::move(*made);
    state.defaultStream.device = device;
    state.defaultStream.queue = ++numQueues;
  }
  ++state.users;
  currentDevice = device;
  return ACL_SUCCESS;
}

int Runtime::resetDevice(int32_t device) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = devices.find(device);
  if (found == devices.end())
    return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                llvm::formatv("device {0} was not set", device).str());
  if (--found->second.users > 0)
    return ACL_SUCCESS;
  if (found->second.numStreams || found->second.numEvents ||
      memory.getUsedBytes(device))
    return fail(
        ACL_ERROR_INTERNAL_ERROR,
        llvm::formatv("leak: device {0} is reset with {1} streams, {2} events "
                      "and {3} bytes of memory",
                      device, found->second.numStreams, found->second.numEvents,
                      memory.getUsedBytes(device))
            .str());
  devices.erase(found);
  if (currentDevice == device)
    currentDevice = -1;
  return ACL_SUCCESS;
}

int Runtime::allocate(void **pointer, size_t bytes, bool isDevice) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!pointer || bytes == 0)
    return fail(ACL_ERROR_INVALID_PARAM,
                "memory needs a place for its address and at least a byte");
  const int32_t device = isDevice ? currentDevice : -1;
  // Nothing is added for the units of a device, which may access memory behind
  // a block: a device's own allocator leaves that room.
  const size_t rounded = llvm::alignTo(bytes, blockAlignment);
  if (isDevice && memory.getUsedBytes(device) + rounded > memoryLimit)
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                llvm::formatv("out of memory: {0} bytes are asked for, {1} of "
                              "{2} are used",
                              bytes, memory.getUsedBytes(device), memoryLimit)
                    .str());
  *pointer = memory.allocate(bytes, device);
  return *pointer ? ACL_SUCCESS
                  : fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory");
}

int Runtime::release(void *pointer, bool isDevice) {
  std::lock_guard<std::mutex> lock(mutex);
  const AllocatedBlock *block = memory.findBegin(pointer);
  if (!block || block->isDevice() != isDevice)
    return fail(
        ACL_ERROR_INVALID_PARAM,
        llvm::formatv("{0} frees {1}, which is no live block of its kind",
                      isDevice ? "aclrtFree" : "aclrtFreeHost", pointer)
            .str());
  const CallSite site = {0, 0, isDevice ? "aclrtFree" : "aclrtFreeHost",
                         ++numCalls};
  std::string wrong = order.check(block->begin, block->getEnd(),
                                  /*isWrite=*/true, false, hostClock, site);
  if (!wrong.empty())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "freed too early: " + wrong);
  order.forget(block->begin, block->getEnd());
  memory.release(*block);
  return ACL_SUCCESS;
}

int Runtime::getMemory(size_t &free, size_t &total) {
  std::lock_guard<std::mutex> lock(mutex);
  total = memoryLimit;
  free = memoryLimit - memory.getUsedBytes(currentDevice);
  return ACL_SUCCESS;
}

bool Runtime::isKnownMemory(const void *address) {
  std::lock_guard<std::mutex> lock(mutex);
  return memory.findByte(reinterpret_cast<uintptr_t>(address));
}

int Runtime::checkAccesses(const CallSite &site, const VectorClock &clock,
                           int32_t device,
                           llvm::ArrayRef<LaunchAccess> accesses) {
  for (const LaunchAccess &access : accesses) {
    const auto begin = reinterpret_cast<uintptr_t>(access.address);
    const auto what = llvm::formatv("{0}: {1}", site.name, access.name).str();
    std::string wrong =
        memory.checkRange(begin, access.bytes, device, access.allowsHost, what);
    if (wrong.empty()) {
      const AllocatedBlock *block = memory.findByte(begin);
      CallSite typed = site;
      typed.type = access.type;
      wrong = order.check(begin, begin + access.bytes, access.isWrite,
                          access.needsValue && block && block->isDevice(),
                          clock, typed);
    }
    if (!wrong.empty())
      return fail(ACL_ERROR_RT_PARAM_INVALID, wrong);
  }
  return ACL_SUCCESS;
}

void Runtime::noteAccesses(const CallSite &site,
                           llvm::ArrayRef<LaunchAccess> accesses) {
  // Writes are recorded last, because they replace what the same call has read.
  for (bool isWrite : {false, true})
    for (const LaunchAccess &access : accesses)
      if (access.isWrite == isWrite) {
        const auto begin = reinterpret_cast<uintptr_t>(access.address);
        CallSite typed = site;
        typed.type = access.type;
        order.note(begin, begin + access.bytes, isWrite, typed);
      }
}

int Runtime::launch(void *stream, const char *name,
                    llvm::ArrayRef<LaunchAccess> accesses,
                    llvm::unique_function<llvm::Error()> work) {
  if (int code = require(/*needsDevice=*/true))
    return code;
  std::lock_guard<std::mutex> lock(mutex);
  StreamHandle *handle = findStream(stream);
  if (!handle)
    return fail(
        ACL_ERROR_RT_PARAM_INVALID,
        llvm::formatv("{0}: there is no stream {1}", name, stream).str());
  if (!handle->capture)
    return launchOn(*handle, name, accesses, std::move(work));
  handle->capture->addWork(handle->capturedAs, name, accesses, std::move(work));
  return ACL_SUCCESS;
}

int Runtime::launchOn(StreamHandle &stream, const char *name,
                      llvm::ArrayRef<LaunchAccess> accesses,
                      llvm::unique_function<llvm::Error()> work) {
  VectorClock clock = stream.clock;
  clock.join(hostClock);
  clock.set(stream.queue, stream.tick);
  const CallSite site = {stream.queue, stream.tick + 1, name, ++numCalls};
  if (int code = checkAccesses(site, clock, stream.device, accesses))
    return code;
  clock.set(stream.queue, ++stream.tick);
  stream.clock = std::move(clock);
  noteAccesses(site, accesses);
  getStream(stream).launch(std::move(work));
  return ACL_SUCCESS;
}

int Runtime::accessFromHost(const char *name,
                            llvm::ArrayRef<LaunchAccess> accesses) {
  std::lock_guard<std::mutex> lock(mutex);
  if (int code = refuseInCapture(name))
    return code;
  const CallSite site = {0, hostTick + 1, name, ++numCalls};
  if (int code = checkAccesses(site, hostClock, currentDevice, accesses))
    return code;
  hostClock.set(0, ++hostTick);
  noteAccesses(site, accesses);
  return ACL_SUCCESS;
}

} // namespace mf::hostcann

const char *aclGetRecentErrMsg() {
  using namespace mf::hostcann;
  if (recentError.empty())
    return nullptr;
  shownError = std::move(recentError);
  recentError.clear();
  return shownError.c_str();
}
