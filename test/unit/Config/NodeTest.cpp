//===- NodeTest.cpp - YAML trees and PyYAML's scalar types ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/YamlReader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using testing::HasSubstr;

namespace {

Node parse(llvm::StringRef text) {
  DiagnosticList diagnostics;
  Node node = parseYaml(text, "t.yaml", diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.str();
  return node;
}

std::string parseErrors(llvm::StringRef text, YamlLimits limits = {}) {
  DiagnosticList diagnostics;
  Node node = parseYaml(text, "t.yaml", diagnostics, limits);
  EXPECT_TRUE(diagnostics.hasErrors()) << text.str();
  EXPECT_FALSE(node.isDefined());
  return diagnostics.str();
}

struct ScalarCase {
  const char *text;
  NodeKind kind;
};

// The kind that yaml.safe_load of PyYAML 6 gives each.
const ScalarCase scalarCases[] = {
    {"yes", NodeKind::Bool},     {"No", NodeKind::Bool},
    {"on", NodeKind::Bool},      {"OFF", NodeKind::Bool},
    {"True", NodeKind::Bool},    {"y", NodeKind::String},
    {"tRue", NodeKind::String},  {"~", NodeKind::Null},
    {"null", NodeKind::Null},    {"", NodeKind::Null},
    {"None", NodeKind::String},  {"12", NodeKind::Int},
    {"-7", NodeKind::Int},       {"+7", NodeKind::Int},
    {"1_000", NodeKind::Int},    {"0x1F", NodeKind::Int},
    {"0b101", NodeKind::Int},    {"010", NodeKind::Int},
    {"09", NodeKind::String},    {"0o17", NodeKind::String},
    {"1:30", NodeKind::Int},     {"1:60", NodeKind::String},
    {"1.e-8", NodeKind::Float},  {"1.0e+3", NodeKind::Float},
    {"1.0e3", NodeKind::String}, {"1e-8", NodeKind::String},
    {"1e5", NodeKind::String},   {"0.", NodeKind::Float},
    {".5", NodeKind::Float},     {"-.5", NodeKind::String},
    {".", NodeKind::String},     {"1.2.3", NodeKind::String},
    {"-.inf", NodeKind::Float},  {".NaN", NodeKind::Float},
    {"1:30.5", NodeKind::Float}, {"58GB", NodeKind::String},
    {"0x", NodeKind::String},    {"-", NodeKind::String},
    {"_1", NodeKind::String},    {"1_", NodeKind::Int},
};

TEST(NodeTest, ScalarsHaveTheTypesOfPyyaml) {
  for (const ScalarCase &test : scalarCases) {
    NodeData data;
    data.text = test.text;
    resolvePlainScalar(data);
    EXPECT_EQ(data.kind, test.kind) << test.text;
  }
}

TEST(NodeTest, NumbersHaveTheirValues) {
  EXPECT_EQ(parse("0x1F").getInt(), 31);
  EXPECT_EQ(parse("010").getInt(), 8);
  EXPECT_EQ(parse("-0b101").getInt(), -5);
  EXPECT_EQ(parse("1:30").getInt(), 90);
  EXPECT_EQ(parse("1_000").getInt(), 1000);
  EXPECT_EQ(parse("-9223372036854775808").getInt(), INT64_MIN);
  EXPECT_EQ(parse("1.e-8").getFloat(), 1e-8);
  EXPECT_EQ(parse("1_0.5").getFloat(), 10.5);
  EXPECT_EQ(parse("1:30.5").getFloat(), 90.5);
  EXPECT_EQ(parse("-.inf").getFloat(), -INFINITY);
  EXPECT_TRUE(std::isnan(*parse(".nan").getFloat()));
  EXPECT_EQ(parse("7").getFloat(), 7.0);
}

TEST(NodeTest, AnIntBeyond64BitsIsAnIntWithoutAValue) {
  Node node = parse("9223372036854775808");
  EXPECT_TRUE(node.isInt());
  EXPECT_EQ(node.getInt(), std::nullopt);
  EXPECT_EQ(node.getFloat(), 9223372036854775808.0);
}

TEST(NodeTest, QuotedScalarsAndTags) {
  Node node = parse("[ 'True', \"12\", !!str 12, !!int '12', !!float 1 ]");
  const std::vector<Node> &items = node.getElements();
  ASSERT_EQ(items.size(), 5U);
  EXPECT_TRUE(items[0].isString());
  EXPECT_TRUE(items[1].isString());
  EXPECT_TRUE(items[2].isString());
  EXPECT_EQ(items[3].getInt(), 12);
  EXPECT_TRUE(items[4].isFloat());
  EXPECT_EQ(node.repr(), "['True', '12', '12', 12, 1]");
}

TEST(NodeTest, EveryNodeKnowsItsPlace) {
  Node root = parse("a:\n  b: [1,\n      {c: x}]\n");
  Node list = root["a"]["b"];
  EXPECT_EQ(list.getLocation().str(), "t.yaml:2:6");
  EXPECT_EQ(list.getElements()[1]["c"].getLocation().str(), "t.yaml:3:11");
  EXPECT_EQ(root["a"].getKeyNode("b").getLocation().str(), "t.yaml:2:3");
}

TEST(NodeTest, AliasesShareAndMergeKeysAreOverridden) {
  Node root = parse("base: &b {x: 1, y: 2}\n"
                    "more: &m {y: 3, z: 4}\n"
                    "own:\n  y: 9\n  <<: [*b, *m]\n"
                    "same: *b\n");
  EXPECT_EQ(root["own"].repr(), "{'x': 1, 'y': 9, 'z': 4}");
  EXPECT_EQ(root["same"].getLocation().line, 1U);
}

TEST(NodeTest, AMissingNodeAnswersEverything) {
  Node none = parse("a: 1")["b"]["c"];
  EXPECT_FALSE(none.isDefined());
  EXPECT_TRUE(none.getElements().empty());
  EXPECT_EQ(none.getInt(), std::nullopt);
  EXPECT_EQ(none.repr(), "None");
  EXPECT_FALSE(none.getLocation().isKnown());
}

TEST(NodeTest, AnEmptyTextIsNull) {
  EXPECT_EQ(parse("").getKind(), NodeKind::Null);
  EXPECT_EQ(parse("# only a comment\n").getKind(), NodeKind::Null);
}

TEST(NodeTest, ARepeatedKeyWarnsAndTheLastValueCounts) {
  DiagnosticList diagnostics;
  Node root = parseYaml("a: 1\nb: 2\na: 3\n", "t.yaml", diagnostics);
  EXPECT_EQ(root.repr(), "{'a': 3, 'b': 2}");
  EXPECT_EQ(diagnostics.str(),
            "t.yaml:3:1: warning: key 'a' is given twice; the last value "
            "counts\nt.yaml:1:1: note: first given here\n");
}

TEST(NodeTest, SyntaxErrorsNameTheirPlace) {
  EXPECT_THAT(parseErrors("a: [1, 2\nb: 3\n"),
              HasSubstr("t.yaml:2:2: error: invalid YAML:"));
  EXPECT_THAT(parseErrors("a: b: c"), HasSubstr("t.yaml:1:5: error:"));
  EXPECT_THAT(parseErrors("a: *nowhere"), HasSubstr("error: invalid YAML"));
  EXPECT_THAT(parseErrors("a: 1\n---\nb: 2\n"), HasSubstr("a second document"));
  EXPECT_THAT(parseErrors("{[1]: 2}"), HasSubstr("map key must be a scalar"));
  EXPECT_THAT(parseErrors("<<: 3"), HasSubstr("to merge"));
  EXPECT_THAT(parseErrors("a: !!python/tuple [1]"), HasSubstr("unknown tag"));
  EXPECT_THAT(parseErrors("a: !!int x"), HasSubstr("type of its tag"));
  EXPECT_THAT(parseErrors("&a [*a]"), HasSubstr("alias inside"));
}

TEST(NodeTest, HostileInputMeetsALimit) {
  EXPECT_THAT(parseErrors(std::string(100, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(parseErrors(std::string(2 << 20, 'a')), HasSubstr("bytes"));
  std::string bomb = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string below = "*l" + std::to_string(i - 1);
    bomb += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j)
      bomb += (j ? ", " : "") + below;
    bomb += "]\n";
  }
  EXPECT_THAT(parseErrors(bomb), HasSubstr("aliases written out"));
}

TEST(DiagnosticTest, QuotesEscapeControls) {
  EXPECT_EQ(quote("a\nb\x01"), "'a\\nb\\x01'");
}

} // namespace
