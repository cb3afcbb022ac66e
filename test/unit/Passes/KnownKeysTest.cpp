//===- KnownKeysTest.cpp - Effects of all known keys ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Imports a small model from a YAML and reads its configuration, then does so
// with another value of one key: where the table of known keys says that a key
// is used, the module or the messages must differ; where it says that a key
// cannot matter, they must not.
//
//===----------------------------------------------------------------------===//

#include "KeyTrials.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Frontend/Import/ModelBuilder.h"
#include "mf/Frontend/Import/ModelReader.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

constexpr llvm::StringLiteral model =
    "model: {arch: {type: LlamaForCausalLM}, model_config: {type: LlamaConfig,"
    " seq_length: 16, hidden_size: 32, num_layers: 4, num_heads: 4,"
    " vocab_size: 64, use_flash_attention: True}}\n";

/// The module that a YAML gives and all messages on the way, with their places.
std::string compile(llvm::StringRef yaml) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  DiagnosticList diagnostics;
  TrainingConfig config = parseTrainingConfig(yaml, "t.yaml", diagnostics);
  std::optional<ModelSpec> spec;
  if (!diagnostics.hasErrors())
    spec = readModelSpec(config, ModelOverrides(), diagnostics);
  stream << diagnostics.str();
  if (!spec || diagnostics.hasErrors())
    return text;

  mlir::MLIRContext context;
  context.loadDialect<ir::MfDialect>();
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        stream << diagnostic.getLocation() << ": " << diagnostic << "\n";
      });
  mlir::OwningOpRef<mlir::ModuleOp> module = buildModel(&context, *spec);
  // One name for all files, because locations hold it.
  static const std::string path = [] {
    llvm::SmallString<128> name;
    std::error_code code =
        llvm::sys::fs::createTemporaryFile("known-keys", "yaml", name);
    EXPECT_FALSE(code);
    return name.str().str();
  }();
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << yaml;
  EXPECT_FALSE(code);
  mlir::PassManager manager(&context);
  passes::ReadConfigOptions options;
  options.file = path;
  manager.addPass(passes::createReadConfig(options));
  if (failed(manager.run(*module)))
    stream << "failed\n";
  else
    stream << *module;
  EXPECT_FALSE(llvm::sys::fs::remove(path));
  return text;
}

/// `section` with the keys `contents` and what else it takes to be read.
std::string nest(const KnownSection &section, std::string contents) {
  if (&section == &topLevel)
    return contents + "\n";
  if (section.name.ends_with("Callback"))
    return "callbacks: [{" + contents + "}]\n";
  llvm::SmallVector<llvm::StringRef> path;
  section.name.split(path, '.');
  for (llvm::StringRef part : llvm::reverse(path)) {
    contents = (part + ": {" + contents + "}").str();
    if (part == "parallel_optimizer_config")
      contents = "enable_parallel_optimizer: True, " + contents;
  }
  return contents + "\n";
}

/// `key: value` with the keys `others`, and with the type that its section has
/// to have.
std::string getContents(const KnownSection &section, llvm::StringRef key,
                        llvm::StringRef value, llvm::StringRef others = "") {
  std::string contents = (key + ": " + value).str();
  if (!others.empty())
    contents = others.str() + ", " + contents;
  if (key == "type")
    return contents;
  if (&section == &lossScaleSection)
    return "type: DynamicLossScaleUpdateCell, " + contents;
  if (section.name.ends_with("Callback"))
    return "type: " + section.name.str() + ", " + contents;
  return contents;
}

/// The YAML of a trial. Values of one trial take the same room, so that no
/// place in the file moves.
std::string setValue(const Trial &trial, llvm::StringRef value) {
  size_t width = std::max(trial.value.size(), trial.otherValue.size());
  std::string padded = value.str() + std::string(width - value.size(), ' ');
  std::string yaml = trial.sections.str() +
                     nest(trial.section, getContents(trial.section, trial.key,
                                                     padded, trial.others));
  const bool hasModel =
      &trial.section == &modelSection || trial.sections.contains("model: ");
  return hasModel ? yaml : model.str() + yaml;
}

