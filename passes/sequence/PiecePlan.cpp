//===- PiecePlan.cpp - Cuts a layer into pieces of the sequence -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "PiecePlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mf::passes {

using ir::FactorDims;
using ir::FactorKind;
using ir::ShardingRule;

namespace {

/// The factor by which an operator is cut, with a size of `outer` times the
/// sequence.
struct CutFactor {
  unsigned factor = 0;
  int64_t outer = 1;

  bool operator==(const CutFactor &other) const {
    return factor == other.factor && outer == other.outer;
  }
};

} // namespace

/// Returns the factor that `cut` cuts, among the factors of a value's
/// dimensions.
static std::optional<CutFactor> findFactor(const ShardingRule &rule,
                                           const FactorDims &dims,
                                           const PieceCut &cut) {
  int64_t outer = 1;
  for (unsigned factor : dims[cut.dim]) {
    int64_t size = rule.factors[factor].size;
    int64_t inner = outer > 0 ? cut.outer / outer : 0;
    if (cut.outer % outer == 0 && inner < size && size % inner == 0)
      return CutFactor{factor, inner};
    outer *= size;
    if (outer == 0)
      break;
  }
  return std::nullopt;
}

/// Returns where a value with these dimensions is cut if the factor `cut` is.
static std::optional<PieceCut> findCut(const ShardingRule &rule,
                                       const FactorDims &dims,
                                       const CutFactor &cut) {
  for (auto [dim, factors] : enumerate(dims)) {
    PieceCut found{static_cast<unsigned>(dim), 1};
    for (unsigned factor : factors) {
      if (factor == cut.factor) {
        found.outer *= cut.outer;
        return found;
      }
      found.outer *= rule.factors[factor].size;
    }
  }
  return std::nullopt;
}

namespace {

class PiecePlanner {
public:
  PiecePlanner(const PieceLayer &layer, int64_t pieces, PieceError &error)
      : layer(layer), pieces(pieces), error(error) {
    plan.values = layer.values;
  }

  std::optional<PiecePlan> run() {
    for (auto [number, op] : enumerate(layer.operators))
      if (!planOperator(op)) {
        error.op = number;
        return std::nullopt;
      }
    return std::move(plan);
  }

private:
  bool planOperator(const PieceOperator &op) {
    plan.reads.emplace_back();
    plan.cuts.emplace_back();
    plan.isWhole.push_back(false);
    const bool isData = isMadeOfData(op);
    const bool readsWhole =
        isData && any_of(op.operands, [&](unsigned operand) {
          return !plan.values[operand].cut;
        });
    std::optional<CutFactor> chosen;
    if (readsWhole || !chooseFactor(op, chosen)) {
      if (isData)
        planWhole(op);
      return isData;
    }
    for (unsigned result : op.results)
      plan.values[result].isData = isData;
    if (!chosen) {
      plan.reads.back().assign(op.operands.size(), PieceRead::Own);
      plan.cuts.back().resize(op.operands.size());
    } else if (!readOperands(op, *chosen)) {
      return false;
    }
    return placeResults(op, chosen);
  }

  /// Chooses the factor to cut, which is that of an operand that is cut.
  bool chooseFactor(const PieceOperator &op, std::optional<CutFactor> &chosen) {
    bool needsWhole = false;
    for (auto [number, dims] : zip_equal(op.operands, op.rule.operands)) {
      const std::optional<PieceCut> &cut = plan.values[number].cut;
      if (!cut)
        continue;
      std::optional<CutFactor> found = findFactor(op.rule, dims, *cut);
      if (!found || op.rule.factors[found->factor].kind == FactorKind::Whole) {
        needsWhole = true;
        continue;
      }
      if (chosen && !(*chosen == *found))
        return fail("each row of the sequence reads all others");
      chosen = found;
    }
    if (!needsWhole || (chosen && op.rule.prefix))
      return true;
    return fail("it reads the whole sequence at once");
  }

  bool readOperands(const PieceOperator &op, const CutFactor &chosen) {
    const ir::ShardingFactor &factor = op.rule.factors[chosen.factor];
    int64_t rows = factor.size / chosen.outer;
    if (factor.kind == FactorKind::Sum)
      return fail("it sums over the sequence");
    if (rows % pieces != 0)
      return fail("a sequence of " + Twine(rows) + " does not divide into " +
                  Twine(pieces) + " pieces");
    for (size_t operand = 0; operand < op.operands.size(); ++operand)
      if (!readOperand(op, operand, chosen))
        return false;
    return true;
  }

