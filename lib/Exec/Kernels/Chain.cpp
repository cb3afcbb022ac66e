//===- Chain.cpp - Several kernels on blocks of rows ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each kernel runs its own loop on a block of rows that stays in the
// first-level cache, and rounds its result to its own type, so that the bits
// are those of separate kernels.
//
//===----------------------------------------------------------------------===//

#include "Factories.h"
#include "FusedKernels.h"
#include "Scratch.h"
#include "Tiles.h"
#include "mf/Program/Signatures/KernelChain.h"
#include "mf/Support/DType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

namespace mf {

namespace {

template <typename Bits>
void repeat(const char *source, char *target, int64_t count) {
  Bits element;
  std::memcpy(&element, source, sizeof element);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(target + i * sizeof element, &element, sizeof element);
}

/// A tensor as another shape sees it that it is repeated to, as in NumPy, row
/// by row.
class RepeatedRows {
public:
  /// `from` is broadcast over dimensions of `to` that it lacks or that have
  /// size one.
  RepeatedRows(const TensorShape &from, llvm::ArrayRef<int64_t> to)
      : elementBytes(mf::getBytes(from.type)),
        sourceColumns(from.dims.empty() ? 1 : from.dims.back()),
        columns(to.empty() ? 1 : to.back()) {
    int64_t stride = 1;
    for (size_t fromLast = 1; fromLast < to.size(); ++fromLast) {
      const int64_t size = to[to.size() - 1 - fromLast];
      const int64_t own = fromLast < from.dims.size()
                              ? from.dims[from.dims.size() - 1 - fromLast]
                              : 1;
      if (size > 1)
        loops.push_back({size, own == 1 ? 0 : stride});
      stride *= own;
    }
  }

  /// Returns rows [first, first + count) of the broadcast `source`: the address
  /// of the rows if they are contiguous there, and otherwise `scratch`, filled
  /// with the rows.
  const void *get(const void *source, int64_t first, int64_t count,
                  void *scratch) const {
    const auto *rows = static_cast<const char *>(source);
    const int64_t sourceBytes = sourceColumns * elementBytes;
    if (isContiguous(first, count))
      return rows + getSourceRow(first) * sourceBytes;
    auto *target = static_cast<char *>(scratch);
    for (int64_t row = 0; row < count; ++row)
      copyRow(rows + getSourceRow(first + row) * sourceBytes,
              target + row * columns * elementBytes);
    return scratch;
  }

private:
  /// Returns the source row of row `row`.
  int64_t getSourceRow(int64_t row) const {
    int64_t source = 0;
    for (const Loop &loop : loops) {
      source += row % loop.size * loop.stride;
      row /= loop.size;
    }
    return source;
  }

  bool isContiguous(int64_t first, int64_t count) const {
    if (sourceColumns != columns)
      return false;
    if (count == 1)
      return true;
    const Loop &inner = loops.front();
    if (inner.stride == 1 && first % inner.size + count <= inner.size)
      return true;
    for (int64_t row = 1, begin = getSourceRow(first); row < count; ++row)
      if (getSourceRow(first + row) != begin + row)
        return false;
    return true;
  }

  void copyRow(const char *source, char *target) const {
    if (sourceColumns == columns)
      std::memcpy(target, source, columns * elementBytes);
    else if (elementBytes == sizeof(uint16_t))
      repeat<uint16_t>(source, target, columns);
    else if (elementBytes == sizeof(uint32_t))
      repeat<uint32_t>(source, target, columns);
    else
      repeat<uint64_t>(source, target, columns);
  }

