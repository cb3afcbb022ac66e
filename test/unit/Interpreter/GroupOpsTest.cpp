//===- GroupOpsTest.cpp - What ranks compute together ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Operators of several ranks and their gradients, run on all ranks: collectives
// by the adjoint identity <A x, y> = <x, A^T y>, in which a tensor that is the
// same on all ranks counts once; shared out embedding and loss against the
// whole.
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
  /// `op` reads %0, %1 and so on, tensors of these shapes, and makes %r.
  GroupRun(int64_t ranks, llvm::ArrayRef<TensorShape> inputs,
           llvm::StringRef op, llvm::StringRef results,
           llvm::StringRef resultTypes)
      : ranks(ranks) {
    std::string arguments;
    for (auto [index, shape] : llvm::enumerate(inputs))
      arguments += llvm::formatv("{0}%a{1}: tensor<{2}>", index ? ", " : "",
                                 index, getText(shape));
    std::string text = llvm::formatv(
        R"(module attributes {{mf.mesh = #mf.mesh<pp = 1, mp = {0}>} {{
           mf.model @m attributes {{micro_batch_size = 1 : i64,
               sequence_length = 1 : i64, vocab_size = 1 : i64} {{
             mf.forward @f({1}) -> ({2}) attributes {{inputs = [],
                 input_indices = [],
                 placement = #mf.placement<stage = 0, chunk = 0>} {{
               {3} = {4}
               mf.return {3} : {2}
             }
           } })",
        ranks, arguments, resultTypes, results, op);
    module = parseSourceString<ModuleOp>(text, &quiet.context);
    EXPECT_TRUE(module) << text << quiet.messages;
    model = *module->getOps<mf::ir::ModelOp>().begin();
    function = *model.getBody().getOps<mf::ir::ForwardOp>().begin();
  }

  /// Takes one more argument, the gradient of the differentiable result, and
  /// returns the gradients of the inputs `wanted` as well.
  void addGradient(llvm::ArrayRef<size_t> wanted) {
    Block &block = function.getBody().front();
    auto op = cast<mf::ir::DifferentiableOpInterface>(block.front());
    unsigned number = 0;
    while (!op.isDifferentiable(number))
      ++number;
    SmallVector<Value> gradients(op->getNumResults());
    gradients[number] =
        block.addArgument(op->getResult(number).getType(), op.getLoc());
    SmallVector<Value> operandGradients(op->getNumOperands());
    SmallVector<bool> needed(op->getNumOperands());
    for (size_t index : wanted)
      needed[index] = true;
    OpBuilder builder(block.getTerminator());
    op.buildGradient(builder, gradients, needed, operandGradients);
    SmallVector<Value> returned(block.getTerminator()->getOperands());
    for (size_t index : wanted)
      returned.push_back(operandGradients[index]);
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
    std::string text =
        llvm::formatv("mf.{0} : tensor<{1}> -> tensor<{2}>",
                      llvm::formatv(one.op.c_str(), "%a0 over [\"mp\"]").str(),
                      getText(one.input), getText(one.output));
    GroupRun group(ranks, one.input, text, "%r",
                   "tensor<" + getText(one.output) + ">");
    group.addGradient({0});
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
    GroupRun group(2, from,
                   llvm::formatv("mf.{0} : tensor<{1}> -> tensor<{2}>", op,
                                 getText(from), getText(to))
                       .str(),
                   "%r", "tensor<" + getText(to) + ">");
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
  EXPECT_THAT(run("all_gather %a0 over [\"mp\"] dim 1", part, whole),
              Pair(ElementsAre(0, 1, 10, 11, 2, 3, 12, 13),
                   ElementsAre(0, 1, 10, 11, 2, 3, 12, 13)));
  EXPECT_THAT(run("reduce_scatter %a0 over [\"mp\"] dim 1", whole, part),
              Pair(ElementsAre(10, 12, 18, 20), ElementsAre(14, 16, 22, 24)));
  EXPECT_THAT(run("own_part %a0 over [\"mp\"] dim 1", whole, part),
              Pair(ElementsAre(0, 1, 4, 5), ElementsAre(12, 13, 16, 17)));
  const TensorShape moved{DType::F32, {4, 1, 2}};
  EXPECT_THAT(
      run("all_to_all %a0 over [\"mp\"] split 1 concat 0", whole, moved),
      Pair(ElementsAre(0, 1, 4, 5, 10, 11, 14, 15),
           ElementsAre(2, 3, 6, 7, 12, 13, 16, 17)));
}

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

Values drawFloats(std::mt19937 &random, int64_t count) {
  std::uniform_real_distribution<float> uniform(-5, 5);
  Values values(count);
  for (float &value : values)
    value = uniform(random);
  return values;
}

/// [rows, columns] cut into `parts` along a dimension.
Values cut(const Values &x, int64_t rows, int64_t columns, int64_t dim,
           int64_t parts, int64_t part) {
  Values values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if ((dim == 0 ? i / (rows / parts) : j / (columns / parts)) == part)
        values.push_back(x[i * columns + j]);
  return values;
}

void expectNear(const Values &actual, const Values &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-6 * (1 + std::abs(expected[i])));
}

constexpr const char *lossTypes = "tensor<f32>, tensor<{0}xf32>, tensor<f32>";

