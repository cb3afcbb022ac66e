//===- Certificates.cpp - What chunks have to compute ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DecoderState.h"

using namespace mlir;

namespace mf::program {

static std::optional<int64_t> getInteger(Attribute attribute) {
  auto integer = dyn_cast_or_null<IntegerAttr>(attribute);
  if (!integer || !integer.getType().isSignlessInteger(64))
    return std::nullopt;
  return integer.getInt();
}

namespace {

class CertificateDecoder {
public:
  CertificateDecoder(Operation *op, DictionaryAttr attribute)
      : op(op), attribute(attribute) {}

  FailureOr<Certificate> decode() {
    if (failed(checkKeys({"arguments", "output_gradients", "outputs", "losses",
                          "input_gradients", "gradients", "records", "largest",
                          "equal", "taken"})) ||
        failed(decodeNumber("arguments", result.numArguments)) ||
        failed(decodeNumber("output_gradients", result.numGradients)) ||
        failed(decodeResults("outputs", result.outputs)) ||
        failed(decodeResults("losses", result.losses)) ||
        failed(decodeResults("input_gradients", result.inputGradients)) ||
        failed(decodeResults("gradients", result.gradients)) ||
        failed(decodeResults("records", result.records)) ||
        failed(decodeResults("largest", result.largest)) ||
        failed(decodeEqual()) || failed(decodeTaken()))
      return failure();
    return std::move(result);
  }

  FailureOr<StepCertificate> decodeStep() {
    StepCertificate step;
    if (failed(checkKeys({"results", "loss_gradient"})) ||
        failed(decodeResults("results", step.results)))
      return failure();
    if (Attribute given = attribute.get("loss_gradient")) {
      std::optional<int64_t> term = getInteger(given);
      if (!term)
        return refuse("loss_gradient", "a term");
      step.lossGradient = static_cast<Term>(*term);
    }
    return std::move(step);
  }

private:
  LogicalResult checkKeys(ArrayRef<StringRef> known) {
    for (NamedAttribute named : attribute)
      if (!llvm::is_contained(known, named.getName().getValue()))
        return op->emitError("computes: unknown key ") << named.getName();
    return success();
  }

  /// Reads the list `key` of pairs, each of which is the name and the term of a
  /// result.
  LogicalResult decodeResults(StringRef key,
                              std::vector<CertifiedResult> &results) {
    Attribute given = attribute.get(key);
    if (!given)
      return success();
    constexpr StringRef expected = "a list of [name, term]";
    auto list = dyn_cast<ArrayAttr>(given);
    if (!list)
      return refuse(key, expected);
    for (Attribute element : list) {
      auto pair = dyn_cast<ArrayAttr>(element);
      if (!pair || pair.size() != 2)
        return refuse(key, expected);
      auto name = dyn_cast<StringAttr>(pair[0]);
      std::optional<int64_t> term = getInteger(pair[1]);
      if (!name || !term)
        return refuse(key, expected);
      results.push_back({name.str(), static_cast<Term>(*term)});
    }
    return success();
  }

  LogicalResult decodeNumber(StringRef key, int64_t &number) {
    std::optional<int64_t> given = getInteger(attribute.get(key));
    if (!given || *given < 0 || *given > maximumBytes)
      return refuse(key, "a number from 0 on");
    number = *given;
    return success();
  }

  LogicalResult decodeEqual() {
    Attribute given = attribute.get("equal");
    if (!given)
      return success();
    auto terms = dyn_cast<DenseI64ArrayAttr>(given);
    if (!terms || terms.size() % 2 != 0)
      return refuse("equal", "pairs of terms");
    for (int64_t i = 0; i < terms.size(); i += 2)
      result.equal.emplace_back(static_cast<Term>(terms[i]),
                                static_cast<Term>(terms[i + 1]));
    return success();
  }

  LogicalResult decodeTaken() {
    Attribute given = attribute.get("taken");
    if (!given)
      return success();
    auto routines = dyn_cast<DictionaryAttr>(given);
    if (!routines)
      return refuse("taken", "a dictionary of routines");
    for (NamedAttribute named : routines) {
      auto values = dyn_cast<DenseI64ArrayAttr>(named.getValue());
      if (!values || llvm::any_of(values.asArrayRef(),
                                  [](int64_t value) { return value < 0; }))
        return refuse("taken", "lists of numbers from 0 on");
      result.taken.push_back(
          {named.getName().str(), values.asArrayRef().vec()});
    }
    return success();
  }

  LogicalResult refuse(StringRef key, StringRef expected) {
    return op->emitError("computes: '") << key << "': expected " << expected
                                        << ", but got " << attribute.get(key);
  }

  Operation *op;
  DictionaryAttr attribute;
  Certificate result;
};

} // namespace

FailureOr<Certificate> decodeCertificate(Operation *op,
                                         DictionaryAttr attribute) {
  return CertificateDecoder(op, attribute).decode();
}

FailureOr<StepCertificate> decodeStepCertificate(Operation *op,
                                                 DictionaryAttr attribute) {
  return CertificateDecoder(op, attribute).decodeStep();
}

} // namespace mf::program
