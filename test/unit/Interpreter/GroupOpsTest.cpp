//===- GroupOpsTest.cpp - What ranks compute together ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Collectives and their gradients, run on all ranks, by the adjoint identity
// <A x, y> = <x, A^T y>, in which a tensor that is the same on all ranks counts
// once.
//
//===----------------------------------------------------------------------===//

#include "LoweredSteps.h"
#include "lib/Exec/Interpreter/Functions.h"
#include "mlir/IR/Verifier.h"
#include "test/unit/Elements.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mf::interpreter;
using mf::DType;
using mf::TensorShape;

namespace {

using Values = std::vector<float>;
using Tensors = SmallVector<Tensor>;

Tensor makeTensor(DType type, llvm::ArrayRef<int64_t> dims,
                  const Values &values) {
  Tensor tensor(TensorShape{type, {dims.begin(), dims.end()}});
  if (type == DType::I32)
    llvm::copy(values, tensor.getElements<int32_t>().begin());
  else
    mf::writeElements(values, type, tensor.getBytes());
  return tensor;
}

Values getValues(const Tensor &tensor) {
  return mf::readElements<uint8_t>(tensor.getShape().type, tensor.getBytes());
}

/// "4x8xf32"
std::string getText(const TensorShape &shape) {
  std::string text;
  for (int64_t dim : shape.dims)
    text += std::to_string(dim) + "x";
  return text + mf::getName(shape.type).str();
}

/// One operator on the ranks of the axis `mp`.
class GroupRun {
public:
  /// `op` reads %x.
  GroupRun(int64_t ranks, const TensorShape &input, llvm::StringRef op,
           const TensorShape &output)
      : ranks(ranks) {
    const std::string text = llvm::formatv(
        R"(module attributes {{mf.mesh = #mf.mesh<pp = 1, mp = {0}>} {{
           mf.model @m attributes {{micro_batch_size = 1 : i64,
               sequence_length = 1 : i64, vocab_size = 1 : i64} {{
             mf.forward @f(%x: tensor<{1}>) -> tensor<{2}> attributes {{
                 inputs = [], input_indices = [],
                 placement = #mf.placement<stage = 0, chunk = 0>} {{
               %r = mf.{3} : tensor<{1}> -> tensor<{2}>
               mf.return %r : tensor<{2}>
             }
           } })",
        ranks, getText(input), getText(output), op);
    module = parseSourceString<ModuleOp>(text, &quiet.context);
    EXPECT_TRUE(module) << text << quiet.messages;
    model = *module->getOps<mf::ir::ModelOp>().begin();
    function = *model.getBody().getOps<mf::ir::ForwardOp>().begin();
  }

  /// Takes one more argument, the gradient of the result, and returns the
  /// gradient of the input as well.
  void addGradient() {
    Block &block = function.getBody().front();
    auto op = cast<mf::ir::DifferentiableOpInterface>(block.front());
    const Value gradient =
        block.addArgument(op->getResult(0).getType(), op.getLoc());
    SmallVector<Value> operandGradients(1);
    OpBuilder builder(block.getTerminator());
    op.buildGradient(builder, gradient, {true}, operandGradients);
    SmallVector<Value> returned = {op->getResult(0), operandGradients[0]};
    block.getTerminator()->setOperands(returned);
    function.setFunctionTypeAttr(TypeAttr::get(builder.getFunctionType(
        block.getArgumentTypes(), ValueRange(returned).getTypes())));
    EXPECT_TRUE(succeeded(mlir::verify(*module))) << quiet.messages;
  }

  /// The results of each rank.
  std::vector<Tensors> run(const std::vector<Tensors> &inputs) {
    World world(model, {}, 1);
    world.mesh = mf::program::Mesh({{"pp", 1}, {"mp", ranks}});
    std::vector<Tensors> results(ranks);
    EXPECT_TRUE(succeeded(world.scheduler.run(ranks, [&](size_t number) {
      Rank rank(world, static_cast<int64_t>(number), 0, {});
      return runFunction(rank, function, inputs[number], &results[number]);
    }))) << quiet.messages;
    return results;
  }

private:
  mf::tools::QuietContext quiet;
  int64_t ranks;
  OwningOpRef<ModuleOp> module;
  mf::ir::ModelOp model;
  mf::ir::ForwardOp function;
};

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

struct GroupOpsTest : testing::Test {
  std::mt19937 random{1};

  /// Small integers: sums and products of them are exact in every type.
  Tensor draw(const TensorShape &shape) {
    Values values(shape.getNumElements());
    for (float &value : values)
      value = static_cast<float>(static_cast<int>(random() % 5) - 2);
    return makeTensor(shape.type, shape.dims, values);
  }

  /// One for each rank; `isSame`, all alike.
  Tensors drawAll(int64_t ranks, const TensorShape &shape, bool isSame) {
    Tensors all;
    for (int64_t rank = 0; rank < ranks; ++rank)
      all.push_back(isSame && rank > 0 ? all.front().clone() : draw(shape));
    return all;
  }

