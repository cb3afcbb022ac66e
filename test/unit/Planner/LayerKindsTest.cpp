//===- LayerKindsTest.cpp - Kinds of layers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "mf/Plan/Settings/StepCompiler.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mf;

namespace {

constexpr char body[] = R"(
  %0 = mf.get_param @weight{0} : tensor<8xf32>
  %1, %rstd = mf.rms_norm %x, %0 {{epsilon = 1.0e-05 : f64, name = "norm"}
      : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
  %draw = mf.get_param @weight{0} : tensor<3xi64>
  %mask = mf.dropout_mask %1, %draw {{cut_dims = array<i64>, name = "drop",
      rate = 1.0e-01 : f64, shape = array<i64: 1, 4, 8>,
      source = "layers.{0}.drop", starts = array<i64: 0, 0, 0>}
      : (tensor<1x4x8xf32>, tensor<3xi64>) -> tensor<1x4x8xi1>
  %2 = mf.add %x, %1 {{name = "residual"}
      : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
)";

/// The kinds of two layers: `body`, and the same with `before` replaced.
std::vector<size_t> findKinds(llvm::StringRef before, llvm::StringRef after) {
  std::string text = "mf.model @m {\n";
  for (int i = 0; i < 2; ++i) {
    std::string layer = llvm::formatv(body, i).str();
    if (i == 1 && !before.empty()) {
      const size_t place = layer.find(before);
      EXPECT_NE(place, std::string::npos);
      layer.replace(place, before.size(), after);
    }
    text += llvm::formatv("mf.param @weight{0} : tensor<8xf32> init <ones>\n"
                          "mf.layer @layers.{0} body (%x: tensor<1x4x8xf32>) "
                          "-> tensor<1x4x8xf32> {{\n{1}"
                          "mf.return %2 : tensor<1x4x8xf32>\n}\n",
                          i, layer);
  }
  mlir::MLIRContext context;
  context.loadDialect<ir::MfDialect>();
  // The model need not be complete.
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text + "}\n", mlir::ParserConfig(&context, /*verifyAfterParse=*/false));
  std::vector<size_t> kinds;
  if (module)
    for (const planner::ModelLayer &layer : planner::findLayers(*module))
      kinds.push_back(layer.kind);
  return kinds;
}

using Kinds = std::vector<size_t>;

TEST(LayerKindsTest, NamesOfLayersParametersAndDrawnBitsDoNotCount) {
  EXPECT_EQ(findKinds("", ""), Kinds({0, 0}));
}

TEST(LayerKindsTest, AttributesCount) {
  EXPECT_EQ(findKinds("1.0e-01", "2.0e-01"), Kinds({0, 1}));
  EXPECT_EQ(findKinds("1.0e-05", "1.0e-06"), Kinds({0, 1}));
}

TEST(LayerKindsTest, WiringCounts) {
  EXPECT_EQ(findKinds("mf.add %x, %1", "mf.add %1, %x"), Kinds({0, 1}));
  EXPECT_EQ(findKinds("mf.add %x, %1", "mf.add %1, %1"), Kinds({0, 1}));
}

} // namespace
