//===- ParameterNameTable.cpp - All names of all schemes ------------------===//
//
// MindSpore Transformers: the parameters of its model classes (models/llama,
// research/qwen, research/telechat2, models/glm2,
// parallel_core/training_graph); Hugging Face: the state dicts of the model
// classes in transformers and of the models' own repositories.
//
//===----------------------------------------------------------------------===//

#include "ParameterNameTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mf {

namespace {

constexpr uint32_t in(NameScheme scheme) {
  return uint32_t{1} << static_cast<unsigned>(scheme);
}

constexpr uint32_t llamaSeparate = in(NameScheme::Llama);
constexpr uint32_t llamaConcatenated = in(NameScheme::LlamaConcatenated);
constexpr uint32_t telechat = in(NameScheme::Telechat);
constexpr uint32_t llama = llamaSeparate | llamaConcatenated | telechat;
constexpr uint32_t qwenSeparate = in(NameScheme::Qwen);
constexpr uint32_t qwenConcatenated = in(NameScheme::QwenConcatenated);
constexpr uint32_t qwen = qwenSeparate | qwenConcatenated;
constexpr uint32_t glmConcatenated = in(NameScheme::ChatGlm);
constexpr uint32_t glmSeparate = in(NameScheme::ChatGlmSeparate);
constexpr uint32_t glm = glmConcatenated | glmSeparate;
constexpr uint32_t mcore = in(NameScheme::Mcore);
constexpr uint32_t hfLlama = in(NameScheme::HuggingFace);
constexpr uint32_t hfBaichuan = in(NameScheme::HuggingFaceBaichuan);
constexpr uint32_t hf = hfLlama | hfBaichuan;
constexpr uint32_t hfQwen = in(NameScheme::HuggingFaceQwen);
constexpr uint32_t hfTelechat = in(NameScheme::HuggingFaceTelechat);
constexpr uint32_t hfGlm = in(NameScheme::HuggingFaceChatGlm);

using Part = ParameterPart;

constexpr ParameterPattern patterns[] = {
    // The Llama classes of MindSpore Transformers.
    {llama, "model.tok_embeddings.embedding_weight", {Part::Embedding}},
    {llama, "model.layers.#.attention_norm.weight", {Part::AttentionNorm}},
    {llamaSeparate | telechat, "model.layers.#.attention.wq.*", {Part::Query}},
    {llamaSeparate, "model.layers.#.attention.wk.*", {Part::Key}},
    {llamaSeparate, "model.layers.#.attention.wv.*", {Part::Value}},
    {llamaConcatenated,
     "model.layers.#.attention.w_qkv.*",
     {Part::Query, Part::Key, Part::Value},
     RowOrder::Grouped},
    {telechat,
     "model.layers.#.attention.wk_v.*",
     {Part::Key, Part::Value},
     RowOrder::Grouped},
    {llama, "model.layers.#.attention.wo.*", {Part::AttentionOutput}},
    {llama, "model.layers.#.ffn_norm.weight", {Part::FeedForwardNorm}},
    {llamaSeparate | telechat,
     "model.layers.#.feed_forward.w1.*",
     {Part::Gate}},
    {llamaSeparate | telechat, "model.layers.#.feed_forward.w3.*", {Part::Up}},
    {llamaConcatenated,
     "model.layers.#.feed_forward.w_gate_hidden.*",
     {Part::Gate, Part::Up},
     RowOrder::Grouped},
    {llama, "model.layers.#.feed_forward.w2.*", {Part::Down}},
    {llama, "model.norm_out.weight", {Part::FinalNorm}},
    // Its Qwen class.
    {qwen, "transformer.wte.embedding_weight", {Part::Embedding}},
    {qwen, "transformer.layers.#.attention_norm.weight", {Part::AttentionNorm}},
    {qwenSeparate, "transformer.layers.#.attention.wq.*", {Part::Query}},
    {qwenSeparate, "transformer.layers.#.attention.wk.*", {Part::Key}},
    {qwenSeparate, "transformer.layers.#.attention.wv.*", {Part::Value}},
    {qwenConcatenated,
     "transformer.layers.#.attention.w_qkv.*",
     {Part::Query, Part::Key, Part::Value},
     RowOrder::Grouped},
    {qwen, "transformer.layers.#.attention.wo.*", {Part::AttentionOutput}},
    {qwen, "transformer.layers.#.ffn_norm.weight", {Part::FeedForwardNorm}},
    {qwenSeparate, "transformer.layers.#.feed_forward.w1.*", {Part::Gate}},
    {qwenSeparate, "transformer.layers.#.feed_forward.w3.*", {Part::Up}},
    {qwenConcatenated,
     "transformer.layers.#.feed_forward.w_gate_hidden.*",
     {Part::Gate, Part::Up},
     RowOrder::Grouped},
    {qwen, "transformer.layers.#.feed_forward.w2.*", {Part::Down}},
    {qwen | hfQwen | hfTelechat, "transformer.ln_f.weight", {Part::FinalNorm}},
    // ChatGLM, of both.
    {glm, "transformer.embedding.embedding_weight", {Part::Embedding}},
    {hfGlm, "transformer.embedding.word_embeddings.weight", {Part::Embedding}},
    {glm | hfGlm,
     "transformer.encoder.layers.#.input_layernorm.weight",
     {Part::AttentionNorm}},
    {glmConcatenated | hfGlm,
     "transformer.encoder.layers.#.self_attention.query_key_value.*",
     {Part::Query, Part::Key, Part::Value}},
    {glmSeparate,
     "transformer.encoder.layers.#.self_attention.wq.*",
     {Part::Query}},
    {glmSeparate,
     "transformer.encoder.layers.#.self_attention.wk.*",
     {Part::Key}},
    {glmSeparate,
     "transformer.encoder.layers.#.self_attention.wv.*",
     {Part::Value}},
    {glm | hfGlm,
     "transformer.encoder.layers.#.self_attention.dense.*",
     {Part::AttentionOutput}},
    {glm | hfGlm,
     "transformer.encoder.layers.#.post_attention_layernorm.weight",
     {Part::FeedForwardNorm}},
    {glmConcatenated | hfGlm,
     "transformer.encoder.layers.#.mlp.dense_h_to_4h.*",
     {Part::Gate, Part::Up}},
    {glmSeparate,
     "transformer.encoder.layers.#.mlp.dense_left.*",
     {Part::Gate}},
    {glmSeparate, "transformer.encoder.layers.#.mlp.dense_right.*", {Part::Up}},
    {glm | hfGlm,
     "transformer.encoder.layers.#.mlp.dense_4h_to_h.*",
     {Part::Down}},
    {glm | hfGlm,
     "transformer.encoder.final_layernorm.weight",
     {Part::FinalNorm}},
    {glm | hfGlm, "transformer.output_layer.weight", {Part::Head}},
    // The mcore training graph.
    {mcore, "embedding.word_embeddings.weight", {Part::Embedding}},
    {mcore, "decoder.layers.#.input_layernorm.weight", {Part::AttentionNorm}},
    {mcore,
     "decoder.layers.#.self_attention.linear_qkv.*",
     {Part::Query, Part::Key, Part::Value}},
    {mcore,
     "decoder.layers.#.self_attention.q_layernorm.weight",
     {Part::QueryNorm}},
    {mcore,
     "decoder.layers.#.self_attention.k_layernorm.weight",
     {Part::KeyNorm}},
    {mcore,
     "decoder.layers.#.self_attention.linear_proj.*",
     {Part::AttentionOutput}},
    {mcore,
     "decoder.layers.#.pre_mlp_layernorm.weight",
     {Part::FeedForwardNorm}},
    {mcore, "decoder.layers.#.mlp.linear_fc1.*", {Part::Gate, Part::Up}},
    {mcore, "decoder.layers.#.mlp.linear_fc2.*", {Part::Down}},
    {mcore, "decoder.final_layernorm.weight", {Part::FinalNorm}},
    {mcore, "output_layer.weight", {Part::Head}},
    // Hugging Face: LlamaForCausalLM and its relatives, Baichuan.
    {hf, "model.embed_tokens.weight", {Part::Embedding}},
    {hf, "model.layers.#.input_layernorm.weight", {Part::AttentionNorm}},
    {hfLlama, "model.layers.#.self_attn.q_proj.*", {Part::Query}},
    {hfLlama, "model.layers.#.self_attn.k_proj.*", {Part::Key}},
    {hfLlama, "model.layers.#.self_attn.v_proj.*", {Part::Value}},
    {hfBaichuan,
     "model.layers.#.self_attn.W_pack.*",
     {Part::Query, Part::Key, Part::Value}},
    {hfLlama, "model.layers.#.self_attn.q_norm.weight", {Part::QueryNorm}},
    {hfLlama, "model.layers.#.self_attn.k_norm.weight", {Part::KeyNorm}},
    {hf, "model.layers.#.self_attn.o_proj.*", {Part::AttentionOutput}},
    {hf,
     "model.layers.#.post_attention_layernorm.weight",
     {Part::FeedForwardNorm}},
    {hf, "model.layers.#.mlp.gate_proj.*", {Part::Gate}},
    {hf, "model.layers.#.mlp.up_proj.*", {Part::Up}},
    {hf, "model.layers.#.mlp.down_proj.*", {Part::Down}},
    {hf, "model.norm.weight", {Part::FinalNorm}},
    // Qwen's own class: w2 goes through the activation.
    {hfQwen, "transformer.wte.weight", {Part::Embedding}},
    {hfQwen, "transformer.h.#.ln_1.weight", {Part::AttentionNorm}},
    {hfQwen,
     "transformer.h.#.attn.c_attn.*",
     {Part::Query, Part::Key, Part::Value}},
    {hfQwen, "transformer.h.#.attn.c_proj.*", {Part::AttentionOutput}},
    {hfQwen, "transformer.h.#.ln_2.weight", {Part::FeedForwardNorm}},
    {hfQwen, "transformer.h.#.mlp.w2.*", {Part::Gate}},
    {hfQwen, "transformer.h.#.mlp.w1.*", {Part::Up}},
    {hfQwen, "transformer.h.#.mlp.c_proj.*", {Part::Down}},
    // TeleChat's own class.
    {hfTelechat, "transformer.word_embeddings.weight", {Part::Embedding}},
    {hfTelechat,
     "transformer.h.#.input_layernorm.weight",
     {Part::AttentionNorm}},
    {hfTelechat, "transformer.h.#.self_attention.query.*", {Part::Query}},
    {hfTelechat,
     "transformer.h.#.self_attention.key_value.*",
     {Part::Key, Part::Value},
     RowOrder::Grouped},
    {hfTelechat,
     "transformer.h.#.self_attention.dense.*",
     {Part::AttentionOutput}},
    {hfTelechat,
     "transformer.h.#.post_attention_layernorm.weight",
     {Part::FeedForwardNorm}},
    {hfTelechat, "transformer.h.#.mlp.gate_proj.*", {Part::Gate}},
    {hfTelechat, "transformer.h.#.mlp.up_proj.*", {Part::Up}},
    {hfTelechat, "transformer.h.#.mlp.down_proj.*", {Part::Down}},
    {llama | qwen | hf | hfQwen | hfTelechat, "lm_head.weight", {Part::Head}},
};

/// Reads a layer's number as names spell it: decimal, without leading zeros.
bool consumeLayer(StringRef &name, int64_t &layer) {
  const StringRef digits = name.take_while(isDigit);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0') ||
      digits.getAsInteger(10, layer))
    return false;
  name = name.drop_front(digits.size());
  return true;
}

