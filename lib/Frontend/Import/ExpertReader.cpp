//===- ExpertReader.cpp - Experts from a YAML -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExpertReader.h"
#include <cmath>

namespace mf {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void readUnused(SpecReader &reader, const SpecReader::Keys &keys,
                llvm::StringRef neutral, const llvm::Twine &why) {
  reader.markWithoutEffect(keys, why.str());
  const llvm::StringRef key = reader.findName(keys);
  Node value = reader.getNode()[key];
  if (value.isUndefinedOrNull() || value.repr() == neutral)
    return;
  double number = 0;
  if (!neutral.getAsDouble(number) && !value.isBool() &&
      value.getFloat() == number)
    return;
  reader.diagnostics.warning(value.getLocation(), quote(key) + " in " +
                                                      reader.getName() +
                                                      " has no effect " + why);
}

int64_t readCount(SpecReader &reader, const SpecReader::Keys &keys,
                  int64_t missing) {
  int64_t count = reader.readInt(keys, missing);
  if (count >= 0 && count <= INT32_MAX)
    return count;
  reader.error(keys, "expected an int of at least 0 that fits 32 bits for " +
                         quote(reader.nameOf(keys)) + ", but got " +
                         llvm::Twine(count));
  return missing;
}

/// Returns the elements of a list. Emits an error for another value.
static std::vector<Node> readList(SpecReader &reader, const KnownKey &key) {
  Node value = reader.find(key);
  if (!value)
    return {};
  if (value.isList())
    return value.getElements();
  reader.diagnostics.error(value.getLocation(),
                           "expected a list for " + quote(key.name) +
                               ", but got " + describe(value.getKind()) + ", " +
                               value.repr(60));
  return {};
}

std::vector<NamedFactor> readLossFactors(SpecReader &reader,
                                         const KnownKey &types,
                                         const KnownKey &factors) {
  std::vector<Node> names = readList(reader, types);
  std::vector<Node> values = readList(reader, factors);
  if (names.size() != values.size()) {
    Node longer =
        reader.getNode()[(names.size() > values.size() ? types : factors).name];
    reader.diagnostics.warning(
        longer.getLocation(),
        "got " + llvm::Twine(names.size()) + " " + types.name + " but " +
            llvm::Twine(values.size()) + " " + factors.name +
            "; what is left over has no effect");
  }
  std::vector<NamedFactor> result;
  for (size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
    std::optional<double> factor = values[i].getFloat();
    if (values[i].isBool() || !factor || !std::isfinite(*factor))
      reader.diagnostics.error(values[i].getLocation(),
                               "expected a number in " + quote(factors.name) +
                                   ", but got " + values[i].repr(60));
    result.push_back({names[i].getText().str(), factor.value_or(0.0),
                      names[i].getLocation()});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

void readExperts(const TrainingConfig &config, std::optional<Release> release,
                 SpecReader &model, ModelSpec &spec) {
  const FamilyRecord &family = getFamily(spec.family);
  if (family.isMcore) {
    spec.experts = readMcoreExperts(config, spec, model);
    return;
  }
  if (family.experts) {
    spec.experts =
        readClassicExperts(config, *family.experts, release, spec, model);
    return;
  }
  Node count = config.moe.node[known::expert::numExperts.name];
  if (count.getInt().value_or(1) > 1)
    model.diagnostics.error(
        count.getLocation(),
        "expected 1 for " + quote(known::expert::numExperts.name) +
            ": layers of the " + family.name +
            " family have no experts, but got " + count.repr());
}

} // namespace mf
