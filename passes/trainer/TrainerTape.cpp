//===- TrainerTape.cpp - What a trainer holds for a chunk -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TrainerTape.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using mf::passes::TapedChunk;
using mf::trainer::Bytes;
using mf::trainer::ChunkMemory;
using mf::trainer::getBlockBytes;
using mf::trainer::TrainerCategory;
using mf::trainer::TrainerMoment;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {

/// A block of the trainer's allocator.
struct TapedBlock {
  int64_t bytes = 0;
  /// The operators of forward that make the block and that read it last.
  int64_t first = 0, last = 0;
  /// The last operator of forward that reads the block or a part of it, at
  /// whose backward its gradient begins; -1 without one.
  int64_t lastReader = -1;
  /// The operators whose backward reads the block.
  SmallVector<int64_t, 2> keepers;
  bool hasGradient = false;
  /// Whether the block is in host memory between forward and backward.
  bool isSwapped = false;
};

/// Where the elements of a value are.
struct TapedPlace {
  /// The number of the block; -1 for weights, for constants and for values of a
  /// conversion that has not run.
  int64_t block = -1;
  /// The distance in elements between neighbours in each dimension.
  SmallVector<int64_t> strides;
  /// The type of the elements, which may be narrower than in the model.
  Type element;
  /// The value that a conversion that has not run would convert.
  Value uncast;
  /// The weight that the value is, possibly gathered or in its kept type.
  ParamOp weight;
};

/// A layer's operators, and the bytes of the weights that are gathered for it:
/// those that are freed after it, and those that stay until its backward.
struct TapedLayer {
  LayerOp layer;
  int64_t begin = 0, end = 0;
  int64_t freed = 0, kept = 0;
};

/// An operator that reads a weight, whose gradient its backward makes.
struct WeightRead {
  int64_t operation = 0;
  ParamOp param;
  int64_t bytes = 0;
  bool isNarrow = false;
};

/// Bytes beside those of blocks, at a moment of an operator.
struct TapedMoment {
  int64_t operation = 0;
  bool isBackward = false;
  std::string name;
  Bytes bytes;
};

/// Operators of a layer that the trainer computes in its own way, at the last
/// one of them.
struct TapedKernel {
  TrainerKernel kernel;
  SmallVector<Operation *> operations;
};

/// Operators that run again one after another before their backward.
struct RecomputedRun {
  int64_t first = 0, last = 0;
};

} // namespace

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static SmallVector<int64_t> getDenseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

static bool isDense(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  int64_t expected = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] != 1 && strides[dim] != expected)
      return false;
    expected *= shape[dim];
  }
  return true;
}

