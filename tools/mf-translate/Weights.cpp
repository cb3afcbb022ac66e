//===- Weights.cpp - Checkpoints under other names ------------------------===//

#include "Weights.h"
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

namespace {
struct WeightOptions {
  explicit WeightOptions(llvm::cl::OptionCategory &category)
      : weights("weights",
                llvm::cl::desc("Safetensors to read with --import-hf-weights "
                               "and --export-hf: a file, an index of several "
                               "or a folder"),
                llvm::cl::value_desc("path"), llvm::cl::cat(category)),
        type("weights-type",
             llvm::cl::desc("Write weights as float32, bfloat16 or float16 "
                            "(default: as they are)"),
             llvm::cl::value_desc("type"), llvm::cl::cat(category)) {}

  llvm::cl::opt<std::string> weights;
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

/// How rows lie in a file: as it says itself, or as its kind is used.
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
}

/// The argument without its one or two dashes; empty if it has none.
static StringRef getOption(StringRef argument) {
  if (!argument.consume_front("-"))
    return {};
  argument.consume_front("-");
  return argument;
}

void takeWeightsOutput(SmallVectorImpl<char *> &arguments) {
  if (llvm::none_of(arguments, [](StringRef argument) {
        StringRef option = getOption(argument);
        return option == importName || option == exportName;
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