bool match(StringRef pattern, StringRef name, int64_t &layer, bool &isBias) {
  layer = -1;
  isBias = false;
  const size_t number = pattern.find('#');
  if (number != StringRef::npos) {
    if (!name.consume_front(pattern.take_front(number)) ||
        !consumeLayer(name, layer))
      return false;
    pattern = pattern.drop_front(number + 1);
  }
  if (!pattern.consume_back("*"))
    return name == pattern;
  if (!name.consume_front(pattern))
    return false;
  isBias = name == "bias";
  return isBias || name == "weight";
}

} // namespace

std::string ParameterPattern::getName(int64_t layer, bool isBias) const {
  StringRef rest(pattern);
  const bool hasKind = rest.consume_back("*");
  if (isBias && !hasKind)
    return {};
  std::string name;
  auto [prefix, suffix] = rest.split('#');
  name = prefix.str();
  if (prefix.size() != rest.size())
    name += std::to_string(layer) + suffix.str();
  if (hasKind)
    name += isBias ? "bias" : "weight";
  return name;
}

ArrayRef<ParameterPattern> getParameterPatterns() { return patterns; }

const ParameterPattern *matchParameterPattern(StringRef name, int64_t &layer,
                                              bool &isBias) {
  for (const ParameterPattern &pattern : getParameterPatterns())
    if (match(pattern.pattern, name, layer, isBias))
      return &pattern;
  // Mcore models may be wrapped in one more Cell.
  if (name.consume_front("model."))
    for (const ParameterPattern &pattern : getParameterPatterns())
      if (pattern.isIn(NameScheme::Mcore) &&
          match(pattern.pattern, name, layer, isBias))
        return &pattern;
  return nullptr;
}

} // namespace mf