  /// A leading dimension, from the last one on: its number of rows, and their
  /// distance in rows of the source; 0 if they are the same row.
  struct Loop {
    int64_t size, stride;
  };
  llvm::SmallVector<Loop, 4> loops;
  int64_t elementBytes, sourceColumns, columns;
};

/// The number of elements that a kernel computes at a time: large enough that
/// the cost of a call does not matter, small enough that several blocks fit a
/// first-level cache.
constexpr int64_t elementsPerBlock = 2048;

/// The result of a kernel, or an input in the form that kernels which broadcast
/// it see.
struct ChainBlock {
  int64_t rowBytes = 0;
  /// The offset in a thread's scratch memory, in slots.
  int64_t slot = 0;
};

/// An input as some kernels see it.
struct Load {
  size_t input = 0;
  TensorShape shape;
  /// The rows that are repeated. Empty if the input has all rows.
  std::optional<RepeatedRows> repeated;
};

struct ChainMember {
  KernelSpec spec;
  FusedFunction run;
  /// The indices of blocks: those of loads, followed by those of kernels.
  llvm::SmallVector<size_t, 3> operands;
};

/// Returns whether all inputs and results have one shape, so that a row may be
/// a single element.
bool hasOneShape(llvm::ArrayRef<KernelSpec> specs) {
  const auto &dims = specs.back().outputs[0].dims;
  return llvm::all_of(specs, [&](const KernelSpec &spec) {
    return spec.outputs[0].dims == dims &&
           llvm::all_of(spec.inputs, [&](const TensorShape &input) {
             return input.dims == dims;
           });
  });
}

void flatten(std::vector<KernelSpec> &specs) {
  const int64_t count = specs.back().outputs[0].getNumElements();
  for (KernelSpec &spec : specs) {
    spec.outputs[0].dims = {count, 1};
    for (TensorShape &input : spec.inputs)
      input.dims = {count, 1};
  }
}

bool isElements(const KernelSpec &spec) {
  return findKernelSignature(spec.name)->getFusionKind(spec) ==
         FusionKind::Elements;
}

/// Splits long rows into shorter ones of equal size, if there is a size of at
/// least some hundred elements.
void splitRows(std::vector<KernelSpec> &specs) {
  const int64_t columns = getRowSize(specs.back().outputs[0]);
  int64_t size = elementsPerBlock;
  while (size > elementsPerBlock / 8 && columns % size != 0)
    --size;
  if (columns <= elementsPerBlock || columns % size != 0)
    return;
  auto split = [&](TensorShape &shape) {
    if (shape.dims.empty())
      return;
    const int64_t own = shape.dims.pop_back_val();
    shape.dims.push_back(own == 1 ? 1 : columns / size);
    shape.dims.push_back(own == 1 ? 1 : size);
  };
  for (KernelSpec &spec : specs) {
    split(spec.outputs[0]);
    for (TensorShape &input : spec.inputs)
      split(input);
  }
}

class ChainKernel : public Kernel {
public:
  /// Expects a chain that was checked.
  explicit ChainKernel(const KernelSpec &chain) {
    std::vector<KernelSpec> specs = getFusedSpecs(chain);
    if (hasOneShape(specs))
      flatten(specs);
    else if (llvm::all_of(specs, isElements))
      splitRows(specs);
    const TensorShape &output = specs.back().outputs[0];
    rows = output.getNumElements() / getRowSize(output);
    const auto &given =
        std::get<std::vector<FusedKernel>>(chain.attributes.at("steps"));
    // Loads come first, so all of them must be known before kernels are
    // numbered.
    std::vector<llvm::SmallVector<size_t, 3>> read(specs.size());
    for (auto [number, spec] : llvm::enumerate(specs)) {
      const bool repeats = isElements(spec);
      for (auto [operand, shape] :
           llvm::zip_equal(given[number].operands, spec.inputs)) {
        TensorShape seen = shape;
        if (repeats)
          seen.dims = spec.outputs[0].dims;
        read[number].push_back(operand < 0 ? 0 : addLoad(operand, shape, seen));
      }
    }
    for (auto [number, spec] : llvm::enumerate(specs)) {
      for (auto [position, operand] : llvm::enumerate(given[number].operands))
        if (operand < 0)
          read[number][position] = loads.size() + static_cast<size_t>(~operand);
      kernels.push_back({spec, makeFused(spec), read[number]});
      const TensorShape &result = spec.outputs[0];
      blocks.push_back({getRowSize(result) * getBytes(result.type)});
      columns = std::max(columns, getRowSize(result));
    }
    rowsPerBlock = std::max<int64_t>(1, elementsPerBlock / columns);
    assignSlots();
  }

  void run(const KernelOperands &operands, ThreadPool &pool) const override {
    const int64_t blocksPerTile = static_cast<int64_t>(
        llvm::divideCeil(elementsPerTile, rowsPerBlock * columns));
    Tiles tiles(rows, blocksPerTile * rowsPerBlock);
    pool.parallelFor(tiles.count, [&](int64_t tile) {
      auto *scratch = static_cast<char *>(
          getScratch(ScratchUse::Tile, numSlots * slotBytes));
      auto [begin, size] = tiles[tile];
      for (int64_t first = begin; first < begin + size; first += rowsPerBlock)
        runBlock(operands, scratch, first,
                 std::min(rowsPerBlock, begin + size - first));
    });
  }

private:
  /// Returns the index of the input's block in which it is repeated to `seen`.
  size_t addLoad(size_t input, const TensorShape &from, TensorShape seen) {
    for (auto [number, load] : llvm::enumerate(loads))
      if (load.input == input && load.shape == seen)
        return number;
    std::optional<RepeatedRows> repeated;
    if (from.dims != seen.dims)
      repeated.emplace(from, seen.dims);
    columns = std::max(columns, getRowSize(seen));
    blocks.push_back({getRowSize(seen) * getBytes(seen.type)});
    loads.push_back({input, std::move(seen), std::move(repeated)});
    return loads.size() - 1;
  }

