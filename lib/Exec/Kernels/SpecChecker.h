//===- SpecChecker.h - Checks a KernelSpec ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_KERNELS_SPECCHECKER_H
#define MF_LIB_EXEC_KERNELS_SPECCHECKER_H

#include "ElementTypes.h"
#include "mf/Exec/Kernels/Kernel.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

namespace mf {

/// Returns, for example, "4x5xbf16", as MLIR prints it.
inline std::string toString(const TensorShape &shape) {
  std::string text;
  for (int64_t dim : shape.dims)
    text += std::to_string(dim) + "x";
  return text + getName(shape.type).str();
}

/// Reads a specification that matches its kernel's signature, and keeps the
/// first error. After an error, further checks do nothing and the getters
/// return defaults. A kernel's factory calls `hasFailed` before it accesses a
/// shape by an index that it has not checked, and `takeError` at the end.
class SpecChecker {
public:
  explicit SpecChecker(const KernelSpec &spec) : spec(spec) {}

  bool hasFailed() const { return message.has_value(); }

  /// Returns the error, or success. Must be called once.
  llvm::Error takeError() const {
    if (!message)
      return llvm::Error::success();
    return llvm::createStringError(spec.name + ": " + *message);
  }

  /// Records the error `what` unless `condition` holds.
  void require(bool condition, const llvm::Twine &what) {
    if (!condition && !message)
      message = what.str();
  }

  /// Requires that each tensor has at least one element and that its bytes can
  /// be counted. Returns false if not.
  bool requireTensors() {
    for (auto [index, shape] : llvm::enumerate(spec.inputs))
      requireCountable(shape, "input", index);
    for (auto [index, shape] : llvm::enumerate(spec.outputs))
      requireCountable(shape, "output", index);
    return !hasFailed();
  }

  void requireFloatInput(size_t index) {
    if (!hasFailed())
      requireFloat(spec.inputs[index], "input", index);
  }
  void requireFloatOutput(size_t index) {
    if (!hasFailed())
      requireFloat(spec.outputs[index], "output", index);
  }

  void requireInput(size_t index, const TensorShape &expected) {
    if (!hasFailed() && spec.inputs[index] != expected)
      expect("input", index, toString(spec.inputs[index]), toString(expected));
  }
  void requireOutput(size_t index, const TensorShape &expected) {
    if (!hasFailed() && spec.outputs[index] != expected)
      expect("output", index, toString(spec.outputs[index]),
             toString(expected));
  }
  void requireInputType(size_t index, DType expected) {
    if (!hasFailed() && spec.inputs[index].type != expected)
      expect("input", index, getName(spec.inputs[index].type),
             getName(expected));
  }
  void requireOutputType(size_t index, DType expected) {
    if (!hasFailed() && spec.outputs[index].type != expected)
      expect("output", index, getName(spec.outputs[index].type),
             getName(expected));
  }

  /// Requires at least `rank` dimensions.
  void requireInputRank(size_t index, size_t rank) {
    if (!hasFailed() && spec.inputs[index].dims.size() < rank)
      expect("input", index, toString(spec.inputs[index]),
             "at least " + llvm::Twine(rank) +
                 (rank == 1 ? " dimension" : " dimensions"));
  }

  /// Returns whether the kernel's record has an input of this name.
  bool hasInput(llvm::StringRef name) const {
    return llvm::any_of(
        findKernelSignature(spec.name)->inputs,
        [&](const OperandSignature &input) { return input.name == name; });
  }

  bool getBool(llvm::StringRef name, bool whenAbsent) const {
    return spec.attributes.count(name.str()) ? get<bool>(name) : whenAbsent;
  }
  int64_t getInt(llvm::StringRef name) const { return get<int64_t>(name); }
  double getDouble(llvm::StringRef name) const { return get<double>(name); }
  double getDouble(llvm::StringRef name, double whenAbsent) const {
    return spec.attributes.count(name.str()) ? get<double>(name) : whenAbsent;
  }
  const std::vector<int64_t> &getInts(llvm::StringRef name) const {
    return get<std::vector<int64_t>>(name);
  }
  const std::vector<double> &getDoubles(llvm::StringRef name) const {
    return get<std::vector<double>>(name);
  }

  /// Reads an axis of a tensor of `rank` dimensions. A negative value counts
  /// from the end.
  int64_t getAxis(llvm::StringRef name, size_t rank) {
    int64_t axis = getInt(name);
    int64_t limit = static_cast<int64_t>(rank);
    bool fits = axis >= -limit && axis < limit;
    require(fits, "attribute '" + name + "' is " + llvm::Twine(axis) +
                      ", expected an axis of " + llvm::Twine(limit) +
                      " dimensions");
    if (!fits)
      return 0;
    return axis < 0 ? axis + limit : axis;
  }

private:
  /// Records that an operand is another than expected.
  void expect(llvm::StringRef role, size_t index, const llvm::Twine &found,
              const llvm::Twine &expected) {
    require(false, role + " " + llvm::Twine(index) + " is " + found +
                       ", expected " + expected);
  }

  void requireFloat(const TensorShape &shape, llvm::StringRef role,
                    size_t index) {
    if (!isFloat(shape.type))
      expect(role, index, getName(shape.type), "f32, bf16 or f16");
  }

  void requireCountable(const TensorShape &shape, llvm::StringRef role,
                        size_t index) {
    int64_t bytes = mf::getBytes(shape.type);
    for (int64_t dim : shape.dims) {
      require(dim >= 1, role + " " + llvm::Twine(index) + " has shape " +
                            toString(shape) +
                            ", expected every dimension to be at least 1");
      require(!llvm::MulOverflow(bytes, dim, bytes),
              role + " " + llvm::Twine(index) + " of shape " + toString(shape) +
                  " has more bytes than can be counted");
    }
  }

  template <typename T> const T &get(llvm::StringRef name) const {
    return std::get<T>(spec.attributes.find(name.str())->second);
  }

  const KernelSpec &spec;
  std::optional<std::string> message;
};

} // namespace mf

#endif // MF_LIB_EXEC_KERNELS_SPECCHECKER_H
