//===- Distribution.cpp - Distributions of kernel results -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Distribution.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf::program {

static const std::string &getOwner(const Static &buffer) {
  return buffer.tied.empty() ? buffer.name : buffer.tied;
}

SharedParameters::SharedParameters(const Program &program)
    : numStages(program.mesh.getNumStages()), ofStages(program.stages.size()) {
  // Parameters of several stages may have the same name without being copies.
  std::map<std::string, std::set<int64_t>> stagesOf;
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (buffer.role == Role::Parameter && !buffer.tied.empty())
        stagesOf[buffer.tied].insert(stage.stage);
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (auto found = stagesOf.find(buffer.name);
          buffer.role == Role::Parameter && found != stagesOf.end())
        found->second.insert(stage.stage);
  std::map<std::string, uint32_t> numbers;
  for (const auto &[name, stages] : stagesOf)
    if (stages.size() > 1) {
      numbers.emplace(name, groups.size());
      groups.push_back({name, stages});
    }
  for (auto [stage, ofStage] : llvm::zip_equal(program.stages, ofStages))
    for (const Static &buffer : stage.statics)
      if (buffer.role == Role::Parameter || !buffer.tied.empty())
        if (auto group = numbers.find(getOwner(buffer)); group != numbers.end())
          ofStage.try_emplace(buffer.of, group->second);
}

bool belongsToParameter(Role role) {
  switch (role) {
  case Role::Parameter:
  case Role::Gradient:
  case Role::FirstMoment:
  case Role::SecondMoment:
  case Role::Average:
  case Role::Factor:
  case Role::Accumulated:
  case Role::Gathered:
  case Role::Rounded:
    return true;
  default:
    return false;
  }
}

std::optional<uint32_t> SharedParameters::find(const StageProgram &stage,
                                               const Static &buffer) const {
  if (!belongsToParameter(buffer.role))
    return std::nullopt;
  const llvm::StringMap<uint32_t> &ofStage = ofStages[stage.stage];
  auto found = ofStage.find(buffer.of);
  return found == ofStage.end() ? std::nullopt
                                : std::optional<uint32_t>(found->second);
}

bool SharedParameters::isOver(uint32_t group,
                              llvm::ArrayRef<int64_t> stages) const {
  const std::set<int64_t> &wanted = groups[group].stages;
  if (stages.empty())
    return static_cast<int64_t>(wanted.size()) == numStages;
  return wanted == std::set<int64_t>(stages.begin(), stages.end());
}

std::string describe(const AxisHolding &held) {
  switch (held.holding) {
  case Holding::Zero:
    return "zero";
  case Holding::Same:
    return "the same on all ranks";
  case Holding::Part:
    return held.shared ? "the same on the stages that share it"
                       : "a part of a whole";
  case Holding::Summand:
    return "a summand of a sum";
  case Holding::Candidate:
    return "the largest of a part";
  case Holding::PartNorm:
    return "the norm of a part";
  case Holding::Mixed:
    return "not the same kind of part in all of its elements";
  }
  llvm_unreachable("covered switch");
}

/// Returns the places that are in both lists. An empty list stands for any
/// place.
static llvm::SmallVector<int64_t, 2> intersect(llvm::ArrayRef<int64_t> a,
                                               llvm::ArrayRef<int64_t> b) {
  if (a.empty())
    return llvm::to_vector(b);
  return llvm::filter_to_vector<2>(a, [&](int64_t place) {
    return b.empty() || llvm::is_contained(b, place);
  });
}

AxisHolding AxisHolding::as(Holding reading) const {
  if (reading != holding && reading != Holding::Part)
    return {reading, {}};
  AxisHolding only = *this;
  only.holding = reading;
  only.others = 0;
  if (reading == Holding::Part)
    return only;
  only.places.clear();
  only.isLoose = false;
  only.dims.clear();
  only.inside.clear();
  return only;
}

