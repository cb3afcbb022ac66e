//===- ExpertAxes.cpp - Axes over which experts are distributed -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/config/ExpertAxes.h"
#include "dialects/mf/ShardingRule.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mf::ir;

namespace mf::passes {

/// Splits `axis` so that `size` neighbours are a product of whole factors.
/// Returns false if it is already split in a way that does not fit.
static bool cutAxis(NamedAxis &axis, int64_t size) {
  if (llvm::is_contained(axis.cuts, size))
    return true;
  for (int64_t cut : axis.cuts)
    if (cut % size != 0 && size % cut != 0)
      return false;
  axis.cuts.push_back(size);
  return true;
}

bool takeInnerRanks(llvm::SmallVectorImpl<AxisSpan> &spans, int64_t size) {
  llvm::SmallVector<AxisSpan> rest(spans.begin(), spans.end());
  while (size > 1) {
    if (rest.empty())
      return false;
    AxisSpan &last = rest.back();
    if (size % last.size == 0) {
      size /= last.size;
      rest.pop_back();
      continue;
    }
    if (last.size % size != 0 || !cutAxis(*last.axis, last.stride * size))
      return false;
    last.stride *= size;
    last.size /= size;
    size = 1;
  }
  spans = std::move(rest);
  return true;
}

static bool isExpertAxis(Attribute name) {
  auto text = dyn_cast<StringAttr>(name);
  return text && text.getValue() == expertAxisName;
}

bool isCutOver(ArrayAttr cuts, StringRef axis) {
  if (!cuts)
    return false;
  for (auto names : cuts.getAsRange<ArrayAttr>())
    for (auto name : names.getAsRange<StringAttr>()) {
      StringRef rest = axis;
      if (rest.consume_front(name.getValue()) &&
          (rest.empty() || rest.starts_with("_")))
        return true;
    }
  return false;
}

std::optional<int64_t> getNumExperts(ParamOp param) {
  ArrayAttr cuts = param.getCutsAttr();
  if (!cuts)
    return std::nullopt;
  ArrayRef<int64_t> shape = param.getTensorType().getShape();
  for (auto [size, names] : llvm::zip(shape, cuts.getAsRange<ArrayAttr>()))
    if (llvm::any_of(names, isExpertAxis))
      return size;
  return std::nullopt;
}

int64_t getNumExperts(ModelOp model) {
  for (auto param : model.getBody().getOps<ParamOp>())
    if (std::optional<int64_t> count = getNumExperts(param))
      return *count;
  return 1;
}

std::optional<SmallVector<AxisSpan>>
takeReplicas(ParamOp param, int64_t expertParallel,
             MutableArrayRef<NamedAxis> axes) {
  SmallVector<AxisSpan> replicas;
  for (NamedAxis &axis : axes)
    if (!isCutOver(param.getCutsAttr(), axis.name))
      replicas.push_back({&axis, 1, axis.size});
  if (getNumExperts(param) && !takeInnerRanks(replicas, expertParallel))
    return std::nullopt;
  return replicas;
}

/// Returns the inner axes of `mesh`, with `expertParallel` ranks in total, that
/// do not cut `param` otherwise. getRankMesh has split the axes accordingly.
static Axes getExpertAxes(ParamOp param, const MeshSizes &mesh,
                          int64_t expertParallel) {
  Axes axes;
  for (auto [axis, size] : llvm::reverse(mesh.axes)) {
    if (mesh.getNumParts(axes) == expertParallel)
      break;
    if (size > 1 && axis != "pp" && !isCutOver(param.getCutsAttr(), axis))
      axes.insert(axes.begin(), axis);
  }
  return axes;
}

LogicalResult resolveExpertAxes(ModelOp model, MeshAttr mesh,
                                int64_t expertParallel) {
  MeshSizes sizes(mesh);
  std::optional<Axes> axes;
  for (auto param : model.getBody().getOps<ParamOp>()) {
    if (!getNumExperts(param))
      continue;
    Axes own = getExpertAxes(param, sizes, expertParallel);
    if (axes && *axes != own)
      return param.emitOpError("is distributed over [")
             << llvm::join(own, ", ")
             << "], but other weights of experts over ["
             << llvm::join(*axes, ", ") << "]; expected all to be cut alike";
    axes = own;
  }
  if (!axes)
    return success();
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](ArrayAttr names) -> std::optional<std::pair<Attribute, WalkResult>> {
        if (llvm::none_of(names, isExpertAxis))
          return std::nullopt;
        SmallVector<Attribute> resolved;
        for (Attribute name : names) {
          if (!isExpertAxis(name))
            resolved.push_back(name);
          else
            for (StringRef axis : *axes)
              resolved.push_back(StringAttr::get(model.getContext(), axis));
        }
        return std::make_pair(ArrayAttr::get(model.getContext(), resolved),
                              WalkResult::skip());
      });
  model.walk([&](Operation *op) { replacer.replaceElementsIn(op); });
  return success();
}

} // namespace mf::passes