/// Returns the strides of a reshape that moves no element, or none.
static std::optional<SmallVector<int64_t>>
findReshapedStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> strides,
                    ArrayRef<int64_t> to) {
  // Dimensions that follow each other without a gap can be divided anew.
  SmallVector<std::pair<int64_t, int64_t>> runs;
  for (auto [size, stride] : llvm::zip_equal(from, strides)) {
    if (size == 1)
      continue;
    if (!runs.empty() && runs.back().second == stride * size)
      runs.back() = {runs.back().first * size, stride};
    else
      runs.push_back({size, stride});
  }
  SmallVector<int64_t> result(to.size(), 1);
  size_t dim = to.size();
  for (auto [size, stride] : llvm::reverse(runs))
    for (int64_t taken = 1; taken < size;) {
      if (dim == 0)
        return std::nullopt;
      --dim;
      result[dim] = stride * taken;
      taken *= to[dim];
      if (size % taken != 0)
        return std::nullopt;
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

namespace {

/// Records the forward of a chunk.
class ChunkTape : public Tape {
public:
  ChunkTape(ModelOp model, const TapedChunk &chunk)
      : model(model), chunk(chunk), symbols(model) {}

  void record();

  bool needsGradient(Value value) override {
    return withGradient.contains(resolve(value));
  }
  int64_t getBytes(Value value) override {
    Type element = getPlace(value).element;
    if (!element)
      element = cast<RankedTensorType>(value.getType()).getElementType();
    return countBytes(value, element);
  }
  SmallVector<Operation *> getReaders(Value value) override;
  void keep(Value value) override;
  Value readUncast(Value value, bool isKept) override;
  void keepContiguous(Value value) override;
  void keepBytes(int64_t bytes) override;
  void holdToEnd(Value value) override { held = resolve(value); }
  void make(Value result, int64_t copies) override;
  void makeLike(Value result, Value like) override;
  void view(Value result, Value of) override;
  void viewPermuted(Value result, Value of,
                    ArrayRef<int64_t> permutation) override;
  void viewReshaped(Value result, Value of) override;
  void convert(Value result, Value input) override;
  bool gatherWeight(Value result, Value input, bool isFreed) override;
  void makePart(Value result, int64_t numerator, int64_t denominator) override;
  void takePart(Value result, Value input) override;
  void useWorkspace(int64_t forward, int64_t backward) override;
  void addMoment(bool isBackward, StringRef name, int64_t bytes,
                 int64_t workspace) override;

  std::string getName(int64_t operation) const;
  /// Returns the kernel that the operator is a part of, or null.
  const TapedKernel *findKernel(int64_t operation) const {
    auto it = kernelOf.find(operations[operation]);
    return it == kernelOf.end() ? nullptr : &kernels[it->second];
  }

  ModelOp model;
  const TapedChunk &chunk;
  SmallVector<Operation *> operations;
  SmallVector<TapedLayer> layers;
  std::vector<TapedBlock> blocks;
  std::vector<TapedMoment> moments;
  std::vector<WeightRead> weightReads;
  /// The run of each operator that runs again, or -1.
  SmallVector<int64_t> runOf;
  SmallVector<RecomputedRun> runs;
  /// The bytes of the tables of rotary embedding, and of the largest.
  int64_t rotaryBytes = 0, largestRotaryBytes = 0;
  /// The block of the value that the next chunk reads; -1 without one.
  int64_t outputBlock = -1;
  size_t numInputs = 0;

private:
  void flatten();
  void addLayer(LayerOp layer);
  void gatherKernels(const TapedLayer &layer);
  void gatherKernel(const TapedLayer &layer, TapedKernel kernel);
  void passGradients(Operation *op);
  void recordKernel(const TapedKernel &kernel);
  void recordParameter(GetParamOp read);
  void recordOperator(ComputeOpInterface op);
  TapedPlace readPlace(Value value);
  void addWeightRead(Value operand, TapedPlace place);
  void swapFrom(size_t firstBlock);
  void readOperands(Operation *op);
  std::optional<bool> findRerun(int64_t operation) const;
  void findRuns();
  void addRotaryTable(GetParamOp read);

  /// Returns the value that an argument of a layer stands for.
  Value resolve(Value value) const {
    for (auto it = passed.find(value); it != passed.end();
         it = passed.find(value))
      value = it->second;
    return value;
  }
  TapedPlace getPlace(Value value) const {
    return places.lookup(resolve(value));
  }
  void setPlace(Value value, TapedPlace place) {
    places[resolve(value)] = std::move(place);
  }
  /// Returns the value before conversions that have not run.
  Value peel(Value value) const {
    value = resolve(value);
    while (Value uncast = getPlace(value).uncast)
      value = resolve(uncast);
    return value;
  }
  /// Runs the conversion of a value if it has not run.
  void materialize(Value value);
  int64_t countBytes(Value value, Type element) const;
  void addBlock(Value value, int64_t bytes, Type element);
  void use(Value value, int64_t operation);

  SymbolTable symbols;
  DenseMap<Operation *, int64_t> numbers;
  std::vector<TapedKernel> kernels;
  DenseMap<Operation *, size_t> kernelOf;
  DenseMap<Value, Value> passed;
  DenseMap<Value, SmallVector<Value, 1>> receivers;
  DenseMap<Value, TapedPlace> places;
  /// The part of a value that the trainer makes.
  DenseMap<Value, std::pair<int64_t, int64_t>> parts;
  llvm::DenseSet<Value> withGradient, readBefore;
  llvm::StringSet<> rotaryTables;
  SmallVector<Value> inputs, outputs, passedByHeads;
  Value held;
  int64_t current = 0;
};

} // namespace

std::string ChunkTape::getName(int64_t operation) const {
  Operation *op = operations[operation];
  std::string name = op->getParentOfType<LayerOp>().getCell().str();
  if (const TapedKernel *kernel = findKernel(operation))
    return name + "." + kernel->kernel.name.str();
  if (auto compute = dyn_cast<ComputeOpInterface>(op))
    name += ("." + compute.getCellName()).str();
  return name;
}

/// Adds the operators of a layer. A head computes the losses of later tokens
/// before that of the next one.
void ChunkTape::addLayer(LayerOp layer) {
  mlir::Block &body = layer.getBody().front();
  TapedLayer taped{layer, static_cast<int64_t>(operations.size())};
  auto add = [&](Operation *op) {
    if (numbers.try_emplace(op, operations.size()).second)
      operations.push_back(op);
  };
  if (layer.getKind() == LayerKind::Head) {
    for (Value value : llvm::reverse(body.getTerminator()->getOperands())) {
      SmallVector<Operation *> reached{value.getDefiningOp()};
      llvm::DenseSet<Operation *> ofValue;
      while (!reached.empty())
        if (Operation *op = reached.pop_back_val();
            op && ofValue.insert(op).second)
          for (Value operand : op->getOperands())
            reached.push_back(operand.getDefiningOp());
      for (Operation &op : body.without_terminator())
        if (ofValue.contains(&op))
          add(&op);
    }
  }
  for (Operation &op : body.without_terminator())
    add(&op);
  taped.end = static_cast<int64_t>(operations.size());
  gatherKernels(taped);
  layers.push_back(taped);
}

/// Finds the kernels of the trainer among the operators of a layer, and puts
/// the operators of each together.
void ChunkTape::gatherKernels(const TapedLayer &layer) {
  llvm::MapVector<Attribute, TapedKernel> found;
  for (int64_t at = layer.begin; at < layer.end; ++at) {
    Operation *op = operations[at];
    std::optional<TrainerKernel> kernel = TrainerKernel::find(op);
    if (!kernel)
      continue;
    TapedKernel &own =
        found[op->getDiscardableAttr(TrainerKernel::attributeName)];
    own.kernel = *kernel;
    own.operations.push_back(op);
  }
  for (auto &[attribute, kernel] : found)
    gatherKernel(layer, std::move(kernel));
}

/// Puts the operators of a kernel together: behind all others that do not
/// depend on it. Operators between them, such as exchanges between ranks, are a
/// part of the kernel.
void ChunkTape::gatherKernel(const TapedLayer &layer, TapedKernel kernel) {
  llvm::DenseSet<Operation *> within(kernel.operations.begin(),
                                     kernel.operations.end());
  const int64_t begin = numbers.lookup(kernel.operations.front());
  const int64_t end = numbers.lookup(kernel.operations.back()) + 1;
  assert(layer.begin <= begin && end <= layer.end);
  llvm::DenseSet<Operation *> behind, ahead;
  for (int64_t at = begin; at < end; ++at)
    if (llvm::any_of(operations[at]->getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return within.contains(producer) || behind.contains(producer);
        }))
      behind.insert(operations[at]);
  for (int64_t at = end; at-- > begin;)
    if (llvm::any_of(operations[at]->getUsers(), [&](Operation *user) {
          return within.contains(user) || ahead.contains(user);
        }))
      ahead.insert(operations[at]);
  SmallVector<Operation *> before, after;
  kernel.operations.clear();
  for (int64_t at = begin; at < end; ++at) {
    Operation *op = operations[at];
    const bool isWithin =
        within.contains(op) || (behind.contains(op) && ahead.contains(op));
    (isWithin              ? kernel.operations
     : behind.contains(op) ? after
                           : before)
        .push_back(op);
  }
  int64_t at = begin;
  for (ArrayRef<Operation *> part :
       {ArrayRef<Operation *>(before), ArrayRef<Operation *>(kernel.operations),
        ArrayRef<Operation *>(after)})
    for (Operation *op : part) {
      operations[at] = op;
      numbers[op] = at++;
    }
  for (Operation *op : kernel.operations)
    kernelOf[op] = kernels.size();
  kernels.push_back(std::move(kernel));
}

void ChunkTape::flatten() {
  SmallVector<Value> hidden;
  for (LayerOp layer : chunk.layers) {
    mlir::Block &body = layer.getBody().front();
    for (BlockArgument argument : body.getArguments()) {
      if (argument.getArgNumber() < hidden.size()) {
        Value given = hidden[argument.getArgNumber()];
        passed[argument] = given;
        receivers[given].push_back(argument);
      } else if (layers.empty() && isFloatTensor(argument.getType())) {
        inputs.push_back(argument);
        if (chunk.hasInputGradient)
          withGradient.insert(argument);
      }
    }
    addLayer(layer);
    hidden.clear();
    for (Value value : body.getTerminator()->getOperands())
      if (!isLoss(value.getType()))
        hidden.push_back(resolve(value));
    // The frame of the model's function holds what one head passes to the next.
    if (layer.getKind() == LayerKind::Head)
      llvm::append_range(passedByHeads, hidden);
  }
  outputs = hidden;
}

SmallVector<Operation *> ChunkTape::getReaders(Value value) {
  SmallVector<Operation *> readers;
  SmallVector<Value> names{value};
  if (auto it = receivers.find(value); it != receivers.end())
    llvm::append_range(names, it->second);
  for (Value name : names)
    for (Operation *user : name.getUsers())
      if (!isa<ReturnOp>(user))
        readers.push_back(user);
  return readers;
}

int64_t ChunkTape::countBytes(Value value, Type element) const {
  int64_t elements = cast<RankedTensorType>(value.getType()).getNumElements();
  if (auto it = parts.find(resolve(value)); it != parts.end())
    elements = elements * it->second.first / it->second.second;
  // Integers of the trainer have 64 bits; masks have one bit an element.
  int64_t bits = element.getIntOrFloatBitWidth();
  if (element.isInteger() && bits > 1)
    bits = 64;
  return static_cast<int64_t>(llvm::divideCeil(elements * bits, 8));
}

void ChunkTape::addBlock(Value value, int64_t bytes, Type element) {
  TapedPlace place;
  place.block = static_cast<int64_t>(blocks.size());
  place.strides = getDenseStrides(getShape(value));
  place.element = element;
  setPlace(value, place);
  TapedBlock &block = blocks.emplace_back();
  block.bytes = getBlockBytes(bytes);
  block.first = block.last = current;
  block.hasGradient = needsGradient(value);
}

void ChunkTape::materialize(Value value) {
  value = resolve(value);
  TapedPlace place = getPlace(value);
  if (!place.uncast)
    return;
  const int64_t converter = numbers.lookup(value.getDefiningOp());
  use(peel(value), converter);
  const int64_t reader = std::exchange(current, converter);
  addBlock(value, countBytes(value, place.element), place.element);
  current = reader;
}

void ChunkTape::use(Value value, int64_t operation) {
  if (int64_t block = getPlace(value).block; block >= 0)
    blocks[block].last = std::max(blocks[block].last, operation);
}

void ChunkTape::keep(Value value) {
  if (!places.contains(resolve(value)))
    make(value, 1);
  materialize(value);
  if (int64_t block = getPlace(value).block; block >= 0)
    blocks[block].keepers.push_back(current);
}

Value ChunkTape::readUncast(Value value, bool isKept) {
  readBefore.insert(resolve(value));
  Value source = peel(value);
  if (isKept)
    keep(source);
  return source;
}

void ChunkTape::keepContiguous(Value value) {
  materialize(value);
  TapedPlace place = getPlace(value);
  if (place.block < 0)
    return;
  if (isDense(getShape(value), place.strides))
    keep(value);
  else
    keepBytes(countBytes(value, place.element));
}

void ChunkTape::keepBytes(int64_t bytes) {
  TapedBlock &block = blocks.emplace_back();
  block.bytes = getBlockBytes(bytes);
  block.first = block.last = current;
  block.keepers.push_back(current);
}

void ChunkTape::make(Value result, int64_t copies) {
  Type element = cast<RankedTensorType>(result.getType()).getElementType();
  addBlock(result, copies * countBytes(result, element), element);
}

void ChunkTape::makeLike(Value result, Value like) {
  Type element = getPlace(like).element;
  addBlock(result, countBytes(result, element), element);
}

void ChunkTape::view(Value result, Value of) {
  materialize(of);
  setPlace(result, getPlace(of));
}

void ChunkTape::viewPermuted(Value result, Value of,
                             ArrayRef<int64_t> permutation) {
  materialize(of);
  TapedPlace place = getPlace(of);
  SmallVector<int64_t> strides;
  for (int64_t dim : permutation)
    strides.push_back(place.block < 0 ? 0 : place.strides[dim]);
  place.strides = strides;
  setPlace(result, place);
}

void ChunkTape::viewReshaped(Value result, Value of) {
  TapedPlace place = getPlace(of);
  if (place.uncast) {
    // A reshaped conversion has not run either.
    place.uncast = of;
    readBefore.insert(resolve(of));
    return setPlace(result, place);
  }
  // A reshape of a reshape is one reshape of the trainer.
  while (auto reshape = resolve(of).getDefiningOp<ReshapeOp>())
    of = reshape.getInput();
  place = getPlace(of);
  if (place.block < 0)
    return setPlace(result, place);
  auto strides =
      findReshapedStrides(getShape(of), place.strides, getShape(result));
  if (!strides)
    return addBlock(result, countBytes(result, place.element), place.element);
  place.strides = *strides;
  setPlace(result, place);
}

void ChunkTape::convert(Value result, Value input) {
  TapedPlace place = getPlace(input);
  Type to = cast<RankedTensorType>(result.getType()).getElementType();
  if (auto it = parts.find(resolve(input)); it != parts.end())
    parts[result] = it->second;
  if (place.weight) {
    if (KeptType::find(place.weight) != to)
      return make(result, 1);
    // The trainer stores the weight in the narrower type.
    place.element = to;
    return setPlace(result, place);
  }
  if (place.element == to && !place.uncast)
    return setPlace(result, place);
  if (isa<FloatType>(to) && isa<FloatType>(place.element) &&
      to.getIntOrFloatBitWidth() > place.element.getIntOrFloatBitWidth()) {
    readBefore.insert(resolve(input));
    TapedPlace later;
    later.uncast = input;
    later.element = to;
    return setPlace(result, later);
  }
  make(result, 1);
}

bool ChunkTape::gatherWeight(Value result, Value input, bool isFreed) {
  TapedPlace place = getPlace(input);
  if (!place.weight)
    return false;
  place.strides = getDenseStrides(getShape(result));
  setPlace(result, place);
  // A weight that is gathered over two axes is whole after the second gather.
  const bool isWhole = llvm::none_of(result.getUsers(), [](Operation *user) {
    return isa<AllGatherOp>(user) && CollectiveUnit::find(user);
  });
  if (isWhole)
    (isFreed ? layers.back().freed : layers.back().kept) +=
        getBlockBytes(countBytes(result, place.element));
  return true;
}

void ChunkTape::makePart(Value result, int64_t numerator, int64_t denominator) {
  parts[result] = {numerator, denominator};
  make(result, 1);
}

void ChunkTape::takePart(Value result, Value input) {
  materialize(input);
  TapedPlace place = getPlace(input);
  if (place.block >= 0 && !parts.contains(resolve(input)))
    return make(result, 1);
  place.strides = getDenseStrides(getShape(result));
  setPlace(result, place);
}

void ChunkTape::useWorkspace(int64_t forward, int64_t backward) {
  addMoment(false, "", 0, forward);
  addMoment(true, "", 0, backward);
}

void ChunkTape::addMoment(bool isBackward, StringRef name, int64_t bytes,
                          int64_t workspace) {
  TapedMoment &moment =
      moments.emplace_back(TapedMoment{current, isBackward, name.str(), {}});
  moment.bytes[TrainerCategory::Values] = bytes;
  moment.bytes[TrainerCategory::Workspace] = workspace;
}

void ChunkTape::addRotaryTable(GetParamOp read) {
  if (!rotaryTables.insert(read.getParam()).second)
    return;
  const int64_t bytes = getBlockBytes(getTensorBytes(read.getType()));
  rotaryBytes += bytes;
  largestRotaryBytes = std::max(largestRotaryBytes, bytes);
}

void ChunkTape::recordParameter(GetParamOp read) {
  auto param = symbols.lookup<ParamOp>(read.getParam());
  TapedPlace place;
  place.element = cast<RankedTensorType>(read.getType()).getElementType();
  place.strides = getDenseStrides(getShape(read.getResult()));
  const InitKind init = param.getInit().getKind();
  if (init == InitKind::RotaryCos || init == InitKind::RotarySin)
    addRotaryTable(read);
  if (!param.getFrozen())
    place.weight = param;
  setPlace(read.getResult(), place);
  if (param.needsGradient())
    withGradient.insert(read.getResult());
  // With stages, the copy stays for good.
  std::optional<ParameterSharing> sharing = mf::passes::findWholeSharing(param);
  if (sharing && place.weight &&
      model.getTrainingAttr().getParallel().getStages() == 1)
    (sharing->gathersAgain ? layers.back().freed : layers.back().kept) +=
        getBlockBytes(countBytes(read.getResult(), KeptType::find(param)
                                                       ? KeptType::find(param)
                                                       : place.element));
}

void ChunkTape::passGradients(Operation *op) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (differentiable && llvm::any_of(op->getOperands(), [&](Value operand) {
        return isFloatTensor(operand.getType()) && needsGradient(operand);
      }))
    for (OpResult result : op->getResults())
      if (differentiable.isDifferentiable(result.getResultNumber()))
        withGradient.insert(result);
}