  /// A value that is the same on all ranks counts once.
  static double multiply(const Tensors &x, const Tensors &y, bool isSame) {
    double sum = 0;
    for (size_t rank = 0; rank < (isSame ? 1 : x.size()); ++rank)
      for (auto [a, b] :
           llvm::zip_equal(getValues(x[rank]), getValues(y[rank])))
        sum += static_cast<double>(a) * static_cast<double>(b);
    return sum;
  }

  struct Case {
    std::string op;
    TensorShape input, output;
    bool sameInput = false, sameOutput = false;
  };

  void check(int64_t ranks, const Case &one) {
    const std::string text =
        llvm::formatv(one.op.c_str(), "%x over [\"mp\"]").str();
    GroupRun group(ranks, one.input, text, one.output);
    group.addGradient();
    const Tensors x = drawAll(ranks, one.input, one.sameInput);
    const Tensors y = drawAll(ranks, one.output, one.sameOutput);
    std::vector<Tensors> inputs;
    for (int64_t rank = 0; rank < ranks; ++rank)
      inputs.push_back({x[rank], y[rank]});
    Tensors ax, ay;
    for (const Tensors &results : group.run(inputs)) {
      ax.push_back(results[0]);
      ay.push_back(results[1]);
    }
    const double forward = multiply(ax, y, one.sameOutput);
    EXPECT_EQ(forward, multiply(x, ay, one.sameInput))
        << text << " on " << ranks << " ranks";
    for (int64_t rank = 1; rank < ranks; ++rank) {
      if (one.sameOutput)
        EXPECT_EQ(getValues(ax[rank]), getValues(ax[0])) << text;
      if (one.sameInput)
        EXPECT_EQ(getValues(ay[rank]), getValues(ay[0])) << text;
    }
  }
};

TEST_F(GroupOpsTest, GradientsAreAdjoint) {
  for (DType type : {DType::F32, DType::BF16})
    for (int64_t ranks : {2, 3, 4}) {
      const TensorShape x{type, {3, 5, 2}};
      check(ranks, {"all_reduce {0}", x, x, false, true});
      check(ranks, {"mirror {0}", x, x, true, false});
      for (int64_t dim : {0, 1, 2}) {
        TensorShape whole = x;
        whole.dims[dim] *= ranks;
        const std::string along = " dim " + std::to_string(dim);
        check(ranks, {"all_gather {0}" + along, x, whole});
        check(ranks, {"all_gather {0}" + along + " replicated", x, whole, false,
                      true});
        check(ranks, {"reduce_scatter {0}" + along, whole, x});
        check(ranks, {"own_part {0}" + along, whole, x, true, false});
        for (int64_t concat : {0, 1, 2}) {
          if (concat == dim)
            continue;
          TensorShape to = x;
          to.dims[concat] *= ranks;
          check(ranks, {"all_to_all {0} split " + std::to_string(dim) +
                            " concat " + std::to_string(concat),
                        whole, to});
        }
      }
    }
}

/// The adjoint alone would not see that parts are in another order.
TEST_F(GroupOpsTest, PartsAreInTheOrderOfRanks) {
  const TensorShape part{DType::F32, {2, 1, 2}}, whole{DType::F32, {2, 2, 2}};
  auto run = [&](llvm::StringRef op, const TensorShape &from,
                 const TensorShape &to) {
    GroupRun group(2, from, op, to);
    std::vector<Tensors> inputs(2);
    for (int rank = 0; rank < 2; ++rank) {
      Values values;
      for (int64_t i = 0; i < from.getNumElements(); ++i)
        values.push_back(static_cast<float>(10 * rank + i));
      inputs[rank].push_back(makeTensor(DType::F32, from.dims, values));
    }
    std::vector<Tensors> results = group.run(inputs);
    return std::pair(getValues(results[0][0]), getValues(results[1][0]));
  };
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(run("all_gather %x over [\"mp\"] dim 1", part, whole),
              Pair(ElementsAre(0, 1, 10, 11, 2, 3, 12, 13),
                   ElementsAre(0, 1, 10, 11, 2, 3, 12, 13)));
  EXPECT_THAT(run("reduce_scatter %x over [\"mp\"] dim 1", whole, part),
              Pair(ElementsAre(10, 12, 18, 20), ElementsAre(14, 16, 22, 24)));
  EXPECT_THAT(run("own_part %x over [\"mp\"] dim 1", whole, part),
              Pair(ElementsAre(0, 1, 4, 5), ElementsAre(12, 13, 16, 17)));
  const TensorShape moved{DType::F32, {4, 1, 2}};
  EXPECT_THAT(run("all_to_all %x over [\"mp\"] split 1 concat 0", whole, moved),
              Pair(ElementsAre(0, 1, 4, 5, 10, 11, 14, 15),
                   ElementsAre(2, 3, 6, 7, 12, 13, 16, 17)));
}

} // namespace
