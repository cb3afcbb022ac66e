//===- Runtime.h - Devices, streams and events of a process -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The state that the functions of AscendCL and the operators share. Work is
// checked when it is issued. A call that earlier calls do not allow is rejected
// with a text that names both calls, and never runs.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_SUPPORT_HOSTCANN_RUNTIME_RUNTIME_H
#define MF_TEST_SUPPORT_HOSTCANN_RUNTIME_RUNTIME_H

#include "HostCann/Runtime/AccessOrder.h"
#include "HostCann/Runtime/CapturedWork.h"
#include "HostCann/Runtime/MemoryBlocks.h"
#include "mf/Exec/Device/Device.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

namespace mf::hostcann {

/// Stores `text` for aclGetRecentErrMsg and returns `code`.
int fail(int code, const llvm::Twine &text);

/// The object that an aclrtStream points to.
struct StreamHandle {
  int32_t device = 0;
  /// The index of the stream among all streams, from 1.
  uint32_t queue = 0;
  uint64_t tick = 0;
  VectorClock clock;
  /// Created when the stream first receives work.
  Stream *stream = nullptr;
  /// The capture that receives the stream's work instead, and the index of the
  /// stream in it.
  CapturedWork *capture = nullptr;
  size_t capturedAs = 0;
};

/// The object that an aclrtEvent points to.
struct EventHandle {
  /// The function that created it: aclrtCreateEventExWithFlag,
  /// aclrtCreateEventWithFlag, or any other.
  enum class Kind : uint8_t { Extended, Flagged, Plain };
  Kind kind = Kind::Plain;
  int32_t device = 0;
  bool isRecorded = false;
  /// The capture that has the event's record, and the record's index.
  /// `wasCaptured` without a capture means that the capture has ended.
  CapturedWork *capture = nullptr;
  size_t capturedRecord = 0;
  bool wasCaptured = false;
  Event event;
  VectorClock clock;
  /// The time at which the record ran, in nanoseconds.
  std::shared_ptr<std::atomic<int64_t>> time;
};

/// The state of the process. Functions return AscendCL's error codes.
class Runtime {
public:
  static Runtime &get();

  /// Fails before aclInit or, if `needsDevice` is true, before aclrtSetDevice.
  int require(bool needsDevice);
  int initialize();
  /// Fails if objects or memory are left over.
  int finalize();
  /// Adds a function that returns, at the end, a text about objects of another
  /// library that are left over, or an empty string.
  void addLeakReport(std::function<std::string()> report);
  int setDevice(int32_t device);
  int resetDevice(int32_t device);
  int32_t getNumDevices() const { return numDevices; }
  /// Returns the device of the calling thread; negative if there is none.
  static int32_t getDevice();

  /// Sets whether operators are prepared in their deterministic mode.
  int setDeterministic(bool on);
  bool isDeterministic() const { return isInOrder; }

  int createStream(void **stream);
  int destroyStream(void *stream);
  int synchronizeStream(void *stream, int32_t milliseconds);
  int synchronizeDevice();
  int createEvent(void **event, EventHandle::Kind kind);
  int destroyEvent(void *event);
  int recordEvent(void *event, void *stream);
  int waitEvent(void *stream, void *event);
  int resetEvent(void *event, void *stream);
  int queryEvent(void *event, bool &isComplete);
  int synchronizeEvent(void *event);
  int measureEvents(float *milliseconds, void *start, void *end);

  /// Begin and end a capture. During a capture, the work issued to its streams
  /// is recorded instead of run.
  int beginCapture(void *stream, bool isRelaxed);
  int endCapture(void *stream, void **captured);
  int findCapture(void *stream, bool &isActive, bool &isInvalid,
                  void **captured);
  int executeCaptured(void *captured, void *stream);
  int destroyCaptured(void *captured);

  int allocate(void **pointer, size_t bytes, bool isDevice);
  int release(void *pointer, bool isDevice);
  int getMemory(size_t &free, size_t &total);
  bool isKnownMemory(const void *address);

  /// Issues work to a stream; null is the device's default stream. `name` must
  /// have static lifetime.
  int launch(void *stream, const char *name,
             llvm::ArrayRef<LaunchAccess> accesses,
             llvm::unique_function<llvm::Error()> work);
  /// Checks accesses that the host makes immediately.
  int accessFromHost(const char *name, llvm::ArrayRef<LaunchAccess> accesses);

private:
  Runtime();
  struct DeviceState {
    std::unique_ptr<Device> device;
    StreamHandle defaultStream;
    /// Streams that were destroyed and can be reused.
    std::vector<Stream *> idle;
    size_t numStreams = 0, numEvents = 0;
    int users = 0;
  };

  /// Captured work, and the streams that run it in addition to the one that it
  /// is issued to.
  struct CapturedModel {
    std::unique_ptr<CapturedWork> work;
    std::vector<std::unique_ptr<StreamHandle>> streams;
    int32_t device = 0;
    bool isActive = true;
  };

  /// Fails if a capture is active that does not allow a call of the host.
  int refuseInCapture(const char *call);
  int captureWait(StreamHandle &stream, EventHandle &event);
  int launchOn(StreamHandle &stream, const char *name,
               llvm::ArrayRef<LaunchAccess> accesses,
               llvm::unique_function<llvm::Error()> work);
  void recordOn(EventHandle &event, StreamHandle &stream);
  void waitOn(StreamHandle &stream, EventHandle &event);
  StreamHandle *findStream(void *stream);
  EventHandle *findEvent(void *event);
  Stream &getStream(StreamHandle &handle);
  int checkAccesses(const CallSite &site, const VectorClock &clock,
                    int32_t device, llvm::ArrayRef<LaunchAccess> accesses);
  void noteAccesses(const CallSite &site,
                    llvm::ArrayRef<LaunchAccess> accesses);

  std::mutex mutex;
  bool isInitialized = false;
  std::atomic<bool> isInOrder = false;
  int32_t numDevices = 8;
  size_t memoryLimit = size_t{64} << 30;
  std::map<int32_t, DeviceState> devices;
  std::map<void *, std::unique_ptr<StreamHandle>> streams;
  std::map<void *, std::unique_ptr<EventHandle>> events;
  std::map<void *, CapturedModel> models;
  MemoryBlocks memory;
  AccessOrder order;
  std::vector<std::function<std::string()>> leakReports;
  /// The work that the host knows to be done.
  VectorClock hostClock;
  uint64_t hostTick = 0, numCalls = 0;
  uint32_t numQueues = 0;
};

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_RUNTIME_RUNTIME_H
