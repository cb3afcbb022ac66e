//===- KernelParts.cpp - Effect of cut operands on results ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Signatures/KernelParts.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

/// Parses letters and pairs of letters: `b(hg)D`.
static std::optional<llvm::SmallVector<PartDim, 4>>
parseLetters(llvm::StringRef text) {
  llvm::SmallVector<PartDim, 4> dims;
  while (!text.empty()) {
    const bool isPair = text.size() > 3 && text[0] == '(' && text[3] == ')';
    llvm::StringRef letters = text.substr(isPair ? 1 : 0, isPair ? 2 : 1);
    if (!llvm::all_of(letters, llvm::isAlpha))
      return std::nullopt;
    dims.push_back({letters.front(), false, isPair ? letters.back() : '\0'});
    text = text.drop_front(isPair ? 4 : 1);
  }
  return dims;
}

/// Parses one operand of the line.
static llvm::Expected<PartOperand> parseOperand(llvm::StringRef text,
                                                const TensorShape &shape) {
  PartOperand operand;
  llvm::StringRef rest = text;
  if (rest.consume_front("+"))
    operand.linearity = Linearity::Together;
  else if (rest.consume_front("^"))
    operand.linearity = Linearity::Alone;
  if (rest.consume_front(">"))
    operand.reduction = PartReduction::Largest;
  else if (rest.consume_front("~"))
    operand.reduction = PartReduction::Norm;
  else if (rest.consume_front("%"))
    operand.isPermuted = true;
  if (rest.size() == 2 && rest.front() == '&')
    operand.ownPartAbove = rest[1];
  if (rest.consume_front("@")) {
    const auto letters = parseLetters(rest);
    if (!letters || letters->empty() || letters->size() > 2)
      return llvm::createStringError("'" + text +
                                     "' does not describe a first index");
    const PartDim &of = letters->front();
    operand.firstIndexOf = of.letter;
    if (of.inner != 0)
      operand.firstIndexOf += of.inner;
    operand.wholeOf = letters->size() == 2 ? letters->back().letter : '\0';
  }
  if (operand.ownPartAbove != 0 || !operand.firstIndexOf.empty()) {
    operand.dims.resize(shape.dims.size(), {'I', false});
    return operand;
  }
  const bool hasLeading = rest.consume_front("*");
  if (rest == ".")
    rest = "";
  std::optional<llvm::SmallVector<PartDim, 4>> letters = parseLetters(rest);
  if (!letters || letters->size() > shape.dims.size())
    return llvm::createStringError(
        "'" + text + "' does not describe an operand of " +
        llvm::Twine(shape.dims.size()) + " dimensions");
  // Dimensions that the line does not name must be whole.
  const size_t leading = shape.dims.size() - letters->size();
  for (size_t i = 0; i < leading; ++i)
    operand.dims.push_back(
        hasLeading ? PartDim{static_cast<char>(leading - 1 - i), true}
                   : PartDim{'I', false});
  operand.dims.append(*letters);
  return operand;
}

static llvm::Error parseSide(llvm::StringRef text,
                             llvm::ArrayRef<TensorShape> shapes,
                             std::vector<PartOperand> &operands) {
  llvm::SmallVector<llvm::StringRef, 8> texts;
  text.split(texts, ',', -1, /*KeepEmpty=*/false);
  if (texts.empty() && !shapes.empty())
    return llvm::createStringError("describes no operand");
  for (auto [number, shape] : llvm::enumerate(shapes)) {
    llvm::Expected<PartOperand> operand =
        parseOperand(texts[std::min(number, texts.size() - 1)].trim(), shape);
    if (!operand)
      return operand.takeError();
    operands.push_back(std::move(*operand));
  }
  return llvm::Error::success();
}

/// Returns the size of a dimension where it is not fused with another.
static std::optional<int64_t> findExtent(const KernelParts &parts,
                                         const KernelSpec &spec,
                                         const PartDim &dim) {
  for (auto [operand, shape] : llvm::zip_equal(parts.inputs, spec.inputs))
    for (auto [candidate, extent] : llvm::zip_equal(operand.dims, shape.dims))
      if (candidate == dim && candidate.inner == 0)
        return extent;
  return std::nullopt;
}

/// Finds the sizes of the dimensions that are fused with others.
static llvm::Error findInnerExtents(KernelParts &parts,
                                    const KernelSpec &spec) {
  auto find = [&](llvm::MutableArrayRef<PartOperand> operands,
                  llvm::ArrayRef<TensorShape> shapes) -> llvm::Error {
    for (auto [operand, shape] : llvm::zip_equal(operands, shapes))
      for (auto [dim, extent] : llvm::zip_equal(operand.dims, shape.dims)) {
        if (dim.inner == 0)
          continue;
        const std::optional<int64_t> outer = findExtent(parts, spec, dim);
        if (!outer || *outer == 0 || extent % *outer != 0)
          return llvm::createStringError(
              "expected a size of '" + llvm::Twine(dim.letter) +
              "' that divides " + llvm::Twine(extent));
        dim.innerExtent = extent / *outer;
      }
    return llvm::Error::success();
  };
  if (llvm::Error error = find(parts.inputs, spec.inputs))
    return error;
  return find(parts.outputs, spec.outputs);
}

llvm::Expected<KernelParts> parseParts(llvm::StringRef line,
                                       const KernelSpec &spec) {
  auto [inputs, outputs] = line.split("->");
  KernelParts parts;
  if (llvm::Error error = parseSide(inputs.trim(), spec.inputs, parts.inputs))
    return std::move(error);
  if (llvm::Error error =
          parseSide(outputs.trim(), spec.outputs, parts.outputs))
    return std::move(error);
  if (llvm::Error error = findInnerExtents(parts, spec))
    return std::move(error);
  return parts;
}

} // namespace mf
