//===- ChainPlanTest.cpp - Chooses kernels to run as one ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse-elementwise/ChainPlan.h"
#include "mf/Program/Signatures/KernelChain.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::passes;

namespace {

const TensorShape wide{DType::F32, {4, 8}}, narrow{DType::BF16, {4, 8}};

/// Builds graphs of launches that may all be fused unless they say else.
class Graph {
public:
  /// A buffer of a shape, and the value that is all of it.
  int64_t add(const TensorShape &shape, bool isTemporary = true,
              bool isFreed = true) {
    const auto number = static_cast<int64_t>(graph.values.size());
    graph.buffers.push_back({shape.getBytes(), isTemporary, isFreed});
    graph.values.push_back(number);
    shapes.push_back(shape);
    return number;
  }
  /// Adds a buffer that lives beyond the routine.
  int64_t addOutside(const TensorShape &shape = wide) {
    return add(shape, false, false);
  }

  int64_t launch(const char *kernel, std::initializer_list<int64_t> inputs,
                 int64_t output) {
    ChainLaunch launch;
    KernelSpec spec;
    spec.name = kernel;
    for (int64_t input : inputs)
      spec.inputs.push_back(shapes[input]);
    spec.outputs.push_back(shapes[output]);
    launch.kernel = spec;
    launch.inputs = inputs;
    launch.outputs = {output};
    launch.segment = segment;
    graph.launches.push_back(launch);
    return output;
  }
  /// To a buffer of its own.
  int64_t make(const char *kernel, std::initializer_list<int64_t> inputs,
               const TensorShape &shape = wide) {
    const int64_t output = add(shape);
    return launch(kernel, inputs, output);
  }
  /// One that may not be fused.
  int64_t makeOther(std::initializer_list<int64_t> inputs,
                    const TensorShape &shape = wide) {
    make("aclnnMatmul", inputs, shape);
    graph.launches.back().kernel.reset();
    return graph.launches.back().outputs[0];
  }

  std::vector<std::vector<int64_t>> plan() const {
    std::vector<std::vector<int64_t>> launches;
    for (const PlannedChain &chain : planChains(graph).chains) {
      EXPECT_EQ(llvm::toString(checkChain(chain.spec)), "");
      launches.emplace_back(chain.launches.begin(), chain.launches.end());
    }
    return launches;
  }

  ChainGraph graph;
  int64_t segment = 0;

private:
  std::vector<TensorShape> shapes;
};

using Chains = std::vector<std::vector<int64_t>>;

TEST(ChainPlanTest, AValueWithTwoReadersInTheChainIsOfIt) {
  Graph graph;
  const int64_t x = graph.addOutside();
  const int64_t a = graph.make("aclnnSilu", {x});
  const int64_t b = graph.make("aclnnNeg", {a});
  graph.launch("aclnnMul", {a, b}, graph.addOutside());
  EXPECT_EQ(graph.plan(), (Chains{{0, 1, 2}}));
}

TEST(ChainPlanTest, NothingPassesAWriterOfItsInput) {
  Graph graph;
  const int64_t x = graph.addOutside();
  const int64_t a = graph.make("aclnnSilu", {x});
  graph.makeOther({x});
  graph.launch("aclnnMul", {a, graph.graph.launches.back().outputs[0]},
               graph.addOutside());
  EXPECT_EQ(graph.plan(), (Chains{{0, 2}}));
  graph.graph.launches[1].outputs.push_back(x);
  EXPECT_EQ(graph.plan(), Chains());
}

/// It stands where its inputs and its result need the least: the gate's
/// gradient, which is made earlier, is as large as the product that is gone.
TEST(ChainPlanTest, StandsWhereNoMoreIsAlive) {
  Graph graph;
  const int64_t gate = graph.addOutside();
  const int64_t dy = graph.makeOther({gate}), up = graph.makeOther({gate});
  const int64_t product = graph.make("aclnnMul", {dy, up});
  const int64_t other = graph.makeOther({gate});
  const int64_t grad = graph.make("aclnnSiluBackward", {product, gate});
  graph.makeOther({grad, other});
  const ChainPlan plan = planChains(graph.graph);
  ASSERT_EQ(plan.chains.size(), 1U);
  EXPECT_EQ(plan.chains[0].launches, (llvm::SmallVector<int64_t, 8>{2, 4}));
  EXPECT_EQ(plan.chains[0].position, 2);
}

/// Two values would live on in place of their sum, past what is as large.
TEST(ChainPlanTest, DoesNotKeepMoreAlive) {
  Graph graph;
  const int64_t x = graph.addOutside();
  const int64_t a = graph.makeOther({x}), b = graph.makeOther({x});
  const int64_t sum = graph.make("aclnnAdd", {a, b});
  const int64_t c = graph.makeOther({x});
  graph.launch("aclnnAdd", {sum, c}, graph.addOutside());
  EXPECT_EQ(graph.plan(), Chains());
}

TEST(ChainPlanTest, ShapesThatDoNotFitStay) {
  Graph graph;
  const TensorShape column{DType::F32, {4, 1}}, row{DType::F32, {8}};
  const int64_t x = graph.addOutside();
  const int64_t scale =
      graph.make("aclnnNeg", {graph.addOutside(column)}, column);
  const int64_t shift = graph.make("aclnnNeg", {graph.addOutside(row)}, row);
  const int64_t a = graph.make("aclnnMul", {x, scale});
  graph.launch("aclnnAdd", {a, shift}, graph.addOutside());
  EXPECT_EQ(graph.plan(), (Chains{{2, 3}}));
}

TEST(ChainPlanTest, AddsUpKinds) {
  Graph graph;
  for (int i = 0; i < 2; ++i) {
    const int64_t a = graph.make("aclnnSilu", {graph.addOutside()});
    graph.launch("aclnnNeg", {a}, graph.addOutside());
  }
  std::vector<ChainKind> kinds = planChains(graph.graph).getKinds();
  addKinds(kinds, {{"aclnnNeg, aclnnNeg", 1, 2, 10, 20}});
  std::string text;
  llvm::raw_string_ostream stream(text);
  printKinds(kinds, stream);
  EXPECT_EQ(text, "  2 x aclnnSilu, aclnnNeg: 4 launches, 256 bytes of buffers "
                  "less, 512 bytes moved less\n"
                  "  1 x aclnnNeg, aclnnNeg: 2 launches, 10 bytes of buffers "
                  "less, 20 bytes moved less\n");
}

} // namespace
