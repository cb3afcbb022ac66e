//===- Ceiling.h - oneDNN called directly on products ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// With its own threads, on whole products: the rate that the products of a step
// cannot be expected to exceed.
//
//===----------------------------------------------------------------------===//

#ifndef MF_BENCHMARKS_KERNELS_CEILING_H
#define MF_BENCHMARKS_KERNELS_CEILING_H

#include "Settings.h"
#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mf {

/// c[m,n] = a[m,k] b[k,n], and how often a step has it. A transposed operand
/// lies in memory with its dimensions exchanged.
struct StepProduct {
  int64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  int calls = 1;

  double getFlops() const;
};

/// The product of an aclnnMatmul of two matrices.
StepProduct getProduct(const KernelSpec &spec, int calls);

/// Reads "m,n,k,TT,calls", where TT says of a and of b whether they are
/// transposed: "nt" is the product of a with b transposed.
std::optional<StepProduct> parseProduct(llvm::StringRef text);

/// A product in oneDNN, which must have the type (getCeilingType).
class CeilingProduct {
public:
  CeilingProduct(const StepProduct &product, DType type, int threads);
  ~CeilingProduct();

  void run(void *a, void *b, void *c);

private:
  struct Primitive;
  std::unique_ptr<Primitive> primitive;
  int threads;
};

/// The type in which oneDNN multiplies matrices of `type` on this processor:
/// f32 in place of bf16 where it has no product of bf16, as without AVX-512.
DType getCeilingType(DType type);

/// FLOPs per second over all products of a step, each of them as often as the
/// step has it and at its fastest run, in getCeilingType(type).
double measureCeiling(llvm::ArrayRef<StepProduct> products, DType type,
                      const Settings &settings);

/// " in f32, as oneDNN has no product of bf16 on this processor", or nothing
/// where the ceiling is of the type itself.
std::string describeCeilingType(DType type);

} // namespace mf

#endif // MF_BENCHMARKS_KERNELS_CEILING_H
