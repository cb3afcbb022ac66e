//===- KernelRule.cpp - Sharding rules from records of kernels ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/KernelSpecs.h"
#include "dialects/mf/MfDialect.h"

using namespace mlir;

namespace mf::ir {

namespace {

/// Converts a kernel's rule for sharded operands to the sharding rule of an
/// operator.
class KernelRule {
public:
  KernelRule(const KernelParts &parts, const KernelSpec &spec)
      : parts(parts), spec(spec) {}

  ShardingRule make() && {
    for (auto [operand, shape] : llvm::zip_equal(parts.inputs, spec.inputs)) {
      rule.operands.push_back(addOperand(operand, shape));
      rule.linearity.push_back(operand.linearity);
    }
    for (auto [operand, shape] : llvm::zip_equal(parts.outputs, spec.outputs))
      rule.results.push_back(addOperand(operand, shape));
    return std::move(rule);
  }

private:
  /// Returns the size of a dimension. Outputs are searched first, because an
  /// operand with one element is broadcast along it.
  int64_t getExtent(const PartDim &dim) const {
    auto find = [&](ArrayRef<PartOperand> operands,
                    ArrayRef<TensorShape> shapes) -> std::optional<int64_t> {
      for (auto [operand, shape] : llvm::zip_equal(operands, shapes))
        for (auto [candidate, size] :
             llvm::zip_equal(operand.dims, shape.dims)) {
          if (candidate == dim)
            return size / candidate.innerExtent;
          if (!dim.isLeading && candidate.inner == dim.letter)
            return candidate.innerExtent;
        }
      return std::nullopt;
    };
    if (std::optional<int64_t> extent = find(parts.outputs, spec.outputs))
      return *extent;
    return find(parts.inputs, spec.inputs).value_or(1);
  }

  /// Returns the kind, which defines what an output that lacks the dimension
  /// holds if it is cut. Kinds can only express sums, not other reductions.
  FactorKind getKind(const PartDim &dim) const {
    auto hasDim = [&](const PartOperand &output) {
      return llvm::any_of(output.dims, [&](const PartDim &other) {
        return other == dim || (!dim.isLeading && other.inner == dim.letter);
      });
    };
    FactorKind kind = FactorKind::Pass;
    for (const PartOperand &output : parts.outputs) {
      if (hasDim(output))
        continue;
      if (output.reduction != PartReduction::Sum)
        return FactorKind::Whole;
      kind = FactorKind::Sum;
    }
    return kind;
  }

  unsigned getFactor(const PartDim &dim, int64_t size) {
    for (const auto &[other, factor] : known)
      if (other == dim && rule.factors[factor].size == size)
        return factor;
    if (!dim.mayBeCut() || getExtent(dim) != size)
      return rule.addFactor(FactorKind::Whole, size);
    const unsigned factor = rule.addFactor(getKind(dim), size);
    known.emplace_back(dim, factor);
    return factor;
  }

  FactorDims addOperand(const PartOperand &operand, const TensorShape &shape) {
    FactorDims dims;
    for (auto [dim, size] : llvm::zip_equal(operand.dims, shape.dims)) {
      dims.push_back({getFactor(dim, size / dim.innerExtent)});
      if (dim.inner != 0)
        dims.back().push_back(getFactor({dim.inner, false}, dim.innerExtent));
    }
    return dims;
  }

  const KernelParts &parts;
  const KernelSpec &spec;
  ShardingRule rule;
  /// The dimensions that may be cut, with their factors.
  SmallVector<std::pair<PartDim, unsigned>> known;
};

} // namespace

/// Returns the rule by which every rank holds the whole of all operands, which
/// is valid for any operator.
static ShardingRule getWholeRule(Operation *op) {
  ShardingRule rule;
  auto addWhole = [&](TypeRange types, SmallVectorImpl<FactorDims> &all) {
    for (Type type : types) {
      FactorDims dims;
      for (int64_t size : cast<RankedTensorType>(type).getShape())
        dims.push_back({rule.addFactor(FactorKind::Whole, size)});
      all.push_back(std::move(dims));
    }
  };
  addWhole(op->getOperandTypes(), rule.operands);
  addWhole(op->getResultTypes(), rule.results);
  return rule;
}

std::optional<KernelSpec> getKernelSpec(Operation *op, StringRef kernel,
                                        DictionaryAttr attributes) {
  auto getTensors = [](TypeRange types) {
    return llvm::map_to_vector(
        types, [](Type type) { return cast<RankedTensorType>(type); });
  };
  return mf::getKernelSpec(kernel, getTensors(op->getOperandTypes()),
                           getTensors(op->getResultTypes()), attributes);
}

static FailureOr<ShardingRule> readRecord(Operation *op, StringRef kernel,
                                          DictionaryAttr attributes) {
  const KernelSignature *signature = findKernelSignature(kernel);
  if (!signature)
    return op->emitOpError("has no sharding rule: kernel '")
           << kernel << "' has no record";
  std::optional<KernelSpec> spec = getKernelSpec(op, kernel, attributes);
  if (!spec)
    return op->emitOpError("has no sharding rule: expected element types and "
                           "attributes of kernel '")
           << kernel << "'";
  const std::string line = signature->getParts(*spec);
  llvm::Expected<KernelParts> parts = parseParts(line, *spec);
  if (!parts)
    return op->emitOpError("has no sharding rule: '")
           << line << "' of kernel '" << kernel
           << "' does not describe its operands: "
           << llvm::toString(parts.takeError());
  return KernelRule(*parts, *spec).make();
}

FailureOr<ShardingRule> getKernelShardingRule(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute || compute.getKernelName().empty())
    return getWholeRule(op);
  return readRecord(op, compute.getKernelName(), compute.getKernelAttributes());
}

FailureOr<ShardingRule> getShardingRuleOf(StringRef kernel, Operation *op) {
  return readRecord(op, kernel, DictionaryAttr::get(op->getContext()));
}

} // namespace mf::ir
