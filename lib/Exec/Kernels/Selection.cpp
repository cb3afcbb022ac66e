//===- Selection.cpp - The largest elements of rows, and rows in order ----===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "Factories.h"
#include "Scratch.h"
#include "SelectionLoops.h"
#include "Tiles.h"
#include <limits>
#include <utility>

namespace mf {
namespace {

/// Computes to[i] = from[elements[i].index], and the indices.
template <typename Bits>
void takeOfSize(const void *from, const SortedElement *elements, void *to,
                int32_t *indices, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    indices[i] = static_cast<int32_t>(elements[i].index);
    static_cast<Bits *>(to)[i] =
        static_cast<const Bits *>(from)[elements[i].index];
  }
}

/// Copies the elements themselves, because a NaN or a zero cannot be restored
/// from its order.
void take(DType type, const void *from, const SortedElement *elements, void *to,
          int32_t *indices, int64_t count) {
  if (getBytes(type) == sizeof(uint16_t))
    return takeOfSize<uint16_t>(from, elements, to, indices, count);
  takeOfSize<uint32_t>(from, elements, to, indices, count);
}

/// Sorts by radix from the lowest digit; the passes keep the order of equal
/// digits. Returns the list that has the result, `elements` or `other`.
SortedElement *sortByDigits(SortedElement *elements, SortedElement *other,
                            int64_t count) {
  constexpr int digitBits = 11, passes = 3;
  constexpr uint32_t digits = 1u << digitBits;
  uint32_t places[passes][digits] = {};
  for (int64_t i = 0; i < count; ++i)
    for (int pass = 0; pass < passes; ++pass)
      ++places[pass][elements[i].order >> (pass * digitBits) & (digits - 1)];
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = pass * digitBits;
    // Small integers in f32 and few expert ids differ in few digits.
    if (places[pass][elements[0].order >> shift & (digits - 1)] == count)
      continue;
    uint32_t sum = 0;
    for (uint32_t &place : places[pass])
      sum += std::exchange(place, sum);
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t digit = elements[i].order >> shift & (digits - 1);
      other[places[pass][digit]++] = elements[i];
    }
    std::swap(elements, other);
  }
  return elements;
}

SortedElement *sortElements(SortedElement *elements, SortedElement *other,
                            int64_t count) {
  constexpr int64_t few = 128;
  if (count > few)
    return sortByDigits(elements, other, count);
  std::sort(elements, elements + count,
            [](const SortedElement &a, const SortedElement &b) {
              return a.order != b.order ? a.order < b.order : a.index < b.index;
            });
  return elements;
}

/// A group of rows has two lists of the elements of a row in the workspace.
struct SortKernel {
  DType type;
  int64_t columns, rows;
  int64_t groups = getSortGroups(rows);

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    pool.parallelFor(groups, [&](int64_t group) {
      auto *list = static_cast<SortedElement *>(operands.workspace) +
                   group * 2 * columns;
      for (int64_t row = group; row < rows; row += groups)
        sortRow(operands, row, list, list + columns);
    });
  }

  void sortRow(const KernelOperands &operands, int64_t row, SortedElement *list,
               SortedElement *other) const {
    const void *x = at(operands.inputs[0], type, row * columns);
    auto *orders = reinterpret_cast<uint32_t *>(other);
    runOrderLoop(type, x, orders, columns);
    for (int64_t i = 0; i < columns; ++i)
      list[i] = {orders[i], static_cast<uint32_t>(i)};
    take(type, x, sortElements(list, other, columns),
         at(operands.outputs[0], type, row * columns),
         operands.getOutput<int32_t>(1) + row * columns, columns);
  }
};

/// Requires a number of elements that an index of type i32 can count.
void requireIndexable(SpecChecker &checker, const KernelSpec &spec) {
  checker.requireInputRank(0, 1);
  if (!checker.hasFailed())
    checker.require(spec.inputs[0].dims.back() <=
                        std::numeric_limits<int32_t>::max(),
                    "input 0 is " + toString(spec.inputs[0]) +
                        ", expected rows whose elements an i32 can count");
}

} // namespace

KernelOrError makeTopk(const KernelSpec &spec, SpecChecker &checker) {
  const int64_t k = checker.getInt("k");
  checker.requireFloatInput(0);
  requireIndexable(checker, spec);
  if (!checker.hasFailed()) {
    TensorShape values = spec.inputs[0];
    checker.require(k >= 1 && k <= values.dims.back(),
                    "attribute 'k' is " + llvm::Twine(k) +
                        ", expected at least 1 and at most the " +
                        llvm::Twine(values.dims.back()) + " elements of a row");
    values.dims.back() = k;
    checker.requireOutput(0, values);
    checker.requireOutput(1, {DType::I32, values.dims});
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeRowKernel(spec.inputs[0], [k, type = spec.inputs[0].type](
                                           const KernelOperands &operands,
                                           int64_t columns, int64_t begin,
                                           int64_t size) {
    auto *best = static_cast<SortedElement *>(
        getScratch(ScratchUse::Tile, k * sizeof(SortedElement)));
    for (int64_t row = begin; row < begin + size; ++row) {
      const void *x = at(operands.inputs[0], type, row * columns);
      runTopkLoop(type, x, columns, best, k);
      take(type, x, best, at(operands.outputs[0], type, row * k),
           operands.getOutput<int32_t>(1) + row * k, k);
    }
  });
}

KernelOrError makeSort(const KernelSpec &spec, SpecChecker &checker) {
  const TensorShape &x = spec.inputs[0];
  checker.require(isFloat(x.type) || x.type == DType::I32,
                  "input 0 is " + getName(x.type) +
                      ", expected f32, bf16, f16 or i32");
  requireIndexable(checker, spec);
  checker.requireOutput(0, x);
  checker.requireOutput(1, {DType::I32, x.dims});
  if (llvm::Error error = checker.takeError())
    return error;
  const int64_t columns = x.dims.back();
  return makeFunctionKernel(
      SortKernel{x.type, columns, x.getNumElements() / columns});
}

} // namespace mf