  /// Blocks reuse the slots of those that no later kernel reads. The last
  /// kernel writes to the output itself.
  void assignSlots() {
    std::vector<size_t> lastReader(blocks.size(), 0);
    for (auto [number, kernel] : llvm::enumerate(kernels))
      for (size_t operand : kernel.operands)
        lastReader[operand] = number;
    std::vector<int64_t> free;
    auto take = [&] {
      if (free.empty())
        return numSlots++;
      const int64_t slot = free.back();
      free.pop_back();
      return slot;
    };
    for (size_t load = 0; load < loads.size(); ++load)
      if (loads[load].repeated)
        blocks[load].slot = take();
    for (size_t number = 0; number + 1 < kernels.size(); ++number) {
      const ChainMember &kernel = kernels[number];
      ChainBlock &block = blocks[loads.size() + number];
      const KernelSignature &signature = *findKernelSignature(kernel.spec.name);
      // The result is written in place if the kernel allows it. Otherwise the
      // operands' slots are free afterwards.
      std::optional<int64_t> own;
      llvm::SmallVector<int64_t, 3> freed;
      for (auto [position, operand] : llvm::enumerate(kernel.operands)) {
        const ChainBlock &read = blocks[operand];
        const bool isDead =
            operand >= loads.size() && lastReader[operand] == number &&
            !llvm::is_contained(
                llvm::ArrayRef(kernel.operands).take_front(position), operand);
        if (!isDead)
          continue;
        if (!own && read.rowBytes == block.rowBytes &&
            signature.mayShareMemory(0, position))
          own = read.slot;
        else
          freed.push_back(read.slot);
      }
      block.slot = own ? *own : take();
      llvm::append_range(free, freed);
    }
    for (const ChainBlock &block : blocks)
      slotBytes =
          std::max<int64_t>(slotBytes, static_cast<int64_t>(llvm::alignTo(
                                           block.rowBytes * rowsPerBlock, 64)));
  }

  void runBlock(const KernelOperands &operands, char *scratch, int64_t first,
                int64_t count) const {
    llvm::SmallVector<const void *, 16> places(blocks.size());
    for (auto [number, load] : llvm::enumerate(loads)) {
      const auto *input = operands.getInput<char>(load.input);
      const ChainBlock &block = blocks[number];
      places[number] =
          load.repeated ? load.repeated->get(input, first, count,
                                             scratch + block.slot * slotBytes)
                        : input + first * block.rowBytes;
    }
    llvm::SmallVector<const void *, 4> read;
    for (auto [number, kernel] : llvm::enumerate(kernels)) {
      const size_t own = loads.size() + number;
      const bool isLast = number + 1 == kernels.size();
      char *output =
          isLast ? operands.getOutput<char>(0) + first * blocks[own].rowBytes
                 : scratch + blocks[own].slot * slotBytes;
      read.clear();
      for (size_t operand : kernel.operands)
        read.push_back(places[operand]);
      kernel.run(read, output, count);
      places[own] = output;
    }
  }

  std::vector<Load> loads;
  std::vector<ChainMember> kernels;
  std::vector<ChainBlock> blocks;
  /// `columns` are those of the longest rows.
  int64_t rows, columns = 1, rowsPerBlock, slotBytes = 0, numSlots = 0;
};

/// The factories are in the order of getKernelSignatures().
constexpr FusedFunction (*fusedFactories[])(const KernelSpec &) = {
#define GET_FUSED_FACTORIES
#include "lib/Exec/Kernels/KernelFactories.inc"
};

} // namespace

FusedFunction makeFused(const KernelSpec &spec) {
  const KernelSignature *signature = findKernelSignature(spec.name);
  auto *factory = fusedFactories[signature - getKernelSignatures().begin()];
  return factory ? factory(spec) : FusedFunction();
}

KernelOrError makeChain(const KernelSpec &spec, SpecChecker &checker) {
  if (llvm::Error error = checker.takeError())
    return error;
  if (llvm::Error error = checkChain(spec))
    return error;
  for (auto [number, kernel] : llvm::enumerate(getFusedSpecs(spec)))
    if (auto alone = makeKernel(kernel); !alone)
      return llvm::createStringError("mfChain: kernel t" + llvm::Twine(number) +
                                     ": " + llvm::toString(alone.takeError()));
  return std::make_unique<ChainKernel>(spec);
}

} // namespace mf
