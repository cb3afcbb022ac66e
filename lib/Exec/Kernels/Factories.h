//===- Factories.h - Factories of kernels that are functions ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The functions that dialects/ascend/AscendKernels.td names. `makeKernel` has
// checked the specification against the kernel's signature, and that its
// tensors have elements, before it calls one. A factory ends with the checker's
// error if it has one.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_KERNELS_FACTORIES_H
#define MF_LIB_EXEC_KERNELS_FACTORIES_H

#include "SpecChecker.h"
#include "Tiles.h"

namespace mf {

using KernelOrError = llvm::Expected<std::unique_ptr<Kernel>>;

#define GET_FACTORY_DECLARATIONS
#include "lib/Exec/Kernels/KernelFactories.inc"

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

#endif // MF_LIB_EXEC_KERNELS_FACTORIES_H
