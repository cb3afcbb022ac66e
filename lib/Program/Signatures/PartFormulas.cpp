//===- PartFormulas.cpp - Rules for parts that depend on attributes -------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelFormulas.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

/// Returns a letter for each dimension, starting with `first`.
static std::string getLetters(size_t rank, char first = 'a') {
  std::string letters;
  for (size_t i = 0; i < rank; ++i)
    letters += static_cast<char>(first + i);
  return letters;
}

static std::string orScalar(const std::string &letters) {
  return letters.empty() ? "." : letters;
}

static std::vector<int64_t> getIntegers(const KernelSpec &spec,
                                        llvm::StringRef name) {
  return std::get<std::vector<int64_t>>(spec.attributes.at(name.str()));
}

std::string getResizedParts(const KernelSpec &spec) {
  const auto &from = spec.inputs[0].dims, &to = spec.outputs[0].dims;
  std::string input = getLetters(from.size()), output = input;
  for (size_t i = 0; i < from.size() && i < to.size(); ++i)
    if (from[i] != to[i])
      input[i] = output[i] = static_cast<char>('A' + i);
  // If summands are padded with a value, their sum has a multiple of that
  // value.
  auto value = spec.attributes.find("value");
  const bool isLinear =
      value == spec.attributes.end() || std::get<int64_t>(value->second) == 0;
  return (isLinear ? "+" : "") + orScalar(input) + " -> " + orScalar(output);
}

std::string getConcatenatedParts(const KernelSpec &spec) {
  const size_t rank = spec.outputs[0].dims.size();
  std::string letters = getLetters(rank);
  const auto axis = std::get<int64_t>(spec.attributes.at("axis"));
  // Kernels reject an axis that does not exist.
  if (const size_t dim = axis < 0 ? axis + rank : axis; dim < rank)
    letters[dim] = static_cast<char>('A' + dim);
  return "+" + letters + " -> " + letters;
}

std::string getRepeatedParts(const KernelSpec &spec) {
  std::string letters = getLetters(spec.outputs[0].dims.size());
  return "+" + letters + " -> " + letters;
}

static bool hasGateRow(const TensorShape &packed, const TensorShape &half) {
  return packed.dims.size() == half.dims.size() + 1;
}

std::string getGatedParts(const KernelSpec &spec) {
  return hasGateRow(spec.inputs[0], spec.outputs[0]) ? "*Jk -> *k" : "*J -> *K";
}

std::string getGatedGradParts(const KernelSpec &spec) {
  return hasGateRow(spec.inputs[1], spec.inputs[0]) ? "+*k, *Jk -> *Jk"
                                                    : "+*K, *J -> *J";
}

std::string getPermutedParts(const KernelSpec &spec) {
  const std::string letters = getLetters(spec.inputs[0].dims.size());
  std::string output;
  for (int64_t from : getIntegers(spec, "perm"))
    output += letters[from];
  return "+" + orScalar(letters) + " -> %" + orScalar(output);
}

/// The input's dimensions without `axes`.
static std::string getReducedLetters(const KernelSpec &spec) {
  const std::string letters = getLetters(spec.inputs[0].dims.size());
  const std::vector<int64_t> axes = getIntegers(spec, "axes");
  const bool keeps = getFlag(spec, "keep_dims", false);
  std::string output;
  for (auto [dim, letter] : llvm::enumerate(letters))
    if (!llvm::is_contained(axes, static_cast<int64_t>(dim)))
      output += letter;
    else if (keeps)
      output += 'I';
  return orScalar(output);
}

std::string getReducedParts(const KernelSpec &spec) {
  return "+" + orScalar(getLetters(spec.inputs[0].dims.size())) + " -> " +
         getReducedLetters(spec);
}

std::string getLargestParts(const KernelSpec &spec) {
  return orScalar(getLetters(spec.inputs[0].dims.size())) + " -> >" +
         getReducedLetters(spec);
}

std::string getLogitFactorParts(const KernelSpec &spec) {
  auto rest = spec.attributes.find("rest");
  const bool hasRest =
      rest != spec.attributes.end() && std::get<int64_t>(rest->second) != 0;
  return hasRest ? "H, . -> R" : "h, . -> (hP)";
}

std::string getMatmulParts(const KernelSpec &spec) {
  const size_t rank = spec.inputs[0].dims.size();
  const std::string batch = getLetters(rank - std::min<size_t>(rank, 2));
  auto getOperand = [&](bool hasBatch, char rows, char columns) {
    return (hasBatch ? batch : std::string()) + rows + columns;
  };
  const bool transposeA = getFlag(spec, "transpose_a", false);
  const bool transposeB = getFlag(spec, "transpose_b", false);
  return "^" +
         getOperand(true, transposeA ? 'y' : 'x', transposeA ? 'x' : 'y') +
         ", ^" +
         getOperand(spec.inputs[1].dims.size() > 2, transposeB ? 'z' : 'y',
                    transposeB ? 'y' : 'z') +
         " -> " + getOperand(!getFlag(spec, "contract_batch", false), 'x', 'z');
}

