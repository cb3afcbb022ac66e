//===- Weights.cpp - Checkpoints under other names ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Weights.h"
#include "AdapterWeights.h"
#include "WeightLayout.h"
#include "mf/Exec/Data/CheckpointConversion.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace mf {

static constexpr llvm::StringLiteral importName = "import-hf-weights";
static constexpr llvm::StringLiteral exportName = "export-hf";
static constexpr llvm::StringLiteral mergeName = "merge-adapters";
static constexpr llvm::StringLiteral exportPeftName = "export-peft";
static constexpr llvm::StringLiteral importPeftName = "import-peft";

namespace {
struct WeightOptions {
  explicit WeightOptions(llvm::cl::OptionCategory &category)
      : weights("weights",
                llvm::cl::desc("Safetensors to read with --import-hf-weights "
                               "and --export-hf: a file, an index of several "
                               "or a folder"),
                llvm::cl::value_desc("path"), llvm::cl::cat(category)),
        adapters("adapters",
                 llvm::cl::desc("Safetensors of adapters, as mf-run "
                                "--save-trainable writes them, to read with "
                                "--merge-adapters and --export-peft; PEFT's "
                                "folder with --import-peft"),
                 llvm::cl::value_desc("path"), llvm::cl::cat(category)),
        type("weights-type",
             llvm::cl::desc("Write weights as float32, bfloat16 or float16 "
                            "(default: as they are)"),
             llvm::cl::value_desc("type"), llvm::cl::cat(category)) {}

  llvm::cl::opt<std::string> weights;
  llvm::cl::opt<std::string> adapters;
  llvm::cl::opt<std::string> type;
};
} // namespace

static std::string outputFile;

static LogicalResult report(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << '\n';
  return failure();
}

static FailureOr<std::optional<DType>> readType(const WeightOptions &options) {
  using Result = std::optional<DType>;
  if (options.type.empty())
    return Result();
  Result type = llvm::StringSwitch<Result>(options.type)
                    .Case("float32", DType::F32)
                    .Case("bfloat16", DType::BF16)
                    .Case("float16", DType::F16)
                    .Default(std::nullopt);
  if (!type)
    return report("expected float32, bfloat16 or float16 for --weights-type, "
                  "but got '" +
                  options.type + "'");
  return type;
}

/// Returns the order of rows in a file: the one that the file declares, or the
/// usual one of its format.
static RowOrder getSourceOrder(StringRef format, bool toHuggingFace) {
  if (format == "mf")
    return RowOrder::Grouped;
  if (format == "pt")
    return RowOrder::Contiguous;
  return toHuggingFace ? RowOrder::Grouped : RowOrder::Contiguous;
}

static LogicalResult convert(ModuleOp module, const WeightOptions &options,
                             bool toHuggingFace) {
  auto models = module.getOps<ir::ModelOp>();
  if (!llvm::hasSingleElement(models))
    return module.emitError("expected a file with one mf.model, as "
                            "--import-mindformers and --import-hf write it");
  ir::ModelOp model = *models.begin();
  if (options.weights.empty())
    return report("expected --weights, the safetensors to read");
  if (outputFile.empty())
    return report("expected -o, the safetensors file to write");
  FailureOr<std::optional<DType>> type = readType(options);
  if (failed(type))
    return failure();

  CheckpointConversion conversion;
  conversion.type = *type;
  conversion.format = toHuggingFace ? "pt" : "mf";
  conversion.layout = readParameterLayout(model);
  if (!toHuggingFace)
    conversion.layout.targetOrder = RowOrder::Grouped;
  conversion.targets = listParameters(model);
  if (toHuggingFace) {
    llvm::Expected<std::vector<NamedShape>> renamed = convertParameterList(
        conversion.targets, getHuggingFaceScheme(model, conversion.layout),
        conversion.layout);
    if (!renamed)
      return report(llvm::toString(renamed.takeError()));
    conversion.targets = std::move(*renamed);
  }
  llvm::Expected<SafetensorsCheckpoint> source =
      SafetensorsCheckpoint::open(options.weights);
  if (!source)
    return report(llvm::toString(source.takeError()));
  if (predictsFromOtherState(model) &&
      (toHuggingFace || source->getFormat() == "pt"))
    llvm::errs() << "warning: layers that predict more tokens take the hidden "
                    "state before the last norm here, and behind it in Hugging "
                    "Face's models; their weights are converted, but make "
                    "another function\n";
  conversion.layout.sourceOrder =
      getSourceOrder(source->getFormat(), toHuggingFace);
  if (llvm::Error error = convertCheckpoint(*source, conversion, outputFile))
    return report(options.weights + ": " + llvm::toString(std::move(error)));
  return success();
}

