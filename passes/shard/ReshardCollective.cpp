//===- ReshardCollective.cpp - The collective for one mf.reshard ----------===//
//----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ReshardCollective.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mf::passes {

using ir::MeshSizes;

using ir::Axes;
using ir::Layout;

static void removeAxes(Axes &axes, ArrayRef<StringRef> removed) {
  erase_if(axes, [&](StringRef axis) { return is_contained(removed, axis); });
}

/// Sets of axes are kept sorted.
static void addAxes(Axes &axes, ArrayRef<StringRef> added) {
  axes.append(added.begin(), added.end());
  sort(axes);
}

static size_t getCommonPrefix(ArrayRef<StringRef> a, ArrayRef<StringRef> b) {
  size_t length = 0;
  while (length < a.size() && length < b.size() && a[length] == b[length])
    ++length;
  return length;
}

static bool isPrefix(ArrayRef<StringRef> prefix, ArrayRef<StringRef> axes) {
  return getCommonPrefix(prefix, axes) == prefix.size();
}

Layout applyReshard(const Layout &from, const ReshardCollective &collective) {
  Layout to = from;
  auto cut = [&] { to.cuts[collective.dim].append(collective.axes); };
  switch (collective.kind) {
  case ReshardKind::AllReduce:
    removeAxes(to.partial, collective.axes);
    break;
  case ReshardKind::ReduceScatter:
    removeAxes(to.partial, collective.axes);
    cut();
    break;
  case ReshardKind::AllGather:
    removeAxes(to.cuts[collective.dim], collective.axes);
    if (!collective.replicated)
      addAxes(to.reduced, collective.axes);
    break;
  case ReshardKind::AllToAll:
    removeAxes(to.cuts[collective.concat], collective.axes);
    cut();
    break;
  case ReshardKind::OwnPart:
    cut();
    break;
  case ReshardKind::Mirror:
    addAxes(to.reduced, collective.axes);
    break;
  }
  return to;
}

namespace {

/// Finds a path of collectives from one layout to another.
class ReshardPath {
public:
  ReshardPath(const Layout &from, const Layout &to) : at(from), to(to) {}

  /// Finds the collectives. Returns false if there is no path.
  bool find() {
    if (at.cuts.size() != to.cuts.size())
      return false;
    reducePartial();
    exchange();
    gather();
    if (!takeParts())
      return false;
    Axes mirrored = to.reduced;
    removeAxes(mirrored, at.reduced);
    if (any_of(mirrored, [&](StringRef axis) {
          return at.cutsOver(axis) || is_contained(at.partial, axis);
        }))
      return false;
    if (!mirrored.empty())
      take({ReshardKind::Mirror, mirrored});
    return at == to;
  }

  SmallVector<ReshardCollective> collectives;

private:
  void take(ReshardCollective collective) {
    at = applyReshard(at, collective);
    collectives.push_back(std::move(collective));
  }

  void reducePartial() {
    for (size_t dim = 0; dim < to.cuts.size(); ++dim) {
      if (!isPrefix(at.cuts[dim], to.cuts[dim]))
        continue;
      Axes axes;
      for (StringRef axis :
           ArrayRef(to.cuts[dim]).drop_front(at.cuts[dim].size())) {
        if (!is_contained(at.partial, axis))
          break;
        axes.push_back(axis);
      }
      if (!axes.empty())
        take({ReshardKind::ReduceScatter, axes, static_cast<int64_t>(dim)});
    }
    Axes left = at.partial;
    removeAxes(left, to.partial);
    if (!left.empty())
      take({ReshardKind::AllReduce, left});
  }

  void exchange() {
    for (size_t dim = 0; dim < to.cuts.size(); ++dim)
      exchangeOne(dim);
    for (size_t dim = 0; dim < to.cuts.size(); ++dim)
      exchangeBehind(dim);
  }

  /// Moves the innermost axes of dimension `concat` to the dimension to which
  /// they belong.
  bool exchangeOne(size_t concat) {
    const Axes cut = at.cuts[concat];
    for (size_t first = getCommonPrefix(cut, to.cuts[concat]);
         first < cut.size(); ++first)
      if (std::optional<size_t> split =
              findSplit(concat, first, cut.size() - first)) {
        take({ReshardKind::AllToAll, Axes(ArrayRef(cut).drop_front(first)),
              static_cast<int64_t>(*split), static_cast<int64_t>(concat)});
        return true;
      }
    return false;
  }

  /// Moves axes that are followed by axes which do not cut the dimension in the
  /// final layout. Only those following axes are gathered first.
  bool exchangeBehind(size_t concat) {
    const Axes cut = at.cuts[concat];
    size_t last = cut.size();
    while (last > 0 && !to.cutsOver(cut[last - 1]))
      --last;
    size_t first = getCommonPrefix(cut, to.cuts[concat]);
    if (last == cut.size())
      return false;
    for (; first < last; ++first)
      if (findSplit(concat, first, last - first)) {
        gatherTo(concat, last);
        return exchangeOne(concat);
      }
    return false;
  }

  /// Returns the next dimension to which `count` axes of dimension `concat`
  /// belong.
  std::optional<size_t> findSplit(size_t concat, size_t first, size_t count) {
    for (size_t split = 0; split < to.cuts.size(); ++split) {
      Axes together = at.cuts[split];
      together.append(Axes(ArrayRef(at.cuts[concat]).slice(first, count)));
      if (split != concat && isPrefix(together, to.cuts[split]))
        return split;
    }
    return std::nullopt;
  }

