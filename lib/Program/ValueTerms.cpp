//===- ValueTerms.cpp - Terms of values in buffers ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/ValueTerms.h"
#include "mf/Program/Signatures/KernelChain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"

namespace mf::program {

/// The names of kernels whose results have terms of their own form, instead of
/// a hash of the launch.
static constexpr llvm::StringLiteral copyKernel = "aclnnInplaceCopy";
static constexpr llvm::StringLiteral castKernel = "aclnnCast";
static constexpr llvm::StringLiteral multiplyKernel = "aclnnForeachMulScalar";
static constexpr llvm::StringLiteral maximumKernel = "aclnnMaximum";
static constexpr llvm::StringLiteral zeroKernel = "aclnnInplaceZero";

TermHash &TermHash::add(uint64_t value) {
  // The finalizer of splitmix64 on the state and the value.
  uint64_t mixed = state ^ (value + 0x9e3779b97f4a7c15ULL);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  state = (mixed ^ (mixed >> 31)) + (state << 1 | state >> 63);
  return *this;
}

TermHash &TermHash::add(llvm::StringRef text) {
  return add(text.size()).add(llvm::xxh3_64bits(text));
}

Term getInputTerm(llvm::StringRef kind, uint64_t number) {
  return TermHash("input").add(kind).add(number).get();
}

Term getInputTerm(llvm::StringRef kind, llvm::StringRef name) {
  return TermHash("input").add(kind).add(name).get();
}

Term getConstantTerm(double value) {
  return getInputTerm("constant", llvm::bit_cast<uint64_t>(value));
}

std::string describeTerm(Term term) {
  return "0x" + llvm::utohexstr(term, /*LowerCase=*/true, 16);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Stores a piece over existing ones. The parts of those that it does not cover
/// stay.
void BufferTerms::put(int64_t begin, const Piece &piece) {
  const int64_t end = begin + piece.bytes;
  auto next = pieces.lower_bound(begin);
  if (next != pieces.begin()) {
    auto before = std::prev(next);
    const int64_t beforeEnd = before->first + before->second.bytes;
    if (beforeEnd > end) {
      Piece rest = before->second;
      rest.skip += end - before->first;
      rest.bytes = beforeEnd - end;
      pieces.emplace(end, rest);
    }
    if (beforeEnd > begin)
      before->second.bytes = begin - before->first;
  }
  while (next != pieces.end() && next->first < end) {
    const int64_t nextEnd = next->first + next->second.bytes;
    if (nextEnd > end) {
      Piece rest = next->second;
      rest.skip += end - next->first;
      rest.bytes = nextEnd - end;
      pieces.emplace(end, rest);
    }
    next = pieces.erase(next);
  }
  pieces[begin] = piece;
}

void BufferTerms::write(int64_t begin, int64_t bytes, Term term) {
  if (bytes > 0)
    put(begin, {bytes, 0, bytes, term});
}

std::vector<BufferTerms::Piece> BufferTerms::take(int64_t begin,
                                                  int64_t bytes) const {
  std::vector<Piece> taken;
  const int64_t end = begin + bytes;
  auto next = pieces.upper_bound(begin);
  if (next != pieces.begin())
    --next;
  int64_t at = begin;
  auto skipTo = [&](int64_t to) {
    if (to > at)
      taken.push_back({to - at, 0, to - at, TermHash("unwritten").get()});
    at = std::max(at, to);
  };
  for (; next != pieces.end() && next->first < end; ++next) {
    const int64_t from = std::max(next->first, begin);
    const int64_t to = std::min(next->first + next->second.bytes, end);
    if (to <= from)
      continue;
    skipTo(from);
    Piece piece = next->second;
    piece.skip += from - next->first;
    piece.bytes = to - from;
    taken.push_back(piece);
    at = to;
  }
  skipTo(end);
  return taken;
}

Term BufferTerms::read(int64_t begin, int64_t bytes) const {
  const std::vector<Piece> taken = take(begin, bytes);
  if (taken.size() == 1 && taken.front().skip == 0 &&
      taken.front().bytes == taken.front().whole)
    return taken.front().term;
  TermHash hash("pieces");
  for (const Piece &piece : taken)
    hash.add(piece.term).add(piece.skip).add(piece.bytes);
  return hash.get();
}

void BufferTerms::copy(const BufferTerms &from, int64_t fromBegin,
                       int64_t begin, int64_t bytes) {
  int64_t at = begin;
  for (const Piece &piece : from.take(fromBegin, bytes)) {
    put(at, piece);
    at += piece.bytes;
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static void addValue(TermHash &hash, const AttributeValue &value) {
  hash.add(value.index());
  if (const auto *flag = std::get_if<bool>(&value))
    hash.add(static_cast<uint64_t>(*flag));
  else if (const auto *integer = std::get_if<int64_t>(&value))
    hash.add(static_cast<uint64_t>(*integer));
  else if (const auto *real = std::get_if<double>(&value))
    hash.add(llvm::bit_cast<uint64_t>(*real));
  else if (const auto *list = std::get_if<std::vector<int64_t>>(&value))
    for (int64_t element : *list)
      hash.add(static_cast<uint64_t>(element));
  else if (const auto *reals = std::get_if<std::vector<double>>(&value))
    for (double element : *reals)
      hash.add(llvm::bit_cast<uint64_t>(element));
}

static void addShape(TermHash &hash, const TensorShape &shape, bool isFlat) {
  hash.add(static_cast<uint64_t>(shape.type));
  if (isFlat) {
    hash.add(static_cast<uint64_t>(shape.getNumElements()));
    return;
  }
  hash.add(shape.dims.size());
  for (int64_t extent : shape.dims)
    hash.add(static_cast<uint64_t>(extent));
}

/// Returns whether each element of the results depends on the same element of
/// all operands, so that their shape does not matter.
static bool worksOnElements(const KernelSpec &spec,
                            const KernelSignature &signature) {
  if (!signature.getFusionKind ||
      signature.getFusionKind(spec) != FusionKind::Elements)
    return false;
  const auto &dims = spec.outputs.front().dims;
  auto isAlike = [&](const TensorShape &shape) { return shape.dims == dims; };
  return llvm::all_of(spec.inputs, isAlike) &&
         llvm::all_of(spec.outputs, isAlike);
}

/// Hashes the computation of a kernel, without its operands.
static TermHash hashKernel(const KernelSpec &spec,
                           const KernelSignature &signature) {
  TermHash hash(spec.name);
  const bool isFlat = worksOnElements(spec, signature);
  hash.add(spec.inputs.size()).add(spec.outputs.size());
  for (const TensorShape &shape : spec.inputs)
    addShape(hash, shape, isFlat);
  for (const TensorShape &shape : spec.outputs)
    addShape(hash, shape, isFlat);
  for (const auto &[name, value] : spec.attributes) {
    hash.add(name);
    addValue(hash, value);
  }
  return hash;
}

static Term normalize(Term term, const EqualTerms &equal) {
  auto found = equal.find(term);
  return found == equal.end() ? term : found->second;
}

/// Returns the term of a value that `spec` computes from others.
static Term makeValue(const KernelSpec &spec, llvm::ArrayRef<Term> operands,
                      const EqualTerms &equal) {
  const KernelSignature *signature = findKernelSignature(spec.name);
  TermHash hash =
      signature ? hashKernel(spec, *signature) : TermHash(spec.name);
  for (Term operand : operands)
    hash.add(operand);
  return normalize(hash.add(0).get(), equal);
}

Term getSum(Term before, Term addend, const TensorShape &from,
            const TensorShape &to) {
  if (from.type != to.type)
    addend = makeValue({castKernel.str(), {from}, {{to.type, from.dims}}, {}},
                       addend, EqualTerms());
  return TermHash("sum").add(before).add(addend).get();
}

Term getLarger(Term before, Term value, const TensorShape &shape) {
  return makeValue({maximumKernel.str(), {shape, shape}, {shape}, {}},
                   {value, before}, EqualTerms());
}

Term getZeroTerm(const TensorShape &shape) {
  return makeValue({zeroKernel.str(), {}, {shape}, {}}, {}, EqualTerms());
}

static void runChain(const KernelSpec &spec, llvm::ArrayRef<TermRange> inputs,
                     const TermRange &output, const EqualTerms &equal) {
  const auto &fused =
      std::get<std::vector<FusedKernel>>(spec.attributes.at("steps"));
  std::vector<Term> results;
  for (auto [number, kernel] : llvm::enumerate(getFusedSpecs(spec))) {
    llvm::SmallVector<Term> operands;
    for (int64_t operand : fused[number].operands)
      operands.push_back(operand < 0 ? results[~operand]
                                     : inputs[operand].read());
    results.push_back(makeValue(kernel, operands, equal));
  }
  output.buffer->write(output.begin, output.bytes,
                       results.empty() ? TermHash("nothing").get()
                                       : results.back());
}

/// Runs a kernel that multiplies its first input by factors: first the
/// products, then the kernel without factors. Returns false if the kernel has
/// no factors.
static bool runFactors(const KernelSpec &spec, const KernelSignature &signature,
                       llvm::ArrayRef<TermRange> inputs,
                       llvm::ArrayRef<TermRange> outputs,
                       const EqualTerms &equal) {
  if (signature.inputs.empty() || !signature.inputs.back().isFactors)
    return false;
  const size_t numPlain = signature.inputs.size() - 1;
  if (inputs.size() <= numPlain)
    return false;
  BufferTerms product(inputs[0].bytes, inputs[0].read());
  const TermRange range{&product, 0, inputs[0].bytes};
  const KernelSignature *multiply = findKernelSignature(multiplyKernel);
  for (size_t i = numPlain; i < inputs.size(); ++i)
    runKernel({multiplyKernel.str(), {spec.inputs[i]}, {spec.inputs[0]}, {}},
              *multiply, inputs[i], range, equal);
  KernelSpec plain = spec;
  plain.inputs.resize(numPlain);
  llvm::SmallVector<TermRange> read(inputs.take_front(numPlain));
  read[0] = range;
  runKernel(plain, signature, read, outputs, equal);
  return true;
}

void runKernel(const KernelSpec &spec, const KernelSignature &signature,
               llvm::ArrayRef<TermRange> inputs,
               llvm::ArrayRef<TermRange> outputs, const EqualTerms &equal) {
  if (runFactors(spec, signature, inputs, outputs, equal))
    return;
  if (spec.attributes.count("steps"))
    return runChain(spec, inputs, outputs.front(), equal);
  if (spec.name == copyKernel &&
      spec.inputs.front().type == spec.outputs.front().type)
    return outputs[0].buffer->copy(*inputs[0].buffer, inputs[0].begin,
                                   outputs[0].begin, outputs[0].bytes);
  TermHash hash = hashKernel(spec, signature);
  for (const TermRange &input : inputs)
    hash.add(input.read());
  for (auto [position, output] : llvm::enumerate(outputs))
    if (signature.getOutput(position).access == Access::Updated)
      hash.add(output.read());
  llvm::SmallVector<Term> results;
  for (auto [position, output] : llvm::enumerate(outputs))
    results.push_back(
        signature.getOutput(position).access == Access::Accumulated
            ? getSum(output.read(), inputs.front().read(), spec.inputs.front(),
                     spec.outputs[position])
            : normalize(TermHash(hash).add(position).get(), equal));
  for (auto [output, result] : llvm::zip_equal(outputs, results))
    output.buffer->write(output.begin, output.bytes, result);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void runCollective(const TermCollective &collective,
                   llvm::ArrayRef<TermRange> inputs, const TermRange &output,
                   const EqualTerms &equal) {
  TermHash hash("collective");
  hash.add(static_cast<uint64_t>(collective.kind))
      .add(static_cast<uint64_t>(collective.reduction))
      .add(static_cast<uint64_t>(collective.type))
      .add(llvm::bit_cast<uint64_t>(collective.fill));
  std::vector<std::string> axes = collective.group.axes;
  llvm::sort(axes);
  for (const std::string &axis : axes)
    hash.add(axis);
  // A group within a stage belongs to that stage.
  if (collective.group.crossesStages())
    for (int64_t stage : collective.group.stages)
      hash.add(static_cast<uint64_t>(stage));
  for (const TermRange &input : inputs)
    hash.add(static_cast<uint64_t>(input.bytes)).add(input.read());
  hash.add(static_cast<uint64_t>(output.bytes));
  output.buffer->write(output.begin, output.bytes,
                       normalize(hash.get(), equal));
}

} // namespace mf::program