/// Returns the place of a value that the current operator reads.
TapedPlace ChunkTape::readPlace(Value value) {
  use(value, current);
  TapedPlace place = getPlace(value);
  if (place.block >= 0) {
    TapedBlock &block = blocks[place.block];
    block.lastReader = std::max(block.lastReader, current);
  }
  return place;
}

/// Notes that backward makes the gradient of the operand, if it is a weight.
void ChunkTape::addWeightRead(Value operand, TapedPlace place) {
  if (place.weight && place.weight.needsGradient())
    weightReads.push_back({current, place.weight,
                           countBytes(operand, place.element),
                           place.element.getIntOrFloatBitWidth() < 32});
}

void ChunkTape::swapFrom(size_t firstBlock) {
  for (TapedBlock &block : llvm::drop_begin(blocks, firstBlock))
    block.isSwapped = true;
}

/// Records operators that the trainer computes in its own way. Their values
/// exist only if others read them, and the kernel reads the values in front of
/// conversions to a wider type.
void ChunkTape::recordKernel(const TapedKernel &taped) {
  const TrainerKernel &kernel = taped.kernel;
  llvm::DenseSet<Operation *> within(taped.operations.begin(),
                                     taped.operations.end());
  llvm::SetVector<Value> operands;
  for (Operation *op : taped.operations) {
    passGradients(op);
    for (Value operand : op->getOperands())
      if (Value read = peel(operand); !within.contains(read.getDefiningOp()))
        operands.insert(read);
  }
  const bool hasGradient = llvm::any_of(operands, [&](Value operand) {
    return isFloatTensor(operand.getType()) && needsGradient(operand);
  });
  const size_t firstBlock = blocks.size();
  for (Value operand : operands) {
    TapedPlace place = readPlace(operand);
    if (place.block >= 0 && hasGradient && kernel.keepsOperands)
      keep(operand);
    addWeightRead(operand, place);
  }
  for (Operation *op : taped.operations)
    for (Value result : op->getResults()) {
      if (llvm::all_of(result.getUsers(),
                       [&](Operation *user) { return within.contains(user); }))
        continue;
      make(result, 1);
      if (hasGradient && kernel.keepsResults)
        keep(result);
    }
  if (hasGradient && kernel.keptBytes > 0)
    keepBytes(kernel.keptBytes);
  if (llvm::any_of(taped.operations, [](Operation *op) {
        auto compute = dyn_cast<ComputeOpInterface>(op);
        return compute && compute.getSwapMark();
      }))
    swapFrom(firstBlock);
  addMoment(false, "", kernel.forwardBytes, 0);
  if (hasGradient)
    addMoment(true, "", kernel.backwardBytes, 0);
}

