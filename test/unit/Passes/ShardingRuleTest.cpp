//===- ShardingRuleTest.cpp - Rules of operators for parts of tensors -----===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "test/unit/CaseTable.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace mf::ir;

namespace {

/// Prints a rule in the way of a kernel's line of parts: a letter for each
/// factor in the order in which they appear, `#` for one that must be whole.
/// Behind it stand sizes, and how the operator treats partial sums.
class RulePrinter {
public:
  explicit RulePrinter(const ShardingRule &rule) : rule(rule) {}

  std::string print() {
    addSide(rule.operands);
    os << " -> ";
    addSide(rule.results);
    os << " |";
    for (unsigned factor : named)
      os << ' ' << getLetter(factor) << '=' << rule.factors[factor].size
         << getKind(rule.factors[factor].kind);
    addProperties();
    return text;
  }

private:
  void addSide(ArrayRef<FactorDims> side) {
    for (const FactorDims &dims : side) {
      if (&dims != side.begin())
        os << ", ";
      if (dims.empty())
        os << '.';
      for (ArrayRef<unsigned> factors : dims)
        addDim(factors);
    }
  }

  void addDim(ArrayRef<unsigned> factors) {
    if (factors.size() != 1)
      os << '(';
    for (unsigned factor : factors)
      os << getLetter(factor);
    if (factors.size() != 1)
      os << ')';
  }

  char getLetter(unsigned factor) {
    if (rule.factors[factor].kind == FactorKind::Whole)
      return '#';
    if (!llvm::is_contained(named, factor))
      named.push_back(factor);
    return static_cast<char>('a' + (llvm::find(named, factor) - named.begin()));
  }

  static const char *getKind(FactorKind kind) {
    return kind == FactorKind::Sum   ? " summed"
           : kind == FactorKind::Own ? " summed over ranks"
                                     : "";
  }

  void addProperties() {
    if (rule.isLinear())
      os << "; linear in all";
    if (llvm::is_contained(rule.linearity, mf::Linearity::Alone))
      os << "; linear in each";
    if (rule.exchange)
      os << "; exchanges " << getLetter(rule.exchange->first) << " for "
         << getLetter(rule.exchange->second);
    if (rule.prefix)
      os << "; reads up to " << getLetter(rule.prefix->first);
    if (rule.dependsOnPlace)
      os << "; depends on the place";
  }

