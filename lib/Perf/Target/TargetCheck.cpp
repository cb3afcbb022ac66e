//===- TargetCheck.cpp - Checks of a target's numbers ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Target/TargetFields.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace mf::target {

static Error fail(const Twine &path, const Twine &message) {
  return make_error<TargetError>(path.str(), message.str());
}

/// Checks that a name can be a word of a path and of MLIR.
static Error checkName(const Twine &path, StringRef name) {
  const bool isWord =
      !name.empty() && (isAlpha(name.front()) || name.front() == '_') &&
      all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
  if (isWord)
    return Error::success();
  return fail(path, "expected a name of letters, digits and underscores, but "
                    "got '" +
                        name + "'");
}

/// Returns the same error with a path that is inside `path`.
static Error inside(const Twine &path, Error error) {
  return handleErrors(std::move(error), [&](const TargetError &inner) -> Error {
    return fail(inner.getPath().empty() ? path : path + "." + inner.getPath(),
                inner.getMessage());
  });
}

template <typename Entry> static Error checkNumbers(const Entry &entry) {
  Entry copy = entry;
  for (const Field &field : getFields(copy))
    if (Error error = checkRange(field, field.getNumber()))
      return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Engines, memory, kernels
//===----------------------------------------------------------------------===//

Error checkEntry(const ComputeEngine &engine) {
  if (engine.peaks.empty())
    return fail("", "expected its FLOPs per second for at least one element "
                    "type, as in f32 = 7.5e13");
  SmallVector<DType, 3> types;
  for (const Peak &peak : engine.peaks) {
    if (!is_contained({DType::F32, DType::BF16, DType::F16}, peak.type))
      return fail(getName(peak.type), "expected an element type of f32, bf16 "
                                      "and f16");
    if (is_contained(types, peak.type))
      return fail(getName(peak.type), "is there twice");
    types.push_back(peak.type);
  }
  return checkNumbers(engine);
}

Error checkEntry(const Memory &memory) {
  if (Error error = checkNumbers(memory))
    return error;
  if (memory.cacheGain > 0 && memory.cacheBytes == 0)
    return fail("cache_gain", "a gain of data in the cache needs the cache's "
                              "size, cache_bytes");
  if (memory.poolLeastBytes > memory.poolMostBytes)
    return fail("pool_least_bytes", "expected at most pool_most_bytes, " +
                                        Twine(memory.poolMostBytes));
  if (memory.runtimeLeastBytes > memory.runtimeMostBytes)
    return fail("runtime_least_bytes", "expected at most runtime_most_bytes, " +
                                           Twine(memory.runtimeMostBytes));
  if (memory.deviceBytes != 0 && memory.deviceBytes < memory.bytes)
    return fail("device_bytes",
                "expected at least the bytes that programs can use, " +
                    Twine(memory.bytes));
  return Error::success();
}

Error checkEntry(const HostLink &host) { return checkNumbers(host); }

Error checkEntry(const Saturation &saturation) {
  return checkNumbers(saturation);
}

Error checkEntry(const KernelRate &rate) {
  if (Error error = checkNumbers(rate))
    return error;
  StringSet<> measures;
  for (const Saturation &saturation : rate.saturations) {
    if (Error error = checkName("", saturation.measure))
      return error;
    if (!measures.insert(saturation.measure).second)
      return fail(saturation.measure, "is there twice");
    if (Error error = inside(saturation.measure, checkEntry(saturation)))
      return error;
  }
  return Error::success();
}

static Error checkEngines(const Target &target) {
  SmallVector<Engine, 2> engines;
  for (const ComputeEngine &engine : target.engines) {
    const std::string path = ("engines." + getName(engine.engine)).str();
    if (engine.engine != Engine::Cube && engine.engine != Engine::Vector)
      return fail(path, "does not compute; expected cube and vector");
    if (is_contained(engines, engine.engine))
      return fail(path, "is there twice");
    engines.push_back(engine.engine);
    if (Error error = inside(path, checkEntry(engine)))
      return error;
  }
  for (Engine engine : {Engine::Cube, Engine::Vector})
    if (!is_contained(engines, engine))
      return fail("engines", "there is no engine '" + getName(engine) +
                                 "'; expected cube and vector");
  return Error::success();
}

/// Checks that the kind is one that kernels have, and that its rate depends on
/// measures of theirs.
static Error checkKind(const KernelRate &rate) {
  const std::string path = "kernels." + rate.kind;
  ArrayRef<StringRef> kinds = getKernelKinds();
  if (!is_contained(kinds, StringRef(rate.kind)))
    return fail(path, "no kernel is of this kind" +
                          suggestOrListNames(rate.kind, kinds));
  const SmallVector<StringRef> measures = getMeasureNames(rate.kind);
  for (const Saturation &saturation : rate.saturations)
    if (!is_contained(measures, StringRef(saturation.measure)))
      return fail(path + "." + saturation.measure,
                  "no measure of these kernels; known are " +
                      join(measures, ", "));
  return Error::success();
}

static Error checkKernels(const Target &target) {
  StringSet<> kinds;
  for (const KernelRate &rate : target.kernels) {
    const std::string path = "kernels." + rate.kind;
    if (Error error = checkName("kernels", rate.kind))
      return error;
    if (!kinds.insert(rate.kind).second)
      return fail(path, "is there twice");
    if (Error error = checkKind(rate))
      return error;
    if (Error error = inside(path, checkEntry(rate)))
      return error;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Networks
//===----------------------------------------------------------------------===//

/// The members of the innermost network.
static constexpr StringLiteral deviceName = "npu";

static const Network *findNetwork(const Target &target, StringRef name) {
  const auto found = find_if(target.networks,
                             [&](const Network &n) { return n.name == name; });
  return found == target.networks.end() ? nullptr : &*found;
}

/// Fails if a network joins itself through others: "a joins b, which joins a".
static Error checkCycle(const Target &target, const Network &network) {
  std::string circle = "joins '" + network.of + "'";
  const Network *inner = &network;
  for (size_t i = 0; i < target.networks.size(); ++i) {
    inner = findNetwork(target, inner->of);
    if (!inner)
      return Error::success();
    if (inner == &network)
      return fail("networks." + network.name,
                  circle +
                      ": networks in a circle; the innermost must be of = " +
                      deviceName);
    circle += ", which joins '" + inner->of + "'";
  }
  return Error::success();
}

Error checkEntry(const Network &network) {
  if (Error error = checkNumbers(network))
    return error;
  if (network.of.empty())
    return fail("", "expected what it joins, of = " + deviceName +
                        " or of = another network");
  return Error::success();
}

static Error checkJoined(const Target &target, const Network &network) {
  const std::string path = "networks." + network.name;
  if (network.of == deviceName)
    return Error::success();
  if (network.of == network.name)
    return fail(path, "joins itself; expected of = " + deviceName +
                          " or another network");
  const Network *inner = findNetwork(target, network.of);
  if (!inner) {
    SmallVector<StringRef> known = {deviceName};
    for (const Network &other : target.networks)
      if (&other != &network)
        known.push_back(other.name);
    return fail(path, "there is no network '" + network.of +
                          "' for it to join; known are " + join(known, ", "));
  }
  if (inner->size == 0)
    return fail("networks." + inner->name,
                "'" + network.name +
                    "' joins groups of it; expected their size");
  return checkCycle(target, network);
}

static Error checkNetworks(const Target &target) {
  StringSet<> names;
  for (const Network &network : target.networks) {
    if (Error error = checkName("networks", network.name))
      return error;
    const std::string path = "networks." + network.name;
    if (network.name == deviceName)
      return fail(path, "'" + deviceName +
                            "' is what the device is called; expected another "
                            "name");
    if (!names.insert(network.name).second)
      return fail(path, "is there twice");
    if (Error error = inside(path, checkEntry(network)))
      return error;
  }
  for (const Network &network : target.networks)
    if (Error error = checkJoined(target, network))
      return error;
  // No network joins itself and all are joined, so that only their order can be
  // wrong.
  StringRef inner = deviceName;
  for (const Network &network : target.networks) {
    if (network.of != inner)
      return fail("networks." + network.name,
                  "expected it to join '" + inner + "' and not '" + network.of +
                      "': networks are listed from the innermost on, each "
                      "joins groups of the one before");
    inner = network.name;
  }
  return Error::success();
}

Error check(const Target &target) {
  if (target.name.empty())
    return fail("", "expected the target's name");
  if (Error error = checkEngines(target))
    return error;
  if (Error error = inside("memory", checkEntry(target.memory)))
    return error;
  if (Error error = inside("host", checkEntry(target.host)))
    return error;
  if (Error error = checkKernels(target))
    return error;
  if (Error error = checkNetworks(target))
    return error;
  return checkNumbers(target);
}

} // namespace mf::target