/// Loss, logarithms, count and the gradient of the logits on each rank.
std::vector<Tensors> runLoss(int64_t ranks, const Values &logits,
                             const Values &labels, int64_t classes,
                             bool cutsClasses, bool cutsRows) {
  const auto allRows = static_cast<int64_t>(labels.size());
  const int64_t rows = cutsRows ? allRows / ranks : allRows;
  const int64_t columns = cutsClasses ? classes / ranks : classes;
  SmallVector<TensorShape> shapes = {{DType::F32, {rows, columns}},
                                     {DType::I32, {rows}}};
  if (cutsClasses)
    shapes.push_back({DType::I32, {1}});
  std::string types;
  for (const TensorShape &shape : shapes)
    types += (types.empty() ? "tensor<" : ", tensor<") + getText(shape) + ">";
  const std::string results = llvm::formatv(lossTypes, rows);
  GroupRun group(
      ranks, shapes,
      llvm::formatv("mf.cross_entropy %a0, %a1{0} {{{1}} : ({2}) -> ({3})",
                    cutsClasses ? ", %a2" : "",
                    cutsClasses ? "vocab_axes = [\"mp\"]"
                    : cutsRows  ? "token_axes = [\"mp\"]"
                                : "",
                    types, results)
          .str(),
      "%l, %e, %c", results);
  group.addGradient({0});
  std::vector<Tensors> inputs;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Tensors own = {
        makeTensor(DType::F32, shapes[0].dims,
                   cutsClasses
                       ? cut(logits, allRows, classes, 1, ranks, rank)
                       : cut(logits, allRows, classes, 0, cutsRows ? ranks : 1,
                             cutsRows ? rank : 0)),
        makeTensor(DType::I32, shapes[1].dims,
                   cut(labels, allRows, 1, 0, cutsRows ? ranks : 1,
                       cutsRows ? rank : 0))};
    if (cutsClasses)
      own.push_back(
          makeTensor(DType::I32, {1}, {static_cast<float>(rank * columns)}));
    own.push_back(makeScalar(3));
    inputs.push_back(own);
  }
  return group.run(inputs);
}

TEST_F(GroupOpsTest, ALossSharedOutIsThatOfTheWhole) {
  for (int64_t ranks : {2, 3, 4})
    for (int64_t rows : {1, 5}) {
      const int64_t classes = 7 * ranks, count = rows * ranks;
      const Values logits = drawFloats(random, count * classes);
      Values labels;
      for (int64_t i = 0; i < count; ++i)
        labels.push_back(i % 4 == 3 ? -100.0F
                                    : static_cast<float>(random() % classes));
      const Tensors whole =
          runLoss(1, logits, labels, classes, false, false)[0];
      const Values gradient = getValues(whole[3]);
      const Values logSumExp = getValues(whole[1]);
      for (bool cutsClasses : {true, false}) {
        std::vector<Tensors> all =
            runLoss(ranks, logits, labels, classes, cutsClasses, !cutsClasses);
        for (int64_t rank = 0; rank < ranks; ++rank) {
          expectNear(getValues(all[rank][0]), getValues(whole[0]));
          EXPECT_EQ(getValues(all[rank][2]), getValues(whole[2]));
          expectNear(getValues(all[rank][1]),
                     cutsClasses ? logSumExp
                                 : cut(logSumExp, count, 1, 0, ranks, rank));
          expectNear(getValues(all[rank][3]),
                     cut(gradient, count, classes, cutsClasses, ranks, rank));
        }
      }
    }
}

TEST_F(GroupOpsTest, ATableSharedOutGivesPartsOfTheWholeRows) {
  const int64_t ranks = 3, rows = 4, width = 5;
  const Values table = drawFloats(random, ranks * rows * width);
  const Values tokens = {0, 11, 5, 7, 3, 4};
  GroupRun group(
      ranks,
      {{DType::F32, {rows, width}}, {DType::I32, {6}}, {DType::I32, {1}}},
      "mf.embedding %a0, %a1, %a2 {vocab_axes = [\"mp\"]} : "
      "(tensor<4x5xf32>, tensor<6xi32>, tensor<1xi32>) -> "
      "tensor<6x5xf32>",
      "%r", "tensor<6x5xf32>");
  group.addGradient({0});
  const Tensor dy = makeTensor(DType::F32, {6, width}, drawFloats(random, 30));
  std::vector<Tensors> inputs;
  for (int64_t rank = 0; rank < ranks; ++rank)
    inputs.push_back(
        {makeTensor(DType::F32, {rows, width},
                    cut(table, ranks * rows, width, 0, ranks, rank)),
         makeTensor(DType::I32, {6}, tokens),
         makeTensor(DType::I32, {1}, {static_cast<float>(rank * rows)}), dy});
  std::vector<Tensors> results = group.run(inputs);
  Values sum(30), gradient(ranks * rows * width);
  const Values outputGradient = getValues(dy);
  for (int64_t i = 0; i < 30; ++i) {
    const auto token = static_cast<int64_t>(tokens[i / width]);
    for (const Tensors &own : results)
      sum[i] += getValues(own[0])[i];
    EXPECT_EQ(sum[i], table[token * width + i % width]);
    gradient[token * width + i % width] += outputGradient[i];
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(getValues(results[rank][1]),
              cut(gradient, ranks * rows, width, 0, ranks, rank));
}

} // namespace