  void gather() {
    for (size_t dim = 0; dim < to.cuts.size(); ++dim)
      gatherTo(dim, getCommonPrefix(at.cuts[dim], to.cuts[dim]));
  }

  /// Gathers all but the `kept` outer axes of a dimension. Axes with the same
  /// final state are gathered together, innermost first.
  void gatherTo(size_t dim, size_t kept) {
    auto isReplicated = [&](StringRef axis) {
      return !is_contained(to.reduced, axis);
    };
    while (at.cuts[dim].size() > kept) {
      ArrayRef<StringRef> cut = at.cuts[dim];
      size_t first = cut.size() - 1;
      while (first > kept &&
             isReplicated(cut[first - 1]) == isReplicated(cut.back()))
        --first;
      take({ReshardKind::AllGather, Axes(cut.drop_front(first)),
            static_cast<int64_t>(dim), 0, isReplicated(cut.back())});
    }
  }

  /// Takes a rank's part of a value. This is only possible if the value has the
  /// same gradient on all ranks.
  bool takeParts() {
    for (size_t dim = 0; dim < to.cuts.size(); ++dim) {
      Axes rest(ArrayRef(to.cuts[dim]).drop_front(at.cuts[dim].size()));
      if (rest.empty())
        continue;
      for (StringRef axis : rest)
        if (at.cutsOver(axis) || is_contained(at.partial, axis) ||
            is_contained(at.reduced, axis))
          return false;
      take({ReshardKind::OwnPart, rest, static_cast<int64_t>(dim)});
    }
    return true;
  }

  Layout at;
  const Layout &to;
};

} // namespace

std::optional<std::vector<Layout>> getReshardPath(const Layout &from,
                                                  const Layout &to) {
  ReshardPath path(from, to);
  if (!path.find())
    return std::nullopt;
  std::vector<Layout> layouts;
  Layout at = from;
  for (const ReshardCollective &collective : path.collectives)
    layouts.push_back(at = applyReshard(at, collective));
  return layouts;
}

std::optional<ReshardCollective> getReshardCollective(const Layout &from,
                                                      const Layout &to) {
  ReshardPath path(from, to);
  if (!path.find() || path.collectives.size() != 1)
    return std::nullopt;
  return path.collectives.front();
}

bool isAlongDimension(ReshardKind kind) {
  return kind != ReshardKind::AllReduce && kind != ReshardKind::Mirror;
}

StringRef getName(ReshardKind kind) {
  static constexpr StringLiteral names[] = {"all_reduce", "reduce_scatter",
                                            "all_gather", "all_to_all",
                                            "own_part",   "mirror"};
  return names[static_cast<size_t>(kind)];
}

SmallVector<int64_t> splitShape(ArrayRef<int64_t> shape,
                                const DimensionSplit &split) {
  SmallVector<int64_t> result(shape);
  result[split.dim] /= split.outer;
  result.insert(result.begin() + split.dim, split.outer);
  return result;
}

Layout splitLayout(ArrayRef<int64_t> shape, const Layout &layout,
                   const DimensionSplit &split, const MeshSizes &mesh) {
  Layout result = layout;
  std::optional<SmallVector<Axes>> cuts =
      ir::splitAxes(layout.cuts[split.dim],
                    {split.outer, shape[split.dim] / split.outer}, mesh);
  result.cuts[split.dim] = (*cuts)[1];
  result.cuts.insert(result.cuts.begin() + split.dim, (*cuts)[0]);
  return result;
}

/// Finds a dimension of `far` of which axes in the middle cut another dimension
/// in `near`, while the axes before them still cut this dimension, and those
/// after them none.
static std::optional<DimensionSplit> findMoved(ArrayRef<int64_t> shape,
                                               const Layout &far,
                                               const Layout &near,
                                               const MeshSizes &mesh) {
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    ArrayRef<StringRef> cut = far.cuts[dim];
    size_t kept = near.cuts[dim].size(), last = cut.size();
    while (last > kept && !near.cutsOver(cut[last - 1]))
      --last;
    if (last == cut.size() || last <= kept ||
        cut.take_front(kept) != ArrayRef<StringRef>(near.cuts[dim]))
      continue;
    ArrayRef<StringRef> moved = cut.slice(kept, last - kept);
    bool isOneExchange = any_of(seq<size_t>(0, shape.size()), [&](size_t to) {
      Axes together = far.cuts[to];
      together.append(moved.begin(), moved.end());
      return to != dim && together == near.cuts[to];
    });
    int64_t outer = mesh.getNumParts(cut.take_front(last));
    int64_t inner = mesh.getNumParts(cut.drop_front(last));
    if (isOneExchange && shape[dim] % (outer * inner) == 0)
      return DimensionSplit{dim, outer};
  }
  return std::nullopt;
}

std::optional<DimensionSplit> findDimensionSplit(ArrayRef<int64_t> shape,
                                                 const Layout &from,
                                                 const Layout &to,
                                                 const MeshSizes &mesh) {
  if (std::optional<DimensionSplit> split = findMoved(shape, from, to, mesh))
    return split;
  return findMoved(shape, to, from, mesh);
}

} // namespace mf::passes
