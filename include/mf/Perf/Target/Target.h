//===- Target.h - Rates and sizes of devices and networks -------*- C++ -*-===//
//
// A device and the networks that join devices, as numbers: how fast engines,
// memory, kernels of each kind and links are. Read from #ascend.device
// (TargetFile.h). Knows no MLIR. All rates are per second, all times seconds,
// all sizes bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TARGET_TARGET_H
#define MF_TARGET_TARGET_H

#include "mf/Program/Signatures/KernelSignature.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::target {

/// Floating-point operations per second of an engine on an element type.
struct Peak {
  DType type = DType::BF16;
  double flopsPerSecond = 0;
};

/// An engine that computes: the cube or the vector units.
struct ComputeEngine {
  Engine engine = Engine::Cube;
  /// At most one for each type. A type that is not there runs at the rate of
  /// f32.
  std::vector<Peak> peaks;
};

/// Device memory.
struct Memory {
  int64_t bytes = 0;
  /// The rate of data that stream from and to memory.
  double bytesPerSecond = 0;
  /// The gain for data that stay in the cache: the rate for a kernel of the
  /// vector engine whose largest operand has A bytes is `bytesPerSecond * (1 +
  /// cacheGain / (1 + (A/cacheBytes)^2))`.
  double cacheGain = 0;
  double cacheBytes = 0;
};

/// How the efficiency of a kernel depends on one of its measures m
/// (KernelSignature::measures): m / (m + half), and, where `full` is not 0,
/// min(1, m / full)^power.
struct Saturation {
  /// "keys", "rows", "flops", ...
  std::string measure;
  double half = 0;
  double full = 0;
  double power = 1;
};

/// How fast kernels of one kind run (KernelCost.h).
struct KernelRate {
  /// As kernel signatures name it: "matmul", "attention".
  std::string kind;
  /// The share of the peak of the kernel's engine that it reaches. 0:
  /// operations take no time, only bytes count.
  double peakShare = 0;
  /// How often the operands are moved, compared with once each. Above 1 where
  /// the device's software makes several operators of it.
  double passes = 1;
  /// The same when graph kernel fusion is on (jit_level O1); 0: `passes`.
  double fusedPasses = 0;
  double latency = 0;
  std::vector<Saturation> saturations;
};

/// How the devices of a network are joined.
enum class Wiring : uint8_t {
  /// Each pair has a link of its own; where groups are joined, each device of
  /// one has a link to each other group.
  Mesh,
  /// Each device has one port, all of which reach each other.
  Switch
};

/// Devices, or groups of them that other networks join, joined by links. Ranks
/// are placed in order: the first `size` members are the first group.
struct Network {
  std::string name;
  /// The members that the network joins: "npu", or the name of another network
  /// for its groups.
  std::string of;
  /// Members of a group; 0 for any number.
  int64_t size = 0;
  Wiring wiring = Wiring::Switch;
  /// Each way: of each link of a mesh, of each device's port into a switch.
  double bytesPerSecond = 0;
  /// The shares of the rate that collectives and messages between two ranks
  /// reach.
  double collectiveShare = 1;
  double messageShare = 1;
  /// Time of a collective and of a message, added to the time of its bytes.
  double collectiveLatency = 0;
  double messageLatency = 0;
  /// The share of the time of a collective or message in which the device can
  /// compute; for the rest of the time it is held up.
  double hidden = 1;
};

/// The link between a device and its host.
struct HostLink {
  double toHostBytesPerSecond = 0;
  double toDeviceBytesPerSecond = 0;
  double latency = 0;
};

struct Target {
  std::string name;
  std::vector<ComputeEngine> engines;
  Memory memory;
  HostLink host;
  /// By kind; a kernel's kind that is not there is an error of its launch's
  /// cost.
  std::vector<KernelRate> kernels;
  /// From the innermost on: each joins groups of the one before.
  std::vector<Network> networks;
  /// Time of a step on the host, besides the time of devices.
  double stepLatency = 0;

  /// The rate of a kind; null if there is none.
  const KernelRate *findKernelRate(llvm::StringRef kind) const;
  /// The peak of the type, or of f32; 0 if there is neither.
  double getPeak(Engine engine, DType type) const;
};

/// A number of a target that can be changed or fitted.
struct Parameter {
  /// "kernels.attention.peak_share", "networks.hccs.collective_share",
  /// "engines.cube.bf16", "memory.bytes_per_second".
  std::string path;
  double *value = nullptr;
};

/// All of them, in the order of the description. Valid as long as the target's
/// lists do not change.
std::vector<Parameter> getParameters(Target &target);

/// Sets a number by its path, the integers `memory.bytes` and
/// `networks.NAME.size` included. An error gives the range of the number, or
/// names the nearest path.
llvm::Error setParameter(Target &target, llvm::StringRef path, double value);

/// Checks the numbers (negative, not finite, a network of itself, no cube, ...)
/// with the errors of the verifier of #ascend.device.
llvm::Error check(const Target &target);

} // namespace mf::target

#endif // MF_TARGET_TARGET_H