void ChunkTape::recordOperator(ComputeOpInterface op) {
  passGradients(op);
  readBefore.clear();
  const size_t firstBlock = blocks.size();
  op.recordOnTape(*this);
  for (Value result : op->getResults())
    if (!places.contains(result))
      make(result, 1);
  if (op.getSwapMark())
    swapFrom(firstBlock);
  readOperands(op);
}

void ChunkTape::readOperands(Operation *op) {
  // Weights that are gathered, converted or reshaped are still weights.
  const bool isRead = llvm::none_of(op->getResults(), [&](Value result) {
    return static_cast<bool>(getPlace(result).weight);
  });
  for (Value operand : op->getOperands()) {
    Value read = resolve(operand);
    if (readBefore.contains(read))
      read = peel(read);
    else
      materialize(read);
    TapedPlace place = readPlace(read);
    if (isRead)
      addWeightRead(operand, place);
  }
}

/// Returns whether the trainer runs an operator again: those that are marked,
/// and the outputs of recomputed Cells.
static bool runsAgain(ComputeOpInterface op) {
  return isMarkedForRecompute(op) ||
         op.getRecomputeMark() == RecomputeKind::Output;
}

/// Returns whether all operators of a kernel run again.
static bool runsAgain(const TapedKernel &kernel) {
  return llvm::all_of(kernel.operations, [](Operation *op) {
    auto compute = dyn_cast<ComputeOpInterface>(op);
    return !TrainerKernel::find(op) || !compute || runsAgain(compute);
  });
}

