//===- CheckDevice.cpp - Compares the memory limit with a device ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Decode/TargetFile.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mf/Perf/Target/DeviceNeed.h"
#include "passes/DecodedModule.h"
#include "passes/config/ConfigAttributes.h"
#include "passes/plan-memory/MemoryLimit.h"
#include "passes/plan-memory/PlanMemory.h"

namespace mf::passes {
#define GEN_PASS_DEF_CHECKDEVICE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using target::CommunicatorBuffers;

namespace {

/// The limit of device memory that a user wrote.
struct WrittenLimit {
  /// "'max_device_memory'" or "--hbm".
  std::string name;
  int64_t bytes = 0;
  /// The place in the YAML. Empty for an option.
  std::optional<mf::Location> place;
};

std::string formatGib(int64_t bytes) {
  return llvm::formatv("{0:F2} GiB", static_cast<double>(bytes) /
                                         static_cast<double>(int64_t(1) << 30));
}

struct CheckDevicePass : mf::passes::impl::CheckDeviceBase<CheckDevicePass> {
  using CheckDeviceBase::CheckDeviceBase;
  CheckDevicePass(const mf::passes::CheckDeviceOptions &options,
                  std::optional<std::string> text)
      : CheckDeviceBase(options), text(std::move(text)) {}

  void runOnOperation() override {
    markAllAnalysesPreserved();
    llvm::Expected<int64_t> buffer = target::readBufferBytes();
    if (!buffer) {
      getOperation().emitError(llvm::toString(buffer.takeError()));
      return signalPassFailure();
    }
    const std::optional<WrittenLimit> limit = findLimit();
    if (!limit)
      return;
    FailureOr<target::Target> device =
        target::readTarget(targetName, getContext());
    if (failed(device))
      return signalPassFailure();
    const target::Memory &memory = device->memory;
    if (getOperation().getOps<ascend::ProgramOp>().empty()) {
      if (limit->bytes > memory.bytes)
        warn(*limit, limit->name + " " + formatGib(limit->bytes) +
                         " is more than the " + formatGib(memory.bytes) +
                         " that a process has on '" + device->name +
                         "'; --target names the device");
      return;
    }
    // There was a warning already.
    if (limit->bytes > memory.bytes)
      return;
    if (failed(checkRest(*limit, *device, *buffer)))
      signalPassFailure();
  }

private:
  /// The text to read instead of the file.
  std::optional<std::string> text;

  std::optional<WrittenLimit> findLimit() const {
    if (!hbm.empty()) {
      if (hbm == mf::passes::noMemoryLimit)
        return std::nullopt;
      // Another pass reports text that is no size.
      if (std::optional<int64_t> bytes = parseMemorySize(hbm))
        return WrittenLimit{"--hbm", *bytes, std::nullopt};
      return std::nullopt;
    }
    DiagnosticList diagnostics;
    const TrainingConfig config =
        text ? parseTrainingConfig(*text, file, diagnostics)
             : parseTrainingConfigFile(file, diagnostics);
    if (!config.context.hasMaxDeviceMemory)
      return std::nullopt;
    const llvm::StringRef key = known::deviceMemory.name;
    return WrittenLimit{quote(key), config.context.maxDeviceMemory,
                        config.context.node[key].getLocation()};
  }

  void warn(const WrittenLimit &limit, const std::string &message) {
    if (!limit.place) {
      getOperation().emitWarning(message);
      return;
    }
    DiagnosticList diagnostics;
    diagnostics.warning(*limit.place, message);
    mf::passes::emitDiagnostics(getOperation().getLoc(), diagnostics);
  }

  /// Warns if the limit leaves less of the device than communicators and the
  /// runtime need.
  LogicalResult checkRest(const WrittenLimit &limit,
                          const target::Target &device, int64_t bufferBytes) {
    const target::Memory &memory = device.memory;
    if (memory.deviceBytes == 0 ||
        !mayLeaveTooLittle(limit, memory, bufferBytes))
      return success();
    const program::Program *program =
        getAnalysis<mf::passes::DecodedModule>().getProgram();
    if (!program)
      return failure();
    int64_t fullest = 0;
    CommunicatorBuffers most = {0, bufferBytes};
    for (const program::StageProgram &stage : program->stages)
      if (const int64_t count =
              target::countCommunicators(*program, stage.stage);
          count > most.count) {
        most.count = count;
        fullest = stage.stage;
      }
    const int64_t largest = target::getLargestPool(memory, most);
    if (limit.bytes <= largest)
      return success();
    const target::DeviceNeed need =
        target::getDeviceNeed(memory, limit.bytes, most);
    warn(limit,
         limit.name + " " + formatGib(limit.bytes) + " leaves " +
             formatGib(memory.deviceBytes - memory.idleBytes - limit.bytes) +
             " of '" + device.name + "', but stage " + std::to_string(fullest) +
             " has " + std::to_string(most.count) +
             (most.count == 1 ? " communicator" : " communicators") +
             ", whose buffers take " + formatGib(need.communicators) +
             ", and the runtime takes " + formatGib(need.runtime.least) +
             " to " + formatGib(need.runtime.most) + "; expected at most " +
             formatGib(largest) + ", or a smaller HCCL_BUFFSIZE than " +
             std::to_string(bufferBytes >> 20));
    return success();
  }

  /// Returns whether the limit could leave too little, if each set of axes of
  /// the mesh had a communicator.
  bool mayLeaveTooLittle(const WrittenLimit &limit,
                         const target::Memory &memory, int64_t bufferBytes) {
    ir::MeshAttr mesh = getOperation()->getAttrOfType<ir::MeshAttr>(
        ir::MeshAttr::attributeName);
    if (!mesh)
      return false;
    const auto axes =
        llvm::count_if(mesh.getSizes(), [](int64_t size) { return size > 1; });
    const CommunicatorBuffers all = {
        (int64_t(1) << std::min<int64_t>(axes, 30)) - 1, bufferBytes};
    return limit.bytes > target::getLargestPool(memory, all);
  }
};

} // namespace

std::unique_ptr<Pass>
mf::passes::createCheckDevice(const CheckDeviceOptions &options,
                              std::optional<std::string> text) {
  return std::make_unique<CheckDevicePass>(options, std::move(text));
}
