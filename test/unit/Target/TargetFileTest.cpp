//===- TargetFileTest.cpp - Targets as files ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Decode/TargetFile.h"
#include "SampleTarget.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include <random>

using namespace mf;
using namespace mf::target;

namespace {

/// A target read from text, and the errors.
class TargetFileTest : public testing::Test {
protected:
  TargetFileTest() {
    context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
      llvm::raw_string_ostream os(errors);
      os << diagnostic.getLocation() << ": " << diagnostic.str() << '\n';
    });
  }

  mlir::FailureOr<Target> parse(llvm::StringRef text) {
    errors.clear();
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "file"), llvm::SMLoc());
    return parseTarget(sources, context);
  }

  std::string print(const Target &target, llvm::StringRef comment = "") {
    std::string text;
    llvm::raw_string_ostream os(text);
    printTarget(target, context, comment, os);
    return text;
  }

  std::string getShippedText(llvm::StringRef name) {
    return llvm::cantFail(openTarget(name))->getBuffer().str();
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::string errors;
};

/// All numbers by their paths, and what is no number.
std::vector<std::string> describe(Target target) {
  std::vector<std::string> lines = {target.name};
  for (const Network &network : target.networks)
    lines.push_back(network.name + " of " + network.of +
                    (network.wiring == Wiring::Mesh ? " mesh" : " switch"));
  forEachField(target, [&](llvm::StringRef path, const Field &field) {
    lines.push_back((path + " " + formatTargetNumber(field.getNumber())).str());
  });
  return lines;
}

TEST_F(TargetFileTest, WhatIsPrintedReadsBack) {
  const Target target = getSampleTarget();
  const std::string text = print(target, "About it.\n\nMore.");
  EXPECT_THAT(text, testing::StartsWith("// About it.\n//\n// More.\nmodule "));
  mlir::FailureOr<Target> read = parse(text);
  ASSERT_TRUE(mlir::succeeded(read)) << errors;
  EXPECT_EQ(describe(*read), describe(target));
  EXPECT_EQ("// About it.\n//\n// More.\n" + print(*read), text);
}

TEST_F(TargetFileTest, EachShippedTargetIsThatOfItsName) {
  EXPECT_THAT(getShippedTargets(),
              testing::ElementsAre("910b1", "910b2", "910b3", "910b4",
                                   "ascend-950dt", "ascend-950pr", "atlas-350",
                                   "atlas-800t-a2", "atlas-900-a2-podc",
                                   "atlas-900-a3", "b200", "this-machine"));
  for (llvm::StringRef name : getShippedTargets()) {
    mlir::FailureOr<Target> target = readTarget(name, context);
    ASSERT_TRUE(mlir::succeeded(target)) << name.str() << errors;
    EXPECT_EQ(target->name, name);
    EXPECT_EQ(llvm::toString(check(*target)), "");
    for (llvm::StringRef kind : getKernelKinds())
      EXPECT_NE(target->findKernelRate(kind), nullptr)
          << name.str() << " has no " << kind.str();
    // And its print is its print's print.
    const std::string text = print(*target);
    mlir::FailureOr<Target> again = parse(text);
    ASSERT_TRUE(mlir::succeeded(again)) << errors;
    EXPECT_EQ(print(*again), text);
    EXPECT_EQ(describe(*again), describe(*target));
  }
}

TEST_F(TargetFileTest, ModulesWithoutDeviceAreErrors) {
  auto getError = [&](llvm::StringRef text) {
    EXPECT_TRUE(mlir::failed(parse(text)));
    return errors;
  };
  for (llvm::StringRef empty : {"", "\n\n", "// nothing\n"})
    EXPECT_THAT(getError(empty),
                testing::StartsWith("loc(\"file\":1:1): no description of a "
                                    "device; expected module attributes {"));
  EXPECT_THAT(getError("\nmodule {}"),
              testing::StartsWith("loc(\"file\":2:1): no description"));
  EXPECT_THAT(
      getError("module attributes {dlti.target_system_spec = 1} {}"),
      testing::HasSubstr("'dlti.target_system_spec' is expected to be a"));
  EXPECT_EQ(getError("module attributes {dlti.target_system_spec = "
                     "#dlti.target_system_spec<\"CPU\" = "
                     "#dlti.target_device_spec<\"a\" = 1 : i32>>} {}"),
            "loc(\"file\":1:1): no device \"NPU\" in dlti.target_system_spec; "
            "it has \"CPU\"\n");
  EXPECT_THAT(getError("module attributes {dlti.target_system_spec = "
                       "#dlti.target_system_spec<\"NPU\" = "
                       "#dlti.target_device_spec<\"a\" = 1 : i32>>} {}"),
              testing::StartsWith("loc(\"file\":1:1): expected \"NPU\" = "
                                  "#ascend.device<...>, but got "));
}

TEST_F(TargetFileTest, CommentsHoldAnything) {
  const std::string text = print(getSampleTarget());
  for (llvm::StringRef comment :
       {"// a > b", "// (", "// it\"s", "// :)", "//// <{["}) {
    std::string commented;
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text).split(lines, '\n');
    for (llvm::StringRef line : lines)
      commented += (line + comment + "\n").str();
    mlir::FailureOr<Target> target = parse(commented);
    ASSERT_TRUE(mlir::succeeded(target)) << errors;
    EXPECT_EQ(print(*target), text);
  }
  // Slashes of a name are none.
  Target target = getSampleTarget();
  target.name = "a // b \" <";
  mlir::FailureOr<Target> named = parse(print(target));
  ASSERT_TRUE(mlir::succeeded(named)) << errors;
  EXPECT_EQ(named->name, target.name);
}

