//===- Elementwise.cpp - Elementwise kernels and broadcasting -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "ElementwiseLoops.h"
#include "Factories.h"
#include "FusedKernels.h"
#include "StreamedOutput.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace mf {
namespace {

/// One loop of a broadcast: neighbouring dimensions along which each operand
/// either advances everywhere or stays at the same element.
struct BroadcastLoop {
  int64_t size;
  bool firstMoves, secondMoves;
};

/// Returns the loops of z = op(x, y), outermost first, or none if the shapes do
/// not broadcast to `z`.
std::optional<llvm::SmallVector<BroadcastLoop, 4>>
planBroadcast(llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> y,
              llvm::ArrayRef<int64_t> z) {
  llvm::SmallVector<BroadcastLoop, 4> loops;
  if (x.size() > z.size() || y.size() > z.size())
    return std::nullopt;
  for (size_t i = 0; i < z.size(); ++i) {
    auto dimOf = [&](llvm::ArrayRef<int64_t> dims) {
      size_t missing = z.size() - dims.size();
      return i < missing ? 1 : dims[i - missing];
    };
    int64_t dx = dimOf(x), dy = dimOf(y);
    if ((dx != 1 && dy != 1 && dx != dy) || z[i] != std::max(dx, dy))
      return std::nullopt;
    if (z[i] == 1)
      continue;
    BroadcastLoop loop{z[i], dx != 1, dy != 1};
    if (!loops.empty() && loops.back().firstMoves == loop.firstMoves &&
        loops.back().secondMoves == loop.secondMoves)
      loops.back().size *= loop.size;
    else
      loops.push_back(loop);
  }
  if (loops.empty())
    loops.push_back({1, true, true});
  return loops;
}

class BinaryKernel : public Kernel {
public:
  BinaryKernel(BinaryOp op, DType type,
               llvm::SmallVector<BroadcastLoop, 4> allLoops)
      : op(op), type(type), inner(allLoops.pop_back_val()),
        outer(std::move(allLoops)) {
    count = inner.size;
    for (const BroadcastLoop &loop : outer)
      count *= loop.size;
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    Tiles tiles(count, elementsPerTile);
    void *z = operands.outputs[0];
    // If the operation is in place, the output is in the caches once the input
    // has been read.
    const bool streamed = isStreamed(count * getBytes(type)) &&
                          z != operands.inputs[0] && z != operands.inputs[1];
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      writeOutput(streamed, type, at(z, type, begin), size,
                  [&, begin = begin](int64_t first, int64_t part, void *to) {
                    runRange(operands.inputs[0], operands.inputs[1], to,
                             begin + first, part);
                  });
    });
  }

private:
  /// Writes the elements [begin, begin + size) of the result to `z`, one run of
  /// the inner loop at a time.
  void runRange(const void *x, const void *y, void *z, int64_t begin,
                int64_t size) const {
    Advance advance = !inner.secondMoves  ? Advance::OnlyFirst
                      : !inner.firstMoves ? Advance::OnlySecond
                                          : Advance::Both;
    for (int64_t start = begin, end = begin + size; begin < end;) {
      int64_t row = begin / inner.size, column = begin % inner.size;
      int64_t run = std::min(inner.size - column, end - begin);
      auto [first, second] = getRowOffsets(row);
      runBinaryLoop(op, advance, type,
                    at(x, type, first + (inner.firstMoves ? column : 0)),
                    at(y, type, second + (inner.secondMoves ? column : 0)),
                    at(z, type, begin - start), run);
      begin += run;
    }
  }

  std::pair<int64_t, int64_t> getRowOffsets(int64_t row) const {
    int64_t first = 0, second = 0;
    int64_t firstStride = inner.firstMoves ? inner.size : 1;
    int64_t secondStride = inner.secondMoves ? inner.size : 1;
    for (const BroadcastLoop &loop : llvm::reverse(outer)) {
      int64_t index = row % loop.size;
      row /= loop.size;
      if (loop.firstMoves) {
        first += index * firstStride;
        firstStride *= loop.size;
      }
      if (loop.secondMoves) {
        second += index * secondStride;
        secondStride *= loop.size;
      }
    }
    return {first, second};
  }

  BinaryOp op;
  DType type;
  BroadcastLoop inner;
  llvm::SmallVector<BroadcastLoop, 4> outer;
  int64_t count;
};

UnaryOp getUnaryOp(const KernelSpec &spec) {
  return llvm::StringSwitch<UnaryOp>(spec.name)
#define MF_UNARY(Op, kernel, result) .Case(kernel, UnaryOp::Op)
#define MF_SCALAR MF_UNARY
#include "ElementwiseOps.def"
      ;
}

BinaryOp getBinaryOp(const KernelSpec &spec) {
  return llvm::StringSwitch<BinaryOp>(spec.name)
#define MF_BINARY(Op, kernel, result) .Case(kernel, BinaryOp::Op)
#define MF_BACKWARD MF_BINARY
#include "ElementwiseOps.def"
      ;
}

