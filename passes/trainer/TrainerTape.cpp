//===- TrainerTape.cpp - What a trainer records of a chunk's forward ------===//
// SPDX-License-Identifier: Apache-2.0

#include "TrainerTape.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;
using namespace mf::passes;
using mf::trainer::getBlockBytes;
using mf::trainer::TrainerCategory;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {

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

std::string TapedForward::getName(int64_t operation) const {
  Operation *op = operations[operation];
  std::string name = op->getParentOfType<LayerOp>().getCell().str();
  if (const TapedKernel *kernel = findKernel(operation))
    return name + "." + kernel->kernel.name.str();
  if (auto compute = dyn_cast<ComputeOpInterface>(op))
    name += ("." + compute.getCellName()).str();
  return name;
}

std::optional<ParameterSharing> mf::passes::findWholeSharing(ParamOp param) {
  std::optional<ParameterSharing> sharing = ParameterSharing::find(param);
  return sharing && sharing->axes.empty() ? sharing : std::nullopt;
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

namespace {

/// Records the forward of a chunk, which is its base class.
class ChunkTape : public Tape, public TapedForward {
public:
  ChunkTape(ModelOp model, const TapedChunk &chunk)
      : TapedForward(model), chunk(chunk), symbols(model) {}

  void record() {
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

  bool needsGradient(Value value) override {
    return withGradient.contains(resolve(value));
  }
  int64_t getBytes(Value value) override {
    Type element = getPlace(value).element;
    if (!element)
      element = cast<RankedTensorType>(value.getType()).getElementType();
    return countBytes(value, element);
  }

  SmallVector<Operation *> getReaders(Value value) override {
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

  void keep(Value value) override {
    if (!places.contains(resolve(value)))
      make(value, 1);
    materialize(value);
    if (int64_t block = getPlace(value).block; block >= 0)
      blocks[block].keepers.push_back(current);
  }

  Value readUncast(Value value, bool isKept) override {
    readBefore.insert(resolve(value));
    Value source = peel(value);
    if (isKept)
      keep(source);
    return source;
  }

  void keepContiguous(Value value) override {
    materialize(value);
    TapedPlace place = getPlace(value);
    if (place.block < 0)
      return;
    if (isDense(getShape(value), place.strides))
      keep(value);
    else
      keepBytes(countBytes(value, place.element));
  }

  void keepBytes(int64_t bytes) override {
    TapedBlock &block = blocks.emplace_back();
    block.bytes = getBlockBytes(bytes);
    block.first = block.last = current;
    block.keepers.push_back(current);
  }

  void holdToEnd(Value value) override { held = resolve(value); }

  void make(Value result, int64_t copies) override {
    Type element = cast<RankedTensorType>(result.getType()).getElementType();
    addBlock(result, copies * countBytes(result, element), element);
  }

  void makeLike(Value result, Value like) override {
    Type element = getPlace(like).element;
    addBlock(result, countBytes(result, element), element);
  }

  void view(Value result, Value of) override {
    materialize(of);
    setPlace(result, getPlace(of));
  }

  void viewPermuted(Value result, Value of,
                    ArrayRef<int64_t> permutation) override {
    materialize(of);
    TapedPlace place = getPlace(of);
    SmallVector<int64_t> strides;
    for (int64_t dim : permutation)
      strides.push_back(place.block < 0 ? 0 : place.strides[dim]);
    place.strides = strides;
    setPlace(result, place);
  }

  void viewReshaped(Value result, Value of) override {
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

  void convert(Value result, Value input) override {
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

  bool gatherWeight(Value result, Value input, bool isFreed) override {
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

  void makePart(Value result, int64_t numerator, int64_t denominator) override {
    parts[result] = {numerator, denominator};
    make(result, 1);
  }

  void takePart(Value result, Value input) override {
    materialize(input);
    TapedPlace place = getPlace(input);
    if (place.block >= 0 && !parts.contains(resolve(input)))
      return make(result, 1);
    place.strides = getDenseStrides(getShape(result));
    setPlace(result, place);
  }

  void useWorkspace(int64_t forward, int64_t backward) override {
    addMoment(false, "", 0, forward);
    addMoment(true, "", 0, backward);
  }

  void addMoment(bool isBackward, StringRef name, int64_t bytes,
                 int64_t workspace) override {
    TapedMoment &moment =
        moments.emplace_back(TapedMoment{current, isBackward, name.str(), {}});
    moment.bytes[TrainerCategory::Values] = bytes;
    moment.bytes[TrainerCategory::Workspace] = workspace;
  }

private:
  void flatten() {
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
      // The frame of the model's function holds what one head passes to the
      // next.
      if (layer.getKind() == LayerKind::Head)
        llvm::append_range(passedByHeads, hidden);
    }
    outputs = hidden;
  }

  /// Adds the operators of a layer. A head computes the losses of later tokens
  /// before that of the next one.
  void addLayer(LayerOp layer) {
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
  void gatherKernels(const TapedLayer &layer) {
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
  /// depend on it. Operators between them, such as exchanges between ranks, are
  /// a part of the kernel.
  void gatherKernel(const TapedLayer &layer, TapedKernel kernel) {
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
    for (ArrayRef<Operation *> part : {ArrayRef<Operation *>(before),
                                       ArrayRef<Operation *>(kernel.operations),
                                       ArrayRef<Operation *>(after)})
      for (Operation *op : part) {
        operations[at] = op;
        numbers[op] = at++;
      }
    for (Operation *op : kernel.operations)
      kernelOf[op] = kernels.size();
    kernels.push_back(std::move(kernel));
  }

  void passGradients(Operation *op) {
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (differentiable && llvm::any_of(op->getOperands(), [&](Value operand) {
          return isFloatTensor(operand.getType()) && needsGradient(operand);
        }))
      for (OpResult result : op->getResults())
        if (differentiable.isDifferentiable(result.getResultNumber()))
          withGradient.insert(result);
  }

  /// Records operators that the trainer computes in its own way. Their values
  /// exist only if others read them, and the kernel reads the values in front
  /// of conversions to a wider type.
  void recordKernel(const TapedKernel &taped) {
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
        if (llvm::all_of(result.getUsers(), [&](Operation *user) {
              return within.contains(user);
            }))
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

  void recordParameter(GetParamOp read) {
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
    std::optional<ParameterSharing> sharing =
        mf::passes::findWholeSharing(param);
    if (sharing && place.weight &&
        model.getTrainingAttr().getParallel().getStages() == 1)
      (sharing->gathersAgain ? layers.back().freed : layers.back().kept) +=
          getBlockBytes(countBytes(read.getResult(), KeptType::find(param)
                                                         ? KeptType::find(param)
                                                         : place.element));
  }

  void recordOperator(ComputeOpInterface op) {
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

  /// Returns the place of a value that the current operator reads.
  TapedPlace readPlace(Value value) {
    use(value, current);
    TapedPlace place = getPlace(value);
    if (place.block >= 0) {
      TapedBlock &block = blocks[place.block];
      block.lastReader = std::max(block.lastReader, current);
    }
    return place;
  }

  /// Notes that backward makes the gradient of the operand, if it is a weight.
  void addWeightRead(Value operand, TapedPlace place) {
    if (place.weight && place.weight.needsGradient())
      weightReads.push_back({current, place.weight,
                             countBytes(operand, place.element),
                             place.element.getIntOrFloatBitWidth() < 32});
  }

  void swapFrom(size_t firstBlock) {
    for (TapedBlock &block : llvm::drop_begin(blocks, firstBlock))
      block.isSwapped = true;
  }

  void readOperands(Operation *op) {
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

  /// Returns whether an operator runs again; none for operators without a mark
  /// of the YAML's settings, such as gathers of weights.
  std::optional<bool> findRerun(int64_t operation) const {
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
  void findRuns() {
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

  void addRotaryTable(GetParamOp read) {
    if (!rotaryTables.insert(read.getParam()).second)
      return;
    const int64_t bytes = getBlockBytes(getTensorBytes(read.getType()));
    rotaryBytes += bytes;
    largestRotaryBytes = std::max(largestRotaryBytes, bytes);
  }

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
  void materialize(Value value) {
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

  int64_t countBytes(Value value, Type element) const {
    int64_t elements = cast<RankedTensorType>(value.getType()).getNumElements();
    if (auto it = parts.find(resolve(value)); it != parts.end())
      elements = elements * it->second.first / it->second.second;
    // Integers of the trainer have 64 bits; masks have one bit an element.
    int64_t bits = element.getIntOrFloatBitWidth();
    if (element.isInteger() && bits > 1)
      bits = 64;
    return static_cast<int64_t>(llvm::divideCeil(elements * bits, 8));
  }

  void addBlock(Value value, int64_t bytes, Type element) {
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

  void use(Value value, int64_t operation) {
    if (int64_t block = getPlace(value).block; block >= 0)
      blocks[block].last = std::max(blocks[block].last, operation);
  }

  const TapedChunk &chunk;
  SymbolTable symbols;
  DenseMap<Operation *, int64_t> numbers;
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

TapedForward mf::passes::tapeForward(ModelOp model, const TapedChunk &chunk) {
  ChunkTape tape(model, chunk);
  tape.record();
  return static_cast<TapedForward &&>(tape);
}