/// Calls `use` with the single model of a file.
static LogicalResult
withModel(ModuleOp module, llvm::function_ref<llvm::Error(ir::ModelOp)> use) {
  auto models = module.getOps<ir::ModelOp>();
  if (!llvm::hasSingleElement(models))
    return module.emitError("expected a file with one mf.model, as "
                            "--import-mindformers writes it");
  if (outputFile.empty())
    return report("expected -o, what to write");
  if (llvm::Error error = use(*models.begin()))
    return report(llvm::toString(std::move(error)));
  return success();
}

/// Registers the translations of adapters.
static void registerAdapterTranslations(const WeightOptions &options) {
  auto registerDialect = [](DialectRegistry &registry) {
    registry.insert<ir::MfDialect>();
  };
  static TranslateFromMLIRRegistration merged(
      mergeName,
      "write the parameters of a model whose adapters are added to its "
      "weights, "
      "from --weights and, if they are not there, --adapters",
      [&](ModuleOp module, llvm::raw_ostream &) -> LogicalResult {
        if (options.weights.empty())
          return report("expected --weights, the safetensors to read");
        return withModel(module, [&](ir::ModelOp model) {
          return mergeAdapters(model, options.weights, options.adapters,
                               outputFile);
        });
      },
      registerDialect);
  auto withAdapters = [&](ModuleOp module, auto use) -> LogicalResult {
    if (options.adapters.empty())
      return report("expected --adapters, what to read");
    return withModel(module, [&](ir::ModelOp model) {
      return use(model, options.adapters.getValue(), outputFile);
    });
  };
  static TranslateFromMLIRRegistration exported(
      exportPeftName,
      "write --adapters as a folder of Hugging Face's PEFT, "
      "adapter_config.json and adapter_model.safetensors",
      [withAdapters](ModuleOp module, llvm::raw_ostream &) {
        return withAdapters(module, exportPeft);
      },
      registerDialect);
  static TranslateFromMLIRRegistration imported(
      importPeftName,
      "write the adapters of a model, from a folder of Hugging Face's PEFT in "
      "--adapters, for mf-run --init-adapters",
      [withAdapters](ModuleOp module, llvm::raw_ostream &) {
        return withAdapters(module, importPeft);
      },
      registerDialect);
}

void registerWeightTranslations(llvm::cl::OptionCategory &category) {
  static WeightOptions options(category);
  auto registerDialect = [](DialectRegistry &registry) {
    registry.insert<ir::MfDialect>();
  };
  static TranslateFromMLIRRegistration import(
      importName,
      "write the parameters of a model, from --weights under Hugging Face's "
      "names (or another layout's), for mf-run --init-params",
      [](ModuleOp module, llvm::raw_ostream &) {
        return convert(module, options, /*toHuggingFace=*/false);
      },
      registerDialect);
  static TranslateFromMLIRRegistration exported(
      exportName,
      "write the parameters of a model, from --weights as mf-run saves them, "
      "under Hugging Face's names",
      [](ModuleOp module, llvm::raw_ostream &) {
        return convert(module, options, /*toHuggingFace=*/true);
      },
      registerDialect);
  registerAdapterTranslations(options);
}

/// Returns the argument without its one or two dashes; empty if it has none.
static StringRef getOption(StringRef argument) {
  if (!argument.consume_front("-"))
    return {};
  argument.consume_front("-");
  return argument;
}

void takeWeightsOutput(SmallVectorImpl<char *> &arguments) {
  if (llvm::none_of(arguments, [](StringRef argument) {
        StringRef option = getOption(argument);
        return llvm::is_contained(
            {importName, exportName, mergeName, exportPeftName, importPeftName},
            option);
      }))
    return;
  SmallVector<char *> kept;
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef option = getOption(arguments[i]);
    if (option == "o" && i + 1 < arguments.size())
      outputFile = arguments[++i];
    else if (option.consume_front("o="))
      outputFile = option.str();
    else
      kept.push_back(arguments[i]);
  }
  arguments = std::move(kept);
}

} // namespace mf
