/* gpt2.c -- a decoder-only transformer, with Hugging Face's names.
 * paper: Radford et al. 2019, "Language models are unsupervised multitask learners" */
#include "model.h"

static const float default_dropout = 0;

#define NORMAL "normal_0.02"

/* Weights lie as [in, out]; those that write to the residual stream start smaller, by sqrt(2 layers). */
#define project(x, features, ...)                                                                           \
    linear(x, features, .fan_in_first = true, .weight_init = NORMAL, .bias_init = "zeros", __VA_ARGS__)

typedef struct {
    int heads;
    float dropout, residual_scale;
} settings;

/* (rows, length, channels) -> (rows, heads, length, channels / heads) */
static tensor split_heads(tensor x, int heads)
{
    return transpose(reshape(x, rows_of(x), length_of(x), heads, channels_of(x) / heads), 0, 2, 1, 3);
}

static tensor join_heads(tensor x)
{
    int rows = size_of(x, 0), heads = size_of(x, 1), length = size_of(x, 2), size = size_of(x, 3);
    return reshape(transpose(x, 0, 2, 1, 3), rows, length, heads * size);
}

static tensor self_attention(tensor x, settings at)
{
    int channels = channels_of(x);
    tensor qkv = project(x, 3 * channels, .name = "c_attn");
    tensor q = split_heads(slice(qkv, 2, 0, channels), at.heads);
    tensor k = split_heads(slice(qkv, 2, channels, 2 * channels), at.heads);
    tensor v = split_heads(slice(qkv, 2, 2 * channels, 3 * channels), at.heads);
    tensor y = join_heads(attention(q, k, v, .causal = true));
    return dropout(project(y, channels, .name = "c_proj", .init_scale = at.residual_scale), at.dropout);
}

static tensor feed_forward(tensor x, settings at)
{
    tensor y = gelu_tanh(project(x, 4 * channels_of(x), .name = "c_fc"));
    return dropout(project(y, channels_of(x), .name = "c_proj", .init_scale = at.residual_scale), at.dropout);
}

static tensor block(tensor x, settings at)
{
    tensor y = layer_norm(x, .name = "ln_1");
    SCOPE("attn")
        y = self_attention(y, at);
    x = residual(x, y);
    y = layer_norm(x, .name = "ln_2");
    SCOPE("mlp")
        y = feed_forward(y, at);
    return residual(x, y);
}

/* gpt2 -- pre-norm blocks of causal attention and a feed-forward layer; the head is the token embedding, transposed */
tensor gpt2(tensor tokens, int vocab_size, int context, int layers, int heads, int channels, float dropout)
{
    settings at = { heads, dropout, 1 / sqrt(2 * layers) };
    require(channels % heads == 0, "%d channels do not divide into %d heads", channels, heads);
    tensor x = NONE, table = NONE;
    SCOPE("transformer") {
        x = embedding(tokens, vocab_size, channels, .name = "wte", .weight_init = NORMAL);
        table = parameter("wte.weight", NORMAL, vocab_size, channels);
        x = position_embedding(x, context, .name = "wpe", .weight_init = NORMAL);
        x = dropout(x, at.dropout);
        for (int i = 0; i < layers; i++)
            SCOPE("h.%d", i)
                x = block(x, at);
        x = layer_norm(x, .name = "ln_f");
    }
    return matmul_transposed(x, table);
}
