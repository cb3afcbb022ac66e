//===- RotaryReader.cpp - Wave lengths of rotary embedding ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"
#include <cmath>

namespace mf {

constexpr double pi = 3.14159265358979323846;

/// Llama 3.1: waves that are long relative to the original training length are
/// stretched by `factor`, short ones are unchanged, and those between are
/// interpolated.
static void readLlama3(SpecReader &reader, RotarySpec &rotary) {
  const double factor = reader.readPositive(keys::ropeFactor, 8.0);
  const double low = reader.readPositive(keys::lowFrequencyFactor, 1.0);
  const double high = reader.readPositive(keys::highFrequencyFactor, 4.0);
  const double length =
      reader.readPositive(keys::originalMaxPositions.getAllNames(), 8192.0);
  if (low >= high) {
    reader.error(keys::highFrequencyFactor,
                 "expected {key} above " +
                     quote(keys::lowFrequencyFactor.getName()));
    return;
  }
  rotary.frequencies.clear();
  for (int64_t i = 0; i < rotary.size; i += 2) {
    const double frequency =
        std::pow(rotary.base,
                 -static_cast<double>(i) / static_cast<double>(rotary.size));
    const double waves = length * frequency / (2 * pi);
    const double kept =
        std::min(1.0, std::max(0.0, (waves - low) / (high - low)));
    rotary.frequencies.push_back(frequency * (kept + (1 - kept) / factor));
  }
}

double getYarnScale(double factor, double scale) {
  return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
}

void setYarnFrequencies(const YarnSpec &yarn, RotarySpec &rotary) {
  // Waves that do not grow have no dimension to find.
  if (rotary.base <= 1)
    return;
  const auto size = static_cast<double>(rotary.size);
  // Returns the dimension whose wave has `turns` turns within the length.
  auto getDimension = [&](double turns) {
    return size * std::log(yarn.length / (2 * pi * turns)) /
           (2 * std::log(rotary.base));
  };
  const double low = std::max(std::floor(getDimension(yarn.betaFast)), 0.0);
  double high = std::min(std::ceil(getDimension(yarn.betaSlow)), size - 1);
  if (low == high)
    high += 0.001;
  rotary.frequencies.clear();
  for (int64_t i = 0; i < rotary.size / 2; ++i) {
    const double frequency =
        std::pow(rotary.base, -2 * static_cast<double>(i) / size);
    const double stretched = std::min(
        1.0, std::max(0.0, (static_cast<double>(i) - low) / (high - low)));
    rotary.frequencies.push_back(frequency *
                                 (1 - stretched + stretched / yarn.factor));
  }
}

/// Returns the names of keys as `a, b and c`.
static std::string listNames(llvm::ArrayRef<const ModelKey *> list) {
  std::string names;
  for (const ModelKey *key : list)
    names += ((names.empty()        ? ""
               : key == list.back() ? " and "
                                    : ", ") +
              key->getName())
                 .str();
  return names;
}

static constexpr const ModelKey *llama3Keys[] = {
    &keys::ropeFactor, &keys::lowFrequencyFactor, &keys::highFrequencyFactor,
    &keys::originalMaxPositions};
static constexpr const ModelKey *yarnKeys[] = {
    &keys::ropeFactor, &keys::originalMaxPositions,
    &keys::betaSlow,   &keys::betaFast,
    &keys::mscale,     &keys::mscaleAllDim};

/// Reads scaling_factor of extend_method YARN, in which all of these keys are
/// required.
static void readYarn(SpecReader &reader, RotarySpec &rotary) {
  YarnSpec yarn;
  double *values[] = {&yarn.factor,   &yarn.length, &yarn.betaSlow,
                      &yarn.betaFast, &yarn.scale,  &yarn.scaleOfAllDims};
  for (auto [key, value] : llvm::zip_equal(yarnKeys, values)) {
    std::optional<double> number = reader.readNumber(*key);
    const bool isAnyNumber = key == &keys::mscale || key == &keys::mscaleAllDim;
    if (number && (*number > 0 || isAnyNumber))
      *value = *number;
    else
      reader.error(*key, "expected a number above 0 for {key} in " +
                             reader.getName() + ": " +
                             keys::extendMethod.getName() + " 'YARN' needs " +
                             listNames(yarnKeys));
  }
  setYarnFrequencies(yarn, rotary);
  rotary.amplitude = getYarnScale(yarn.factor, yarn.scale) /
                     getYarnScale(yarn.factor, yarn.scaleOfAllDims);
}

/// Reads a method whose scaling_factor is a map of the keys `inMap`.
static void readScalingMap(SpecReader &reader, RotarySpec &rotary,
                           llvm::StringRef method,
                           llvm::ArrayRef<const ModelKey *> inMap,
                           void (*read)(SpecReader &, RotarySpec &)) {
  Node scaling = reader.find(keys::scalingFactor);
  SpecReader inner(scaling, reader.nameOf(keys::scalingFactor),
                   reader.diagnostics, reader.naming);
  if (scaling.isMap())
    read(inner, rotary);
  else
    reader.error(keys::scalingFactor, "expected a map for {key} with " +
                                          keys::extendMethod.getName() + " " +
                                          quote(method) + ": " +
                                          listNames(inMap));
}

static void warnNotModelled(SpecReader &reader, const Location &place,
                            llvm::StringRef key, llvm::StringRef method) {
  reader.diagnostics.warning(place, key + " " + quote(method) +
                                        " is not modelled; the rotary tables "
                                        "are those without scaling");
}

void readRotary(SpecReader &reader, ModelSpec &spec,
                const SpecReader::Keys &base, int64_t size,
                llvm::StringRef defaultMethod, double defaultBase) {
  spec.rotary.size = size;
  spec.rotary.base = reader.readPositive(base, defaultBase);
  std::string method = reader.readString(keys::extendMethod, defaultMethod);
  const Location place = reader.locate(keys::extendMethod);
  if (method == "None") {
    reader.markRead(keys::scalingFactor);
  } else if (method == "PI") {
    spec.rotary.positionScale =
        1.0 / reader.readPositive(keys::scalingFactor, 1.0);
  } else if (method == "NTK") {
    spec.rotary.base *= reader.readPositive(keys::scalingFactor, 1.0);
  } else if (method == "LLAMA3") {
    readScalingMap(reader, spec.rotary, method, llama3Keys, readLlama3);
  } else if (method == "YARN") {
    readScalingMap(reader, spec.rotary, method, yarnKeys, readYarn);
  } else if (method == "DYNAMIC_NTK") {
    reader.markRead(keys::scalingFactor);
    warnNotModelled(reader, place, keys::extendMethod.getName(), method);
  } else {
    reader.diagnostics.error(place, "expected None, PI, NTK, YARN, LLAMA3 or "
                                    "DYNAMIC_NTK for " +
                                        quote(keys::extendMethod.getName()) +
                                        ", but got " + quote(method));
  }
}

void readRopeScaling(SpecReader &reader, ModelSpec &spec) {
  Node scaling = reader.readMap(keys::ropeScaling);
  if (!scaling.isMap())
    return;
  SpecReader inner(scaling, keys::ropeScaling.getName(), reader.diagnostics,
                   reader.naming);
  std::string type = inner.readString({"rope_type", "type"}, "default");
  if (type == "linear")
    spec.rotary.positionScale = 1.0 / inner.readPositive(keys::ropeFactor, 1.0);
  else if (type == "llama3")
    readLlama3(inner, spec.rotary);
  else if (type != "default")
    warnNotModelled(reader, scaling.getLocation(),
                    keys::ropeScaling.getName().str() + " of type", type);
}

} // namespace mf