/// Adds alternatives to a list. An empty list allows any.
template <typename T>
static void addChoices(llvm::SmallVectorImpl<T> &choices,
                       const llvm::SmallVectorImpl<T> &more) {
  if (choices.empty() || more.empty()) {
    choices.clear();
    return;
  }
  llvm::append_range(choices, more);
  llvm::sort(choices);
  choices.erase(llvm::unique(choices), choices.end());
}

void AxisHolding::addReadings(const AxisHolding &more) {
  const bool areBoth = mayBe(Holding::Part) && more.mayBe(Holding::Part);
  if (areBoth) {
    addChoices(places, more.places);
    addChoices(dims, more.dims);
    isLoose |= more.isLoose;
    llvm::erase_if(inside, [&](uint32_t axis) {
      return !llvm::is_contained(more.inside, axis);
    });
  } else if (more.mayBe(Holding::Part)) {
    places = more.places;
    dims = more.dims;
    isLoose = more.isLoose;
    inside = more.inside;
  }
  auto getMask = [](const AxisHolding &held) {
    return held.others | 1U << static_cast<unsigned>(held.holding);
  };
  const unsigned mask = getMask(*this) | getMask(more);
  holding = std::min(holding, more.holding);
  others = static_cast<uint8_t>(mask & ~getMask({holding, {}}));
}

/// Merges parts, or values with another holding that is the same.
static AxisHolding mergeAlike(const AxisHolding &a, const AxisHolding &b) {
  AxisHolding both = a;
  both.places = intersect(a.places, b.places);
  both.dims.clear();
  both.counted = uniteNumbers(a.counted, b.counted);
  llvm::erase_if(both.inside, [&](uint32_t axis) {
    return !llvm::is_contained(b.inside, axis);
  });
  if (a.shared != b.shared) {
    if (a.holding != Holding::Part)
      return {Holding::Mixed, {}};
    both.shared.reset();
  }
  if (both.places.empty() && !(a.places.empty() && b.places.empty()))
    return {Holding::Mixed, {}};
  return both;
}

AxisHolding merge(const AxisHolding &a, const AxisHolding &b) {
  if (a.holding == Holding::Zero || a == b)
    return b;
  if (b.holding == Holding::Zero)
    return a;
  AxisHolding merged = {Holding::Mixed, {}};
  for (const Holding reading : allReadings) {
    if (!a.mayBe(reading) || !b.mayBe(reading))
      continue;
    AxisHolding both = mergeAlike(a.as(reading), b.as(reading));
    if (merged.holding == Holding::Mixed)
      merged = std::move(both);
    else if (both.holding != Holding::Mixed)
      merged.addReadings(both);
  }
  return merged;
}