TEST_F(TargetFileTest, BracketsAreFoundWhereTheyAre) {
  auto getError = [&](llvm::StringRef text) {
    EXPECT_TRUE(mlir::failed(parse(text)));
    return errors;
  };
  EXPECT_EQ(getError("module {\n  // }\n"),
            "loc(\"file\":1:8): '{' is not closed\n");
  EXPECT_EQ(getError("module {\n  (\n}"),
            "loc(\"file\":2:3): '(' is not closed before '}'\n");
  EXPECT_EQ(getError("module {}\n ]"),
            "loc(\"file\":2:2): ']' closes nothing\n");
  EXPECT_EQ(getError(std::string(100000, '[') + std::string(100000, ']')),
            "loc(\"file\":1:102): '[' is inside of more than 100 others\n");
}

TEST_F(TargetFileTest, TruncatedFilesAreErrors) {
  const std::string text = getShippedText("atlas-800t-a2");
  const size_t end = text.rfind('}');
  for (size_t size = 0; size < end; size += 7) {
    EXPECT_TRUE(mlir::failed(parse(text.substr(0, size)))) << size;
    EXPECT_THAT(errors, testing::HasSubstr("loc(\"file\":"));
  }
}

TEST_F(TargetFileTest, MutatedFilesAreReadOrRefused) {
  std::mt19937 random(1);
  const std::string alphabet = "<>{},=.-+e0159\"#abcnpu_ \n";
  size_t accepted = 0;
  for (llvm::StringRef name : {"atlas-900-a2-podc", "b200"}) {
    const std::string text = getShippedText(name);
    for (int round = 0; round < 1500; ++round) {
      std::string mutated = text;
      for (int edit = 0; edit <= round % 3; ++edit) {
        const size_t place = random() % mutated.size();
        switch (random() % 4) {
        case 0:
          mutated[place] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          mutated.insert(place, 1, alphabet[random() % alphabet.size()]);
          break;
        case 2:
          mutated.erase(place, 1 + random() % 20);
          break;
        default:
          mutated.insert(place, mutated.substr(random() % mutated.size(),
                                               1 + random() % 60));
        }
      }
      mlir::FailureOr<Target> target = parse(mutated);
      if (mlir::failed(target)) {
        EXPECT_NE(errors, "");
        continue;
      }
      ++accepted;
      EXPECT_EQ(llvm::toString(check(*target)), "");
      EXPECT_TRUE(mlir::succeeded(parse(print(*target)))) << errors;
    }
  }
  // Edits of comments and digits, mostly.
  EXPECT_GT(accepted, 100u);
}

TEST_F(TargetFileTest, NumbersChangeInPlace) {
  std::mt19937 random(2);
  for (llvm::StringRef name : getShippedTargets()) {
    const std::string text = getShippedText(name);
    mlir::FailureOr<Target> from = readTarget(name, context);
    ASSERT_TRUE(mlir::succeeded(from));
    EXPECT_EQ(editTarget(text, *from, *from, context), text);
    for (size_t round = 0; round < 20; ++round) {
      Target to = *from;
      std::vector<Parameter> parameters = getParameters(to);
      for (size_t change = 0; change <= round; ++change)
        *parameters[random() % parameters.size()].value =
            (random() % 1000 + 1) / 1024.0;
      // A gain of the cache alone is wrong.
      if (llvm::errorToBool(check(to)))
        continue;
      const std::string edited = editTarget(text, *from, to, context);
      mlir::FailureOr<Target> read = parse(edited);
      ASSERT_TRUE(mlir::succeeded(read)) << errors;
      EXPECT_EQ(describe(*read), describe(to));
      // The same lines, and their comments.
      EXPECT_EQ(llvm::StringRef(edited).count('\n'),
                llvm::StringRef(text).count('\n'));
      EXPECT_EQ(llvm::StringRef(edited).count("//"),
                llvm::StringRef(text).count("//"));
      EXPECT_EQ(editTarget(text, *from, to, context, "Two\n\nlines.\n"),
                "// Two\n//\n// lines.\n" + edited);
    }
  }
}

TEST_F(TargetFileTest, QueriesFindEveryNumber) {
  context.loadDialect<mlir::DLTIDialect>();
  Target target = getSampleTarget();
  (void)parse(print(target));
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(print(target), &context);
  ASSERT_TRUE(module);
  auto query = [&](llvm::StringRef path) -> mlir::Attribute {
    llvm::SmallVector<llvm::StringRef> keys = {"NPU"};
    llvm::SmallVector<llvm::StringRef> parts;
    path.split(parts, '.');
    keys.append(parts.begin(), parts.end());
    return mlir::dlti::query(*module, keys).value_or(mlir::Attribute());
  };
  forEachField(target, [&](llvm::StringRef path, const Field &field) {
    mlir::Attribute value = query(path);
    if (auto *const *integer = std::get_if<int64_t *>(&field.value))
      EXPECT_EQ(llvm::dyn_cast_or_null<mlir::IntegerAttr>(value),
                mlir::IntegerAttr::get(mlir::IntegerType::get(&context, 64),
                                       **integer))
          << path.str();
    else
      EXPECT_EQ(llvm::dyn_cast_or_null<mlir::FloatAttr>(value),
                mlir::FloatAttr::get(mlir::Float64Type::get(&context),
                                     field.getNumber()))
          << path.str();
  });
  EXPECT_EQ(query("device_type"), mlir::StringAttr::get(&context, "sample"));
  EXPECT_EQ(query("networks.roce.of"), mlir::StringAttr::get(&context, "hccs"));
  EXPECT_EQ(query("networks.hccs.wiring"),
            mlir::StringAttr::get(&context, "mesh"));
  EXPECT_FALSE(query("memory.speed"));
  EXPECT_FALSE(query("engines.copy"));
}

} // namespace
