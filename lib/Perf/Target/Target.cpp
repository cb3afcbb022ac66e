//===- Target.cpp - Rates and sizes of devices and networks ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Target/Target.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mf::target {

const KernelRate *Target::findKernelRate(StringRef kind) const {
  const auto found = find_if(
      kernels, [&](const KernelRate &rate) { return rate.kind == kind; });
  return found == kernels.end() ? nullptr : &*found;
}

double Target::getPeak(Engine engine, DType type) const {
  double fallback = 0;
  for (const ComputeEngine &known : engines)
    if (known.engine == engine)
      for (const Peak &peak : known.peaks) {
        if (peak.type == type)
          return peak.flopsPerSecond;
        if (peak.type == DType::F32)
          fallback = peak.flopsPerSecond;
      }
  return fallback;
}

std::vector<Parameter> getParameters(Target &target) {
  std::vector<Parameter> parameters;
  forEachField(target, [&](StringRef path, const Field &field) {
    if (auto *const *number = std::get_if<double *>(&field.value))
      parameters.push_back({path.str(), *number});
  });
  return parameters;
}

/// Returns the error for a path that is not that of a number.
static Error reportUnknownPath(const Target &target, StringRef path,
                               ArrayRef<std::string> paths) {
  SmallVector<StringRef> inside;
  for (StringRef known : paths)
    if (known.starts_with((path + ".").str()))
      inside.push_back(known);
  if (!inside.empty())
    return createStringError("'" + path + "' is no number; its numbers are " +
                             join(inside, ", "));
  std::string hint = suggestName(path, paths);
  if (hint.empty())
    hint = "; mf-run --print-target prints all";
  return createStringError("target '" + target.name + "' has no parameter '" +
                           path + "'" + hint);
}

Error setParameter(Target &target, StringRef path, double value) {
  std::vector<std::string> paths;
  std::optional<Field> found;
  forEachField(target, [&](StringRef known, const Field &field) {
    paths.push_back(known.str());
    if (known == path)
      found = field;
  });
  if (!found)
    return reportUnknownPath(target, path, paths);
  if (Error error = checkRange(*found, value))
    return handleErrors(
        std::move(error), [&](const TargetError &wrong) -> Error {
          return make_error<TargetError>(path.str(), wrong.getMessage().str());
        });
  assign(*found, value);
  return Error::success();
}

} // namespace mf::target