/// Returns whether an operator runs again; none for operators without a mark of
/// the YAML's settings, such as gathers of weights.
std::optional<bool> ChunkTape::findRerun(int64_t operation) const {
  Operation *op = operations[operation];
  if (const TapedKernel *kernel = findKernel(operation)) {
    // A kernel runs again as a whole or not at all.
    if (op != kernel->operations.back())
      return std::nullopt;
    return runsAgain(*kernel);
  }
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute)
    return std::nullopt;
  const std::optional<RecomputeKind> mark = compute.getRecomputeMark();
  const bool isView = llvm::all_of(op->getResults(), [&](Value result) {
    return getPlace(result).block < 0;
  });
  if (mark == RecomputeKind::Preset || mark == RecomputeKind::Excluded ||
      isView)
    return std::nullopt;
  return runsAgain(compute);
}

/// Finds the operators that run again. Those without a mark belong to the run
/// around them.
void ChunkTape::findRuns() {
  runOf.assign(operations.size(), -1);
  for (const TapedLayer &layer : layers) {
    bool isOpen = false;
    for (int64_t at = layer.begin; at < layer.end; ++at) {
      if (std::optional<bool> isRerun = findRerun(at)) {
        if (*isRerun && !isOpen)
          runs.push_back({at, at});
        isOpen = *isRerun;
      }
      if (isOpen) {
        runs.back().last = at;
        runOf[at] = static_cast<int64_t>(runs.size()) - 1;
      }
    }
  }
}

