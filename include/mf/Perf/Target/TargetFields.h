//===- TargetFields.h - Names and checks of a target's numbers --*- C++ -*-===//
//
// The names and ranges of the numbers of a target, in one place: files spell
// them, paths are made of them, and check() holds them against their ranges.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TARGET_TARGETFIELDS_H
#define MF_TARGET_TARGETFIELDS_H

#include "mf/Perf/Target/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <variant>

namespace mf::target {

/// The values that a number may have; all are finite.
enum class Range : uint8_t {
  /// Above 0.
  Positive,
  NotNegative,
  /// A share from 0 to 1.
  Share,
  /// Above 0, up to 1.
  PositiveShare
};

/// "a number above 0".
llvm::StringRef getDescription(Range range);
/// Whether a number is in the range and finite.
bool contains(Range range, double number);

/// The ends of ranges: within them the times of a step stay finite.
constexpr double mostNumber = 1e18, mostLatency = 3600, leastPositive = 1e-9;

/// A number of an entry of a target.
struct Field {
  /// "bytes_per_second".
  llvm::StringRef name;
  std::variant<double *, int64_t *> value;
  Range range = Range::Positive;
  /// Whether it may be left out; it then keeps the value of a new entry.
  bool isOptional = false;
  double most = mostNumber;

  double getNumber() const;
};

using Fields = llvm::SmallVector<Field, 8>;

/// All numbers of an entry, in the order in which files are printed. For an
/// engine they are the numbers of the element types that it has.
Fields getFields(ComputeEngine &engine);
Fields getFields(Memory &memory);
Fields getFields(HostLink &host);
Fields getFields(Saturation &saturation);
Fields getFields(KernelRate &rate);
Fields getFields(Network &network);
/// The numbers of the target itself.
Fields getFields(Target &target);

/// Calls `handle` for all numbers, in the order of the description, with their
/// paths.
void forEachField(
    Target &target,
    llvm::function_ref<void(llvm::StringRef path, const Field &)> handle);

/// Fails if a field cannot be the number: it is out of range, or the field is
/// an integer and the number none.
llvm::Error checkRange(const Field &field, double number);
/// Writes a number that checkRange accepts.
void assign(const Field &field, double number);

/// Checks one entry; paths in errors count from it. Its name is not checked,
/// nor the members that a network joins.
llvm::Error checkEntry(const ComputeEngine &engine);
llvm::Error checkEntry(const Memory &memory);
llvm::Error checkEntry(const HostLink &host);
llvm::Error checkEntry(const Saturation &saturation);
llvm::Error checkEntry(const KernelRate &rate);
llvm::Error checkEntry(const Network &network);

/// The shortest decimal number that reads back as the same, as MLIR spells
/// numbers: "500", "1.1e+12", "4.0e-06".
std::string formatTargetNumber(double number);

/// The measures that rates can depend on: those of all kernels, sorted.
llvm::ArrayRef<llvm::StringRef> getMeasureNames();
/// The measures that all kernels of a kind have, sorted.
llvm::SmallVector<llvm::StringRef> getMeasureNames(llvm::StringRef kind);

/// Something that is wrong with a target, and where.
class TargetError : public llvm::ErrorInfo<TargetError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): LLVM wants it

  TargetError(std::string path, std::string message)
      : path(std::move(path)), message(std::move(message)) {}

  /// The path of the number or entry, as parameters have it; empty for the
  /// whole.
  llvm::StringRef getPath() const { return path; }
  /// The message without the path.
  llvm::StringRef getMessage() const { return message; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string path, message;
};

} // namespace mf::target

#endif // MF_TARGET_TARGETFIELDS_H
