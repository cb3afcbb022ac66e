//===- FunctionKernel.h - Kernels that are functions ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_FUNCTIONKERNEL_H
#define MF_LIB_EXEC_KERNELS_FUNCTIONKERNEL_H

#include "Tiles.h"
#include "mf/Exec/Kernels/Kernel.h"

namespace mf {

template <typename Function> class FunctionKernel : public Kernel {
public:
  explicit FunctionKernel(Function function) : function(std::move(function)) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    function(operands, pool);
  }

private:
  Function function;
};

/// Makes a kernel that runs `function`, which has the specification's types and
/// sizes, with its operands and threads.
template <typename Function>
std::unique_ptr<Kernel> makeFunctionKernel(Function function) {
  return std::make_unique<FunctionKernel<Function>>(std::move(function));
}

/// Makes a kernel that runs `function` with `shape`, its operands and threads.
template <typename Shape, typename Function>
std::unique_ptr<Kernel> makeFunctionKernel(const Shape &shape,
                                           Function function) {
  return makeFunctionKernel(
      [shape, function](const KernelOperands &operands, ThreadPool &pool) {
        function(shape, operands, pool);
      });
}

/// Makes a kernel that computes tiles independently: `function` gets the
/// operands and the begin and the size of a tile.
template <typename Function>
std::unique_ptr<Kernel> makeTiledKernel(Tiles tiles, Function function) {
  return makeFunctionKernel(
      [tiles, function = std::move(function)](const KernelOperands &operands,
                                              ThreadPool &pool) {
        pool.parallelFor(tiles.count, [&](int64_t tile) {
          auto [begin, size] = tiles[tile];
          function(operands, begin, size);
        });
      });
}

/// Makes a kernel that computes rows of the size of the last dimension of
/// `shape` independently: `function` gets the operands, the size of a row, and
/// the first row and the number of rows of a tile.
template <typename Function>
std::unique_ptr<Kernel> makeRowKernel(const TensorShape &shape,
                                      Function function) {
  const int64_t columns = shape.dims.back();
  return makeTiledKernel(
      tileRows(shape.getNumElements() / columns, columns),
      [columns, function = std::move(function)](const KernelOperands &operands,
                                                int64_t begin, int64_t size) {
        function(operands, columns, begin, size);
      });
}

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_FUNCTIONKERNEL_H