  const ShardingRule &rule;
  std::string text;
  llvm::raw_string_ostream os{text};
  SmallVector<unsigned> named;
};

/// A module with the operator, and values for its operands.
std::string getRuleModule(StringRef op) {
  std::string text =
      "module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {\n";
  StringRef types = op.rsplit(" : ").second.split(" -> ").first.trim("()");
  SmallVector<StringRef> operands;
  types.split(operands, ", ");
  for (auto [number, type] : llvm::enumerate(operands))
    text += "%" + std::to_string(number) + " = \"test.value\"() : () -> " +
            type.str() + "\n";
  return text + op.str() + "\n}\n";
}

/// In each line an operator on %0, %1 and so on, and its rule.
constexpr llvm::StringLiteral ruleLines = R"(
%r = mf.add %0, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> => ab, ab -> ab | a=2 b=4; linear in all
%r = mf.add %0, %1 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> => ab, b -> ab | a=2 b=4; linear in all
%r = mf.mul %0, %1 : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> => ab, . -> ab | a=2 b=4; linear in each
%r = mf.mul %0, %1 : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32> => abc, a#c -> abc | a=2 b=3 c=4; linear in each
%r = mf.div %0, %1 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32> => ab, a# -> ab | a=3 b=8
%r = mf.stop_gradient %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4; linear in all
%r = mf.scale %0 {value = 0.125 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4; linear in all
%r = mf.neg %0 : (tensor<2x1xf32>) -> tensor<2x1xf32> => ab -> ab | a=2 b=1; linear in all
%r = mf.cast %0 : (tensor<2x4xf32>) -> tensor<2x4xbf16> => ab -> ab | a=2 b=4; linear in all
%r = mf.keep_part %0 over ["mp"] : tensor<2x4xf32> => ab -> ab | a=2 b=4; linear in all
%r = mf.silu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4
%r = mf.gelu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4
%r = mf.fast_gelu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4
%r = mf.add_scalar %0 {value = 1.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4
%r = mf.exp %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4
%r = mf.log %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4
%r = mf.sigmoid %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> => ab -> ab | a=2 b=4
%r = mf.compare_scalar %0 {comparison = #mf.comparison<greater>, value = 0.0 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32> => ab -> ab | a=3 b=2
%r = mf.at_least %0, %1 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32> => ab, a# -> ab | a=3 b=8
%r = mf.floor_divide %0 {value = 2.0 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32> => ab -> ab | a=3 b=2
%r = mf.remainder %0 {value = 3.0 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32> => ab -> ab | a=3 b=2
%r = mf.matmul %0, %1 {transpose_b = true} : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32> => abc, dc -> abd | a=2 b=8 c=16 summed d=32; linear in each
%r = mf.matmul %0, %1 {transpose_a = true} : (tensor<2x8x16xf32>, tensor<2x8x32xf32>) -> tensor<2x16x32xf32> => abc, abd -> acd | a=2 b=8 summed c=16 d=32; linear in each
%r = mf.matmul %0, %1 {transpose_a = true, contract_batch = true} : (tensor<2x8x32xf32>, tensor<2x8x16xf32>) -> tensor<32x16xf32> => abc, abd -> cd | a=2 summed b=8 summed c=32 d=16; linear in each
%r:2 = mf.rms_norm %0, %1 {epsilon = 1.0e-5 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>) => ab#, # -> ab#, ab | a=2 b=8
%r:3 = mf.layer_norm %0, %1, %2 {eps = 1.0e-5 : f64} : (tensor<2x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8xf32>, tensor<2x8xf32>) => ab#, #, # -> ab#, ab, ab | a=2 b=8
%r = mf.softmax %0 : (tensor<2x8x16xf32>) -> tensor<2x8x16xf32> => ab# -> ab# | a=2 b=8
%r = mf.rotary_position_embedding %0, %1, %2 : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32> => abc#, c#, c# -> abc# | a=1 b=2 c=4
%r = mf.rotary_position_embedding %0, %1, %2 {interleaved = true, start = 4 : i64} : (tensor<2x4x3x8xf32>, tensor<4x1x4xf32>, tensor<4x1x4xf32>) -> tensor<2x4x3x8xf32> => abc#, b##, b## -> abc# | a=2 b=4 c=3
%r = mf.swiglu %0 : (tensor<3x2x8xf32>) -> tensor<3x8xf32> => a#b -> ab | a=3 b=8
%r:3 = mf.flash_attention %0, %1, %2 {scale = 0.25 : f64} : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xbf16>) => a(bc)d#, ab##, ab## -> a(bc)d, a(bc)d, a(bc)d# | a=2 b=2 c=2 d=8; exchanges d for b; reads up to d
%r:3 = mf.flash_attention %0, %1, %2, %3 {scale = 0.25 : f64, causal = false} : (tensor<2x4x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<2x2x8x16xbf16>, tensor<4xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x16xbf16>) => a(bc)d#, ab##, ab##, (bc) -> a(bc)d, a(bc)d, a(bc)d# | a=2 b=2 c=2 d=8; exchanges d for b
%r:2 = mf.hybrid_attention %0, %1, %2 {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<2x4x3x8xf32>, tensor<2x4x8xf32>, tensor<3xf32>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3xf32>) => ab##, a##, # -> ab##, ab# | a=2 b=4
%r:2 = mf.hybrid_attention %0, %1, %2 {ratio = 0 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<2x4x3x8xf32>, tensor<2x2x3x8xf32>, tensor<3xf32>) -> (tensor<2x4x3x8xf32>, tensor<2x4x3xf32>) => a(bc)##, ab##, # -> a(bc)##, a(bc)# | a=2 b=2 c=2
%r:2 = mf.lightning_indexer %0, %1, %2 {k = 1 : i64, ratio = 2 : i64, unseen = -1.000000e+30 : f64} : (tensor<2x4x3x8xf32>, tensor<2x2x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x4x1xf32>, tensor<2x4x1xi32>) => ab##, a##, ab# -> ab#, ab# | a=2 b=4
%r = mf.embedding %0, %1 : (tensor<100x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32> => ab, cd -> cdb | a=100 summed b=16 c=2 d=8
%r = mf.embedding %0, %1, %2 {vocab_axes = ["mp"]} : (tensor<8x4xf32>, tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3x4xf32> => ab, cd, # -> cdb | a=8 summed b=4 c=2 d=3
%r:3 = mf.cross_entropy %0, %1 : (tensor<16x100xbf16>, tensor<16xi32>) -> (tensor<f32>, tensor<16xf32>, tensor<f32>) => ab, a -> ., a, . | a=16 summed over ranks b=100 summed over ranks
%r = mf.reshape %0 : (tensor<2x3x4xf32>) -> tensor<6x4xf32> => abc -> (ab)c | a=2 b=3 c=4; linear in all
%r = mf.reshape %0 : (tensor<4x6xf32>) -> tensor<6x4xf32> => (a#)# -> (a#)# | a=2; linear in all
%r = mf.transpose %0 {perm = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32> => abc -> bca | a=2 b=3 c=4; linear in all
%r = mf.slice %0 {starts = array<i64: 0, 2, 2>, sizes = array<i64: 2, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<2x1x2xf32> => a## -> a## | a=2; linear in all
%r = mf.pad %0 {low = array<i64: 0, 2, 2>, high = array<i64: 0, 0, 0>} : (tensor<2x1x2xf32>) -> tensor<2x3x4xf32> => a## -> a## | a=2; linear in all
%r = mf.pad %0 {low = array<i64: 0, 0>, high = array<i64: 0, 1>, value = -100} : (tensor<2x3xi32>) -> tensor<2x4xi32> => a# -> a# | a=2
%r = mf.concat %0, %1 {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32> => a#b, a#b -> a#b | a=2 b=4; linear in all
%r:2 = mf.split %0 {axis = 2 : i64} : (tensor<2x3x4xf32>) -> (tensor<2x3x1xf32>, tensor<2x3x3xf32>) => ab# -> ab#, ab# | a=2 b=3; linear in all
%r = mf.repeat %0 {axis = 1 : i64, repeats = 4 : i64} : (tensor<2x3x4xf32>) -> tensor<2x12x4xf32> => abc -> a(b#)c | a=2 b=3 c=4; linear in all
%r = mf.reduce_sum %0 {axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32> => abc -> b | a=2 summed b=3 c=4 summed; linear in all
%r:2 = mf.top_k %0 {k = 2 : i64} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) => a# -> a#, a# | a=3
%r = mf.gather_elements %0, %1 : (tensor<3x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32> => a#, a# -> a# | a=3
%r = mf.one_hot %0 : (tensor<3x2xi32>) -> tensor<3x2x8xf32> => ab -> ab# | a=3 b=2
%r = mf.cumsum %0 {axis = 1 : i64} : (tensor<3x2x8xf32>) -> tensor<3x2x8xf32> => a#b -> a#b | a=3 b=8; linear in all
%r:2 = mf.sort %0 : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) => a# -> a#, a# | a=3
%r:2 = mf.top_k_router %0 {k_major = true} : (tensor<2x3x2xi32>) -> (tensor<2x8x4xi32>, tensor<2x3x2xi32>) => a## -> a##, a## | a=2
%r = mf.track_load %0, %1, %2 {choices = 6 : i64} : (tensor<3x2xf32>, tensor<8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32> => ab, #, ab -> ab | a=3 b=2
%r = mf.record %0, %1, %2 : (tensor<2x3x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x3x4xf32> => abc, a#, a# -> abc | a=2 b=3 c=4
%r = mf.track_largest %0, %1, %2 : (tensor<2x3x4x5xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x5xf32> => abcd, b, abc -> abcd | a=2 b=3 c=4 d=5
%r = mf.gather_rows %0, %1 : (tensor<2x3x4xf32>, tensor<2x6xi32>) -> tensor<2x6x4xf32> => a#b, ac -> acb | a=2 b=4 c=6
%r:2 = mf.token_permute %0, %1 : (tensor<2x3x4xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xi32>) => a#b, a# -> a#b, a# | a=2 b=4
%r = mf.token_unpermute %0, %1 : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32> => a#b, a# -> a#b | a=2 b=4
%r = mf.expert_matmul %0, %1, %2 : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32> => ab#c, b#cd, ab# -> ab#d | a=2 b=1 c=4 summed d=8; linear in each
%r = mf.grouped_matmul %0, %1, %2 {transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32> => ab#c, b#dc, ab# -> ab#d | a=2 b=1 c=8 summed d=4; linear in each
%r = mf.exchange_tokens %0, %1, %2 : (tensor<1x2x6x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x9x4xf32> => ab#c, ab##, ab## -> ab#c | a=1 b=2 c=4
%r = mf.dropout_mask %0, %1, %2 {cut_dims = array<i64: 1>, rate = 1.000000e-01 : f64, shape = array<i64: 1, 8, 16>, source = "layers.0.dropout", starts = array<i64: 0, 0, 0>} : (tensor<1x4x16xf32>, tensor<3xi64>, tensor<1xi32>) -> tensor<1x4x16xi1> => abc, #, # -> abc | a=1 b=4 c=16; depends on the place
%r = mf.dropout %0, %1 {rate = 1.000000e-01 : f64} : (tensor<1x4x16xf32>, tensor<1x4x16xi1>) -> tensor<1x4x16xf32> => abc, abc -> abc | a=1 b=4 c=16; depends on the place
)";

class ShardingRuleTest : public testing::Test {
protected:
  ShardingRuleTest() {
    context.allowUnregisteredDialects();
    context.loadDialect<MfDialect>();
  }

  std::string printRule(StringRef text) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(getRuleModule(text), &context);
    if (!module)
      return "does not parse";
    FailureOr<ShardingRule> rule = getShardingRule(&module->getBody()->back());
    return failed(rule) ? "has no rule" : RulePrinter(*rule).print();
  }

  MLIRContext context;
};

TEST_F(ShardingRuleTest, OperatorsHaveRules) {
  for (auto [op, rule] : mf::readTable(ruleLines))
    EXPECT_EQ(printRule(op), rule.str()) << op.str();
}

/// The others have what the records of their kernels say.
TEST_F(ShardingRuleTest, EveryOperatorWithARuleOfItsOwnIsTried) {
  std::set<std::string> tried;
  for (auto [op, rule] : mf::readTable(ruleLines))
    tried.insert(op.split(" = ").second.split(' ').first.str());
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<ShardingRuleOpInterface>())
      EXPECT_TRUE(tried.count(name.getStringRef().str()))
          << name.getStringRef().str();
}

} // namespace