void ChunkTape::record() {
  flatten();
  for (Value input : inputs)
    make(input, 1);
  numInputs = blocks.size();
  SmallVector<TapedLayer> all = std::move(layers);
  layers.clear();
  for (const TapedLayer &layer : all) {
    layers.push_back(layer);
    for (current = layer.begin; current < layer.end; ++current) {
      if (const TapedKernel *kernel = findKernel(current)) {
        if (operations[current] == kernel->operations.back())
          recordKernel(*kernel);
        continue;
      }
      if (auto read = dyn_cast<GetParamOp>(operations[current]))
        recordParameter(read);
      else if (auto op = dyn_cast<ComputeOpInterface>(operations[current]))
        recordOperator(op);
    }
  }
  current = static_cast<int64_t>(operations.size()) - 1;
  for (Value value : passedByHeads)
    use(peel(value), current);
  if (held)
    use(held, current);
  for (Value output : outputs) {
    use(output, current);
    if (!chunk.hasReader)
      continue;
    materialize(output);
    outputBlock = getPlace(output).block;
  }
  findRuns();
}

//===----------------------------------------------------------------------===//
// Bytes over time
//===----------------------------------------------------------------------===//

namespace {

/// The bytes that are alive at each operator of forward, and then at the
/// backward of each, the last operator first.
class ChunkTimeline {
public:
  explicit ChunkTimeline(const ChunkTape &tape)
      : tape(tape), count(static_cast<int64_t>(tape.operations.size())),
        change(2 * count + 1) {
    lasting.fill(std::vector<Bytes>(2 * count + 1));
    addBlocks();
    for (auto [number, run] : llvm::enumerate(tape.runs))
      addRerun(static_cast<int64_t>(number), run);
    addGatheredWeights();
    addTables();
    addWeightGradients();
  }

  ChunkMemory summarize();

private:
  bool hasStages() const {
    return ModelOp(tape.model).getTrainingAttr().getParallel().getStages() > 1;
  }
  int64_t getEnd() const { return 2 * count - 1; }
  size_t findLayer(int64_t operation) const {
    size_t layer = 0;
    while (tape.layers[layer].end <= operation)
      ++layer;
    return layer;
  }
  int64_t getBackward(int64_t operation) const { return getEnd() - operation; }
  /// Adds bytes that are alive from one time to another, both included. Notes
  /// what begins with backward.
  void add(TrainerCategory category, int64_t bytes, int64_t from, int64_t to) {
    if (to < from || bytes == 0)
      return;
    change[from][category] += bytes;
    change[to + 1][category] -= bytes;
    if (from < count && to >= count)
      crossing[category] += bytes;
  }
  /// Adds bytes that the backward of that number leaves behind.
  void addLasting(size_t backward, TrainerCategory category, int64_t bytes,
                  int64_t from) {
    lasting[backward][from][category] += bytes;
  }

  void addBlocks();
  void addSwapped(const TapedBlock &block, int64_t release);
  void addRerun(int64_t number, const RecomputedRun &run);
  void addGatheredWeights();
  void addTables();
  void addReturnedGradient(const WeightRead &read);
  void addWeightGradients();
  TrainerMoment findPeak(int64_t from, int64_t to,
                         const std::vector<Bytes> &live,
                         const Bytes &base) const;

  const ChunkTape &tape;
  int64_t count;
  std::vector<Bytes> change;
  /// What each of ChunkMemory::backwards adds for good or releases.
  std::array<std::vector<Bytes>, 3> lasting;
  /// What forward keeps for backward.
  Bytes crossing;
  std::vector<TapedMoment> reruns;
};

} // namespace

