//===- Rotary.cpp - Rotary position embedding -----------------------------===//
//
// The rotate-half form (Su et al., 2021, in the layout of GPT-NeoX and Llama).
//
//===----------------------------------------------------------------------===//

#include "Factories.h"
#include "RowLoops.h"
#include "SpecChecker.h"
#include "Tiles.h"

namespace mf {
namespace {

/// x is [heads of all batches, sequence, dim]; the tables are [sequence, dim],
/// the same for all heads, or one for each batch.
struct RotaryShape {
  DType type, tableType;
  int64_t heads, sequence, dim;
  /// Heads that share a table.
  int64_t headsPerTable;
};

class RotaryKernel : public Kernel {
public:
  RotaryKernel(const RotaryShape &shape, bool backward)
      : shape(shape), backward(backward),
        positions(tileRows(shape.sequence, shape.dim)) {}

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const int64_t headsPerTile =
        std::max<int64_t>(1, positions.size / shape.sequence);
    Tiles heads(shape.heads, headsPerTile);
    pool.parallelFor(heads.count * positions.count, [&](int64_t tile) {
      auto [firstHead, headCount] = heads[tile / positions.count];
      auto [begin, size] = positions[tile % positions.count];
      for (int64_t head = firstHead; head < firstHead + headCount; ++head) {
        int64_t offset = (head * shape.sequence + begin) * shape.dim;
        int64_t table =
            (head / shape.headsPerTable * shape.sequence + begin) * shape.dim;
        runRotaryRows(shape.type, shape.tableType,
                      at(operands.inputs[0], shape.type, offset),
                      at(operands.inputs[1], shape.tableType, table),
                      at(operands.inputs[2], shape.tableType, table),
                      at(operands.outputs[0], shape.type, offset), size,
                      shape.dim, backward);
      }
    });
  }

private:
  RotaryShape shape;
  bool backward;
  Tiles positions;
};

bool readShape(const KernelSpec &spec, SpecChecker &checker,
               RotaryShape &shape) {
  const TensorShape &x = spec.inputs[0], &cos = spec.inputs[1];
  llvm::ArrayRef<int64_t> dims = x.dims, table = cos.dims;
  checker.requireFloatInput(0);
  checker.require(dims.size() == 4 && dims[3] % 2 == 0,
                  "input 0 is " + toString(x) +
                      ", expected batch x heads x sequence x dim with an even "
                      "dim");
  checker.require(cos.type == x.type || cos.type == DType::F32,
                  "input 1 is " + getName(cos.type) + ", expected f32 or " +
                      getName(x.type));
  checker.requireInput(2, cos);
  checker.requireOutput(0, x);
  if (checker.hasFailed())
    return false;
  bool fits = table.size() >= 2 && table.size() <= 4 &&
              table.take_back(2) == dims.take_back(2);
  int64_t tables = 1;
  for (int64_t leading : table.drop_back(std::min<size_t>(2, table.size())))
    tables *= leading;
  bool perBatch = table.size() == 4 && table[0] == dims[0] && table[1] == 1;
  checker.require(fits && (tables == 1 || perBatch),
                  "input 1 is " + toString(cos) + ", expected " +
                      llvm::Twine(dims[2]) + "x" + llvm::Twine(dims[3]) +
                      ", with at most a batch before it");
  shape.type = x.type;
  shape.tableType = cos.type;
  shape.heads = dims[0] * dims[1];
  shape.sequence = dims[2];
  shape.dim = dims[3];
  shape.headsPerTable = tables == 1 ? shape.heads : dims[1];
  return true;
}

} // namespace

KernelOrError makeRotary(const KernelSpec &spec) {
  SpecChecker checker(spec);
  RotaryShape shape{};
  if (checker.requireTensors())
    readShape(spec, checker, shape);
  if (llvm::Error error = checker.takeError())
    return error;
  bool backward = spec.name == "aclnnRotaryPositionEmbeddingGrad";
  return std::make_unique<RotaryKernel>(shape, backward);
}

} // namespace mf
