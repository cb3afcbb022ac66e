//===- ShardingRule.cpp - Sharding rules of operators ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/ShardingRule.h"
#include "dialects/mf/MfDialect.h"

using namespace mlir;

namespace mf::ir {

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static Axes getAxes(Attribute names) {
  Axes axes;
  for (auto name : cast<ArrayAttr>(names).getAsRange<StringAttr>())
    axes.push_back(name.getValue());
  return axes;
}

Layout::Layout(LayoutAttr attribute, size_t rank) : cuts(rank) {
  if (!attribute)
    return;
  for (auto [cut, names] : llvm::zip_equal(cuts, attribute.getCuts()))
    cut = getAxes(names);
  partial = getAxes(attribute.getPartial());
  reduced = getAxes(attribute.getReduced());
}

bool Layout::cutsOver(StringRef axis) const {
  return llvm::any_of(
      cuts, [&](const Axes &axes) { return llvm::is_contained(axes, axis); });
}

LayoutAttr Layout::getAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<Attribute> names;
  for (const Axes &axes : cuts)
    names.push_back(builder.getStrArrayAttr(axes));
  return LayoutAttr::get(context, builder.getArrayAttr(names),
                         builder.getStrArrayAttr(partial),
                         builder.getStrArrayAttr(reduced));
}

static void printAxes(raw_ostream &os, const Axes &axes) {
  os << '[';
  llvm::interleaveComma(axes, os);
  os << ']';
}

void Layout::print(raw_ostream &os) const {
  os << '[';
  llvm::interleaveComma(cuts, os,
                        [&](const Axes &axes) { printAxes(os, axes); });
  os << ']';
  if (!partial.empty()) {
    os << " partial ";
    printAxes(os, partial);
  }
  if (!reduced.empty()) {
    os << " reduced ";
    printAxes(os, reduced);
  }
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

MeshSizes::MeshSizes(MeshAttr mesh) {
  if (!mesh)
    return;
  for (auto [axis, size] : llvm::zip_equal(mesh.getAxes(), mesh.getSizes()))
    axes.emplace_back(axis.getValue(), size);
}

int64_t MeshSizes::getSize(StringRef axis) const {
  for (auto [name, size] : axes)
    if (name == axis)
      return size;
  return 1;
}

int64_t MeshSizes::getNumParts(ArrayRef<StringRef> cut) const {
  int64_t parts = 1;
  for (StringRef axis : cut)
    parts *= getSize(axis);
  return parts;
}

bool MeshSizes::isInOrder(ArrayRef<StringRef> names) const {
  return llvm::is_sorted(names, [&](StringRef a, StringRef b) {
    auto getPlace = [&](StringRef name) {
      return llvm::find_if(
          axes, [&](const auto &axis) { return axis.first == name; });
    };
    return getPlace(a) < getPlace(b);
  });
}

std::optional<SmallVector<Axes>> splitAxes(ArrayRef<StringRef> axes,
                                           ArrayRef<int64_t> factorSizes,
                                           const MeshSizes &mesh) {
  SmallVector<Axes> split(factorSizes.size());
  size_t factor = 0;
  int64_t rest = factorSizes.empty() ? 1 : factorSizes.front();
  for (StringRef axis : axes) {
    int64_t size = mesh.getSize(axis);
    while (rest == 1 && factor + 1 < factorSizes.size())
      rest = factorSizes[++factor];
    if (factor >= factorSizes.size() || rest % size != 0)
      return std::nullopt;
    rest /= size;
    split[factor].push_back(axis);
  }
  return split;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

bool ShardingRule::isLinear() const {
  return !linearity.empty() && llvm::all_of(linearity, [](Linearity operand) {
    return operand == Linearity::Together;
  });
}

FailureOr<ShardingRule> getShardingRule(Operation *op) {
  if (auto shardable = dyn_cast<ShardingRuleOpInterface>(op))
    return shardable.getShardingRule();
  return getKernelShardingRule(op);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

RankedTensorType getLocalType(Type type, LayoutAttr layout,
                              const MeshSizes &mesh) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  Layout cut(layout, shape.size());
  for (auto [size, axes] : llvm::zip_equal(shape, cut.cuts)) {
    int64_t parts = mesh.getNumParts(axes);
    if (size % parts != 0)
      return {};
    size /= parts;
  }
  return RankedTensorType::get(shape, tensor.getElementType());
}

} // namespace mf::ir