  bool readOperand(const PieceOperator &op, size_t operand,
                   const CutFactor &chosen) {
    unsigned number = op.operands[operand];
    const FactorDims &dims = op.rule.operands[operand];
    const std::optional<PieceCut> &cut = plan.values[number].cut;
    std::optional<PieceCut> wanted = findCut(op.rule, dims, chosen);
    PieceRead &read = plan.reads.back().emplace_back(PieceRead::Own);
    plan.cuts.back().push_back(cut ? *cut : wanted.value_or(PieceCut()));
    if (wanted && cut)
      return *wanted == *cut ||
             fail("its operands are cut at different places");
    if (wanted) {
      read = PieceRead::Part;
      return wanted->outer == 1 ||
             fail("a piece of its operand " + Twine(operand) +
                  " does not lie in one part of it");
    }
    if (!cut)
      return true;
    // Only rows that do not depend on later rows are known at this point.
    std::optional<CutFactor> needed = findFactor(op.rule, dims, *cut);
    if (!needed || !op.rule.prefix ||
        *op.rule.prefix != std::pair(chosen.factor, needed->factor))
      return fail("it reads the whole sequence at once");
    if (cut->outer != 1)
      return fail("pieces of its operand " + Twine(operand) +
                  " do not lie one behind the other");
    read = PieceRead::Prefix;
    if (!is_contained(plan.kept, number))
      plan.kept.push_back(number);
    return true;
  }

  bool isMadeOfData(const PieceOperator &op) const {
    return !op.operands.empty() && all_of(op.operands, [&](unsigned operand) {
      return plan.values[operand].isData;
    });
  }

  /// Token ids that are shifted along the sequence come from other pieces, but
  /// each piece has the whole sequence of them. A result with the shape of
  /// tokens is cut as they are.
  void planWhole(const PieceOperator &op) {
    plan.isWhole.back() = true;
    plan.reads.back().assign(op.operands.size(), PieceRead::Own);
    plan.cuts.back().resize(op.operands.size());
    for (unsigned result : op.results) {
      PieceValue &value = plan.values[result];
      value.isData = true;
      for (const PieceValue &given : layer.values)
        if (given.isData && given.shape == value.shape)
          value.cut = given.cut;
    }
  }

  /// Plans the results. A sum over its own pieces is a loss, which only the
  /// step reads.
  bool placeResults(const PieceOperator &op,
                    const std::optional<CutFactor> &chosen) {
    bool readsSummand = any_of(op.operands, [&](unsigned operand) {
      return plan.values[operand].isSummand;
    });
    if (readsSummand && !op.rule.isLinear())
      return fail("it reads a sum over the pieces");
    for (auto [number, dims] : zip_equal(op.results, op.rule.results)) {
      PieceValue &value = plan.values[number];
      if (chosen)
        value.cut = findCut(op.rule, dims, *chosen);
      value.isSummand = readsSummand || (chosen && !value.cut &&
                                         op.rule.factors[chosen->factor].kind ==
                                             FactorKind::Own);
    }
    return true;
  }

  bool fail(const Twine &message) {
    error.message = message.str();
    return false;
  }

  const PieceLayer &layer;
  int64_t pieces;
  PieceError &error;
  PiecePlan plan;
};

} // namespace

std::optional<PiecePlan> planPieces(const PieceLayer &layer, int64_t pieces,
                                    PieceError &error) {
  return PiecePlanner(layer, pieces, error).run();
}

void PiecePlan::print(const PieceLayer &layer, raw_ostream &os) const {
  for (auto [op, operands, whole] :
       zip_equal(layer.operators, reads, isWhole)) {
    if (whole)
      os << "  " << op.name << ": of the whole sequence\n";
    for (auto [number, read] : enumerate(operands))
      if (read != PieceRead::Own)
        os << "  " << op.name << ": operand " << number
           << (read == PieceRead::Part ? ", its part\n"
                                       : ", of all pieces so far\n");
  }
}

} // namespace mf::passes
