//===- KernelSpecText.h - Specifications of kernels in a line --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A test has a specification as a line of text, whose shapes are those of
// messages: `aclnnAmax(3x4x70xf32) -> 4xf32 {axes = [0, 2]}`.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TEST_UNIT_KERNELSPECTEXT_H
#define MF_TEST_UNIT_KERNELSPECTEXT_H

#include "mf/Program/Signatures/KernelSpec.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

namespace mf::testing {

/// Such as "4x5xbf16"; "f32" is a scalar.
inline TensorShape readShape(llvm::StringRef text) {
  TensorShape shape;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, 'x');
  const std::optional<DType> type = parseDType(parts.pop_back_val());
  EXPECT_TRUE(type.has_value()) << text.str();
  shape.type = type.value_or(DType::F32);
  for (llvm::StringRef part : parts) {
    shape.dims.push_back(0);
    EXPECT_FALSE(part.getAsInteger(10, shape.dims.back())) << text.str();
  }
  return shape;
}

/// `text` without the spaces around it, divided at ", ".
inline llvm::SmallVector<llvm::StringRef> splitList(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.trim().split(parts, ", ", -1, /*KeepEmpty=*/false);
  return parts;
}

inline AttributeValue readAttribute(llvm::StringRef text) {
  if (text == "true" || text == "false")
    return text == "true";
  if (text.consume_front("[")) {
    std::vector<int64_t> list;
    std::vector<double> numbers;
    for (llvm::StringRef part : splitList(text.drop_back())) {
      if (part.contains('.')) {
        numbers.push_back(0);
        EXPECT_TRUE(llvm::to_float(part, numbers.back())) << text.str();
        continue;
      }
      list.push_back(0);
      EXPECT_FALSE(part.getAsInteger(10, list.back())) << text.str();
    }
    if (!numbers.empty() && list.empty())
      return numbers;
    EXPECT_TRUE(numbers.empty()) << text.str();
    return list;
  }
  if (int64_t number = 0; !text.getAsInteger(10, number))
    return number;
  double number = 0;
  EXPECT_TRUE(llvm::to_float(text, number)) << text.str();
  return number;
}

/// NAME(INPUT, ...) -> OUTPUT, ... {ATTRIBUTE = VALUE, ...}; the parts behind
/// the inputs may be left out.
inline KernelSpec readSpec(llvm::StringRef text) {
  KernelSpec spec;
  auto [before, attributes] = text.split('{');
  auto [name, operands] = before.split('(');
  auto [inputs, outputs] = operands.split(')');
  spec.name = name.str();
  for (llvm::StringRef input : splitList(inputs))
    spec.inputs.push_back(readShape(input));
  outputs.consume_front(" -> ");
  for (llvm::StringRef output : splitList(outputs))
    spec.outputs.push_back(readShape(output));
  attributes.consume_back("}");
  while (!attributes.empty()) {
    auto [key, rest] = attributes.split(" = ");
    // A list has commas of its own.
    const size_t end =
        rest.find(", ", rest.starts_with("[") ? rest.find(']') : 0);
    spec.attributes[key.str()] = readAttribute(rest.take_front(end));
    attributes = end == llvm::StringRef::npos ? "" : rest.drop_front(end + 2);
  }
  return spec;
}

} // namespace mf::testing

#endif // MF_TEST_UNIT_KERNELSPECTEXT_H