void Distribution::setShape(llvm::ArrayRef<int64_t> dims) {
  std::map<int64_t, size_t> numEnding;
  int64_t place = 1;
  for (const int64_t extent : llvm::reverse(dims))
    ++numEnding[place *= extent];
  bool isNamed = false;
  for (AxisHolding &axis : axes) {
    if (llvm::none_of(axis.places,
                      [&](int64_t cut) { return numEnding[cut] > 1; }))
      axis.dims.clear();
    isNamed |= !axis.dims.empty();
  }
  if (isNamed)
    shape.assign(dims.begin(), dims.end());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

KernelDistribution::KernelDistribution(const LaunchedKernel &kernel,
                                       KernelParts parts) {
  const KernelSpec &spec = kernel.spec;
  numInputs = spec.inputs.size();
  for (auto [shape, part] : llvm::zip_equal(spec.inputs, parts.inputs))
    addOperand(shape, std::move(part), true);
  for (auto [number, shape] : llvm::enumerate(spec.outputs))
    addOperand(shape, std::move(parts.outputs[number]),
               readsMemory(kernel.signature->getOutput(number).access));
  dropBroadcast();
  findOwn();
  for (const Operand &operand : operands)
    for (const Dim &dim : operand.dims)
      if (dim.dim.mayBeCut() && !llvm::is_contained(dims, dim.dim))
        dims.push_back(dim.dim);
  isPermutation = operands.back().part.isPermuted;
  if (!isPermutation)
    return;
  const Operand &input = operands.front();
  const auto &order = operands.back().part.dims;
  if (!order.empty() && !(order.front() == input.part.dims.front()))
    firstPlace = find(input, order.front())->below;
}

void KernelDistribution::addOperand(const TensorShape &shape, PartOperand part,
                                    bool isRead) {
  Operand operand;
  operand.isRead = isRead;
  int64_t place = 1;
  operand.shape.assign(shape.dims.begin(), shape.dims.end());
  auto add = [&](PartDim dim, int64_t extent, size_t number) {
    const int64_t below = place;
    place *= extent;
    operand.dims.push_back({dim, extent, number, below, place});
  };
  for (size_t i = shape.dims.size(); i-- > 0;) {
    const PartDim &dim = part.dims[i];
    if (dim.inner != 0)
      add({dim.inner, false}, dim.innerExtent, i);
    add(dim, shape.dims[i] / dim.innerExtent, i);
  }
  operand.part = std::move(part);
  operands.push_back(std::move(operand));
}

/// Removes dimensions that an operand lacks because it is broadcast along them.
void KernelDistribution::dropBroadcast() {
  llvm::SmallVector<PartDim, 8> larger;
  for (const Operand &operand : operands)
    for (const Dim &dim : operand.dims)
      if (dim.extent > 1)
        larger.push_back(dim.dim);
  for (Operand &operand : operands)
    llvm::erase_if(operand.dims, [&](const Dim &dim) {
      return dim.dim.isLeading && dim.extent == 1 &&
             llvm::is_contained(larger, dim.dim);
    });
}

void KernelDistribution::findOwn() {
  for (Operand &operand : operands)
    for (Dim &dim : operand.dims)
      dim.isOwn = dim.extent == 1 && !dim.dim.isLeading &&
                  llvm::any_of(operands, [&](const Operand &other) {
                    const Dim *found = find(other, dim.dim);
                    return found && found->extent > 1;
                  });
}

const KernelDistribution::Dim *
KernelDistribution::find(const Operand &operand, const PartDim &dim) const {
  auto found = llvm::find_if(
      operand.dims, [&](const Dim &other) { return other.dim == dim; });
  return found == operand.dims.end() ? nullptr : &*found;
}

std::optional<DistributionError>
KernelDistribution::apply(llvm::ArrayRef<Distribution *> given,
                          llvm::ArrayRef<Axis> axes,
                          std::vector<Distribution> &outputs) const {
  if (std::optional<DistributionError> error =
          checkCoordinates(llvm::SmallVector<const Distribution *, 8>(
                               given.begin(), given.end()),
                           axes))
    return error;
  outputs.assign(operands.size() - numInputs, Distribution());
  for (Distribution &output : outputs)
    output.firstPlace = firstPlace;
  // Dimensions of a value are not known in another shape.
  std::vector<Distribution> reshaped;
  reshaped.reserve(given.size());
  llvm::SmallVector<const Distribution *, 8> read(given.begin(), given.end());
  for (auto [operand, value] : llvm::zip_equal(operands, read))
    if (!value->shape.empty() && operand.shape != value->shape) {
      reshaped.push_back(*value);
      reshaped.back().forgetShape();
      value = &reshaped.back();
    }
  for (auto [number, axis] : llvm::enumerate(axes)) {
    auto holdings = llvm::map_to_vector<8>(
        read, [&, axis = number](const Distribution *operand) {
          return &operand->axes[axis];
        });
    AxisResults results;
    if (std::optional<DistributionError> error =
            applyAxis(holdings, axis.name == stageAxis, results)) {
      error->axis = number;
      return error;
    }
    for (auto [output, result] : llvm::zip_equal(outputs, results.outputs))
      output.axes.push_back(std::move(result));
    for (auto [operand, holding] : llvm::zip(given, results.read))
      operand->axes[number] = std::move(holding);
  }
  for (auto [output, operand] :
       llvm::zip_equal(outputs, llvm::drop_begin(operands, numInputs)))
    output.setShape(operand.shape);
  return orderAxes(read, outputs);
}

/// Operands that may have the same other holding are all read with it at once,
/// because a rank has parts of all of them or of none. The results of all
/// readings are tracked.
std::optional<DistributionError>
KernelDistribution::applyAxis(llvm::ArrayRef<const AxisHolding *> holdings,
                              bool isStages, AxisResults &results) const {
  unsigned others = 0;
  for (const AxisHolding *holding : holdings)
    others |= holding->others;
  if (others == 0)
    return applyKnown(holdings, isStages, results.outputs);
  std::optional<DistributionError> firstError;
  size_t numFailed = 0, numApplied = 0;
  auto apply = [&](std::optional<Holding> other) {
    auto chosen =
        llvm::map_to_vector<8>(holdings, [&](const AxisHolding *holding) {
          return holding->as(
              other && holding->mayBe(*other) ? *other : holding->holding);
        });
    auto read = llvm::map_to_vector<8>(
        chosen, [](const AxisHolding &holding) { return &holding; });
    std::vector<AxisHolding> made;
    if (std::optional<DistributionError> error =
            applyKnown(read, isStages, made)) {
      ++numFailed;
      if (!firstError)
        firstError = std::move(error);
      return;
    }
    if (numApplied++ == 0) {
      results.outputs = std::move(made);
      results.read = std::move(chosen);
      return;
    }
    for (auto [output, result] : llvm::zip_equal(results.outputs, made))
      output.addReadings(result);
  };
  apply(std::nullopt);
  for (const Holding reading : allReadings)
    if ((others >> static_cast<unsigned>(reading) & 1) != 0)
      apply(reading);
  if (numApplied != 1 || numFailed == 0)
    results.read.clear();
  return numApplied == 0 ? firstError : std::nullopt;
}

std::optional<DistributionError>
KernelDistribution::applyKnown(llvm::ArrayRef<const AxisHolding *> holdings,
                               bool isStages,
                               std::vector<AxisHolding> &outputs) const {
  size_t numRead = 0, numZero = 0;
  std::optional<size_t> first[static_cast<size_t>(Holding::Mixed) + 1];
  for (auto [number, operand] : llvm::enumerate(operands)) {
    if (!operand.isRead)
      continue;
    ++numRead;
    const Holding holding = holdings[number]->holding;
    numZero += holding == Holding::Zero;
    auto &found = first[static_cast<size_t>(holding)];
    if (!found)
      found = number;
    if (holding == Holding::Part && operand.part.ownPartAbove)
      return takeOwnPart(holdings, number, outputs);
  }
  auto findFirst = [&](Holding holding) {
    return first[static_cast<size_t>(holding)];
  };
  // Zeros stay zeros where they are moved, scaled or added up.
  const bool isLinear = llvm::all_of(operands, [](const Operand &operand) {
    return !operand.isRead || operand.part.linearity != Linearity::None;
  });
  const AxisHolding rest = {
      numRead == numZero && isLinear ? Holding::Zero : Holding::Same, {}};
  outputs.assign(operands.size() - numInputs, rest);
  if (std::optional<size_t> mixed = findFirst(Holding::Mixed))
    return DistributionError{0, *mixed, "expected one kind of part"};
  if (std::optional<size_t> norm = findFirst(Holding::PartNorm))
    return squareNorms(holdings, *norm, outputs);
  const bool isLargest =
      operands.back().part.reduction == PartReduction::Largest;
  if (std::optional<size_t> candidate = findFirst(Holding::Candidate)) {
    const bool isInput = *candidate < numInputs;
    if (!isLargest ||
        (isInput && (findFirst(Holding::Part) || findFirst(Holding::Summand))))
      return DistributionError{0, *candidate,
                               "expected an all_reduce max over it before"};
    for (AxisHolding &output : outputs)
      output.holding = Holding::Candidate;
    return std::nullopt;
  }
  if (findFirst(Holding::Summand))
    return applySummands(holdings, outputs);
  if (!findFirst(Holding::Part)) {
    if (rest.holding == Holding::Same && !isStages)
      addRepeated(outputs);
    return std::nullopt;
  }
  if (isStages) {
    applyStageParts(holdings, outputs);
    return std::nullopt;
  }
  return applyParts(holdings, outputs);
}

std::optional<DistributionError>
KernelDistribution::takeOwnPart(llvm::ArrayRef<const AxisHolding *> holdings,
                                size_t operand,
                                std::vector<AxisHolding> &outputs) const {
  for (auto [number, other] : llvm::enumerate(operands)) {
    const Holding holding = holdings[number]->holding;
    if (number != operand && other.isRead && holding != Holding::Same &&
        holding != Holding::Zero)
      return DistributionError{
          0, number,
          "expected the whole, of which each rank takes its own part"};
  }
  const PartDim above = {operands[operand].part.ownPartAbove, false};
  for (const Operand &output : llvm::drop_begin(operands, numInputs))
    outputs.push_back({Holding::Part, {find(output, above)->place}});
  return std::nullopt;
}

bool KernelDistribution::addsPartsToSummands(
    llvm::ArrayRef<const AxisHolding *> holdings) const {
  bool hasParts = false;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    const Holding holding = holdings[number]->holding;
    const bool isInput = number < numInputs;
    hasParts |= isInput && holding == Holding::Part;
    if (isInput ? holding == Holding::Summand
                : operand.part.linearity != Linearity::Together ||
                      holding != Holding::Summand)
      return false;
  }
  return hasParts;
}