void ChunkTimeline::addBlocks() {
  for (auto [number, block] : llvm::enumerate(tape.blocks)) {
    const int64_t ownRun =
        number < tape.numInputs ? -1 : tape.runOf[block.first];
    // The function that computes gradients holds the chunk's output until the
    // backward has ended, also if the output's layer runs again.
    const bool isOutput = static_cast<int64_t>(number) == tape.outputBlock;
    int64_t release = isOutput ? getEnd() : -1, releaseOfRun = -1;
    for (int64_t keeper : block.keepers) {
      // A run that is repeated keeps only values from outside of it.
      const bool isOfRun = ownRun >= 0 && tape.runOf[keeper] == ownRun;
      int64_t &until = isOfRun ? releaseOfRun : release;
      until = std::max(until, getBackward(keeper));
    }
    if (release >= 0 && block.isSwapped && !isOutput)
      addSwapped(block, release);
    else if (release >= 0)
      add(TrainerCategory::Kept, block.bytes, block.first,
          std::max(release, block.last));
    else
      add(TrainerCategory::Values, block.bytes, block.first, block.last);
    // With stages, the function that computes gradients also holds what runs
    // compute again until the backward of the chunk has ended.
    if (release < 0 && releaseOfRun >= 0)
      add(TrainerCategory::Kept, block.bytes,
          getBackward(tape.runs[ownRun].last),
          hasStages() ? getEnd() : releaseOfRun);
    // The function that computes a run again holds the gradients of what the
    // run passes on until the backward of the run has ended.
    const bool leavesRun = ownRun >= 0 && block.lastReader >= 0 &&
                           tape.runOf[block.lastReader] != ownRun;
    if (block.hasGradient && block.lastReader >= 0)
      add(TrainerCategory::Values, block.bytes, getBackward(block.lastReader),
          getBackward(leavesRun ? tape.runs[ownRun].first : block.first));
  }
  // The buffer in which the gradient of the output arrives. The stage makes the
  // buffer when the stage sends the output, and frees it after the backward.
  if (tape.outputBlock >= 0 && tape.blocks[tape.outputBlock].hasGradient)
    add(TrainerCategory::Kept, tape.blocks[tape.outputBlock].bytes, count - 1,
        getEnd());
}

/// Adds a block that is copied to host memory. The trainer waits for the copy
/// when the forward of the next layer has ended, and copies the block back
/// before the backward of that layer.
void ChunkTimeline::addSwapped(const TapedBlock &block, int64_t release) {
  const size_t layer = findLayer(block.first);
  if (layer + 1 >= tape.layers.size())
    return add(TrainerCategory::Kept, block.bytes, block.first, release);
  const int64_t left = tape.layers[layer + 1].end - 1;
  add(TrainerCategory::Kept, block.bytes, block.first,
      std::max(left, block.last));
  add(TrainerCategory::Kept, block.bytes, std::min(getBackward(left), release),
      release);
}

/// Adds what a repeated run holds beyond the values that its backward reads.
void ChunkTimeline::addRerun(int64_t number, const RecomputedRun &run) {
  std::vector<int64_t> steps(run.last - run.first + 2, 0);
  int64_t kept = 0;
  for (const TapedBlock &block : tape.blocks) {
    if (block.first < run.first || block.first > run.last)
      continue;
    const bool isKept = llvm::any_of(block.keepers, [&](int64_t keeper) {
      return tape.runOf[keeper] == number;
    });
    steps[block.first - run.first] += block.bytes;
    if (isKept)
      kept += block.bytes;
    else
      steps[std::min(block.last, run.last) - run.first + 1] -= block.bytes;
  }
  int64_t live = 0, most = 0;
  for (int64_t step : steps)
    most = std::max(most, live += step);
  if (most <= kept)
    return;
  TapedMoment &moment =
      reruns.emplace_back(TapedMoment{run.last, true, "recompute", {}});
  moment.bytes[TrainerCategory::Values] = most - kept;
}

/// The weights of a layer are gathered when the layer before it begins.
void ChunkTimeline::addGatheredWeights() {
  for (auto [number, layer] : llvm::enumerate(tape.layers)) {
    const int64_t before =
        number > 0 ? tape.layers[number - 1].begin : layer.begin;
    const bool isLast = number + 1 == tape.layers.size();
    const int64_t behind =
        (isLast ? layer.end : tape.layers[number + 1].end) - 1;
    add(TrainerCategory::GatheredWeights, layer.kept, before,
        getBackward(layer.begin));
    add(TrainerCategory::GatheredWeights, layer.freed, before, layer.end - 1);
    add(TrainerCategory::GatheredWeights, layer.freed, getBackward(behind),
        getBackward(layer.begin));
  }
}

/// Returns the sizes of the mesh along an axis.
static int64_t getAxisSize(ModelOp model, StringRef axis) {
  MeshAttr mesh = MeshAttr::find(model);
  return mesh ? mesh.getSize(axis) : 1;
}

/// Context parallel attention needs a compressed mask.
static bool hasCompressedMask(ModelOp model) {
  return model.getCompressedMask() || getAxisSize(model, "cp") > 1;
}

std::optional<ParameterSharing> mf::passes::findWholeSharing(ParamOp param) {
  std::optional<ParameterSharing> sharing = ParameterSharing::find(param);
  return sharing && sharing->axes.empty() ? sharing : std::nullopt;
}

int64_t mf::passes::getLastingMaskBytes(ModelOp model) {
  const auto rows = static_cast<int64_t>(model.getSequenceLength());
  return hasCompressedMask(model) ? 0 : getBlockBytes(rows * rows * 2);
}

