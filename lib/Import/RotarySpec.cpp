//===- RotarySpec.cpp - Wave lengths of rotary embedding ------------------===//

#include "FamilyReaders.h"
#include <cmath>

namespace mf {

/// Llama 3.1: waves that are long beside the length that the model was first
/// trained with are stretched by `factor`, short ones stay, and those between
/// mix both.
static void readLlama3(SpecReader &reader, RotarySpec &rotary) {
  const double factor = reader.readPositive({"factor"}, 8.0);
  const double low = reader.readPositive({"low_freq_factor"}, 1.0);
  const double high = reader.readPositive({"high_freq_factor"}, 4.0);
  const double length = reader.readPositive(
      {"original_max_position_embeddings", "original_max_position_embedding"},
      8192.0);
  if (low >= high) {
    reader.diagnostics.error(reader.locate({"high_freq_factor"}),
                             "expected 'high_freq_factor' above "
                             "'low_freq_factor'");
    return;
  }
  constexpr double pi = 3.14159265358979323846;
  rotary.frequencies.clear();
  for (int64_t i = 0; i < rotary.size; i += 2) {
    const double frequency =
        std::pow(rotary.base,
                 -static_cast<double>(i) / static_cast<double>(rotary.size));
    const double waves = length * frequency / (2 * pi);
    const double kept =
        std::min(1.0, std::max(0.0, (waves - low) / (high - low)));
    rotary.frequencies.push_back(frequency * (kept + (1 - kept) / factor));
  }
}

static void warnNotModelled(SpecReader &reader, const Location &place,
                            llvm::StringRef key, llvm::StringRef method) {
  reader.diagnostics.warning(place, key + " " + quote(method) +
                                        " is not modelled; the rotary tables "
                                        "are those without scaling");
}

void readRotary(SpecReader &reader, ModelSpec &spec, SpecReader::Keys base) {
  spec.rotary.size = spec.headSize;
  spec.rotary.base = reader.readPositive(base, 10000.0);
  std::string method = reader.readString({"extend_method"}, "None");
  const Location place = reader.locate({"extend_method"});
  if (method == "None") {
    reader.markRead({"scaling_factor"});
  } else if (method == "PI") {
    spec.rotary.positionScale =
        1.0 / reader.readPositive({"scaling_factor"}, 1.0);
  } else if (method == "NTK") {
    spec.rotary.base *= reader.readPositive({"scaling_factor"}, 1.0);
  } else if (method == "LLAMA3") {
    Node scaling = reader.find({"scaling_factor"});
    SpecReader inner(scaling, "scaling_factor", reader.diagnostics);
    if (scaling.isMap())
      readLlama3(inner, spec.rotary);
    else
      reader.diagnostics.error(
          reader.locate({"scaling_factor"}),
          "expected a map for 'scaling_factor' with extend_method 'LLAMA3': "
          "factor, low_freq_factor, high_freq_factor and "
          "original_max_position_embeddings");
  } else if (method == "YARN" || method == "DYNAMIC_NTK") {
    reader.markRead({"scaling_factor"});
    warnNotModelled(reader, place, "extend_method", method);
  } else {
    reader.diagnostics.error(place,
                             "expected None, PI, NTK, YARN, LLAMA3 or "
                             "DYNAMIC_NTK for 'extend_method', but got " +
                                 quote(method));
  }
}

void readRopeScaling(SpecReader &reader, ModelSpec &spec) {
  Node scaling = reader.find({"rope_scaling", "rope_parameters"});
  if (!scaling.isMap())
    return;
  SpecReader inner(scaling, "rope_scaling", reader.diagnostics);
  std::string type = inner.readString({"rope_type", "type"}, "default");
  if (type == "linear")
    spec.rotary.positionScale = 1.0 / inner.readPositive({"factor"}, 1.0);
  else if (type == "llama3")
    readLlama3(inner, spec.rotary);
  else if (type != "default")
    warnNotModelled(reader, scaling.getLocation(), "rope_scaling of type",
                    type);
}

} // namespace mf
