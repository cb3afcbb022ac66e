//===- Weights.cpp - Checkpoints under other names ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Weights.h"
#include "dialects/mf/MfOps.h"
#include "mf/Exec/Data/CheckpointConversion.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Data/ParameterNames.h"
#include "mf/Exec/Data/SafetensorsWriter.h"
#include "mf/Support/AtomicFile.h"
#include "mf/Support/StrictJson.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <cstring>
#include <set>

using namespace mlir;

namespace mf {

//===----------------------------------------------------------------------===//
// Adapters as checkpoints
//
// The weights of low-rank adapters, merged into those of the model or with the
// names of Hugging Face's PEFT.
//===----------------------------------------------------------------------===//

/// Returns tensor `name` with the shape and type of `shape`. The file's type
/// may differ.
static llvm::Expected<std::vector<uint8_t>>
readAs(const SafetensorsCheckpoint &source, llvm::StringRef name,
       const TensorShape &shape) {
  auto tensor = source.find(name);
  if (!tensor)
    return tensor.takeError();
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.getBytes()));
  if (llvm::Error error = readTensor(name, *tensor, shape, bytes))
    return error;
  return bytes;
}

/// Returns tensor `name` with its rows reordered from the order of `from` to
/// that of `to`, which are names of the layer's weight.
static llvm::Expected<std::vector<uint8_t>>
readRows(const SafetensorsCheckpoint &source, llvm::StringRef name,
         const TensorShape &shape, llvm::StringRef from, llvm::StringRef to,
         const ParameterLayout &layout) {
  auto bytes = readAs(source, name, shape);
  if (!bytes || from.empty())
    return bytes;
  auto copies = planParameter(
      to, shape.dims,
      [&](llvm::StringRef asked) -> std::optional<llvm::ArrayRef<int64_t>> {
        if (asked != from)
          return std::nullopt;
        return llvm::ArrayRef<int64_t>(shape.dims);
      },
      layout);
  if (!copies)
    return copies.takeError();
  const auto size = static_cast<size_t>(getBytes(shape.type));
  std::vector<uint8_t> moved(bytes->size());
  auto place = [&](const BlockPlace &block, int64_t row, int64_t column) {
    return size * static_cast<size_t>(block.offset + row * block.rowStride +
                                      column * block.columnStride);
  };
  for (const BlockCopy &copy : *copies)
    for (int64_t row = 0; row < copy.rows; ++row)
      for (int64_t column = 0; column < copy.columns; ++column)
        std::memcpy(moved.data() + place(copy.to, row, column),
                    bytes->data() + place(copy.from, row, column), size);
  return moved;
}

static constexpr llvm::StringLiteral configName = "adapter_config.json";
static constexpr llvm::StringLiteral modelName = "adapter_model.safetensors";
/// The prefix that PEFT adds to the names of the wrapped model.
static constexpr llvm::StringLiteral peftPrefix = "base_model.model.";

namespace {
/// A weight with adapters: that of a linear layer, or one of all experts.
struct AdaptedWeight {
  ir::ParamOp weight, a, b;

  /// Returns the number of matrices, which the weight of experts has in its
  /// first dimension.
  int64_t countMatrices() {
    mlir::RankedTensorType type = weight.getTensorType();
    return type.getRank() == 3 ? type.getDimSize(0) : 1;
  }
};
} // namespace

static TensorShape getTensorShape(ir::ParamOp param) {
  TensorShape shape;
  mlir::Type element = param.getTensorType().getElementType();
  shape.type = element.isBF16()  ? DType::BF16
               : element.isF16() ? DType::F16
                                 : DType::F32;
  llvm::append_range(shape.dims, param.getTensorType().getShape());
  return shape;
}