/// Requires a divisor that is finite and not zero after rounding to f32.
void requireDivisor(SpecChecker &checker, double value) {
  const auto divisor = static_cast<float>(value);
  checker.require(std::isfinite(divisor) && divisor != 0,
                  "attribute 'value' is " +
                      llvm::formatv("{0:e}", value).str() +
                      ", expected a finite divisor that is not 0");
}

} // namespace

KernelOrError makeUnary(const KernelSpec &spec, SpecChecker &checker) {
  const UnaryOp op = getUnaryOp(spec);
  double scalar = 0;
  checker.requireFloatInput(0);
  checker.requireOutput(0, spec.inputs[0]);
  if (takesScalar(op))
    scalar = checker.getDouble("value");
  if (op == UnaryOp::Remainder || op == UnaryOp::FloorDivide)
    requireDivisor(checker, scalar);
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &input = spec.inputs[0];
  return makeTiledKernel(
      Tiles(input.getNumElements(), elementsPerTile),
      [op, type = input.type, streamed = isStreamed(input.getBytes()),
       scalar = static_cast<float>(scalar)](const KernelOperands &operands,
                                            int64_t begin, int64_t size) {
        const void *x = at(operands.inputs[0], type, begin);
        writeOutput(streamed, type, at(operands.outputs[0], type, begin), size,
                    [&](int64_t first, int64_t part, void *y) {
                      runUnaryLoop(op, type, at(x, type, first), y, part,
                                   scalar);
                    });
      });
}

KernelOrError makeBinary(const KernelSpec &spec, SpecChecker &checker) {
  const BinaryOp op = getBinaryOp(spec);
  std::optional<llvm::SmallVector<BroadcastLoop, 4>> loops;
  const TensorShape &x = spec.inputs[0], &y = spec.inputs[1];
  const TensorShape &z = spec.outputs[0];
  checker.requireFloatInput(0);
  checker.requireInputType(1, x.type);
  checker.requireOutputType(0, x.type);
  loops = planBroadcast(x.dims, y.dims, z.dims);
  checker.require(loops.has_value(), "inputs " + toString(x) + " and " +
                                         toString(y) + " do not broadcast to " +
                                         toString(z));
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<BinaryKernel>(op, spec.outputs[0].type, *loops);
}

KernelOrError makeActivationBackward(const KernelSpec &spec,
                                     SpecChecker &checker) {
  const BinaryOp op = getBinaryOp(spec);
  checker.requireFloatInput(0);
  checker.requireInput(1, spec.inputs[0]);
  checker.requireOutput(0, spec.inputs[0]);
  if (llvm::Error error = checker.takeError())
    return error;
  llvm::SmallVector<BroadcastLoop, 4> loops;
  loops.push_back({spec.outputs[0].getNumElements(), true, true});
  return std::make_unique<BinaryKernel>(op, spec.outputs[0].type, loops);
}

KernelOrError makeCast(const KernelSpec &spec, SpecChecker &checker) {
  checker.requireOutput(0, {spec.outputs[0].type, spec.inputs[0].dims});
  if (llvm::Error error = checker.takeError())
    return error;
  const TensorShape &output = spec.outputs[0];
  return makeTiledKernel(
      Tiles(output.getNumElements(), elementsPerTile),
      [from = spec.inputs[0].type, to = output.type,
       streamed = isStreamed(output.getBytes())](const KernelOperands &operands,
                                                 int64_t begin, int64_t size) {
        const void *x = at(operands.inputs[0], from, begin);
        writeOutput(streamed, to, at(operands.outputs[0], to, begin), size,
                    [&](int64_t first, int64_t part, void *y) {
                      runCastLoop(from, to, at(x, from, first), y, part);
                    });
      });
}

//===----------------------------------------------------------------------===//
// Fused kernels
//===----------------------------------------------------------------------===//

FusedFunction makeFusedUnary(const KernelSpec &spec) {
  const UnaryOp op = getUnaryOp(spec);
  const TensorShape &x = spec.inputs[0];
  const double scalar =
      takesScalar(op) ? std::get<double>(spec.attributes.at("value")) : 0;
  return [op, type = x.type, columns = getRowSize(x),
          scalar = static_cast<float>(scalar)](
             llvm::ArrayRef<const void *> inputs, void *output, int64_t rows) {
    runUnaryLoop(op, type, inputs[0], output, rows * columns, scalar);
  };
}

FusedFunction makeFusedBinary(const KernelSpec &spec) {
  const TensorShape &z = spec.outputs[0];
  return [op = getBinaryOp(spec), type = z.type, columns = getRowSize(z)](
             llvm::ArrayRef<const void *> inputs, void *output, int64_t rows) {
    runBinaryLoop(op, Advance::Both, type, inputs[0], inputs[1], output,
                  rows * columns);
  };
}

FusedFunction makeFusedActivationBackward(const KernelSpec &spec) {
  return makeFusedBinary(spec);
}

FusedFunction makeFusedCast(const KernelSpec &spec) {
  const TensorShape &to = spec.outputs[0];
  return [from = spec.inputs[0].type, to = to.type, columns = getRowSize(to)](
             llvm::ArrayRef<const void *> inputs, void *output, int64_t rows) {
    runCastLoop(from, to, inputs[0], output, rows * columns);
  };
}

} // namespace mf
