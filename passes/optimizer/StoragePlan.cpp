//===- StoragePlan.cpp - Parameters that are sharded over ranks -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/StoragePlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace mf::ir;

namespace mf::passes {

/// Returns the axes along which ranks hold the same part, in the order of
/// ranks. Stages have different parameters.
static Axes getReplicas(const MeshSizes &mesh, const Layout &layout) {
  Axes axes;
  for (auto [axis, size] : mesh.axes)
    if (axis != "pp" && size > 1 && !layout.cutsOver(axis))
      axes.push_back(axis);
  return axes;
}

/// Returns the innermost of `axes` with `size` ranks in total; none if no
/// number of axes has that size. The ranks that shard a parameter are
/// neighbours.
static std::optional<Axes> takeInner(const MeshSizes &mesh,
                                     llvm::ArrayRef<llvm::StringRef> axes,
                                     int64_t size) {
  size_t first = axes.size();
  int64_t ranks = 1;
  while (first > 0 && ranks < size)
    ranks *= mesh.getSize(axes[--first]);
  if (ranks != size)
    return std::nullopt;
  return Axes(axes.drop_front(first));
}

/// Axes with summands are scattered first, then those with equal values, so the
/// axes with summands must be the outer ones.
static bool hasSummandsOutside(const Layout &layout,
                               llvm::ArrayRef<llvm::StringRef> axes) {
  auto isReduced = [&](llvm::StringRef axis) {
    return llvm::is_contained(layout.reduced, axis);
  };
  return std::is_partitioned(axes.begin(), axes.end(), isReduced);
}

static constexpr llvm::StringLiteral mixedSummands =
    "its gradient is the same on ranks of an outer axis and summed over those "
    "of an inner one";

/// Returns the number of parts of a parameter that `ranks` divide further, or 0
/// if it does not have the dimension for that.
static int64_t getParts(const MeshSizes &mesh, const UsedParameter &parameter,
                        int64_t ranks) {
  if (parameter.dim >= parameter.shape.size())
    return 0;
  return mesh.getNumParts(parameter.layout.cuts[parameter.dim]) * ranks;
}

/// Returns why a parameter is not divided into `parts`, if so.
static std::optional<std::string> findRest(const UsedParameter &parameter,
                                           int64_t parts) {
  if (parts == 0)
    return "it has no dimension to divide";
  const int64_t extent = parameter.shape[parameter.dim];
  if (extent % parts == 0)
    return std::nullopt;
  return llvm::formatv("its {0} dimension, {1}, does not divide by {2}",
                       parameter.dim == 0 ? "first" : "second", extent, parts)
      .str();
}

/// A parameter's own request overrides its size and the model's setting.
static StorageDecision decideSharing(const MeshSizes &mesh,
                                     const UsedParameter &parameter) {
  const Axes &axes = *parameter.sharing;
  const int64_t ranks = mesh.getNumParts(axes);
  if (ranks == 1)
    return {{}, "no other rank shares it"};
  if (std::optional<std::string> rest =
          findRest(parameter, getParts(mesh, parameter, ranks)))
    return {{},
            *rest,
            /*isWarning=*/!parameter.mustDivide,
            /*isError=*/parameter.mustDivide};
  if (!hasSummandsOutside(parameter.layout, axes))
    return {{}, mixedSummands.str(), /*isWarning=*/true};
  return {axes, llvm::formatv("{0} ranks share it", ranks)};
}

static StorageDecision decide(const MeshSizes &mesh, int64_t threshold,
                              int64_t shardSize,
                              const UsedParameter &parameter) {
  using llvm::formatv;
  auto keep = [](std::string reason, bool isWarning = false) {
    return StorageDecision{{}, std::move(reason), isWarning};
  };
  if (parameter.sharing)
    return decideSharing(mesh, parameter);
  if (!parameter.isOptedIn)
    return keep("the model keeps it on each rank");
  int64_t bytes = parameter.elementBytes;
  for (int64_t extent : parameter.shape)
    bytes *= extent;
  if (bytes < threshold * 1024)
    return keep(formatv("has {0} bytes, less than the threshold of {1} KB",
                        bytes, threshold));
  Axes axes = getReplicas(mesh, parameter.layout);
  const int64_t copies = mesh.getNumParts(axes);
  int64_t ranks = copies;
  if (ranks == 1)
    return keep("no other rank has the same part");
  if (shardSize > 0) {
    if (ranks % shardSize != 0)
      return keep(formatv("{0} ranks have the same part, which does not divide "
                          "by optimizer_weight_shard_size {1}",
                          ranks, shardSize),
                  /*isWarning=*/true);
    std::optional<Axes> inner = takeInner(mesh, axes, shardSize);
    if (!inner)
      return keep(
          formatv("optimizer_weight_shard_size {0} is not the product of the "
                  "inner axes of its {1} ranks: [{2:$[, ]}]",
                  shardSize, ranks, llvm::make_range(axes.begin(), axes.end())),
          /*isWarning=*/true);
    axes = *inner;
    ranks = shardSize;
  }
  if (ranks == 1)
    return keep("optimizer_weight_shard_size is 1");
  if (std::optional<std::string> rest =
          findRest(parameter, getParts(mesh, parameter, ranks)))
    return keep(*rest);
  if (!hasSummandsOutside(parameter.layout, axes))
    return keep(mixedSummands.str());
  if (ranks < copies)
    return {
        axes,
        formatv("{0} of the {1} ranks that have the same part", ranks, copies),
        false};
  return {axes, formatv("{0} ranks have the same part", ranks), false};
}

std::vector<StorageDecision>
planStorage(const MeshSizes &mesh, int64_t threshold, int64_t shardSize,
            llvm::ArrayRef<UsedParameter> parameters) {
  std::vector<StorageDecision> decisions;
  for (const UsedParameter &parameter : parameters)
    decisions.push_back(decide(mesh, threshold, shardSize, parameter));
  return decisions;
}

void printStorage(llvm::ArrayRef<UsedParameter> parameters,
                  llvm::ArrayRef<StorageDecision> decisions,
                  llvm::raw_ostream &os) {
  for (auto [parameter, decision] : llvm::zip_equal(parameters, decisions)) {
    os << parameter.name << ": ";
    if (decision.axes.empty())
      os << "kept";
    else
      os << "sharded over [" << llvm::join(decision.axes, ", ") << "]";
    os << ", " << decision.reason << '\n';
  }
}

} // namespace mf::passes