/// If the inputs give a summand, the output must be a summand too.
std::optional<DistributionError>
KernelDistribution::addParts(llvm::ArrayRef<const AxisHolding *> holdings,
                             std::vector<AxisHolding> &outputs) const {
  const AxisHolding zero = {Holding::Zero, {}};
  llvm::SmallVector<const AxisHolding *, 8> fresh(holdings);
  std::fill(fresh.begin() + static_cast<ptrdiff_t>(numInputs), fresh.end(),
            &zero);
  if (std::optional<DistributionError> error = applyParts(fresh, outputs))
    return error;
  for (auto [number, output] : llvm::enumerate(outputs))
    if (output.holding != Holding::Summand)
      return DistributionError{
          0, numInputs + number,
          "expected a part like what is written to it, not a summand"};
  return std::nullopt;
}

std::optional<DistributionError>
KernelDistribution::applySummands(llvm::ArrayRef<const AxisHolding *> holdings,
                                  std::vector<AxisHolding> &outputs) const {
  if (addsPartsToSummands(holdings))
    return addParts(holdings, outputs);
  AxisHolding sum = {Holding::Summand, {}};
  bool isFirst = true;
  size_t numAlone = 0;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    if (!operand.isRead)
      continue;
    const Holding holding = holdings[number]->holding;
    if (holding == Holding::Zero)
      continue;
    const bool isSummand = holding == Holding::Summand;
    numAlone += isSummand && operand.part.linearity == Linearity::Alone ? 1 : 0;
    if (isSummand &&
        (operand.part.linearity == Linearity::None || numAlone > 1 ||
         operands.back().part.reduction != PartReduction::Sum))
      return DistributionError{0, number,
                               "the kernel is not linear in it: expected an "
                               "all_reduce or reduce_scatter over it before"};
    if (!isSummand && operand.part.linearity == Linearity::Together)
      return DistributionError{
          0, number,
          "expected a summand like what it is added to, or the sum of that"};
    if (!isSummand && holding != Holding::Same)
      return DistributionError{
          0, number, "expected the same on all ranks beside a summand"};
    if (!isSummand)
      continue;
    if (!isFirst && sum.shared != holdings[number]->shared)
      return DistributionError{0, number, "expected summands of one sum"};
    isFirst = false;
    sum.shared = holdings[number]->shared;
    sum.counted = uniteNumbers(sum.counted, holdings[number]->counted);
  }
  outputs.assign(outputs.size(), sum);
  return std::nullopt;
}

