//===- Ceiling.cpp - oneDNN called directly on products -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Ceiling.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void omp_set_num_threads(int);

namespace mf {

double StepProduct::getFlops() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

StepProduct getProduct(const KernelSpec &spec, int calls) {
  auto flag = [&](const char *name) {
    auto found = spec.attributes.find(name);
    return found != spec.attributes.end() && std::get<bool>(found->second);
  };
  StepProduct product;
  product.transposeA = flag("transpose_a");
  product.transposeB = flag("transpose_b");
  product.m = spec.outputs[0].dims[0];
  product.n = spec.outputs[0].dims[1];
  product.k = spec.inputs[0].dims[product.transposeA ? 0 : 1];
  product.calls = calls;
  return product;
}

std::optional<StepProduct> parseProduct(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 5> parts;
  text.split(parts, ',');
  StepProduct product;
  if (parts.size() != 5 || parts[0].getAsInteger(10, product.m) ||
      parts[1].getAsInteger(10, product.n) ||
      parts[2].getAsInteger(10, product.k) || parts[3].size() != 2 ||
      parts[3].find_first_not_of("nt") != llvm::StringRef::npos ||
      parts[4].getAsInteger(10, product.calls) || product.m < 1 ||
      product.n < 1 || product.k < 1 || product.calls < 1)
    return std::nullopt;
  product.transposeA = parts[3][0] == 't';
  product.transposeB = parts[3][1] == 't';
  return product;
}

struct CeilingProduct::Primitive {
  Primitive() : engine(dnnl::engine::kind::cpu, 0), stream(engine) {}

  dnnl::engine engine;
  dnnl::stream stream;
  dnnl::memory::desc a, b, c;
  dnnl::matmul product;
};

/// [rows, columns] of a product, as they lie in memory.
static dnnl::memory::desc describe(int64_t rows, int64_t columns,
                                   bool transpose,
                                   dnnl::memory::data_type type) {
  return transpose ? dnnl::memory::desc({rows, columns}, type, {1, rows})
                   : dnnl::memory::desc({rows, columns}, type, {columns, 1});
}

CeilingProduct::CeilingProduct(const StepProduct &product, DType type,
                               int threads)
    : primitive(std::make_unique<Primitive>()), threads(threads) {
  omp_set_num_threads(threads);
  const auto element = type == DType::F32 ? dnnl::memory::data_type::f32
                                          : dnnl::memory::data_type::bf16;
  primitive->a = describe(product.m, product.k, product.transposeA, element);
  primitive->b = describe(product.k, product.n, product.transposeB, element);
  primitive->c = describe(product.m, product.n, false, element);
  primitive->product = dnnl::matmul(dnnl::matmul::primitive_desc(
      dnnl::matmul::desc(primitive->a, primitive->b, primitive->c),
      primitive->engine));
  omp_set_num_threads(1);
}

CeilingProduct::~CeilingProduct() = default;

void CeilingProduct::run(void *a, void *b, void *c) {
  omp_set_num_threads(threads);
  Primitive &p = *primitive;
  p.product.execute(p.stream, {{DNNL_ARG_SRC, {p.a, p.engine, a}},
                               {DNNL_ARG_WEIGHTS, {p.b, p.engine, b}},
                               {DNNL_ARG_DST, {p.c, p.engine, c}}});
  p.stream.wait();
  omp_set_num_threads(1);
}

DType getCeilingType(DType type) {
  try {
    CeilingProduct probe({64, 64, 64}, type, 1);
    return type;
  } catch (const dnnl::error &) {
    return DType::F32;
  }
}

std::string describeCeilingType(DType type) {
  const DType used = getCeilingType(type);
  if (used == type)
    return "";
  return llvm::formatv(
             " in {0}, as oneDNN has no product of {1} on this processor",
             getName(used), getName(type))
      .str();
}

double measureCeiling(llvm::ArrayRef<StepProduct> products, DType type,
                      const Settings &settings) {
  type = getCeilingType(type);
  double flops = 0, seconds = 0;
  for (const StepProduct &product : products) {
    CeilingProduct oneDnn(product, type, settings.threads);
    auto make = [&](int64_t rows, int64_t columns) {
      // Small numbers in every type.
      constexpr char byte = 0x3c;
      return std::vector<char>(
          static_cast<size_t>(rows * columns * getBytes(type)), byte);
    };
    std::vector<char> a = make(product.m, product.k),
                      b = make(product.k, product.n),
                      c = make(product.m, product.n);
    double best = INFINITY, spent = 0;
    for (int round = 0; round < 3 || spent < settings.seconds; ++round) {
      const double once =
          settings.timeOnce([&] { oneDnn.run(a.data(), b.data(), c.data()); });
      best = std::min(best, once);
      spent += once;
    }
    flops += product.calls * product.getFlops();
    seconds += product.calls * best;
  }
  return flops / seconds;
}

} // namespace mf
