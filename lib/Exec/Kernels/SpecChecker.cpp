//===- SpecChecker.cpp - Checks a KernelSpec ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SpecChecker.h"
#include "ElementTypes.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mf {

std::string toString(const TensorShape &shape) {
  std::string text;
  for (int64_t dim : shape.dims)
    text += std::to_string(dim) + "x";
  return text + getName(shape.type).str();
}

llvm::Error SpecChecker::takeError() const {
  if (!message)
    return llvm::Error::success();
  return llvm::createStringError(spec.name + ": " + *message);
}

void SpecChecker::require(bool condition, const llvm::Twine &what) {
  if (!condition && !message)
    message = what.str();
}

bool SpecChecker::requireTensors() {
  for (auto [index, shape] : llvm::enumerate(spec.inputs))
    requireCountable(shape, "input", index);
  for (auto [index, shape] : llvm::enumerate(spec.outputs))
    requireCountable(shape, "output", index);
  return !hasFailed();
}

void SpecChecker::requireCountable(const TensorShape &shape,
                                   llvm::StringRef role, size_t index) {
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

void SpecChecker::requireFloat(const TensorShape &shape, llvm::StringRef role,
                               size_t index) {
  require(isFloat(shape.type), role + " " + llvm::Twine(index) + " is " +
                                   getName(shape.type) +
                                   ", expected f32, bf16 or f16");
}

void SpecChecker::requireFloatInput(size_t index) {
  if (!hasFailed())
    requireFloat(spec.inputs[index], "input", index);
}

void SpecChecker::requireFloatOutput(size_t index) {
  if (!hasFailed())
    requireFloat(spec.outputs[index], "output", index);
}

void SpecChecker::requireInput(size_t index, const TensorShape &expected) {
  if (!hasFailed())
    require(spec.inputs[index] == expected,
            "input " + llvm::Twine(index) + " is " +
                toString(spec.inputs[index]) + ", expected " +
                toString(expected));
}

void SpecChecker::requireOutput(size_t index, const TensorShape &expected) {
  if (!hasFailed())
    require(spec.outputs[index] == expected,
            "output " + llvm::Twine(index) + " is " +
                toString(spec.outputs[index]) + ", expected " +
                toString(expected));
}

void SpecChecker::requireInputType(size_t index, DType expected) {
  if (!hasFailed())
    require(spec.inputs[index].type == expected,
            "input " + llvm::Twine(index) + " is " +
                getName(spec.inputs[index].type) + ", expected " +
                getName(expected));
}

void SpecChecker::requireOutputType(size_t index, DType expected) {
  if (!hasFailed())
    require(spec.outputs[index].type == expected,
            "output " + llvm::Twine(index) + " is " +
                getName(spec.outputs[index].type) + ", expected " +
                getName(expected));
}

void SpecChecker::requireInputRank(size_t index, size_t rank) {
  if (!hasFailed())
    require(spec.inputs[index].dims.size() >= rank,
            "input " + llvm::Twine(index) + " is " +
                toString(spec.inputs[index]) + ", expected at least " +
                llvm::Twine(rank) + (rank == 1 ? " dimension" : " dimensions"));
}

template <typename T> const T &SpecChecker::get(llvm::StringRef name) const {
  return std::get<T>(spec.attributes.find(name.str())->second);
}

bool SpecChecker::hasInput(llvm::StringRef name) const {
  return llvm::any_of(
      findKernelSignature(spec.name)->inputs,
      [&](const OperandSignature &input) { return input.name == name; });
}

bool SpecChecker::getBool(llvm::StringRef name, bool whenAbsent) const {
  return spec.attributes.count(name.str()) ? get<bool>(name) : whenAbsent;
}

int64_t SpecChecker::getInt(llvm::StringRef name) const {
  return get<int64_t>(name);
}

double SpecChecker::getDouble(llvm::StringRef name) const {
  return get<double>(name);
}

double SpecChecker::getDouble(llvm::StringRef name, double whenAbsent) const {
  return spec.attributes.count(name.str()) ? get<double>(name) : whenAbsent;
}

const std::vector<int64_t> &SpecChecker::getInts(llvm::StringRef name) const {
  return get<std::vector<int64_t>>(name);
}

const std::vector<double> &SpecChecker::getDoubles(llvm::StringRef name) const {
  return get<std::vector<double>>(name);
}

int64_t SpecChecker::getAxis(llvm::StringRef name, size_t rank) {
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

} // namespace mf