static llvm::Expected<std::vector<AdaptedWeight>>
findAdapters(ir::ModelOp model) {
  ir::LoraAttr lora = model.getLoraAttr();
  if (!lora || !lora.getInserted())
    return llvm::createStringError(
        "the model has no adapters; expected one that --import-mindformers "
        "made of a YAML with pet_config or lora_config");
  std::vector<AdaptedWeight> weights;
  for (auto param : model.getBody().getOps<ir::ParamOp>()) {
    llvm::StringRef name = param.getSymName();
    if (!name.consume_back(lora.getNameA().getValue()))
      continue;
    auto find = [&](const llvm::Twine &leaf) {
      return model.lookupSymbol<ir::ParamOp>(leaf.str());
    };
    // The names of experts' adapters are those of the weight with an ending.
    ir::ParamOp weight = name.consume_back("_")
                             ? find(name)
                             : find(name.drop_back() + ".weight");
    const size_t start =
        param.getSymName().size() - lora.getNameA().getValue().size();
    weights.push_back({weight, param,
                       find(param.getSymName().take_front(start) +
                            lora.getNameB().getValue())});
  }
  return weights;
}

static double getScale(ir::LoraAttr lora) {
  return lora.getAlpha().convertToDouble() /
         static_cast<double>(lora.getRank());
}

static llvm::Expected<std::vector<float>>
readFloats(const SafetensorsCheckpoint &source, ir::ParamOp param) {
  TensorShape shape = getTensorShape(param);
  shape.type = DType::F32;
  auto bytes = readAs(source, param.getSymName(), shape);
  if (!bytes)
    return bytes.takeError();
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

static llvm::Error writeAll(
    const std::vector<std::pair<std::string, TensorShape>> &tensors,
    llvm::StringRef format, llvm::StringRef path,
    llvm::function_ref<llvm::Expected<std::vector<uint8_t>>(size_t)> make) {
  SafetensorsWriter writer;
  writer.setMetadata("format", format);
  for (const auto &[name, shape] : tensors)
    if (llvm::Error error = writer.declare(name, shape))
      return error;
  if (llvm::Error error = writer.open(path))
    return error;
  for (size_t i = 0; i < tensors.size(); ++i) {
    auto bytes = make(i);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = writer.write(tensors[i].first, *bytes))
      return error;
  }
  return writer.commit();
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

static llvm::Expected<std::vector<uint8_t>>
convertTo(DType type, llvm::MutableArrayRef<uint8_t> floats) {
  std::vector<uint8_t> bytes(floats.size() / sizeof(float) *
                             static_cast<size_t>(getBytes(type)));
  if (llvm::Error error = convertElements(DType::F32, floats, type, bytes))
    return error;
  return bytes;
}

namespace {
/// Rows by columns, in the order of rows.
struct Matrix {
  llvm::ArrayRef<float> values;
  size_t columns;

  size_t getRows() const { return values.size() / columns; }
  /// Returns this part of rows.
  Matrix slice(size_t part, size_t parts) const {
    const size_t count = values.size() / parts;
    return {values.slice(part * count, count), columns};
  }
};
} // namespace

/// Writes left times right, with sums in double.
static void multiply(Matrix left, Matrix right, double scale,
                     llvm::MutableArrayRef<float> result) {
  std::vector<double> sums(right.columns);
  for (size_t row = 0; row < left.getRows(); ++row) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t k = 0; k < left.columns; ++k)
      for (size_t column = 0; column < right.columns; ++column)
        sums[column] +=
            static_cast<double>(left.values[row * left.columns + k]) *
            right.values[k * right.columns + column];
    for (size_t column = 0; column < right.columns; ++column)
      result[row * right.columns + column] =
          static_cast<float>(sums[column] * scale);
  }
}

/// Returns W + B A scale, or W + A B scale of each expert. As in MindSpore
/// Transformers' tool, the products are converted to W's type before the
/// addition.
static llvm::Expected<std::vector<uint8_t>>
merge(const SafetensorsCheckpoint &source, AdaptedWeight adapted, double scale,
      DType type) {
  auto w = readFloats(source, adapted.weight);
  if (!w)
    return w.takeError();
  auto a = readFloats(source, adapted.a), b = readFloats(source, adapted.b);
  if (!a)
    return llvm::joinErrors(a.takeError(),
                            b ? llvm::Error::success() : b.takeError());
  if (!b)
    return b.takeError();
  auto getMatrix = [](llvm::ArrayRef<float> values, ir::ParamOp param) {
    return Matrix{values,
                  static_cast<size_t>(param.getTensorType().getShape().back())};
  };
  Matrix left = getMatrix(*b, adapted.b), right = getMatrix(*a, adapted.a);
  if (adapted.weight.getTensorType().getRank() == 3)
    std::swap(left, right);
  const auto parts = static_cast<size_t>(adapted.countMatrices());
  const size_t size = w->size() / parts;
  std::vector<float> change(w->size());
  for (size_t part = 0; part < parts; ++part)
    multiply(left.slice(part, parts), right.slice(part, parts), scale,
             llvm::MutableArrayRef<float>(change).slice(part * size, size));
  llvm::MutableArrayRef<uint8_t> bytes(
      reinterpret_cast<uint8_t *>(change.data()),
      change.size() * sizeof(float));
  auto rounded = convertTo(type, bytes);
  if (!rounded)
    return rounded.takeError();
  if (llvm::Error error = convertElements(type, *rounded, DType::F32, bytes))
    return error;
  for (size_t i = 0; i < change.size(); ++i)
    change[i] += (*w)[i];
  return convertTo(type, bytes);
}

