//===- Distribution.h - Distributions of values over ranks ------*- C++ -*-===//
//
// All ranks of a stage run one program on memory of their own. For each axis of
// the mesh a distribution says how the contents of the ranks along it belong
// together. The place of a cut is given in elements: the part of a rank is the
// digit above `place` elements of the local tensor in memory order, which views
// in other shapes do not change.
//
// A dimension of one element ends at the place where the one behind it ends:
// where the latter is summed up, what is cut there is a part if the former is
// cut, else a summand. The shapes do not say which, so both are followed, and
// what follows has to agree with one.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_DISTRIBUTION_H
#define MF_LIB_PROGRAM_DISTRIBUTION_H

#include "mf/Program/Program.h"
#include "mf/Program/Signatures/KernelParts.h"

namespace mf::program {

enum class Holding : uint8_t {
  /// Zeros, which are any of the others as well.
  Zero,
  /// The value is the same on all ranks.
  Same,
  /// A part of a whole.
  Part,
  /// A summand.
  Summand,
  /// A candidate for the largest.
  Candidate,
  /// The Euclidean norm of a part.
  PartNorm,
  /// The elements are held in different ways.
  Mixed
};

/// "a summand", "the same".
llvm::StringRef describe(Holding holding);

struct AxisHolding {
  Holding holding = Holding::Same;
  /// For a part: the places where it may be cut, ascending; any if there is
  /// none.
  llvm::SmallVector<int64_t, 2> places;
  /// The cut is of a dimension that may have one element by now, so that it may
  /// stand before or behind a dimension that a permutation moves to its place.
  bool isLoose = false;
  /// A part that may as well be a summand.
  bool maySum = false;

  bool isSummand() const { return holding == Holding::Summand || maySum; }
  bool operator==(const AxisHolding &other) const {
    return holding == other.holding && places == other.places &&
           isLoose == other.isLoose && maySum == other.maySum;
  }
  bool operator<(const AxisHolding &other) const {
    const auto rest = std::tie(holding, isLoose, maySum);
    const auto otherRest = std::tie(other.holding, other.isLoose, other.maySum);
    if (rest != otherRest)
      return rest < otherRest;
    return std::lexicographical_compare(
        places.begin(), places.end(), other.places.begin(), other.places.end());
  }
};

struct Distribution {
  /// The holding along each axis of the mesh.
  std::vector<AxisHolding> axes;
  /// Where the first dimension stood before it was put first; of a summand, the
  /// place where its shares will be cut.
  std::optional<int64_t> firstPlace;

  bool operator==(const Distribution &other) const {
    return axes == other.axes && firstPlace == other.firstPlace;
  }
  bool operator<(const Distribution &other) const {
    return std::tie(axes, firstPlace) < std::tie(other.axes, other.firstPlace);
  }
};

/// The place of the cut between stages' own parameters: they are parts of the
/// model.
inline constexpr int64_t stagePlace = -1;

/// Merges the holdings of two sets of a value's elements.
AxisHolding merge(const AxisHolding &a, const AxisHolding &b);

/// Why an instruction does not compute what its ranks together should.
struct DistributionError {
  size_t axis = 0;
  /// Index of the operand among those that were given.
  size_t operand = 0;
  std::string reason;
};

/// One kernel with its shapes, which maps distributions of its operands to
/// those of its outputs.
class KernelDistribution {
public:
  /// `parts` are those of the kernel's specification.
  KernelDistribution(const LaunchedKernel &kernel, KernelParts parts);

  /// The distributions of the outputs. `operands` are those of the inputs and
  /// then of the former contents of the outputs, which count where the kernel
  /// reads them.
  std::optional<DistributionError>
  apply(llvm::ArrayRef<const Distribution *> operands,
        llvm::ArrayRef<Axis> axes, std::vector<Distribution> &outputs) const;

private:
  struct Dim {
    PartDim dim;
    int64_t extent = 0;
    /// Elements of the dimensions behind it, and those with its own.
    int64_t below = 0;
    int64_t place = 0;

    /// Whether what has it may be repeated along it, as far as a rank's shape
    /// tells.
    bool mayRepeat() const { return dim.isLeading && place == below; }
  };
  /// Where a dimension is cut: above all of it, or above some elements of it,
  /// as where two dimensions were joined and the second is cut.
  struct Cut {
    PartDim dim;
    /// The number of elements; 0 for all of it.
    int64_t elements = 0;
    /// The place of the cut is unknown.
    bool isUnknown = false;

    bool operator==(const Cut &other) const {
      return elements == other.elements && isUnknown == other.isUnknown;
    }
  };
  struct Operand {
    PartOperand part;
    std::vector<Dim> dims;
    bool isRead = true;
  };
  void addOperand(const TensorShape &shape, PartOperand part, bool isRead);
  void dropBroadcast();
  const Dim *find(const Operand &operand, const PartDim &dim) const;

  std::optional<DistributionError>
  applyAxis(llvm::ArrayRef<const AxisHolding *> holdings, bool isStages,
            std::vector<AxisHolding> &outputs) const;
  /// Where no operand may be one or the other.
  std::optional<DistributionError>
  applyKnown(llvm::ArrayRef<const AxisHolding *> holdings, bool isStages,
             std::vector<AxisHolding> &outputs) const;
  /// Whether the kernel adds to summands, or writes over elements of them, what
  /// it makes of parts.
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
  void applyStageParts(std::vector<AxisHolding> &outputs) const;
  std::optional<Cut> getCut(const Dim &dim, int64_t place, bool isLoose) const;
  /// How all operands that have the dimension may be cut there, if no other is.
  llvm::SmallVector<Cut, 2>
  findCuts(llvm::ArrayRef<const AxisHolding *> holdings,
           const PartDim &dim) const;
  AxisHolding getOutput(const Operand &output, const Cut &cut) const;

  /// Inputs and then outputs.
  std::vector<Operand> operands;
  size_t numInputs = 0;
  /// All dimensions that may be cut.
  std::vector<PartDim> dims;
  bool isPermutation = false;
  /// Where a permutation finds the dimension that it puts first.
  std::optional<int64_t> firstPlace;
};

/// The inputs of a collective, in the order of its accesses, and the elements
/// of its input and output.
struct CollectiveOperands {
  llvm::SmallVector<const Distribution *, 3> inputs;
  int64_t inputElements = 0;
  int64_t outputElements = 0;
  /// The size of the input's first dimension above one; 0 if it is part of
  /// a buffer.
  int64_t firstElements = 0;
  /// The input's first dimension has one element.
  bool hasOneRow = false;
};

/// Computes the distribution of a collective's output on the members of a group
/// of axes.
std::optional<DistributionError>
applyCollective(const Exchange &exchange, const Group &group, const Mesh &mesh,
                const CollectiveOperands &operands, Distribution &output);

/// The same for an all_to_all_v.
std::optional<DistributionError>
applyRowExchange(const Exchange &exchange, const Group &group, const Mesh &mesh,
                 const CollectiveOperands &operands, Distribution &output);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_DISTRIBUTION_H
