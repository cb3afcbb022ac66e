//===- SpecChecker.cpp - Reading a KernelSpec with good errors ------------===//

#include "SpecChecker.h"
#include "ElementTypes.h"
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

static std::string countOf(size_t count, llvm::StringRef noun) {
  return (llvm::Twine(count) + " " + noun + (count == 1 ? "" : "s")).str();
}

bool SpecChecker::requireArity(size_t inputs, size_t outputs,
                               llvm::ArrayRef<llvm::StringRef> attributes) {
  require(spec.inputs.size() == inputs, "expected " + countOf(inputs, "input") +
                                            ", but got " +
                                            llvm::Twine(spec.inputs.size()));
  require(spec.outputs.size() == outputs,
          "expected " + countOf(outputs, "output") + ", but got " +
              llvm::Twine(spec.outputs.size()));
  return requireTensors(attributes);
}

bool SpecChecker::requireVariadic(size_t least, size_t outputs,
                                  llvm::ArrayRef<llvm::StringRef> attributes) {
  require(spec.inputs.size() >= least,
          "expected at least " + countOf(least, "input") + ", but got " +
              llvm::Twine(spec.inputs.size()));
  require(spec.outputs.size() == outputs,
          "expected " + countOf(outputs, "output") + ", but got " +
              llvm::Twine(spec.outputs.size()));
  return requireTensors(attributes);
}

bool SpecChecker::requireTensors(llvm::ArrayRef<llvm::StringRef> attributes) {
  for (auto [index, shape] : llvm::enumerate(spec.inputs))
    requireCountable(shape, "input", index);
  for (auto [index, shape] : llvm::enumerate(spec.outputs))
    requireCountable(shape, "output", index);
  for (const auto &[name, value] : spec.attributes) {
    if (llvm::is_contained(attributes, name))
      continue;
    require(false, "unknown attribute '" + name + "'; " +
                       (attributes.empty()
                            ? std::string("this kernel takes none")
                            : "known are " + llvm::join(attributes, ", ")));
  }
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

void SpecChecker::requireFloatInput(size_t index) {
  if (!hasFailed())
    require(isFloat(spec.inputs[index].type),
            "input " + llvm::Twine(index) + " is " +
                getName(spec.inputs[index].type) +
                ", expected f32, bf16 or f16");
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
                countOf(rank, "dimension"));
}

const AttributeValue *SpecChecker::find(llvm::StringRef name) {
  auto found = spec.attributes.find(name.str());
  return found == spec.attributes.end() ? nullptr : &found->second;
}

template <typename T>
T SpecChecker::get(llvm::StringRef name, llvm::StringRef type) {
  const AttributeValue *value = find(name);
  require(value, "attribute '" + name + "' is missing");
  if (!value)
    return T();
  const T *typed = std::get_if<T>(value);
  require(typed, "attribute '" + name + "' has another type, expected " + type);
  return typed ? *typed : T();
}

bool SpecChecker::getBool(llvm::StringRef name, bool whenAbsent) {
  return find(name) ? get<bool>(name, "a bool") : whenAbsent;
}

int64_t SpecChecker::getInt(llvm::StringRef name) {
  return get<int64_t>(name, "an integer");
}

double SpecChecker::getDouble(llvm::StringRef name) {
  return get<double>(name, "a floating-point number");
}

std::vector<int64_t> SpecChecker::getInts(llvm::StringRef name) {
  return get<std::vector<int64_t>>(name, "a list of integers");
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
