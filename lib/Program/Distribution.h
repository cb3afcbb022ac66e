//===- Distribution.h - Distributions of values over ranks ------*- C++ -*-===//
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
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_DISTRIBUTION_H
#define MF_LIB_PROGRAM_DISTRIBUTION_H

#include "mf/Program/Program.h"
#include "mf/Program/Signatures/KernelParts.h"

namespace mf::program {

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

/// Returns a description such as "a summand" or "the same".
llvm::StringRef describe(Holding holding);

struct AxisHolding {
  Holding holding = Holding::Same;
  /// For a part, the places where it may be cut, ascending. Empty if it may be
  /// any place.
  llvm::SmallVector<int64_t, 2> places;
  /// The cut dimension may have one element now, so that it may be before or
  /// after a dimension that a permutation moves to its place.
  bool isLoose = false;
  /// A part that may also be a summand.
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
  /// The place of the first dimension before it was moved to the front. For a
  /// summand, the place where its shares will be cut.
  std::optional<int64_t> firstPlace;

  bool operator==(const Distribution &other) const {
    return axes == other.axes && firstPlace == other.firstPlace;
  }
  bool operator<(const Distribution &other) const {
    return std::tie(axes, firstPlace) < std::tie(other.axes, other.firstPlace);
  }
};

/// The place of the cut between stages' own parameters, which are parts of the
/// model.
inline constexpr int64_t stagePlace = -1;

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
  /// only matter if the kernel reads them.
  std::optional<DistributionError>
  apply(llvm::ArrayRef<const Distribution *> operands,
        llvm::ArrayRef<Axis> axes, std::vector<Distribution> &outputs) const;

private:
  struct Dim {
    PartDim dim;
    int64_t extent = 0;
    /// The number of elements of all inner dimensions, without and with this
    /// dimension.
    int64_t below = 0;
    int64_t place = 0;

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
    bool isRead = true;
  };
  void addOperand(const TensorShape &shape, PartOperand part, bool isRead);
  void dropBroadcast();
  const Dim *find(const Operand &operand, const PartDim &dim) const;

  std::optional<DistributionError>
  applyAxis(llvm::ArrayRef<const AxisHolding *> holdings, bool isStages,
            std::vector<AxisHolding> &outputs) const;
  /// For operands none of which is ambiguous between a part and a summand.
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
  void applyStageParts(std::vector<AxisHolding> &outputs) const;
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
};

/// Computes the distribution of a collective's output, given the axes of its
/// group.
std::optional<DistributionError>
applyCollective(const Exchange &exchange, const Group &group, const Mesh &mesh,
                const CollectiveOperands &operands, Distribution &output);

/// Computes that of an all_to_all_v.
std::optional<DistributionError>
applyRowExchange(const Exchange &exchange, const Group &group, const Mesh &mesh,
                 const CollectiveOperands &operands, Distribution &output);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_DISTRIBUTION_H
