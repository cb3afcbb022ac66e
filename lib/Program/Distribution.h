//===- Distribution.h - Distributions of values over ranks ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a stage run one program on separate memories. For each axis of
// the mesh, a distribution describes how the contents on the ranks along that
// axis are related. The place of a cut is measured in elements: the index of a
// rank's part is the digit above `place` elements of the local tensor in memory
// order. Views in other shapes do not change it.
//
// A dimension with one element has the same place as the next dimension. If the
// next dimension is summed, a cut at that place is a part if the former
// dimension was cut, and otherwise a summand. Shapes do not tell which one it
// is, so both readings are tracked, and later uses must agree with one of them.
//
// A value that is repeated along a dimension, such as the gradient of a sum, is
// the same on all ranks. It is also a part of a longer repeated value if the
// dimension is cut. Both readings are tracked, too.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_DISTRIBUTION_H
#define MF_LIB_PROGRAM_DISTRIBUTION_H

#include "mf/Program/Program.h"
#include "mf/Program/Signatures/KernelParts.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace mf::program {

/// Returns whether statics of this role are parameters, or are stored or
/// computed for one in training.
bool belongsToParameter(Role role);

class SharedParameters {
public:
  explicit SharedParameters(const Program &program);

  /// Returns the index of the group of a static's parameter; the static may be
  /// the parameter, its gradient or its state. Returns none if no other stage
  /// has a copy.
  std::optional<uint32_t> find(const StageProgram &stage,
                               const Static &buffer) const;

  /// Returns the name of the parameter of which all members of a group are
  /// copies.
  const std::string &getName(uint32_t group) const {
    return groups[group].name;
  }
  /// Returns whether `stages` are the stages of the group. An empty list means
  /// all stages.
  bool isOver(uint32_t group, llvm::ArrayRef<int64_t> stages) const;

private:
  struct SharedParameter {
    std::string name;
    std::set<int64_t> stages;
  };
  int64_t numStages;
  std::vector<SharedParameter> groups;
  /// The group of each parameter of a stage, by the parameter's name. A copy of
  /// a parameter of the same stage has no storage, and is known by its
  /// gradient.
  std::vector<llvm::StringMap<uint32_t>> ofStages;
};

enum class Holding : uint8_t {
  /// Zeros, which are also valid as any other holding.
  Zero,
  /// The value is the same on all ranks.
  Same,
  /// Each rank holds a part of the value.
  Part,
  /// Each rank holds a summand of the value.
  Summand,
  /// Each rank holds a candidate for the maximum.
  Candidate,
  /// Each rank holds the Euclidean norm of a part.
  PartNorm,
  /// The elements are held in different ways.
  Mixed
};

/// The holdings that an instruction may read, in the order of preference.
inline constexpr Holding allReadings[] = {
    Holding::Zero,    Holding::Same,      Holding::Part,
    Holding::Summand, Holding::Candidate, Holding::PartNorm};

struct AxisHolding {
  Holding holding = Holding::Same;
  /// If it may be a part, the places where it may be cut, ascending. Empty if
  /// it may be any place.
  llvm::SmallVector<int64_t, 2> places;
  /// The cut dimension may have one element now, so that it may be before or
  /// after a dimension that a permutation moves to its place.
  bool isLoose = false;
  /// If it may be a part, the dimensions of the distribution's shape that may
  /// be cut, ascending, if several end at the same place. Empty if it may be
  /// any.
  llvm::SmallVector<size_t, 2> dims = {};
  /// The holdings that the contents may have instead, as a mask with a bit for
  /// each.
  uint8_t others = 0;
  /// For the axis of stages: the group of SharedParameters whose stages all
  /// hold the same part, or all hold a summand of it.
  std::optional<uint32_t> shared = std::nullopt;
  /// The groups whose values are included in the norm or summand. The sum over
  /// all stages includes a value if one stage of its group does.
  llvm::SmallVector<uint32_t, 1> counted = {};
  /// For a part, the axes that are known to cut the same dimension inside of
  /// this one, ascending: ranks that differ in them hold neighbouring parts.
  llvm::SmallVector<uint32_t, 1> inside = {};

  bool mayBe(Holding reading) const {
    return holding == reading ||
           (others >> static_cast<unsigned>(reading) & 1) != 0;
  }
  /// Returns the contents with one of their holdings as the only one.
  AxisHolding as(Holding reading) const;
  /// Adds the holdings of `more` to those that the contents may have.
  void addReadings(const AxisHolding &more);

