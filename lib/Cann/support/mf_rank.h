//===- mf_rank.h - A device and its streams ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_SUPPORT_MF_RANK_H
#define MF_LIB_CANN_SUPPORT_MF_RANK_H

#include "mf_cann.h"
#include "mf_executors.h"
#include "mf_kept.h"
#include "mf_memory.h"

namespace mf_cann {

/// The name of a function of aclnn, and its two phases.
#define MF_CANN(NAME) #NAME, NAME##GetWorkspaceSize, NAME

class CannRank;
class CannChannels;

/// A stream, and the memory that its operators use.
class CannStream {
public:
  explicit CannStream(CannRank &owner) : rank(owner) {
    check(aclrtCreateStream(&handle), "aclrtCreateStream");
  }
  CannStream(const CannStream &) = delete;
  CannStream &operator=(const CannStream &) = delete;
  ~CannStream() { aclrtDestroyStream(handle); }

  aclrtStream get() const { return handle; }

  /// Begins a kernel. `operatorPlace` is its operator in the model.
  void begin(const char *kernel, const char *operatorPlace) {
    name = kernel;
    place = operatorPlace;
    scratchBytes = 0;
    isOrdered = true;
    executors.startKernel();
  }
  void require(bool holds, const char *message) const {
    if (!holds)
      throw std::runtime_error(describe(name) + ": " + message);
  }

  /// Lets the next operators of the kernel add up in any order if the device
  /// has no deterministic mode for them, and would refuse them in it.
  void allowAnyOrder();

  /// Lends the planned memory for temporaries to the next kernel.
  void lend(char *memory, size_t bytes) {
    lent = memory;
    lentBytes = bytes;
  }
  /// Returns a tensor in the lent memory.
  CannTensor makeScratch(const Dims &dims, aclDataType type);
  /// Returns `x` if it is fp32, and otherwise a temporary of fp32.
  CannTensor makeFloat(const CannTensor &x) {
    return x.type == ACL_FLOAT ? x : makeScratch(x.dims, ACL_FLOAT);
  }
  CannTensor getCausalMask() const;
  /// Returns the value of a scalar on the device, from the host memory that it
  /// was copied from.
  float getHostValue(const CannTensor &x);
  /// Returns an integer on the device that the host knows from the start, such
  /// as the position of a rank's part.
  int64_t getPosition(const CannTensor &x) const;
  /// Draws a dropout mask on the host and copies it to the device. The draw,
  /// and the positions of the part in `firsts`, are read on the host, too.
  void drawMask(const CannTensor &draw, const std::vector<CannTensor> &firsts,
                const CannTensor &mask, double rate, int64_t key,
                const Dims &whole, Dims starts, const Dims &cutDims);
  /// Waits for the stream and returns a flag on the device.
  bool isSet(const CannTensor &flag);
  /// Waits for the stream and reads numbers from the device.
  std::vector<float> readValues(const char *from, size_t number) const;

  /// Calls an operator. If its executor was kept, only the second phase is
  /// called. While the program measures how much memory operators need, only
  /// the first phase is called.
  template <typename... Parameters, typename... Given>
  void call(const char *function, aclnnStatus (*prepare)(Parameters...),
            LaunchPhase run, Given &&...arguments);

  /// Keeps the outputs of the kernel, if the rank keeps values.
  void tellMade(std::initializer_list<KeptOutput> made) const;
  /// Keeps the output of an exchange, if the rank keeps values.
  void tellMade(const char *operatorPlace, const char *exchange,
                const CannTensor &made) {
    place = operatorPlace;
    tellMade({{exchange, made}});
  }

