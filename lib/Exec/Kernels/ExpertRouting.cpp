//===- ExpertRouting.cpp - Places of tokens in experts, and balance -------===//
// SPDX-License-Identifier: Apache-2.0

#include "Factories.h"
#include "Scratch.h"
#include <cstring>
#include <limits>

namespace mf {
namespace {

struct RouterShape {
  int64_t rows, tokens, choices, experts, capacity;
};

/// Rows are independent. Within a row, choices take the slots of their experts
/// one after another.
struct TopKRouterKernel {
  RouterShape shape;
  bool kMajor;

  void operator()(const KernelOperands &operands, ThreadPool &pool) const {
    const int64_t indices = shape.tokens * shape.choices;
    const int64_t slots = shape.experts * shape.capacity;
    pool.parallelFor(shape.rows, [&](int64_t row) {
      const auto *experts = operands.getInput<int32_t>(0) + row * indices;
      auto *dispatch = operands.getOutput<int32_t>(0) + row * slots;
      auto *combine = operands.getOutput<int32_t>(1) + row * indices;
      std::memset(dispatch, 0, slots * sizeof(int32_t));
      routeRow(experts, dispatch, combine);
    });
  }

  void routeRow(const int32_t *experts, int32_t *dispatch,
                int32_t *combine) const {
    auto *taken = static_cast<int32_t *>(
        getScratch(ScratchUse::Tile, shape.experts * sizeof(int32_t)));
    std::memset(taken, 0, shape.experts * sizeof(int32_t));
    auto place = [&](int64_t token, int64_t choice) {
      const int64_t i = token * shape.choices + choice;
      const int64_t expert = experts[i];
      int64_t slot = 0;
      if (expert >= 0 && expert < shape.experts &&
          taken[expert] < shape.capacity) {
        dispatch[expert * shape.capacity + taken[expert]] =
            static_cast<int32_t>(token + 1);
        slot = ++taken[expert];
      }
      combine[i] = static_cast<int32_t>(expert * (shape.capacity + 1) + slot);
    };
    if (kMajor)
      for (int64_t choice = 0; choice < shape.choices; ++choice)
        for (int64_t token = 0; token < shape.tokens; ++token)
          place(token, choice);
    else
      for (int64_t token = 0; token < shape.tokens; ++token)
        for (int64_t choice = 0; choice < shape.choices; ++choice)
          place(token, choice);
  }
};

/// Returns 0 for 0 and NaN for NaN.
float getSign(float x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

} // namespace

KernelOrError makeTopKRouter(const KernelSpec &spec, SpecChecker &checker) {
  const bool kMajor = checker.getBool("k_major", false);
  RouterShape shape{};
  const TensorShape &indices = spec.inputs[0], &dispatch = spec.outputs[0];
  checker.requireInputType(0, DType::I32);
  checker.require(indices.dims.size() == 3,
                  "input 0 is " + toString(indices) +
                      ", expected rows x tokens x choices");
  checker.require(dispatch.type == DType::I32 && dispatch.dims.size() == 3 &&
                      dispatch.dims[0] == indices.dims[0],
                  "output 0 is " + toString(dispatch) +
                      ", expected the rows of " + toString(indices) +
                      " x experts x capacity of i32");
  checker.requireOutput(1, indices);
  if (!checker.hasFailed()) {
    shape = {indices.dims[0], indices.dims[1], indices.dims[2],
             dispatch.dims[1], dispatch.dims[2]};
    // Compared as quotients: products may overflow.
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    checker.require(shape.capacity < most / shape.experts &&
                        shape.tokens < most,
                    "output 0 is " + toString(dispatch) +
                        ", expected fewer slots than an i32 can count");
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return makeFunctionKernel(TopKRouterKernel{shape, kMajor});
}

KernelOrError makeUpdateExpertBias(const KernelSpec &spec,
                                   SpecChecker &checker) {
  const double rate = checker.getDouble("rate");
  const double target = checker.getDouble("target");
  checker.requireInputType(0, DType::F32);
  checker.requireOutput(0, spec.inputs[0]);
  if (llvm::Error error = checker.takeError())
    return error;
  return makeTiledKernel(
      Tiles(spec.inputs[0].getNumElements(), elementsPerTile),
      [rate = static_cast<float>(rate), target = static_cast<float>(target)](
          const KernelOperands &operands, int64_t begin, int64_t size) {
        const auto *load = operands.getInput<float>(0);
        auto *bias = operands.getOutput<float>(0);
        for (int64_t i = begin; i < begin + size; ++i)
          bias[i] += rate * getSign(target - load[i]);
      });
}

} // namespace mf