llvm::SmallVector<uint32_t, 1> uniteNumbers(llvm::ArrayRef<uint32_t> a,
                                            llvm::ArrayRef<uint32_t> b) {
  llvm::SmallVector<uint32_t, 1> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(),
                 std::back_inserter(both));
  return both;
}

/// The square of a norm is the sum of the squares of the parts' norms.
std::optional<DistributionError>
KernelDistribution::squareNorms(llvm::ArrayRef<const AxisHolding *> holdings,
                                size_t operand,
                                std::vector<AxisHolding> &outputs) const {
  AxisHolding square = {Holding::Summand, {}};
  size_t numRead = 0;
  bool isSquare = numInputs == 2;
  for (auto [number, read] : llvm::enumerate(operands)) {
    if (!read.isRead)
      continue;
    ++numRead;
    const AxisHolding &held = *holdings[number];
    isSquare &=
        read.part.linearity == Linearity::Alone &&
        (held.holding == Holding::PartNorm || held.holding == Holding::Zero);
    square.counted = uniteNumbers(square.counted, held.counted);
  }
  if (!isSquare || numRead != 2)
    return DistributionError{0, operand,
                             "expected its square, whose sum over ranks is "
                             "that of the norm of the whole"};
  for (AxisHolding &output : outputs)
    output = square;
  return std::nullopt;
}