/// Writes the parameters of the model without adapters to `output`. They are
/// those of `weights`; a layer with adapters has W + B A alpha/r in W's type.
/// If `adapters` is not empty, adapters and other trained parameters are read
/// from these files.
static llvm::Error mergeAdapters(ir::ModelOp model, const std::string &weights,
                                 const std::string &adapters,
                                 llvm::StringRef output) {
  auto layers = findAdapters(model);
  if (!layers)
    return layers.takeError();
  std::vector<std::string> paths = {weights};
  if (!adapters.empty())
    paths.push_back(adapters);
  auto source = SafetensorsCheckpoint::openAll(paths);
  if (!source)
    return source.takeError();
  llvm::StringMap<AdaptedWeight> byWeight;
  for (AdaptedWeight &adapted : *layers)
    byWeight.try_emplace(adapted.weight.getSymName(), adapted);
  std::vector<std::pair<std::string, TensorShape>> tensors;
  for (const NamedShape &parameter : listParameters(model)) {
    // A file without a table of integers means the model's first table.
    if (!isFloatType(parameter.shape.type) && !source->lookup(parameter.name))
      continue;
    auto tensor = source->find(parameter.name);
    if (!tensor)
      return tensor.takeError();
    tensors.emplace_back(parameter.name, tensor->shape);
  }
  return writeAll(tensors, "mf", output, [&](size_t number) {
    const auto &[name, shape] = tensors[number];
    auto layer = byWeight.find(name);
    return layer == byWeight.end()
               ? readAs(*source, name, shape)
               : merge(*source, layer->second, getScale(model.getLoraAttr()),
                       shape.type);
  });
}

//===----------------------------------------------------------------------===//
// PEFT
//===----------------------------------------------------------------------===//

/// Returns the name of a weight in Hugging Face's model, without its `.weight`.
static llvm::Expected<std::string> getHuggingFacePath(ir::ModelOp model,
                                                      ir::ParamOp weight) {
  const ParameterLayout layout = readParameterLayout(model);
  NamedShape shape;
  shape.name = weight.getSymName().str();
  llvm::append_range(shape.shape.dims, weight.getTensorType().getShape());
  auto names = convertParameterList(
      {shape}, getHuggingFaceScheme(model, layout), layout);
  if (!names)
    return names.takeError();
  if (names->size() != 1 || names->front().shape != shape.shape)
    return llvm::createStringError(
        "'" + shape.name +
        "' is not one linear layer in Hugging Face's model, so its adapters "
        "have no form there; expected layers that are apart there, too, as "
        "Llama's are without qkv_concat");
  llvm::StringRef path = names->front().name;
  path.consume_back(".weight");
  return path.str();
}

static std::string getLastName(llvm::StringRef path) {
  return path.substr(path.rfind('.') + 1).str();
}

namespace {
/// A tensor in both files.
struct PeftTensor {
  std::string own, peft;
  TensorShape shape;
  /// The names of the weight in the model and in PEFT, whose row orders apply
  /// to the tensor; empty if its rows are not rows of a weight.
  std::string ownWeight, peftWeight;
};
} // namespace

