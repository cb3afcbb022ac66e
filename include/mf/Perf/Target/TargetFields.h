//===- TargetFields.h - Names and checks of a target's numbers --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The names and ranges of a target's numbers. Files use the names, paths are
// composed of them, and check() enforces the ranges.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PERF_TARGET_TARGETFIELDS_H
#define MF_PERF_TARGET_TARGETFIELDS_H

#include "mf/Perf/Target/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <variant>

namespace mf::target {

/// The range of values that a number may have. All are finite.
enum class Range : uint8_t {
  /// Above 0.
  Positive,
  NotNegative,
  /// From 0 to 1.
  Share,
  /// Above 0, at most 1.
  PositiveShare
};

/// Returns a description such as "a number above 0".
llvm::StringRef getDescription(Range range);
/// Returns whether a number is in the range and finite.
bool contains(Range range, double number);

/// The limits of ranges. Within them the times of a step are finite.
constexpr double mostNumber = 1e18, mostLatency = 3600, leastPositive = 1e-9;

/// A number in an entry of a target.
struct Field {
  /// The name, for example "bytes_per_second".
  llvm::StringRef name;
  std::variant<double *, int64_t *> value;
  Range range = Range::Positive;
  /// True if the field may be left out. It then keeps the value of a new entry.
  bool isOptional = false;
  double most = mostNumber;

  double getNumber() const;
};

using Fields = llvm::SmallVector<Field, 8>;

/// Return all numbers of an entry in the order in which files are printed. An
/// engine has a number for each element type that it supports.
Fields getFields(ComputeEngine &engine);
Fields getFields(Memory &memory);
Fields getFields(HostLink &host);
Fields getFields(Saturation &saturation);
Fields getFields(KernelRate &rate);
Fields getFields(Network &network);
/// Returns the numbers of the target itself.
Fields getFields(Target &target);

/// Calls `handle` for all numbers with their paths, in the order of the
/// description.
void forEachField(
    Target &target,
    llvm::function_ref<void(llvm::StringRef path, const Field &)> handle);

/// Fails if the number is out of the field's range, or if the field is an
/// integer and the number is not.
llvm::Error checkRange(const Field &field, double number);
/// Sets the field to a number that checkRange accepts.
void assign(const Field &field, double number);

/// Check one entry. Paths in errors are relative to it. Its name and the
/// members that a network joins are not checked.
llvm::Error checkEntry(const ComputeEngine &engine);
llvm::Error checkEntry(const Memory &memory);
llvm::Error checkEntry(const HostLink &host);
llvm::Error checkEntry(const Saturation &saturation);
llvm::Error checkEntry(const KernelRate &rate);
llvm::Error checkEntry(const Network &network);

/// Formats the shortest decimal number that reads back as the same value, in
/// MLIR's syntax: "500", "1.1e+12", "4.0e-06".
std::string formatTargetNumber(double number);

/// Returns the measures that rates can depend on, which are those of all
/// kernels, sorted.
llvm::ArrayRef<llvm::StringRef> getMeasureNames();
/// Returns the measures that all kernels of a kind have, sorted.
llvm::SmallVector<llvm::StringRef> getMeasureNames(llvm::StringRef kind);

/// An error about a number or an entry of a target.
class TargetError : public llvm::ErrorInfo<TargetError> {
public:
  static char ID; // NOLINT(readability-identifier-naming): LLVM wants it

  TargetError(std::string path, std::string message)
      : path(std::move(path)), message(std::move(message)) {}

  /// Returns the path of the number or entry, as in Parameter; empty for the
  /// whole target.
  llvm::StringRef getPath() const { return path; }
  /// Returns the message without the path.
  llvm::StringRef getMessage() const { return message; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string path, message;
};

} // namespace mf::target

#endif // MF_PERF_TARGET_TARGETFIELDS_H