/// Returns the group whose stages all compute the same results with a kernel,
/// because they share its inputs. Returns none if an input is a stage's own.
static std::optional<uint32_t>
findShared(llvm::ArrayRef<const AxisHolding *> read) {
  std::optional<uint32_t> shared;
  for (const AxisHolding *held : read) {
    if (held->holding == Holding::Zero || held->holding == Holding::Same)
      continue;
    if (!held->shared || (shared && shared != held->shared))
      return std::nullopt;
    shared = held->shared;
  }
  return shared;
}

void KernelDistribution::addRepeated(std::vector<AxisHolding> &outputs) const {
  auto isRepeated = [&](const PartDim &dim) {
    bool isRead = false, isOwn = true;
    for (const Operand &operand : operands)
      if (const Dim *found = operand.isRead ? find(operand, dim) : nullptr) {
        isRead = true;
        isOwn &= found->isOwn;
      }
    return isRead && isOwn;
  };
  for (auto [result, output] :
       llvm::zip_equal(outputs, llvm::drop_begin(operands, numInputs)))
    for (const Dim &dim : output.dims)
      if (dim.dim.mayBeCut() && isRepeated(dim.dim))
        result.addReadings(
            {Holding::Part, {dim.place}, /*isLoose=*/false, {dim.number}});
}

/// A value of one stage stays a value of that stage. A scalar that is computed
/// from all of its elements belongs to this stage only.
void KernelDistribution::applyStageParts(
    llvm::ArrayRef<const AxisHolding *> holdings,
    std::vector<AxisHolding> &outputs) const {
  llvm::SmallVector<const AxisHolding *, 8> read;
  for (auto [operand, held] : llvm::zip_equal(operands, holdings))
    if (operand.isRead)
      read.push_back(held);
  const std::optional<uint32_t> shared = findShared(read);
  for (auto [result, output] :
       llvm::zip_equal(outputs, llvm::drop_begin(operands, numInputs))) {
    result = {Holding::Part, {stagePlace}};
    result.shared = shared;
    if (!output.part.dims.empty() ||
        output.part.reduction == PartReduction::Sum)
      continue;
    result = {output.part.reduction == PartReduction::Norm ? Holding::PartNorm
                                                           : Holding::Candidate,
              {}};
    if (shared && result.holding == Holding::PartNorm)
      result.counted.push_back(*shared);
  }
}

} // namespace mf::program
