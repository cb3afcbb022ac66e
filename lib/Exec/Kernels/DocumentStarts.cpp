//===- DocumentStarts.cpp - Documents of a packed sequence ----------------===//

#include "Factories.h"
#include "SpecChecker.h"
#include "Tiles.h"

namespace mf {
namespace {

class DocumentStartsKernel : public Kernel {
public:
  DocumentStartsKernel(const TensorShape &tokens, int64_t end)
      : rows(tokens.dims[0]), length(tokens.dims[1]), end(end) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const auto *tokens = static_cast<const int32_t *>(operands.inputs[0]);
    auto *starts = static_cast<int32_t *>(operands.outputs[0]);
    const Tiles tiles = tileRows(rows, length);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto [first, number] = tiles[tile];
      for (int64_t row = first; row < first + number; ++row)
        fillRow(tokens + row * length, starts + row * length);
    });
  }

private:
  /// A token may lie where its start is written.
  void fillRow(const int32_t *tokens, int32_t *starts) const {
    int32_t start = 0;
    for (int64_t i = 0; i < length; ++i) {
      const bool isLast = tokens[i] == end;
      starts[i] = start;
      if (isLast)
        start = static_cast<int32_t>(i + 1);
    }
  }

  int64_t rows, length, end;
};

} // namespace

KernelOrError makeDocumentStarts(const KernelSpec &spec) {
  SpecChecker checker(spec);
  int64_t end = 0;
  if (checker.requireTensors()) {
    checker.requireInputType(0, DType::I32);
    checker.require(spec.inputs[0].dims.size() == 2,
                    "got " + toString(spec.inputs[0]) +
                        ", expected batch x sequence");
    checker.requireOutput(0, spec.inputs[0]);
    end = checker.getInt("end");
  }
  if (llvm::Error error = checker.takeError())
    return error;
  return std::make_unique<DocumentStartsKernel>(spec.inputs[0], end);
}

} // namespace mf
