//===- OneDnnProduct.cpp - Single-threaded products by oneDNN -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementTypes.h"
#include "MatrixProduct.h"
#include "MatrixUnit.h"
#include "Scratch.h"
#include "llvm/Support/ErrorHandling.h"
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

// libgomp's. Declared here because clang brings another runtime's omp.h.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void omp_set_num_threads(int);

namespace mf {
namespace {

const dnnl::engine &getEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Returns the calling thread's stream of oneDNN. The first use on a thread
/// tells libgomp that oneDNN may only use this thread. The primitives' choice
/// of blocking and their execution both depend on it.
dnnl::stream &getThreadStream() {
  struct Entrance {
    dnnl::stream stream;
    Entrance() {
      omp_set_num_threads(1);
      stream = dnnl::stream(getEngine());
    }
  };
  thread_local Entrance entrance;
  return entrance.stream;
}

dnnl::memory::data_type toOneDnn(DType type) {
  switch (type) {
  case DType::F32:
    return dnnl::memory::data_type::f32;
  case DType::BF16:
    return dnnl::memory::data_type::bf16;
  case DType::F16:
    return dnnl::memory::data_type::f16;
  case DType::I32:
    return dnnl::memory::data_type::s32;
  case DType::I64:
  case DType::I1:
    break;
  }
  llvm_unreachable("oneDNN has no such type");
}

/// A oneDNN memory object around a tensor's address, for one execution.
class Argument {
public:
  Argument(const dnnl::memory::desc &desc, void *address) {
    dnnl_memory_create(&memory, &desc.data, getEngine().get(), address);
  }
  ~Argument() { dnnl_memory_destroy(memory); }
  Argument(const Argument &) = delete;
  Argument &operator=(const Argument &) = delete;

  dnnl_memory_t memory = nullptr;
};

class OneDnnProduct : public Product {
public:
  explicit OneDnnProduct(const ProductSpec &spec) {
    getThreadStream();
    dnnl::memory::data_type operand = toOneDnn(spec.operandType);
    dnnl::memory::desc a({spec.m, spec.k}, operand,
                         {spec.a.rowStride, spec.a.columnStride});
    dnnl::memory::desc b({spec.k, spec.n}, operand,
                         {spec.b.rowStride, spec.b.columnStride});
    dnnl::memory::desc c({spec.m, spec.n}, toOneDnn(spec.resultType),
                         {spec.cStride, 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (spec.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    description = dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c),
                                               attributes, getEngine());
    primitive = dnnl::matmul(description);
    aDesc = description.src_desc();
    bDesc = description.weights_desc();
    cDesc = description.dst_desc();
    scratchDesc = description.scratchpad_desc();
  }

  bool isReference() const {
    return llvm::StringRef(description.impl_info_str()).contains("ref");
  }

  void run(const void *a, const void *b, void *c) const override {
    dnnl::stream &stream = getThreadStream();
    Argument source(aDesc, const_cast<void *>(a));
    Argument weights(bDesc, const_cast<void *>(b));
    Argument destination(cDesc, c);
    Argument scratch(scratchDesc,
                     getScratch(ScratchUse::Library, scratchDesc.get_size()));
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, source.memory},
                                   {DNNL_ARG_WEIGHTS, weights.memory},
                                   {DNNL_ARG_DST, destination.memory},
                                   {DNNL_ARG_SCRATCHPAD, scratch.memory}};
    dnnl_status_t status =
        dnnl_primitive_execute(primitive.get(), stream.get(), 4, arguments);
    if (status != dnnl_success)
      llvm::report_fatal_error("oneDNN failed to run a matrix product");
  }

private:
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
  dnnl::memory::desc aDesc, bDesc, cDesc, scratchDesc;
};

std::shared_ptr<const Product> makeOneDnnProduct(const ProductSpec &spec) {
  try {
    auto product = std::make_shared<OneDnnProduct>(spec);
    // The reference loops are far slower than converting to f32.
    if (product->isReference() && spec.operandType != DType::F32)
      return nullptr;
    return product;
  } catch (const dnnl::error &) {
    return nullptr;
  }
}

} // namespace

std::shared_ptr<const Product> getOneDnnProduct(const ProductSpec &spec) {
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                         int64_t, int64_t, DType, DType, bool>;
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<const Product>> products;

  Key key(spec.m, spec.n, spec.k, spec.a.rowStride, spec.a.columnStride,
          spec.b.rowStride, spec.b.columnStride, spec.cStride, spec.operandType,
          spec.resultType, spec.accumulate);
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<const Product> &entry = products[key];
  std::shared_ptr<const Product> product = entry.lock();
  if (!product) {
    product = makeOneDnnProduct(spec);
    entry = product;
  }
  return product;
}

MatrixUnit findMatrixUnit() {
  switch (dnnl_get_effective_cpu_isa()) {
  case dnnl_cpu_isa_avx512_core_amx:
    return MatrixUnit::Amx;
  case dnnl_cpu_isa_avx512_core:
  case dnnl_cpu_isa_avx512_core_vnni:
  case dnnl_cpu_isa_avx512_core_bf16:
    return MatrixUnit::Avx512;
  default:
    return MatrixUnit::None;
  }
}

} // namespace mf
