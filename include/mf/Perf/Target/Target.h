//===- Target.h - Rates and sizes of devices and networks -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The performance of a device and of the networks between devices: rates of
// engines, memory, kernels of each kind and links. It is read from
// #ascend.device (TargetFile.h). This library does not depend on MLIR. Rates
// are per second, times in seconds, sizes in bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_TARGET_TARGET_H
#define MF_PERF_TARGET_TARGET_H

#include "mf/Program/Signatures/KernelSignature.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::target {

/// The floating-point operations per second of an engine for an element type.
struct Peak {
  DType type = DType::BF16;
  double flopsPerSecond = 0;
};

/// An engine that computes: the cube or the vector units.
struct ComputeEngine {
  Engine engine = Engine::Cube;
  /// At most one peak for each type. A type without one runs at the rate of
  /// f32.
  std::vector<Peak> peaks;
};

/// Device memory.
struct Memory {
  int64_t bytes = 0;
  /// The rate at which data stream from and to memory.
  double bytesPerSecond = 0;
  /// The gain for data that stay in the cache: a kernel of the vector engine
  /// whose largest operand has A bytes runs at the rate `bytesPerSecond * (1 +
  /// cacheGain / (1 + (A/cacheBytes)^2))`.
  double cacheGain = 0;
  double cacheBytes = 0;

  // The rest is what a job takes beside its live tensors (DeviceNeed.h); 0 if
  // it is not known.

  /// The whole memory, as npu-smi counts it, and what it takes without a job.
  int64_t deviceBytes = 0;
  int64_t idleBytes = 0;
  /// The allocator's pool is a multiple of `pageBytes`. It was seen to have
  /// from `poolLeastBytes` to `poolMostBytes` more than the largest sum of
  /// blocks.
  int64_t pageBytes = 0;
  int64_t poolLeastBytes = 0;
  int64_t poolMostBytes = 0;
  /// The buffers of HCCL_BUFFSIZE that each communicator has.
  int64_t communicatorBuffers = 0;
  /// What is neither in the pool nor in these buffers: from context, streams
  /// and binaries of kernels to what a profiler keeps.
  int64_t runtimeLeastBytes = 0;
  int64_t runtimeMostBytes = 0;
};

/// The dependence of a kernel's efficiency on one of its measures m
/// (KernelSignature::measures): m / (m + half), multiplied by min(1, m /
/// full)^power if `full` is not 0.
struct Saturation {
  /// The name of the measure, for example "keys", "rows" or "flops".
  std::string measure;
  double half = 0;
  double full = 0;
  double power = 1;
};

/// The performance of kernels of one kind (KernelCost.h).
struct KernelRate {
  /// The kind in kernel signatures, for example "matmul" or "attention".
  std::string kind;
  /// The fraction of the engine's peak that the kernels reach. If 0, operations
  /// take no time and only bytes count.
  double peakShare = 0;
  /// How many times the operands are moved, relative to once each. Above 1 if
  /// the device's software runs several operators for one kernel.
  double passes = 1;
  /// The same with graph kernel fusion (jit_level O1); 0 stands for `passes`.
  double fusedPasses = 0;
  double latency = 0;
  std::vector<Saturation> saturations;
};

/// The topology of a network.
enum class Wiring : uint8_t {
  /// Each pair of members has a link of its own. Between groups, each device of
  /// a group has a link to each other group.
  Mesh,
  /// Each device has one port, and all ports reach each other.
  Switch
};

/// A network of devices, or of the groups that another network forms. Ranks are
/// placed in order: the first `size` members are the first group.
struct Network {
  std::string name;
  /// The members of the network: "npu", or the name of another network for its
  /// groups.
  std::string of;
  /// The number of members of a group; 0 for no limit.
  int64_t size = 0;
  Wiring wiring = Wiring::Switch;
  /// The rate in each direction, of each link of a mesh or of each device's
  /// port into a switch.
  double bytesPerSecond = 0;
  /// The fractions of the rate that collectives and messages between two ranks
  /// reach.
  double collectiveShare = 1;
  double messageShare = 1;
  /// The latency of a collective and of a message, which is added to the time
  /// of its bytes.
  double collectiveLatency = 0;
  double messageLatency = 0;
  /// The share of their speed that kernels keep while a collective or message
  /// is under way on their device.
  double hidden = 1;
  /// The share of its speed that a collective or message keeps while kernels
  /// run.
  double besideKernels = 1;
};

/// The link between a device and its host.
struct HostLink {
  double toHostBytesPerSecond = 0;
  double toDeviceBytesPerSecond = 0;
  double latency = 0;
};

/// A device and the networks that join devices.
struct Target {
  std::string name;
  std::vector<ComputeEngine> engines;
  Memory memory;
  HostLink host;
  /// The rates of kernels, at most one per kind. A launch of a kernel whose
  /// kind has none is an error.
  std::vector<KernelRate> kernels;
  /// The networks, innermost first. Each one joins groups of the previous one.
  std::vector<Network> networks;
  /// The time of a step on the host, in addition to the time of devices.
  double stepLatency = 0;

  /// Returns the rate of a kind, or null if there is none.
  const KernelRate *findKernelRate(llvm::StringRef kind) const;
  /// Returns the peak of the type, or that of f32; 0 if there is neither.
  double getPeak(Engine engine, DType type) const;
};

/// A number of a target that can be changed or fitted.
struct Parameter {
  /// The path, for example "kernels.attention.peak_share",
  /// "networks.hccs.collective_share", "engines.cube.bf16" or
  /// "memory.bytes_per_second".
  std::string path;
  double *value = nullptr;
};

/// Returns all parameters in the order of the description. They are valid as
/// long as the target's lists do not change.
std::vector<Parameter> getParameters(Target &target);

/// Sets a number by its path. The integers `memory.bytes` and
/// `networks.NAME.size` are included. The error states the range of the number,
/// or suggests the nearest path.
llvm::Error setParameter(Target &target, llvm::StringRef path, double value);

/// Checks the target as the verifier of #ascend.device does, with the same
/// errors.
llvm::Error check(const Target &target);

} // namespace mf::target

#endif // MF_PERF_TARGET_TARGET_H