  size_t getNeededBytes() const { return neededBytes; }
  const std::string &getNeedyPlace() const { return needyPlace; }
  /// Allocates the memory that the operators of the stream need.
  void allocateWorkspace() {
    workspace.allocate(neededBytes, false, "the workspace of a stream");
  }
  /// Forgets flags that were read, because they may change from step to step.
  void startStep() { flags.clear(); }
  void startPart(size_t number) { executors.startPart(number); }
  size_t countExecutors() const { return executors.size(); }

private:
  [[noreturn]] void failToPrepare(const char *function,
                                  aclnnStatus status) const;
  /// Runs an operator, or only keeps it if the program measures memory.
  void launch(const char *function, std::unique_ptr<CannExecutor> made,
              CannExecutor *executor, LaunchPhase run);
  /// Reads the bytes of a small tensor, if possible without waiting for the
  /// device.
  void readSmall(const CannTensor &x, void *bytes) const;
  /// Fails during a capture.
  void requireHost() const;
  /// Sets the mode in which operators are prepared.
  static void setDeterministic(bool on) {
    check(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, on ? 1 : 0),
          "aclrtCtxSetSysParamOpt");
  }
  std::string describe(const std::string &what) const {
    return what + (*place ? " of '" + std::string(place) + "'" : "");
  }

  CannRank &rank;
  aclrtStream handle = nullptr;
  const char *name = "";
  const char *place = "";
  CannBlock workspace;
  CannStaging staging;
  char *lent = nullptr;
  size_t lentBytes = 0, scratchBytes = 0;
  size_t neededBytes = 0;
  std::string needyPlace;
  bool isOrdered = true;
  std::map<const char *, bool> flags;
  KeptExecutors executors;
};

/// The current device: its memory, streams and events.
class CannRank {
public:
  /// `largest` names what is large in the arena, for errors.
  CannRank(size_t arenaBytes, size_t hostBytes, size_t numStreams,
           size_t numEvents, const std::string &largest);
  CannRank(const CannRank &) = delete;
  CannRank &operator=(const CannRank &) = delete;
  ~CannRank();

  /// Returns a stream after lending it the planned memory for the temporaries
  /// of the next kernel.
  CannStream &stream(size_t number, char *memory = nullptr, size_t bytes = 0) {
    streams[number]->lend(memory, bytes);
    return *streams[number];
  }
  char *device(int64_t offset) const { return arena.get() + offset; }
  char *host(int64_t offset) const { return hostMemory.get() + offset; }

  void wait(size_t stream, size_t event) {
    // No wait is needed if only one of record and wait is captured: later work
    // comes after the whole model, and the host has waited for what earlier
    // steps recorded.
    if (!isAsking && isInModel[event] == isCapturing)
      check(aclrtStreamWaitEvent(streams[stream]->get(), events[event]),
            "aclrtStreamWaitEvent");
  }
  void record(size_t event, size_t stream) {
    if (isAsking)
      return;
    isInModel[event] = isCapturing;
    check(aclrtRecordEvent(events[event], streams[stream]->get()),
          "aclrtRecordEvent");
  }
  void recordBehind(const RoutineCall &call, int instruction, size_t stream) {
    for (const auto &[position, event] : call.records)
      if (position == instruction)
        record(event, stream);
  }
  void copy(size_t stream, char *to, const char *from, size_t bytes,
            aclrtMemcpyKind kind) {
    if (isAsking)
      return;
    check(
        aclrtMemcpyAsync(to, bytes, from, bytes, kind, streams[stream]->get()),
        "aclrtMemcpyAsync");
    if (kind == ACL_MEMCPY_HOST_TO_DEVICE)
      loads[to] = {from, bytes};
  }
  size_t countStreams() const { return streams.size(); }
  /// Sets whether the streams are being captured.
  void setCapturing(bool on) {
    isCapturing = on;
    if (!on)
      isCaptured = isInModel;
  }
  bool captures() const { return isCapturing; }
  /// Notes that all further work comes after the captured work.
  void startBehindModel() { isInModel = isCaptured; }
  void synchronize() {
    for (const std::unique_ptr<CannStream> &stream : streams)
      check(aclrtSynchronizeStream(stream->get()), "aclrtSynchronizeStream");
  }
  void startStep() {
    for (const std::unique_ptr<CannStream> &stream : streams)
      stream->startStep();
  }
  /// Starts a part of the step, by its number.
  void startPart(size_t number) {
    for (const std::unique_ptr<CannStream> &stream : streams)
      stream->startPart(number);
  }

