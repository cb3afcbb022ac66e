//===- KernelDetails.cpp - kernel_details.csv -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileTable.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace mf::calibration {

/// Profilers write CANN's names of element types, with and without DT_, whereas
/// mf has MLIR's.
static std::optional<DType> parseProfiledType(StringRef name) {
  name.consume_front("DT_");
  return llvm::StringSwitch<std::optional<DType>>(name)
      .Cases({"FLOAT", "FLOAT32"}, DType::F32)
      .Cases({"BF16", "BFLOAT16"}, DType::BF16)
      .Case("FLOAT16", DType::F16)
      .Case("INT32", DType::I32)
      .Case("INT64", DType::I64)
      .Default(parseDType(name.lower()));
}

/// Returns whether this is how an absent optional operand is shown.
static bool isAbsent(StringRef type) {
  return type.empty() || type == "N/A" || type == "NULL" ||
         type.contains("UNDEFINED");
}

namespace {

/// The columns of shapes and types of inputs or outputs.
struct OperandColumns {
  int shapes = -1;
  int types = -1;
};

class KernelRows {
public:
  KernelRows(StringRef path, StringRef text, uint32_t folder,
             llvm::StringMap<size_t> &known, Profile &profile)
      : path(path), folder(folder), table(path, text), known(known),
        profile(profile) {}

  Error read() {
    return table.read({{"Step ID", false, &step},
                       {"Name", false, &name},
                       {"Type", true, &type},
                       {"Accelerator Core", false, &core},
                       {"Start Time(us)", false, &start},
                       {"Duration(us)", true, &duration},
                       {"Input Shapes", true, &inputs.shapes},
                       {"Input Data Types", true, &inputs.types},
                       {"Output Shapes", true, &outputs.shapes},
                       {"Output Data Types", true, &outputs.types}},
                      [&] { return readRow(); });
  }

private:
  Error readRow() {
    constexpr double secondsPerMicrosecond = 1e-6;
    Expected<size_t> launch = findLaunch();
    if (!launch)
      return launch.takeError();
    Expected<double> microseconds = table.getNumber(duration);
    if (!microseconds)
      return microseconds.takeError();
    ProfiledTime time;
    time.seconds = *microseconds * secondsPerMicrosecond;
    time.folder = folder;
    if (start >= 0) {
      Expected<double> begin = table.getNumber(start);
      if (!begin)
        return begin.takeError();
      time.start = *begin * secondsPerMicrosecond;
    }
    if (Error error = table.readStep(step, time.step))
      return error;
    profile.launches[*launch].times.push_back(time);
    if (time.start && profile.launches[*launch].isCommunication())
      profile.exchanges.push_back({table.getText(name).str(), time.step, folder,
                                   *time.start, time.seconds});
    ++profile.rows;
    return Error::success();
  }

  /// Returns the launch to which the row belongs. Its operands are read only if
  /// it is new.
  Expected<size_t> findLaunch() {
    std::string key;
    for (int column : {type, core, inputs.shapes, inputs.types, outputs.shapes,
                       outputs.types})
      key += (table.getText(column) + "|").str();
    auto [entry, isNew] = known.try_emplace(key, profile.launches.size());
    if (!isNew)
      return entry->second;
    ProfiledLaunch launch;
    launch.type = table.getText(type).str();
    launch.core = table.getText(core).str();
    launch.place = (path + ":" + llvm::Twine(table.getLine())).str();
    if (launch.type.empty())
      return table.fail(type, "expected a type of kernel, found nothing");
    if (Error error = readOperands(inputs, launch.inputs))
      return std::move(error);
    if (Error error = readOperands(outputs, launch.outputs))
      return std::move(error);
    profile.launches.push_back(std::move(launch));
    return entry->second;
  }

  /// Parses dimensions such as "4096,5120"; an empty text is a scalar.
  Error readDims(int column, StringRef text,
                 llvm::SmallVectorImpl<int64_t> &dims) const {
    llvm::SmallVector<StringRef, 4> parts;
    text.split(parts, ',', -1, /*KeepEmpty=*/false);
    uint64_t elements = 1;
    for (StringRef part : parts) {
      int64_t dim = 0;
      if (part.trim().getAsInteger(10, dim) || dim < 0)
        return table.fail(column, "the shape is " + quoteCell(text) +
                                      ", expected whole numbers that are not "
                                      "negative, divided by commas");
      dims.push_back(dim);
      elements = llvm::SaturatingMultiply(elements, static_cast<uint64_t>(dim));
    }
    // Bytes and operations are counted in 64 bits.
    constexpr unsigned mostBits = 48;
    if (elements > uint64_t{1} << mostBits)
      return table.fail(column, "the shape is " + quoteCell(text) +
                                    ", expected at most 2^" +
                                    llvm::Twine(mostBits) + " elements");
    return Error::success();
  }

  /// Parses shapes and types of operands, which are separated by semicolons.
  /// Some profilers put quotes around the whole list.
  Error readOperands(OperandColumns columns,
                     llvm::SmallVectorImpl<ProfiledOperand> &operands) const {
    const StringRef shapeText = table.getText(columns.shapes).trim(" \"");
    const StringRef typeText = table.getText(columns.types).trim(" \"");
    llvm::SmallVector<StringRef, 8> shapes, types;
    shapeText.split(shapes, ';');
    typeText.split(types, ';');
    // A semicolon may follow the last operand.
    if (types.back().empty())
      types.pop_back();
    if (shapes.size() > types.size() && shapes.back().empty())
      shapes.pop_back();
    if (shapeText == "N/A" || typeText == "N/A")
      return Error::success();
    if (shapes.size() != types.size())
      return table.fail(columns.types, "expected a type for each of " +
                                           llvm::Twine(shapes.size()) +
                                           " shapes, found " +
                                           llvm::Twine(types.size()));
    for (auto [shape, name] : llvm::zip(shapes, types)) {
      if (isAbsent(name.trim()))
        continue;
      ProfiledOperand operand;
      operand.type = parseProfiledType(name.trim());
      if (Error error = readDims(columns.shapes, shape, operand.dims))
        return error;
      operands.push_back(std::move(operand));
    }
    return Error::success();
  }

  StringRef path;
  uint32_t folder;
  ProfileTable table;
  llvm::StringMap<size_t> &known;
  Profile &profile;
  int step = -1, name = -1, type = -1, core = -1, start = -1, duration = -1;
  OperandColumns inputs, outputs;
};

} // namespace

Error readKernelDetails(StringRef path, StringRef text, uint32_t folder,
                        llvm::StringMap<size_t> &known, Profile &profile) {
  return KernelRows(path, text, folder, known, profile).read();
}

} // namespace mf::calibration
