//===- PiecePlanTest.cpp - Cuts a layer into pieces of the sequence -------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/sequence/PiecePlan.h"
#include "gtest/gtest.h"

using namespace mf::passes;
using mf::Linearity;
using mf::ir::FactorKind;
using mf::ir::ShardingRule;

namespace {

/// One factor in an operand of one dimension and, if `isKept`, in the result.
ShardingRule getSingle(FactorKind kind, int64_t size, bool isKept) {
  ShardingRule rule;
  unsigned factor = rule.addFactor(kind, size);
  rule.operands = {{{factor}}};
  rule.results = {{}};
  if (isKept)
    rule.results.front().push_back({factor});
  return rule;
}

PieceValue getRows(int64_t rows) { return {{rows}, PieceCut{0, 1}}; }

std::string getError(const PieceLayer &layer, int64_t pieces) {
  PieceError error;
  if (planPieces(layer, pieces, error))
    return "";
  return std::to_string(error.op) + ": " + error.message;
}

/// As matrix products do without flash attention.
TEST(PiecePlanTest, ScoresAreRefused) {
  ShardingRule scores;
  unsigned rows = scores.addFactor(FactorKind::Pass, 8);
  unsigned columns = scores.addFactor(FactorKind::Pass, 8);
  scores.operands = {{{rows}}, {{columns}}};
  scores.results = {{{rows}, {columns}}};
  PieceLayer layer{{getRows(8), getRows(8), {{8, 8}}},
                   {{"scores", scores, {0, 1}, {2}}}};
  EXPECT_EQ(getError(layer, 2), "0: each row of the sequence reads all others");
}

/// [2, 8] as [16], where the sequence is the inner factor: that of a piece is
/// [2, 4] as [8].
TEST(PiecePlanTest, CutsFollowFactors) {
  ShardingRule reshape;
  unsigned batch = reshape.addFactor(FactorKind::Pass, 2);
  unsigned rows = reshape.addFactor(FactorKind::Pass, 8);
  reshape.operands = {{{batch}, {rows}}};
  reshape.results = {{{batch, rows}}};
  PieceLayer layer{{{{2, 8}, PieceCut{1, 1}}, {{16}}},
                   {{"reshape", reshape, {0}, {1}}}};
  PieceError error;
  std::optional<PiecePlan> plan = planPieces(layer, 2, error);
  ASSERT_TRUE(plan) << error.message;
  EXPECT_EQ(plan->values[1].cut, (PieceCut{0, 2}));
}

TEST(PiecePlanTest, LossesAddUp) {
  PieceLayer layer{{getRows(8), {{}}, {{}}},
                   {{"loss", getSingle(FactorKind::Own, 8, false), {0}, {1}}}};
  PieceError error;
  std::optional<PiecePlan> plan = planPieces(layer, 2, error);
  ASSERT_TRUE(plan) << error.message;
  EXPECT_TRUE(plan->values[1].isSummand);
  // An operator that reads a summand must be linear in it.
  ShardingRule square;
  square.operands = {{}};
  square.results = {{}};
  layer.operators.push_back({"square", square, {1}, {2}});
  EXPECT_EQ(getError(layer, 2), "1: it reads a sum over the pieces");
  layer.operators.back().rule.linearity = {Linearity::Together};
  EXPECT_EQ(getError(layer, 2), "");
}

/// A part of the whole, and something of the whole's size again.
TEST(PiecePlanTest, DataThatMovesAlongTheSequenceIsMadeWhole) {
  PieceValue tokens = getRows(8);
  tokens.isData = true;
  PieceLayer layer{{tokens, {{7}}, {{8}}, {{8}}},
                   {{"slice", getSingle(FactorKind::Whole, 8, true), {0}, {1}},
                    {"pad", getSingle(FactorKind::Whole, 8, true), {1}, {2}},
                    {"cast", getSingle(FactorKind::Pass, 8, true), {2}, {3}}}};
  PieceError error;
  std::optional<PiecePlan> plan = planPieces(layer, 4, error);
  ASSERT_TRUE(plan) << error.message;
  EXPECT_EQ(plan->isWhole, (std::vector<bool>{true, true, false}));
  EXPECT_FALSE(plan->values[1].cut);
  EXPECT_EQ(plan->values[2].cut, (PieceCut{0, 1}));
  EXPECT_EQ(plan->values[3].cut, (PieceCut{0, 1}));
  std::string text;
  llvm::raw_string_ostream os(text);
  plan->print(layer, os);
  EXPECT_EQ(text, "  slice: of the whole sequence\n"
                  "  pad: of the whole sequence\n");
  layer.values[0].isData = false;
  EXPECT_EQ(getError(layer, 4), "0: it reads the whole sequence at once");
}

TEST(PiecePlanTest, WhatCannotBeCutIsRefused) {
  auto getLayer = [](FactorKind kind, bool isKept) {
    return PieceLayer{{getRows(8), {{8}}},
                      {{"op", getSingle(kind, 8, isKept), {0}, {1}}}};
  };
  EXPECT_EQ(getError(getLayer(FactorKind::Sum, false), 2),
            "0: it sums over the sequence");
  EXPECT_EQ(getError(getLayer(FactorKind::Whole, true), 2),
            "0: it reads the whole sequence at once");
  EXPECT_EQ(getError(getLayer(FactorKind::Pass, true), 3),
            "0: a sequence of 8 does not divide into 3 pieces");
}

} // namespace