  /// Notes that in each step the device buffer has the contents of host memory,
  /// which the program copies with CANN. Checks of its calls need to see the
  /// copies.
  void mirror(const char *onDevice, const char *onHost, size_t bytes) {
    mirrors.push_back({onDevice, onHost, bytes});
  }
  float getHostValue(const char *onDevice) const {
    for (const Mirror &mirror : mirrors)
      if (onDevice >= mirror.device &&
          onDevice < mirror.device + mirror.bytes) {
        float value = 0;
        check(aclrtMemcpy(&value, sizeof(value),
                          mirror.host + (onDevice - mirror.device),
                          sizeof(value), ACL_MEMCPY_HOST_TO_HOST),
              "aclrtMemcpy");
        return value;
      }
    throw std::runtime_error("a scalar has no value in host memory");
  }
  /// Returns the host memory from which these bytes were copied last, or null.
  const char *findLoaded(const char *onDevice, size_t bytes) const {
    auto found = loads.find(onDevice);
    return found != loads.end() && bytes <= found->second.second
               ? found->second.first
               : nullptr;
  }
  /// Notes that the device memory always holds this integer.
  void addKnown(const char *onDevice, int32_t value) {
    known[onDevice] = value;
  }
  const int32_t *findKnown(const char *onDevice) const {
    auto found = known.find(onDevice);
    return found == known.end() ? nullptr : &found->second;
  }
  CannTensor getCausalMask();

  /// Runs `step` without launching anything, to learn how much memory its
  /// operators need, and allocates that memory. `room` is the memory that the
  /// plan leaves.
  template <typename Step> void prepare(Step step, int64_t room) {
    isAsking = true;
    step();
    isAsking = false;
    allocateWorkspaces(room);
  }
  bool asks() const { return isAsking; }
  /// Connects the channels, which must outlive the rank. Their buffers of
  /// `bytes` bytes count as needed memory.
  void connect(CannChannels &connected, size_t bytes) {
    channels = &connected;
    bufferBytes = bytes;
  }
  CannChannels &getChannels() const { return *channels; }
  KeptValues &getKept() { return kept; }
  size_t getWorkspaceBytes() const;
  size_t countExecutors() const {
    size_t number = 0;
    for (const std::unique_ptr<CannStream> &stream : streams)
      number += stream->countExecutors();
    return number;
  }

private:
  struct Mirror {
    const char *device;
    const char *host;
    size_t bytes;
  };
  [[noreturn]] void failWithoutRoom(size_t needed, size_t room,
                                    const char *whose) const;
  void allocateWorkspaces(int64_t room);

  CannBlock arena, hostMemory, mask;
  std::vector<std::unique_ptr<CannStream>> streams;
  std::vector<aclrtEvent> events;
  std::vector<Mirror> mirrors;
  std::map<const char *, int32_t> known;
  std::map<const char *, std::pair<const char *, size_t>> loads;
  bool isAsking = false, isCapturing = false;
  /// For each event, whether a captured model was the last to record it, and
  /// whether the model records it.
  std::vector<bool> isInModel, isCaptured;
  CannChannels *channels = nullptr;
  KeptValues kept;
  size_t bufferBytes = 0;
};

template <typename... Parameters, typename... Given>
void CannStream::call(const char *function,
                      aclnnStatus (*prepare)(Parameters...), LaunchPhase run,
                      Given &&...arguments) {
  std::unique_ptr<CannExecutor> made;
  CannExecutor *executor = executors.next();
  if (!executor) {
    made = std::make_unique<CannExecutor>();
    executor = made.get();
    if (!isOrdered)
      setDeterministic(false);
    if (const aclnnStatus status = made->prepare(prepare, arguments...))
      failToPrepare(function, status);
    if (!isOrdered)
      setDeterministic(true);
  }
  launch(function, std::move(made), executor, run);
}

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_RANK_H