static char getQueryRows(const KernelSpec &spec, bool hasFirstQuery) {
  return hasFirstQuery || !getFlag(spec, "causal", true) ? 'q' : 'Q';
}

/// A head of keys has a group of queries, which ranks may share if all of them
/// hold that head. If a rank's part of a group is one query head, its shape
/// does not tell it from a part whose rows are cut. With fewer rows than keys,
/// it is taken for a part of a group if that is possible.
static std::string getHeads(const KernelSpec &spec, bool hasFirstQuery) {
  const auto &query = spec.inputs[0].dims, &key = spec.inputs[1].dims;
  const bool isGroup =
      query[1] > key[1] || query[2] == key[2] || (hasFirstQuery && key[1] == 1);
  return isGroup ? "(hg)" : "h";
}

/// Returns the inputs of attention after the first `inputs`: for a part the
/// position of its first row, then the optional ones. `rows` are batch, heads
/// and rows.
static std::string getLastInputs(const KernelSpec &spec, size_t inputs,
                                 bool hasFirstQuery, const std::string &heads,
                                 const std::string &rows) {
  const std::string line = hasFirstQuery ? ", @qK" : "";
  const AttentionInputs found =
      findAttentionInputs(spec, inputs + hasFirstQuery);
  std::string last;
  if (found.slopes)
    last += ", " + heads;
  if (found.dropMask)
    last += ", " + rows + "K";
  if (found.starts)
    last += std::string(", ") + rows.front() + rows.back();
  // A rule without optional inputs still names the slopes, which then have no
  // effect.
  return line + (last.empty() ? ", " + heads : last);
}

std::string getAttentionParts(const KernelSpec &spec, bool hasFirstQuery) {
  const std::string heads = getHeads(spec, hasFirstQuery);
  const std::string rows = "b" + heads + getQueryRows(spec, hasFirstQuery);
  return rows + "D, bhKD, bhKE" +
         getLastInputs(spec, 3, hasFirstQuery, heads, rows) + " -> " + rows +
         ", " + rows + ", " + rows + "E";
}

std::string getAttentionGradParts(const KernelSpec &spec, bool hasFirstQuery) {
  const std::string heads = getHeads(spec, hasFirstQuery);
  const std::string rows = "b" + heads + getQueryRows(spec, hasFirstQuery);
  return rows + "D, bhKD, bhKE, +" + rows + "E, " + rows + ", " + rows + ", " +
         rows + "E" + getLastInputs(spec, 7, hasFirstQuery, heads, rows) +
         " -> " + rows + "D, bhKD, bhKE";
}

std::string getHybridParts(const KernelSpec &spec, size_t keys,
                           llvm::StringRef line) {
  const auto &dims = spec.inputs[keys].dims;
  if (dims.size() != 4)
    return line.str();
  const char *numbers = line.contains('S') ? "OK" : "oK",
             *queries = dims[1] == 1 ? "(os)" : "(oS)";
  std::string parts;
  while (!line.empty()) {
    if (line.consume_front("@sK"))
      parts += std::string("@") + queries;
    else if (line.consume_front("s"))
      parts += queries;
    else if (line.consume_front("K"))
      parts += numbers;
    else {
      parts += line.front();
      line = line.drop_front();
    }
  }
  return parts;
}

std::string getExpertMatmulParts(const KernelSpec &spec) {
  const bool transposed = getFlag(spec, "transpose_weight", false);
  return std::string("^gpTh, ^pL") + (transposed ? "ih" : "hi") +
         ", gpL -> gpTi";
}

std::string getDropoutMaskParts(const KernelSpec &spec) {
  std::string input = "Z",
              output = getLetters(spec.outputs[0].dims.size(), 'A');
  for (int64_t dim : getIntegers(spec, "cut_dims")) {
    // Kernels reject a dimension that does not exist.
    if (dim < 0 || dim >= static_cast<int64_t>(output.size()))
      continue;
    output[dim] = static_cast<char>('a' + dim);
    input += std::string(", @") + output[dim];
  }
  return input + " -> " + orScalar(output);
}

std::string getLossParts(llvm::StringRef line, const TensorShape &shape) {
  const bool isOwn = !shape.dims.empty() && shape.dims[0] == 1;
  std::string parts;
  for (char letter : line) {
    if (letter == 'S' && isOwn)
      parts += 'r';
    parts += letter != 'N' ? letter : isOwn ? 'r' : '.';
  }
  return parts;
}

std::string getChainParts(const KernelSpec &spec) {
  auto getOperand = [](const TensorShape &shape) {
    return shape.dims.empty() ? "." : "*K";
  };
  std::string line;
  for (const TensorShape &input : spec.inputs)
    line += std::string(line.empty() ? "" : ", ") + getOperand(input);
  return line + " -> " + getOperand(spec.outputs[0]);
}

std::string getTokenExchangeParts(const KernelSpec &spec) {
  const bool isLinear = std::get<double>(spec.attributes.at("fill")) == 0;
  return std::string(isLinear ? "+" : "") + "gPTc, gPPL, gPPL -> gPSc";
}

} // namespace mf