/// Masks, and the tables of rotary embedding. Their frequencies live as long as
/// the model's forward.
void ChunkTimeline::addTables() {
  ModelOp model = tape.model;
  // A compressed mask has 2048 rows and columns of a byte.
  constexpr int64_t compressedRows = 2048;
  const bool isCompressed = hasCompressedMask(model);
  const int64_t rows = isCompressed
                           ? compressedRows
                           : static_cast<int64_t>(model.getSequenceLength());
  // Each layer takes [batch, ...] of a rank.
  LayerOp first = tape.layers.front().layer;
  const int64_t batch = getShape(first.getArgument(0)).front();
  add(TrainerCategory::Tables,
      getBlockBytes(rows * rows * (isCompressed ? 1 : batch)), 0, getEnd());
  // With cut sequences each sample has tables of its own.
  const int64_t copies = getAxisSize(model, "cp") > 1 ? batch : 1;
  add(TrainerCategory::Tables, copies * tape.rotaryBytes, 0, getEnd());
  add(TrainerCategory::Tables, copies * tape.largestRotaryBytes, 0, count - 1);
}

/// Adds the gradient of a weight with stages, where ranks reduce gradients once
/// a step. The backward of a chunk returns the gradients of all its weights
/// together, in their types. A head returns gradients in fp32. The next
/// backward makes whole sums in fp32 when the backward of a layer begins, and
/// frees what the backward before returned when that of the layer ends. The
/// gradient of an embedding is added to that of the first backward, because
/// the trainer's hook needs an input that has a gradient.
void ChunkTimeline::addReturnedGradient(const WeightRead &read) {
  enum : size_t { first, second, later };
  const TapedLayer &layer = tape.layers[findLayer(read.operation)];
  LayerOp owner = layer.layer;
  const int64_t made = getBackward(read.operation);
  const int64_t wide =
      getBlockBytes(read.isNarrow ? 2 * read.bytes : read.bytes);
  const int64_t bytes =
      owner.getKind() == LayerKind::Head ? wide : getBlockBytes(read.bytes);
  if (owner.getKind() == LayerKind::Embedding) {
    addLasting(first, TrainerCategory::GradientSums, bytes, made);
    for (size_t backward : {second, later}) {
      addLasting(backward, TrainerCategory::WeightGradients, bytes, made);
      addLasting(backward, TrainerCategory::WeightGradients, -bytes,
                 getEnd() + 1);
    }
    return;
  }
  for (size_t backward : {first, second, later})
    addLasting(backward, TrainerCategory::WeightGradients, bytes, made);
  for (size_t backward : {second, later})
    addLasting(backward, TrainerCategory::WeightGradients, -bytes,
               getBackward(layer.begin) + 1);
  addLasting(second, TrainerCategory::GradientSums, wide,
             getBackward(layer.end - 1));
}

/// The gradient of a weight is whole until the ranks have reduced it, which
/// they wait for when the gradients of the next layer exist.
void ChunkTimeline::addWeightGradients() {
  for (WeightRead read : tape.weightReads) {
    if (hasStages()) {
      addReturnedGradient(read);
      continue;
    }
    const size_t layer = findLayer(read.operation);
    const int64_t own = getBackward(tape.layers[layer].begin);
    const int64_t bytes = getBlockBytes(read.bytes);
    const int64_t wide =
        getBlockBytes(read.isNarrow ? 2 * read.bytes : read.bytes);
    const int64_t next =
        layer > 0 ? getBackward(tape.layers[layer - 1].begin) : own;
    add(TrainerCategory::WeightGradients, bytes, getBackward(read.operation),
        own);
    add(TrainerCategory::WeightGradients, wide, own, next);
    addLasting(0, TrainerCategory::GradientSums,
               getBlockBytes(read.param.getStoredType().getNumElements() * 4),
               next);
  }
}

TrainerMoment ChunkTimeline::findPeak(int64_t from, int64_t to,
                                      const std::vector<Bytes> &live,
                                      const Bytes &base) const {
  TrainerMoment peak;
  auto consider = [&](int64_t time, const Bytes &extra, StringRef step) {
    Bytes bytes = live[time];
    bytes += extra;
    bytes -= base;
    if (!peak.at.empty() && bytes.getTotal() <= peak.bytes.getTotal())
      return;
    peak.bytes = bytes;
    peak.at = tape.getName(time < count ? time : getEnd() - time);
    if (!step.empty())
      peak.at += (": " + step).str();
  };
  for (int64_t time = from; time < to; ++time)
    consider(time, {}, "");
  for (const auto *moments : {&tape.moments, &reruns})
    for (const TapedMoment &moment : *moments) {
      const int64_t time =
          moment.isBackward ? getBackward(moment.operation) : moment.operation;
      if (time >= from && time < to)
        consider(time, moment.bytes, moment.name);
    }
  return peak;
}

ChunkMemory ChunkTimeline::summarize() {
  std::vector<Bytes> live(change.size());
  Bytes now;
  for (size_t time = 0; time < change.size(); ++time)
    live[time] = now += change[time];
  ChunkMemory memory;
  memory.forward = {findPeak(0, count, live, {}), crossing};
  for (auto [backward, added] : llvm::zip(memory.backwards, lasting)) {
    std::vector<Bytes> with = live;
    Bytes sum;
    for (size_t time = 0; time < with.size(); ++time)
      with[time] += sum += added[time];
    backward.peak = findPeak(count, 2 * count, with, crossing);
    backward.change = sum;
    backward.change -= crossing;
  }
  return memory;
}

ChunkMemory mf::passes::tapeChunk(ModelOp model, const TapedChunk &chunk) {
  ChunkTape tape(model, chunk);
  tape.record();
  if (tape.operations.empty())
    return ChunkMemory();
  return ChunkTimeline(tape).summarize();
}
