//===- KernelParts.cpp - Effect of cut operands on results ----------------===//

#include "mf/Signatures/KernelParts.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

/// Reads one operand of the line.
static llvm::Expected<PartOperand> parseOperand(llvm::StringRef text,
                                                const TensorShape &shape) {
  PartOperand operand;
  llvm::StringRef rest = text;
  if (rest.consume_front("+"))
    operand.linearity = PartLinearity::Together;
  else if (rest.consume_front("^"))
    operand.linearity = PartLinearity::Alone;
  if (rest.consume_front(">"))
    operand.reduction = PartReduction::Largest;
  else if (rest.consume_front("~"))
    operand.reduction = PartReduction::Norm;
  if (rest.size() == 2 && (rest.front() == '@' || rest.front() == '&')) {
    (rest.front() == '@' ? operand.firstIndexOf : operand.ownPartAbove) =
        rest[1];
    operand.dims.resize(shape.dims.size(), {'I', false});
    return operand;
  }
  const bool hasLeading = rest.consume_front("*");
  if (rest == ".")
    rest = "";
  if (!llvm::all_of(rest, llvm::isAlpha) || rest.size() > shape.dims.size())
    return llvm::createStringError(
        "'" + text + "' does not describe an operand of " +
        llvm::Twine(shape.dims.size()) + " dimensions");
  // Dimensions that the line does not name must be whole.
  const size_t leading = shape.dims.size() - rest.size();
  for (size_t i = 0; i < leading; ++i)
    operand.dims.push_back(
        hasLeading ? PartDim{static_cast<char>(leading - 1 - i), true}
                   : PartDim{'I', false});
  for (char letter : rest)
    operand.dims.push_back({letter, false});
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

llvm::Expected<KernelParts> parseParts(llvm::StringRef line,
                                       const KernelSpec &spec) {
  auto [inputs, outputs] = line.split("->");
  KernelParts parts;
  if (llvm::Error error = parseSide(inputs.trim(), spec.inputs, parts.inputs))
    return std::move(error);
  if (llvm::Error error =
          parseSide(outputs.trim(), spec.outputs, parts.outputs))
    return std::move(error);
  return parts;
}

} // namespace mf