/// Lists adapters first, and then the other trained parameters.
static llvm::Expected<std::vector<PeftTensor>>
listTensors(ir::ModelOp model, std::set<std::string> &targets,
            std::set<std::string> &saved) {
  auto layers = findAdapters(model);
  if (!layers)
    return layers.takeError();
  std::vector<PeftTensor> tensors;
  std::set<std::string> adapters;
  for (AdaptedWeight &layer : *layers) {
    auto path = getHuggingFacePath(model, layer.weight);
    if (!path)
      return path.takeError();
    targets.insert(getLastName(*path));
    for (auto [param, leaf] :
         {std::pair(layer.a, ".lora_A.weight"), {layer.b, ".lora_B.weight"}}) {
      adapters.insert(param.getSymName().str());
      tensors.push_back({param.getSymName().str(),
                         (peftPrefix + *path + leaf).str(),
                         getTensorShape(param),
                         {},
                         {}});
    }
    tensors.back().ownWeight = layer.weight.getSymName().str();
    tensors.back().peftWeight = *path + ".weight";
  }
  for (auto param : model.getBody().getOps<ir::ParamOp>()) {
    if (!param.needsGradient() || param.getTied() ||
        adapters.count(param.getSymName().str()) > 0)
      continue;
    auto path = getHuggingFacePath(model, param);
    if (!path)
      return path.takeError();
    saved.insert(getLastName(*path));
    tensors.push_back(
        {param.getSymName().str(), (peftPrefix + *path + ".weight").str(),
         getTensorShape(param), param.getSymName().str(), *path + ".weight"});
  }
  return tensors;
}

static llvm::json::Array getArray(const std::set<std::string> &names) {
  llvm::json::Array array;
  for (const std::string &name : names)
    array.push_back(name);
  return array;
}

static llvm::Error writeConfig(ir::LoraAttr lora,
                               const std::set<std::string> &targets,
                               const std::set<std::string> &saved,
                               llvm::StringRef path) {
  llvm::json::Object config{
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"r", lora.getRank()},
      {"lora_alpha", lora.getAlpha().convertToDouble()},
      {"lora_dropout", lora.getDropout().convertToDouble()},
      {"target_modules", getArray(targets)},
      {"bias", "none"},
      {"use_dora", false},
      {"use_rslora", false},
      {"inference_mode", true}};
  if (!saved.empty())
    config["modules_to_save"] = getArray(saved);
  return writeFileAtomically(
      path,
      llvm::formatv("{0:2}\n", llvm::json::Value(std::move(config))).str());
}

/// Writes the adapters of the files `adapters` to `adapter_model.safetensors`
/// and their configuration to `adapter_config.json`, both in the folder
/// `output`.
static llvm::Error exportPeft(ir::ModelOp model, const std::string &adapters,
                              const std::string &output) {
  std::set<std::string> targets, saved;
  auto tensors = listTensors(model, targets, saved);
  if (!tensors)
    return tensors.takeError();
  auto source = SafetensorsCheckpoint::open(adapters);
  if (!source)
    return source.takeError();
  if (std::error_code code = llvm::sys::fs::create_directories(output))
    return llvm::createStringError(output + ": " + code.message());
  ParameterLayout layout = readParameterLayout(model);
  layout.sourceOrder = RowOrder::Grouped;
  std::vector<std::pair<std::string, TensorShape>> written;
  for (const PeftTensor &tensor : *tensors)
    written.emplace_back(tensor.peft, tensor.shape);
  if (llvm::Error error = writeAll(
          written, "pt", output + "/" + modelName.str(), [&](size_t number) {
            const PeftTensor &tensor = (*tensors)[number];
            return readRows(*source, tensor.own, tensor.shape, tensor.ownWeight,
                            tensor.peftWeight, layout);
          }))
    return error;
  return writeConfig(model.getLoraAttr(), targets, saved,
                     output + "/" + configName.str());
}

