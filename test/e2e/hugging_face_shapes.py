# SPDX-License-Identifier: Apache-2.0
"""Names and shapes of the tensors of checkpoints under Hugging Face's names."""


def list_projections(names, hidden, inner):
    gate, up, down = names
    return {gate: [inner, hidden], up: [inner, hidden], down: [hidden, inner]}


def list_feed_forward(config, names, index):
    """Matrices of a layer behind attention."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    dense = config.get("mlp_only_layers", list(range(config.get("first_k_dense_replace", 0))))
    if "experts" not in names or index in dense:
        return list_projections(names["feed_forward"], hidden, inner)
    names = names["experts"]
    inner = config.get("moe_intermediate_size", inner)
    shapes = {names["router"][: -len(".weight")]: [config[names["count"]], hidden]}
    for expert in range(config[names["count"]]):
        own = [name % expert for name in names["expert"]]
        shapes.update(list_projections(own, hidden, inner))
    shared = inner * config.get("n_shared_experts", 0)
    shared = config.get("shared_expert_intermediate_size", shared)
    if shared:
        shapes.update(list_projections(names["shared"], hidden, shared))
    if "shared_router" in names and shared:
        shapes[names["shared_router"]] = [1, hidden]
    return shapes


def list_attention(config, names):
    """Matrices of attention with heads."""
    hidden, head = config["hidden_size"], config["head_dim"]
    query = config["num_attention_heads"] * head
    key = config["num_key_value_heads"] * head
    rows = {1: (query + 2 * key,), 2: (query, 2 * key), 3: (query, key, key)}
    parts = names["projections"]
    shapes = {
        names["attention"] + part: [size, hidden]
        for part, size in zip(parts, rows[len(parts)])
    }
    shapes[names["attention"] + names["output"]] = [hidden, query]
    return shapes


def list_latent_attention(config):
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    nope, rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
    latent, value = config["kv_lora_rank"], config["v_head_dim"]
    shapes = {
        "kv_a_proj_with_mqa": [latent + rope, hidden],
        "kv_a_layernorm": [latent],
        "kv_b_proj": [heads * (nope + value), latent],
        "o_proj": [hidden, heads * value],
    }
    if rank := config["q_lora_rank"]:
        shapes["q_a_proj"] = [rank, hidden]
        shapes["q_a_layernorm"] = [rank]
        shapes["q_b_proj"] = [heads * (nope + rope), rank]
    else:
        shapes["q_proj"] = [heads * (nope + rope), hidden]
    return {"self_attn." + name: shape for name, shape in shapes.items()}


def list_layer(case, index):
    config, names = case.config, case.names
    layer, hidden = names["layer"] % index, config["hidden_size"]
    shapes = {layer + norm: [hidden] for norm in names["norms"]}
    is_latent = "kv_lora_rank" in config
    parts = list_latent_attention(config) if is_latent else list_attention(config, names)
    parts.update(list_feed_forward(config, names, index))
    for name, shape in parts.items():
        shapes[layer + name + ".weight"] = shape
        if name.endswith(case.biases or "\n"):
            shapes[layer + name + ".bias"] = shape[:1]
    if config.get("model_type") in ("qwen3", "qwen3_moe"):
        for norm in ("q_norm", "k_norm"):
            shapes[layer + "self_attn.%s.weight" % norm] = [config["head_dim"]]
    if config.get("model_type") == "deepseek_v3" and layer + "mlp.gate.weight" in shapes:
        shapes[layer + "mlp.gate.e_score_correction_bias"] = [config["n_routed_experts"]]
    return shapes


def list_shapes(case):
    """Names and shapes of a checkpoint's tensors."""
    config, names = case.config, case.names
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    table = [config["vocab_size"], hidden]
    shapes = {names["embedding"]: table, names["final_norm"]: [hidden]}
    if not config.get("tie_word_embeddings"):
        shapes["lm_head.weight"] = table
    predicting = config.get("num_nextn_predict_layers", 0)
    for index in range(layers + predicting):
        shapes.update(list_layer(case, index))
    if predicting:
        layer = names["layer"] % layers
        for norm in ("enorm", "hnorm", "shared_head.norm"):
            shapes[layer + norm + ".weight"] = [hidden]
        shapes[layer + "eh_proj.weight"] = [hidden, 2 * hidden]
    return shapes