  bool operator==(const AxisHolding &other) const {
    return holding == other.holding && places == other.places &&
           isLoose == other.isLoose && dims == other.dims &&
           others == other.others && shared == other.shared &&
           counted == other.counted && inside == other.inside;
  }
  bool operator<(const AxisHolding &other) const {
    const auto rest =
        std::tie(holding, isLoose, others, shared, counted, inside);
    const auto otherRest = std::tie(other.holding, other.isLoose, other.others,
                                    other.shared, other.counted, other.inside);
    if (rest != otherRest)
      return rest < otherRest;
    return places != other.places ? places < other.places : dims < other.dims;
  }
};

/// Returns a text such as "a summand of a sum" or "the same on all ranks".
std::string describe(const AxisHolding &held);

struct Distribution {
  /// The holding along each axis of the mesh.
  std::vector<AxisHolding> axes;
  /// The place of the first dimension before it was moved to the front. For a
  /// summand, the place where its shares will be cut.
  std::optional<int64_t> firstPlace = std::nullopt;
  /// The shape to which the dimensions in holdings refer; empty if they name
  /// none. Dimensions do not apply to the value in another shape.
  llvm::SmallVector<int64_t, 4> shape = {};
  /// For an element that is the rank's coordinate times a number, this number.
  std::optional<int64_t> coordinateFactor = std::nullopt;

  bool operator==(const Distribution &other) const {
    return axes == other.axes && firstPlace == other.firstPlace &&
           shape == other.shape && coordinateFactor == other.coordinateFactor;
  }
  bool operator<(const Distribution &other) const {
    return std::tie(axes, firstPlace, shape, coordinateFactor) <
           std::tie(other.axes, other.firstPlace, other.shape,
                    other.coordinateFactor);
  }
  void forgetShape() {
    shape.clear();
    for (AxisHolding &axis : axes)
      axis.dims.clear();
  }
  /// Sets the shape to `dims`, to which the dimensions in holdings already
  /// refer. Removes those dimensions that the places of a holding determine.
  void setShape(llvm::ArrayRef<int64_t> dims);
};

/// The place of the cut between stages' own parameters, which are parts of the
/// model.
inline constexpr int64_t stagePlace = -1;

/// Returns the groups or axes that are in either of two ascending lists.
llvm::SmallVector<uint32_t, 1> uniteNumbers(llvm::ArrayRef<uint32_t> a,
                                            llvm::ArrayRef<uint32_t> b);

/// Merges the holdings of two sets of elements of a value.
AxisHolding merge(const AxisHolding &a, const AxisHolding &b);

/// The reason why an instruction does not compute the correct result on all
/// ranks together.
struct DistributionError {
  size_t axis = 0;
  /// The index of the operand among those that were passed.
  size_t operand = 0;
  std::string reason;
};

/// Maps distributions of a kernel's operands to those of its outputs.
class KernelDistribution {
public:
  /// `parts` must be those of the kernel's specification.
  KernelDistribution(const LaunchedKernel &kernel, KernelParts parts);

  /// Computes the distributions of the outputs. `operands` are those of the
  /// inputs, followed by those of the former contents of the outputs, which
  /// only matter if the kernel reads them. If the kernel can read operands with
  /// one of their holdings only, they have no others afterwards.
  std::optional<DistributionError>
  apply(llvm::ArrayRef<Distribution *> operands, llvm::ArrayRef<Axis> axes,
        std::vector<Distribution> &outputs) const;

private:
  struct Dim {
    PartDim dim;
    int64_t extent = 0;
    /// The index of the operand's dimension that it is or belongs to.
    size_t number = 0;
    /// The number of elements of all inner dimensions, without and with this
    /// dimension.
    int64_t below = 0;
    int64_t place = 0;
    /// True if the operand has one element for all those of a rank that another
    /// operand has.
    bool isOwn = false;

    /// Returns whether an operand that has the dimension may be broadcast along
    /// it, as far as the shape on a rank tells.
    bool mayRepeat() const { return dim.isLeading && place == below; }
  };
  /// Where a dimension is cut: above the whole dimension, or above some of its
  /// elements if two dimensions were joined and the second one is cut.
  struct Cut {
    PartDim dim;
    /// The number of these elements; 0 for the whole dimension.
    int64_t elements = 0;
    /// True if the place of the cut is not known.
    bool isUnknown = false;