/// Checks that the adapters of a folder compute the same function as those of
/// the model.
static llvm::Error checkConfig(ir::LoraAttr lora, const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  auto json = parseStrictJson((*buffer)->getBuffer(), /*maximumDepth=*/16);
  if (!json)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(json.takeError()));
  const llvm::json::Object *config = json->getAsObject();
  if (!config || config->getString("peft_type") != "LORA")
    return llvm::createStringError(path +
                                   ": expected an object with peft_type LORA");
  if (config->getBoolean("use_dora").value_or(false))
    return llvm::createStringError(
        path + ": use_dora also scales weights, which is not supported");
  const auto rank = config->getInteger("r").value_or(8);
  const double alpha = config->getNumber("lora_alpha").value_or(8);
  const auto r = static_cast<double>(rank);
  const double scale =
      alpha /
      (config->getBoolean("use_rslora").value_or(false) ? std::sqrt(r) : r);
  if (rank == lora.getRank() && std::fabs(scale - getScale(lora)) <= 1e-9)
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv(
          "{0}: adapters of rank {1} with a scale of {2} are not the model's, "
          "of rank {3} with {4}; change lora_rank and lora_alpha of the YAML",
          path, rank, scale, lora.getRank(), getScale(lora))
          .str());
}

/// Reads a folder that exportPeft or PEFT wrote, and writes its adapters to the
/// file `output` with the model's names. Fails if the adapters do not match the
/// model.
static llvm::Error importPeft(ir::ModelOp model, const std::string &folder,
                              llvm::StringRef output) {
  std::set<std::string> targets, saved;
  auto tensors = listTensors(model, targets, saved);
  if (!tensors)
    return tensors.takeError();
  if (llvm::Error error =
          checkConfig(model.getLoraAttr(), folder + "/" + configName.str()))
    return error;
  const std::string path = folder + "/" + modelName.str();
  auto source = SafetensorsCheckpoint::open(path);
  if (!source)
    return source.takeError();
  std::set<std::string> left(source->getNames().begin(),
                             source->getNames().end());
  std::vector<std::pair<std::string, TensorShape>> written;
  for (const PeftTensor &tensor : *tensors) {
    left.erase(tensor.peft);
    written.emplace_back(tensor.own, tensor.shape);
  }
  if (!left.empty())
    return llvm::createStringError(
        path + ": the model has no place for tensor '" + *left.begin() + "'");
  ParameterLayout layout = readParameterLayout(model);
  layout.targetOrder = RowOrder::Grouped;
  return writeAll(written, "mf", output, [&](size_t number) {
    const PeftTensor &tensor = (*tensors)[number];
    return readRows(*source, tensor.peft, tensor.shape, tensor.peftWeight,
                    tensor.ownWeight, layout);
  });
}

//===----------------------------------------------------------------------===//
// Checkpoints under other names
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral importName = "import-hf-weights";
static constexpr llvm::StringLiteral exportName = "export-hf";
static constexpr llvm::StringLiteral mergeName = "merge-adapters";
static constexpr llvm::StringLiteral exportPeftName = "export-peft";
static constexpr llvm::StringLiteral importPeftName = "import-peft";

namespace {
struct WeightOptions {
  explicit WeightOptions(llvm::cl::OptionCategory &category)
      : weights("weights",
                llvm::cl::desc(
                    "Safetensors to read with --import-hf-weights and "
                    "--export-hf: a file, an index of several or a folder"),
                llvm::cl::value_desc("path"), llvm::cl::cat(category)),
        adapters("adapters",
                 llvm::cl::desc(
                     "Safetensors of adapters, as mf-run --save-trainable "
                     "writes them, to read with --merge-adapters and "
                     "--export-peft; PEFT's folder with --import-peft"),
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
    return report(
        "expected float32, bfloat16 or float16 for --weights-type, but got '" +
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
    llvm::errs()
        << "warning: layers that predict more tokens take the hidden state "
           "before the last norm here, and behind it in Hugging Face's models; "
           "their weights are converted, but make another function\n";
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
    return module.emitError(
        "expected a file with one mf.model, as --import-mindformers writes it");
  if (outputFile.empty())
    return report("expected -o, what to write");
  if (llvm::Error error = use(*models.begin()))
    return report(llvm::toString(std::move(error)));
  return success();
}

static void registerDialect(DialectRegistry &registry) {
  registry.insert<ir::MfDialect>();
}

/// Registers the translations of adapters.
static void registerAdapterTranslations(const WeightOptions &options) {
  static TranslateFromMLIRRegistration merged(
      mergeName,
      "write the parameters of a model whose adapters are added to its "
      "weights, from --weights and, if they are not there, --adapters",
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
