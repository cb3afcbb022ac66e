//===- Normalization.cpp - RMS normalisation ------------------------------===//
//
// Zhang and Sennrich, 2019. Statistics and products in f32, one rounding at the
// end.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseLoops.h"
#include "Factories.h"
#include "RowLoops.h"
#include "Scratch.h"
#include "SpecChecker.h"
#include "Tiles.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

namespace mf {
namespace {

/// Rows of x, all dimensions but the last, and their length.
struct NormShape {
  DType type, gammaType;
  int64_t rows, columns;

  NormShape(const TensorShape &x, const TensorShape &gamma)
      : type(x.type), gammaType(gamma.type),
        rows(x.getNumElements() / x.dims.back()), columns(x.dims.back()) {}
};

/// Gamma in f32, in the scratch memory of the running kernel, followed by
/// `extra` floats.
float *getWideGamma(const NormShape &shape, const void *gamma, int64_t extra) {
  float *wide = static_cast<float *>(
      getScratch(ScratchUse::Kernel, (shape.columns + extra) * sizeof(float)));
  runCastLoop(shape.gammaType, DType::F32, gamma, wide, shape.columns);
  return wide;
}

class RmsNormKernel : public Kernel {
public:
  RmsNormKernel(const NormShape &shape, double epsilon)
      : shape(shape), epsilon(static_cast<float>(epsilon)) {}

  void run(llvm::ArrayRef<void *> inputs, llvm::ArrayRef<void *> outputs,
           ThreadPool &pool) const override {
    const float *gamma = getWideGamma(shape, inputs[1], 0);
    float *rstd = static_cast<float *>(outputs[1]);
    Tiles tiles = tileRows(shape.rows, shape.columns);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [begin, size] = tiles[tile];
      int64_t offset = begin * shape.columns;
      runRmsNormRows(shape.type, at(inputs[0], shape.type, offset), gamma,
                     at(outputs[0], shape.type, offset), rstd + begin, size,
                     shape.columns, epsilon);
    });
  }

private:
  NormShape shape;
  float epsilon;
};

/// The gradient of gamma is a sum over all rows: over the rows of each of a
/// fixed number of blocks first, then over the blocks.
class RmsNormGradKernel : public Kernel {
public:
  explicit RmsNormGradKernel(const NormShape &shape)
      : shape(shape), blocks(shape.rows, llvm::divideCeil(shape.rows, 16)) {}

  void run(llvm::ArrayRef<void *> inputs, llvm::ArrayRef<void *> outputs,
           ThreadPool &pool) const override {
    const int64_t columns = shape.columns;
    float *gamma = getWideGamma(shape, inputs[3], blocks.count * columns);
    float *sums = gamma + columns;
    const float *rstd = static_cast<const float *>(inputs[2]);
    pool.parallelFor(blocks.count, [&](int64_t block) {
      auto [begin, size] = blocks[block];
      float *sum = sums + block * columns;
      std::memset(sum, 0, columns * sizeof(float));
      int64_t offset = begin * columns;
      runRmsNormGradRows(shape.type, at(inputs[0], shape.type, offset),
                         at(inputs[1], shape.type, offset), rstd + begin, gamma,
                         at(outputs[0], shape.type, offset), sum, size,
                         columns);
    });
    for (int64_t block = 1; block < blocks.count; ++block)
      runBinaryLoop(BinaryOp::Add, Advance::Both, DType::F32, sums,
                    sums + block * columns, sums, columns);
    runCastLoop(DType::F32, shape.gammaType, sums, outputs[1], columns);
  }

private:
  NormShape shape;
  Tiles blocks;
};

TensorShape dropLastDimension(const TensorShape &shape, DType type) {
  TensorShape result{type, shape.dims};
  result.dims.pop_back();
  return result;
}

void requireGamma(SpecChecker &checker, const KernelSpec &spec, size_t index,
                  const TensorShape &x) {
  checker.requireFloatInput(index);
  if (!checker.hasFailed())
    checker.requireInput(index, {spec.inputs[index].type, {x.dims.back()}});
}

} // namespace

KernelOrError makeRmsNorm(const KernelSpec &spec) {
  SpecChecker checker(spec);
  double epsilon = 0;
  if (checker.requireTensors()) {
    const TensorShape &x = spec.inputs[0];
    epsilon = checker.getDouble("epsilon");
    checker.requireFloatInput(0);
    checker.requireInputRank(0, 1);
    requireGamma(checker, spec, 1, x);
    checker.requireOutput(0, x);
    if (!checker.hasFailed())
      checker.requireOutput(1, dropLastDimension(x, DType::F32));
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<RmsNormKernel>(
      NormShape(spec.inputs[0], spec.inputs[1]), epsilon);
}

KernelOrError makeRmsNormGrad(const KernelSpec &spec) {
  SpecChecker checker(spec);
  if (checker.requireTensors()) {
    const TensorShape &x = spec.inputs[1];
    checker.requireFloatInput(1);
    checker.requireInputRank(1, 1);
    checker.requireInput(0, x);
    if (!checker.hasFailed())
      checker.requireInput(2, dropLastDimension(x, DType::F32));
    requireGamma(checker, spec, 3, x);
    checker.requireOutput(0, x);
    checker.requireOutput(1, spec.inputs[3]);
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<RmsNormGradKernel>(
      NormShape(spec.inputs[1], spec.inputs[3]));
}

} // namespace mf
