#include "TempTarget.h"
namespace mf::tools {
mlir::FailureOr<target::Target> loadTarget(const Options &options, mlir::MLIRContext &, Messages &messages) {
  target::Target t; t.name = options.target;
  bool podc = t.name == "atlas-900-a2-podc";
  double p = podc ? 338e12 : 294.9e12;
  t.engines = {{Engine::Cube, {{DType::F32, p/4}, {DType::BF16, p}, {DType::F16, p}}}, {Engine::Vector, {{DType::F32, 8e12}, {DType::BF16, 16e12}, {DType::F16, 16e12}}}};
  t.memory = {int64_t(64) << 30, 1.10e12, 0.8, 64 * 1048576.0};
  t.host = {25e9, 25e9, 1e-5};
  auto k = [&](const char *kind, double share, double passes) { target::KernelRate r; r.kind = kind; r.peakShare = share; r.passes = passes; r.fusedPasses = share > 0 ? 0 : passes * 0.75; r.latency = 4e-6; t.kernels.push_back(r); return t.kernels.size() - 1; };
  k("matmul", 0.85, 1); k("grouped_matmul", 0.6, 1);
  for (auto [n, s] : {std::pair("attention", 0.41), std::pair("attention_grad", 0.41 * 0.85)}) { auto i = k(n, s, 1); t.kernels[i].saturations = {{"keys", 500, 0, 1}, {"head_size", 0, 128, 0.7}}; }
  for (auto [n, s] : {std::pair("norm", 5.0), {"norm_grad", 5.0}, {"rotary", 3.0}, {"activation", 1.6}, {"activation_grad", 1.6}, {"elementwise", 1.0}, {"cast", 1.0}, {"copy", 1.0}, {"transpose", 1.0}, {"embedding", 1.0}, {"softmax", 2.0}, {"loss", 8.0}, {"loss_grad", 5.0}, {"reduction", 1.0}, {"optimizer", 3.0}, {"router", 1.0}, {"permutation", 1.0}}) k(n, 0, s);
  target::Network h; h.name = "hccs"; h.of = "npu"; h.size = 8; h.wiring = target::Wiring::Mesh; h.bytesPerSecond = 28e9; h.collectiveShare = 0.48; h.messageShare = 0.72; h.collectiveLatency = 15e-6; h.messageLatency = 60e-6; h.hidden = 0.28;
  target::Network r = h; r.hidden = 0.9; r.name = "roce"; r.of = "hccs"; r.size = 0; r.wiring = target::Wiring::Switch; r.bytesPerSecond = 25e9; r.collectiveShare = 0.72;
  t.networks = {h, r};
  t.stepLatency = 18e-3;
  for (auto &s : options.set) { auto [path, v] = llvm::StringRef(s).split('='); double d; v.getAsDouble(d); if (auto e = target::setParameter(t, path, d)) { messages.fail(llvm::toString(std::move(e))); return mlir::failure(); } }
  return t;
}
}