    bool operator==(const Cut &other) const {
      return elements == other.elements && isUnknown == other.isUnknown;
    }
  };
  struct Operand {
    PartOperand part;
    std::vector<Dim> dims;
    llvm::SmallVector<int64_t, 4> shape = {};
    bool isRead = true;
  };
  void addOperand(const TensorShape &shape, PartOperand part, bool isRead);
  void dropBroadcast();
  void findOwn();
  int64_t getExtent(char letter) const;
  /// Sets which axes of the outputs are inside of which. The error names two
  /// operands that are cut over the same axes in different orders.
  std::optional<DistributionError>
  orderAxes(llvm::ArrayRef<const Distribution *> given,
            std::vector<Distribution> &outputs) const;
  /// Notes which axes cut a whole outside of the part that each rank takes, and
  /// which inside of it.
  void orderOwnParts(llvm::ArrayRef<const Distribution *> given,
                     std::vector<Distribution> &outputs) const;
  /// Checks the numbers that tell a rank which part it has.
  std::optional<DistributionError>
  checkCoordinates(llvm::ArrayRef<const Distribution *> given,
                   llvm::ArrayRef<Axis> axes) const;
  const Dim *find(const Operand &operand, const PartDim &dim) const;

  /// The results of one axis. If the operands have several holdings, but the
  /// kernel reads them with one only, `read` are the operands with this one.
  struct AxisResults {
    std::vector<AxisHolding> outputs;
    llvm::SmallVector<AxisHolding, 8> read;
  };
  std::optional<DistributionError>
  applyAxis(llvm::ArrayRef<const AxisHolding *> holdings, bool isStages,
            AxisResults &results) const;
  /// Computes the holdings of the outputs for operands each of which has only
  /// one holding.
  std::optional<DistributionError>
  applyKnown(llvm::ArrayRef<const AxisHolding *> holdings, bool isStages,
             std::vector<AxisHolding> &outputs) const;
  /// Returns whether the kernel adds results of parts to summands, or
  /// overwrites elements of summands with them.
  bool addsPartsToSummands(llvm::ArrayRef<const AxisHolding *> holdings) const;
  std::optional<DistributionError>
  addParts(llvm::ArrayRef<const AxisHolding *> holdings,
           std::vector<AxisHolding> &outputs) const;
  std::optional<DistributionError>
  applySummands(llvm::ArrayRef<const AxisHolding *> holdings,
                std::vector<AxisHolding> &outputs) const;
  std::optional<DistributionError>
  applyParts(llvm::ArrayRef<const AxisHolding *> holdings,
             std::vector<AxisHolding> &outputs) const;
  std::optional<DistributionError>
  takeOwnPart(llvm::ArrayRef<const AxisHolding *> holdings, size_t operand,
              std::vector<AxisHolding> &outputs) const;
  /// Notes the outputs that repeat the same value along a dimension.
  void addRepeated(std::vector<AxisHolding> &outputs) const;
  void applyStageParts(llvm::ArrayRef<const AxisHolding *> holdings,
                       std::vector<AxisHolding> &outputs) const;
  std::optional<DistributionError>
  squareNorms(llvm::ArrayRef<const AxisHolding *> holdings, size_t operand,
              std::vector<AxisHolding> &outputs) const;
  std::optional<Cut> getCut(const Dim &dim, int64_t place, bool isLoose) const;
  /// Returns how all operands that have the dimension may be cut there, if no
  /// other dimension is cut.
  llvm::SmallVector<Cut, 2>
  findCuts(llvm::ArrayRef<const AxisHolding *> holdings,
           const PartDim &dim) const;
  AxisHolding getOutput(const Operand &output, const Cut &cut) const;

  /// The inputs, followed by the outputs.
  std::vector<Operand> operands;
  size_t numInputs = 0;
  /// All dimensions that may be cut.
  std::vector<PartDim> dims;
  bool isPermutation = false;
  /// The original place of the dimension that a permutation moves to the front.
  std::optional<int64_t> firstPlace;
};

/// The inputs of a collective, in the order of its accesses, and the number of
/// elements of its input and output.
struct CollectiveOperands {
  llvm::SmallVector<const Distribution *, 3> inputs;
  int64_t inputElements = 0;
  int64_t outputElements = 0;
  /// The size of the input's first dimension with more than one element; 0 if
  /// the input is a part of a buffer.
  int64_t firstElements = 0;
  /// True if the input's first dimension has one element.
  bool hasOneRow = false;
  const SharedParameters *shared = nullptr;
};

/// Computes the distribution of a collective's output, given the axes of its
/// group.
std::optional<DistributionError>
applyCollective(const Exchange &exchange, const Group &group, const Mesh &mesh,
                const CollectiveOperands &operands, Distribution &output);

/// Leaves a collective's input the holdings along the axes of its group with
/// which the collective reads it.
void narrowInput(const Exchange &exchange, const Group &group, const Mesh &mesh,
                 Distribution &input);

/// Computes the distribution of the output of an all_to_all_v.
std::optional<DistributionError>
applyRowExchange(const Exchange &exchange, const Group &group, const Mesh &mesh,
                 const CollectiveOperands &operands, Distribution &output);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_DISTRIBUTION_H
