//===- KernelTesting.h - Running kernels in tests -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors in plain memory, a harness that runs a kernel with 1, 2 and 3 threads
// and asks for the same bits, and comparison with a reference in double.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_UNIT_KERNELS_KERNELTESTING_H
#define MF_TEST_UNIT_KERNELS_KERNELTESTING_H

#include "mf/Exec/Kernels/Kernel.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace mf::testing {

using Values = std::vector<double>;
using Ints = std::vector<int64_t>;

/// A tensor and its memory, with a few canary bytes behind it.
class KernelTensor {
public:
  KernelTensor(DType type, llvm::ArrayRef<int64_t> dims);

  TensorShape shape;

  int64_t size() const { return shape.getNumElements(); }
  void *data() { return bytes.data(); }
  const void *data() const { return bytes.data(); }

  double get(int64_t index) const;
  /// Rounds to the element type.
  void set(int64_t index, double value);

  Values toVector() const;
  void fill(double value);
  void fillRandom(std::mt19937 &random, double low = -1, double high = 1);

  bool canaryIsWhole() const;
  bool operator==(const KernelTensor &other) const {
    return bytes == other.bytes;
  }

private:
  std::vector<unsigned char> bytes;
};

using Tensors = std::vector<KernelTensor>;

KernelTensor randomTensor(DType type, llvm::ArrayRef<int64_t> dims,
                          unsigned seed, double low = -1, double high = 1);
/// A tensor with these elements.
KernelTensor makeTensor(DType type, llvm::ArrayRef<int64_t> dims,
                        const Values &values);
/// A tensor of one dimension.
KernelTensor makeRow(DType type, const Values &values);
/// A tensor of fp32 without dimensions.
KernelTensor makeScalar(double value);
/// The operand that says where a part begins in the whole.
KernelTensor makePosition(int64_t position);
/// Elements [first, first + count) of a dimension.
KernelTensor takeRange(const KernelTensor &x, size_t dim, int64_t first,
                       int64_t count);
/// Integers in [low, high].
KernelTensor randomIndices(llvm::ArrayRef<int64_t> dims, unsigned seed,
                           int64_t low, int64_t high);

/// Values for an input of a specification: small ones above 0, of integers
/// indices from 0 to 3. Counts of rows are whole, and those of the two sides of
/// an exchange are the same.
KernelTensor makeInput(const KernelSpec &spec, size_t index, unsigned seed);

/// The memory that the kernel's signature promises it while it runs, NaN.
KernelTensor makeWorkspace(const KernelSpec &spec);

/// Runs the kernel on copies of `outputs` (whose contents in-place kernels
/// read) with 1, 2 and 3 threads, expects equal bits and untouched canaries,
/// and returns the outputs.
Tensors runKernel(llvm::StringRef name, const Tensors &inputs, Tensors outputs,
                  const AttributeMap &attributes = {});

/// The same for a kernel of one output.
KernelTensor runOne(llvm::StringRef name, const Tensors &inputs,
                    KernelTensor output, const AttributeMap &attributes = {});

/// Runs the kernel of a specification on the inputs that makeInput gives.
Tensors runExample(const KernelSpec &spec);

/// The specification of a kernel that takes and makes these tensors.
KernelSpec getSpec(llvm::StringRef name, const Tensors &inputs,
                   const Tensors &outputs, const AttributeMap &attributes = {});

/// The message with which makeKernel refuses the specification; empty if it
/// does not.
std::string getRefusal(const KernelSpec &spec);

/// Expects |actual - expected| <= tolerance * (scale + |expected|) for every
/// element, where `tolerance` of 0 stands for the type's: some units in the
/// last place. NaN equals NaN.
void expectNear(const KernelTensor &actual, const Values &expected,
                double scale = 1, double tolerance = 0);

/// d(loss)/d(input element), by central differences in double of
/// loss = sum(weights * forward(input)).
Values differentiate(const std::function<Values(const Values &)> &forward,
                     const Values &at, const Values &weights);

/// Expects that each gradient is the slope of `forward`, a function of all
/// inputs, whose results have the gradient `weights`.
void expectGradients(
    const Tensors &gradients, const Tensors &inputs,
    const std::function<Values(const std::vector<Values> &)> &forward,
    const Values &weights, double scale = 1, double tolerance = 0);

inline constexpr DType floatTypes[] = {DType::F32, DType::BF16, DType::F16};

} // namespace mf::testing

#endif // MF_TEST_UNIT_KERNELS_KERNELTESTING_H
