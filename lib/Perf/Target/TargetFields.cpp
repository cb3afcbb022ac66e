//===- TargetFields.cpp - Names and checks of a target's numbers ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Target/TargetFields.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <array>
#include <charconv>
#include <cmath>
#include <set>

using namespace llvm;

namespace mf::target {

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

StringRef getDescription(Range range) {
  switch (range) {
  case Range::Positive:
    return "a number above 0";
  case Range::NotNegative:
    return "a number of at least 0";
  case Range::Share:
    return "a share from 0 to 1";
  case Range::PositiveShare:
    return "a share above 0, up to 1";
  }
  llvm_unreachable("covered switch");
}

bool contains(Range range, double number) {
  if (!std::isfinite(number))
    return false;
  switch (range) {
  case Range::Positive:
    return number > 0;
  case Range::NotNegative:
    return number >= 0;
  case Range::Share:
    return number >= 0 && number <= 1;
  case Range::PositiveShare:
    return number > 0 && number <= 1;
  }
  llvm_unreachable("covered switch");
}

double Field::getNumber() const {
  return std::visit(
      [](const auto *number) { return static_cast<double>(*number); }, value);
}

std::string formatTargetNumber(double number) {
  if (!std::isfinite(number))
    return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  // -0 would be another number than the integer 0.
  if (number == 0)
    return "0";
  std::string text = formatExact(number);
  // MLIR reads 4e-06 as the integer 4 followed by a word.
  if (const size_t exponent = text.find('e');
      exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  return text;
}

Error checkRange(const Field &field, double number) {
  // Doubles represent all integers up to here.
  constexpr double maximum = static_cast<double>(int64_t{1} << 53);
  auto fail = [&](const Twine &expected) {
    return make_error<TargetError>(
        field.name.str(),
        ("expected " + expected + ", but got " + formatTargetNumber(number))
            .str());
  };
  if (!contains(field.range, number))
    return fail(getDescription(field.range));
  if (std::holds_alternative<int64_t *>(field.value) &&
      (number > maximum || number != std::floor(number)))
    return fail("an integer of at most 2^53");
  if (number > field.most)
    return fail("at most " + formatTargetNumber(field.most));
  const bool isAboveZero =
      field.range == Range::Positive || field.range == Range::PositiveShare;
  if (isAboveZero && number < leastPositive)
    return fail("at least " + formatTargetNumber(leastPositive));
  return Error::success();
}

void assign(const Field &field, double number) {
  std::visit(
      [&](auto *to) {
        *to = static_cast<std::remove_pointer_t<decltype(to)>>(number);
      },
      field.value);
}

ArrayRef<StringRef> getMeasureNames() {
  static const std::vector<StringRef> names = [] {
    std::set<StringRef> all;
    for (const KernelSignature &signature : getKernelSignatures())
      for (const MeasureSignature &measure : signature.measures)
        all.insert(measure.name);
    return std::vector<StringRef>(all.begin(), all.end());
  }();
  return names;
}

SmallVector<StringRef> getMeasureNames(StringRef kind) {
  SmallVector<StringRef> names(getMeasureNames());
  for (const KernelSignature &signature : getKernelSignatures())
    if (signature.kind == kind)
      erase_if(names, [&](StringRef name) {
        return none_of(signature.measures, [&](const MeasureSignature &known) {
          return known.name == name;
        });
      });
  return names;
}

char TargetError::ID = 0;

void TargetError::log(raw_ostream &os) const {
  if (!path.empty())
    os << path << ": ";
  os << message;
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

Fields getFields(ComputeEngine &engine) {
  Fields fields;
  for (Peak &peak : engine.peaks)
    fields.push_back({getName(peak.type), &peak.flopsPerSecond, Range::Positive,
                      /*isOptional=*/true});
  return fields;
}

Fields getFields(Memory &memory) {
  return {
      {"bytes", &memory.bytes, Range::Positive, false},
      {"bytes_per_second", &memory.bytesPerSecond, Range::Positive, false},
      {"cache_gain", &memory.cacheGain, Range::NotNegative, true},
      {"cache_bytes", &memory.cacheBytes, Range::NotNegative, true},
      {"device_bytes", &memory.deviceBytes, Range::NotNegative, true},
      {"idle_bytes", &memory.idleBytes, Range::NotNegative, true},
      {"page_bytes", &memory.pageBytes, Range::NotNegative, true},
      {"pool_least_bytes", &memory.poolLeastBytes, Range::NotNegative, true},
      {"pool_most_bytes", &memory.poolMostBytes, Range::NotNegative, true},
      {"communicator_buffers", &memory.communicatorBuffers, Range::NotNegative,
       true},
      {"runtime_least_bytes", &memory.runtimeLeastBytes, Range::NotNegative,
       true},
      {"runtime_most_bytes", &memory.runtimeMostBytes, Range::NotNegative,
       true}};
}

Fields getFields(HostLink &host) {
  return {{"to_host_bytes_per_second", &host.toHostBytesPerSecond,
           Range::Positive, false},
          {"to_device_bytes_per_second", &host.toDeviceBytesPerSecond,
           Range::Positive, false},
          {"latency", &host.latency, Range::NotNegative, true, mostLatency}};
}

Fields getFields(Saturation &saturation) {
  constexpr double mostPower = 16;
  return {{"half", &saturation.half, Range::NotNegative, true},
          {"full", &saturation.full, Range::NotNegative, true},
          {"power", &saturation.power, Range::NotNegative, true, mostPower}};
}

Fields getFields(KernelRate &rate) {
  return {{"peak_share", &rate.peakShare, Range::Share, true},
          {"passes", &rate.passes, Range::Positive, true},
          {"fused_passes", &rate.fusedPasses, Range::NotNegative, true},
          {"latency", &rate.latency, Range::NotNegative, true, mostLatency}};
}

Fields getFields(Network &network) {
  return {
      {"size", &network.size, Range::NotNegative, true},
      {"bytes_per_second", &network.bytesPerSecond, Range::Positive, false},
      {"collective_share", &network.collectiveShare, Range::PositiveShare,
       true},
      {"message_share", &network.messageShare, Range::PositiveShare, true},
      {"collective_latency", &network.collectiveLatency, Range::NotNegative,
       true, mostLatency},
      {"message_latency", &network.messageLatency, Range::NotNegative, true,
       mostLatency},
      {"hidden", &network.hidden, Range::Share, true},
      {"beside_kernels", &network.besideKernels, Range::PositiveShare, true}};
}

Fields getFields(Target &target) {
  return {{"step_latency", &target.stepLatency, Range::NotNegative, true,
           mostLatency}};
}

void forEachField(Target &target,
                  function_ref<void(StringRef path, const Field &)> handle) {
  auto handleAll = [&](const Twine &prefix, const Fields &fields) {
    for (const Field &field : fields)
      handle((prefix + field.name).str(), field);
  };
  for (ComputeEngine &engine : target.engines)
    handleAll("engines." + getName(engine.engine) + ".", getFields(engine));
  handleAll("memory.", getFields(target.memory));
  handleAll("host.", getFields(target.host));
  for (KernelRate &rate : target.kernels) {
    const std::string prefix = "kernels." + rate.kind + ".";
    handleAll(prefix, getFields(rate));
    for (Saturation &saturation : rate.saturations)
      handleAll(prefix + saturation.measure + ".", getFields(saturation));
  }
  for (Network &network : target.networks)
    handleAll("networks." + network.name + ".", getFields(network));
  handleAll("", getFields(target));
}

} // namespace mf::target