/// The small model with `key: value` in `section`.
std::string setKey(const KnownSection &section, llvm::StringRef key,
                   llvm::StringRef value) {
  return model.str() + nest(section, getContents(section, key, value));
}

/// The value of `key` in `section` of a text.
std::string getValue(const Trial &trial, llvm::StringRef value) {
  DiagnosticList diagnostics;
  Node node = parseYaml(setValue(trial, value), "t.yaml", diagnostics);
  if (trial.section.name.ends_with("Callback"))
    return node["callbacks"].getElements().front()[trial.key].repr();
  llvm::SmallVector<llvm::StringRef> path;
  if (&trial.section != &topLevel)
    trial.section.name.split(path, '.');
  path.push_back(trial.key);
  for (llvm::StringRef part : path)
    node = node[part];
  return node.repr();
}

std::string getPath(const KnownSection &section, llvm::StringRef key) {
  return (section.name + "." + key).str();
}

TEST(KnownKeysTest, EveryUsedKeyChangesTheModuleOrTheMessages) {
  for (const Trial &trial : trials) {
    SCOPED_TRACE(getPath(trial.section, trial.key));
    ASSERT_NE(getValue(trial, trial.value), getValue(trial, trial.otherValue));
    std::string first = compile(setValue(trial, trial.value));
    EXPECT_TRUE(first == compile(setValue(trial, trial.value)));
    EXPECT_TRUE(first != compile(setValue(trial, trial.otherValue)));
  }
}

TEST(KnownKeysTest, EveryUsedKeyIsTried) {
  llvm::StringSet<> tried;
  for (const Trial &trial : trials)
    EXPECT_TRUE(tried.insert(getPath(trial.section, trial.key)).second);
  llvm::StringSet<> used;
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys)
      if (key.use == KeyUse::Used)
        used.insert(getPath(*section, key.name));
  for (llvm::StringRef path : used.keys())
    EXPECT_TRUE(tried.contains(path)) << path.str();
  for (llvm::StringRef path : tried.keys())
    EXPECT_TRUE(used.contains(path)) << path.str();
}

TEST(KnownKeysTest, EveryUsedKeyHasAMeaning) {
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys)
      EXPECT_TRUE(key.use != KeyUse::Used || !key.meaning.empty())
          << getPath(*section, key.name);
}

TEST(KnownKeysTest, EverySectionHasATable) {
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys) {
      if (key.use != KeyUse::Section)
        continue;
      std::string path =
          section == &topLevel ? key.name.str() : getPath(*section, key.name);
      EXPECT_TRUE(llvm::any_of(
          getKnownSections(),
          [&](const KnownSection *other) { return other->name == path; }))
          << path;
    }
}

TEST(KnownKeysTest, EveryIrrelevantKeyChangesNothingAndSaysWhy) {
  for (const KnownSection *section : getKnownSections())
    for (const IrrelevantKeys &group : section->irrelevant)
      for (llvm::StringRef key : group.getNames()) {
        SCOPED_TRACE(getPath(*section, key));
        EXPECT_FALSE(group.reason.empty());
        std::string text = compile(setKey(*section, key, "[7]"));
        EXPECT_TRUE(text == compile(setKey(*section, key, "[ ]"))) << text;
        EXPECT_EQ(text.find("warning"), std::string::npos);
      }
}

TEST(KnownKeysTest, EveryKeyThatIsNotModelledWarnsUnlessItAsksForNothing) {
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys) {
      if (key.use != KeyUse::NotModelled)
        continue;
      SCOPED_TRACE(getPath(*section, key.name));
      std::string warning = "'" + key.name.str() + "' in " +
                            section->name.str() + " changes the training step";
      auto warns = [&](llvm::StringRef value) {
        DiagnosticList diagnostics;
        parseTrainingConfig(setKey(*section, key.name, value), "t.yaml",
                            diagnostics);
        return diagnostics.str().find(warning) != std::string::npos;
      };
      EXPECT_TRUE(warns("another"));
      llvm::SmallVector<llvm::StringRef> neutral;
      key.neutral.split(neutral, '|', -1, /*KeepEmpty=*/false);
      for (llvm::StringRef value : neutral)
        EXPECT_FALSE(warns(value == "None" ? "null" : value)) << value.str();
    }
}

} // namespace
