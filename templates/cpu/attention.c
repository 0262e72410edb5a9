/* attention.c -- softmax(score(scale q k^T)) v a tile of keys at a time, forward and backward.
 *
 * q, y (rows, heads, length, size); k, v (rows, heads, keys, size); lse (rows, heads, length): log of the sum of exp(score);
 * mask (rows, keys), 0 = hidden. A query that sees no key gives 0. Causal: query i sees keys 0..i. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

//% part attention_shape
typedef struct attention_shape {
    long rows, heads, length, keys, size;
} attention_shape;

//% part attention_tile
enum { KEY_TILE = 64, QUERY_TILE = 32 };

/* x (count, size) -> y (size, KEY_TILE): a tile of keys or values on its side, zeros behind the last */
static void attention_turn(const real *x, real *y, long count, long size)
{
    for (long j = 0; j < KEY_TILE; j++)
        for (long d = 0; d < size; d++)
            y[d * KEY_TILE + j] = j < count ? x[j * size + d] : 0;
}

/* y (KEY_TILE) = a (size) times the turned tile; four terms at a time, so that y stays in registers longer */
static void attention_products(const real *a, const real *turned, real *y, long size)
{
    for (long j = 0; j < KEY_TILE; j++)
        y[j] = 0;
    long d = 0;
    for (; d + 4 <= size; d += 4) {
        const real a0 = a[d], a1 = a[d + 1], a2 = a[d + 2], a3 = a[d + 3], *t = turned + d * KEY_TILE;
#pragma omp simd
        for (long j = 0; j < KEY_TILE; j++)
            y[j] += (a0 * t[j] + a1 * t[j + KEY_TILE]) + (a2 * t[j + 2 * KEY_TILE] + a3 * t[j + 3 * KEY_TILE]);
    }
    for (; d < size; d++)
        for (long j = 0; j < KEY_TILE; j++)
            y[j] += a[d] * turned[d * KEY_TILE + j];
}

/* y (size) += sum over i < count of a[i * stride] * row i of x (count, size) */
static void attention_add(const real *a, long stride, const real *x, real *y, long count, long size)
{
    long i = 0;
    for (; i + 4 <= count; i += 4) {
        const real a0 = a[i * stride], a1 = a[(i + 1) * stride], a2 = a[(i + 2) * stride], a3 = a[(i + 3) * stride];
        const real *row = x + i * size;
#pragma omp simd
        for (long d = 0; d < size; d++)
            y[d] += (a0 * row[d] + a1 * row[d + size]) + (a2 * row[d + 2 * size] + a3 * row[d + 3 * size]);
    }
    for (; i < count; i++)
        for (long d = 0; d < size; d++)
            y[d] += a[i * stride] * x[i * size + d];
}

//% part attention needs attention_shape attention_tile real_exp real_log
/* products (KEY_TILE) of query `query` with keys first, first + 1, ... become scores; -infinity where it may not look */
static inline void attention_scores(real *scores, real scale,
                                    int head, //% if head
                                    int query, //% if query
                                    const real *mask, //% if mask
                                    int first, int last)
{
#pragma omp simd
    for (int j = 0; j < KEY_TILE; j++) {
        const int key = first + j;
        real score = scores[j] * scale;
        score = slot_score(score, head, query, key); //% if score
        score = mask[j < last - first ? j : 0] != 0 ? score : -INFINITY; //% if mask
        scores[j] = key < last ? score : -INFINITY;
    }
}

/* Softmax as tiles come: what was summed before is scaled down when a larger score turns up. Scores become
 * exp(score - most). */
static inline void attention_soften(real *scores, real *most, double *sum, real *y, long size)
{
    real larger = *most, part = 0, lane[16];
    for (int i = 0; i < 16; i++)
        lane[i] = *most;
    for (int j = 0; j < KEY_TILE; j += 16)
#pragma omp simd
        for (int i = 0; i < 16; i++)
            lane[i] = scores[j + i] > lane[i] ? scores[j + i] : lane[i];
    for (int i = 0; i < 16; i++)
        larger = lane[i] > larger ? lane[i] : larger;
    const real base = larger > -INFINITY ? larger : 0, before = real_exp(*most - base);
#pragma omp simd reduction(+ : part)
    for (int j = 0; j < KEY_TILE; j++) {
        scores[j] = real_exp(scores[j] - base);
        part += scores[j];
    }
    for (long d = 0; d < size; d++)
        y[d] *= before;
    *sum = *sum * before + part;
    *most = larger;
}

/* Queries start..end-1 of one head. */
static void attention_queries(const real *q, const real *k, const real *v, real *y,
                              real *lse, //% if lse
                              const real *mask, //% if mask
                              int head, //% if head
                              attention_shape shape, real scale, int start, int end)
{
    const long size = shape.size;
    real turned[size * KEY_TILE], most[QUERY_TILE];
    double sum[QUERY_TILE];
    int seen = (int)shape.keys;
    seen = end < seen ? end : seen; //% if causal
    for (int i = start; i < end; i++)
        most[i - start] = -INFINITY, sum[i - start] = 0;
    for (long i = start * size; i < end * size; i++)
        y[i] = 0;
    for (int first = 0; first < seen; first += KEY_TILE) {
        const int count = shape.keys - first < KEY_TILE ? (int)shape.keys - first : KEY_TILE;
        attention_turn(k + first * size, turned, count, size);
        for (int query = start; query < end; query++) {
            int last = first + count;
            last = query + 1 < last ? query + 1 : last; //% if causal
            real scores[KEY_TILE];
            attention_products(q + query * size, turned, scores, size);
            attention_scores(scores, scale,
                             head, //% if head
                             query, //% if query
                             mask + first, //% if mask
                             first, last);
            attention_soften(scores, &most[query - start], &sum[query - start], y + query * size, size);
            attention_add(scores, 1, v + first * size, y + query * size, count, size);
        }
    }
    for (int i = start; i < end; i++) {
        const double total = sum[i - start];
        const real share = (real)(total > 0 ? 1 / total : 0);
        for (long d = 0; d < size; d++)
            y[i * size + d] *= share;
        lse[i] = total > 0 ? most[i - start] + real_log((real)total) : INFINITY; //% if lse
    }
}

/* y = softmax(score(scale q k^T)) v */
static void attention(const real *q, const real *k, const real *v,
                      const real *mask, //% if mask
                      real *y,
                      real *lse, //% if lse
                      attention_shape shape, real scale)
{
    const long length = shape.length, keys = shape.keys, size = shape.size, tiles = (length + QUERY_TILE - 1) / QUERY_TILE;
#pragma omp parallel for
    for (long task = 0; task < shape.rows * shape.heads * tiles; task++) {
        const long pair = task / tiles, start = task % tiles * QUERY_TILE;
        const long end = start + QUERY_TILE < length ? start + QUERY_TILE : length;
        attention_queries(q + pair * length * size, k + pair * keys * size, v + pair * keys * size, y + pair * length * size,
                          lse + pair * length, //% if lse
                          mask + pair / shape.heads * keys, //% if mask
                          (int)(pair % shape.heads), //% if head
                          shape, scale, (int)start, (int)end);
    }
}

//% part attention_grad needs attention_shape attention_tile real_exp
/* From products with keys (scores) and values (slopes) of one query: the shares p in place of the scores, and
 * p (slope - delta) d score / d raw score * scale in place of the slopes. */
static inline void attention_slopes(real *scores, real *slopes, real scale, real lse, real delta,
                                    int head, //% if head
                                    int query, //% if query
                                    const real *mask, //% if mask
                                    int first, int last)
{
#pragma omp simd
    for (int j = 0; j < KEY_TILE; j++) {
        const int key = first + j;
        const real score = scores[j] * scale;
        real seen = score, slope = scale;
        seen = slot_score(score, head, query, key); //% if score
        slope = scale * slot_score_derivative(score, head, query, key); //% if score_derivative
        seen = mask[j < last - first ? j : 0] != 0 ? seen : -INFINITY; //% if mask
        const real share = key < last ? real_exp(seen - lse) : 0;
        scores[j] = share;
        slopes[j] = share * (slopes[j] - delta) * slope;
    }
}

typedef struct attention_head {         /* what belongs to one head of one row */
    const real *dy, *q, *k, *v, *lse, *delta;
    const real *mask; //% if mask
    real *dq, *dk, *dv;
    int head; //% if head
} attention_head;

/* What the keys first .. first + count - 1 and all queries mean to each other. */
static void attention_grad_keys(const attention_head *at, attention_shape shape, real scale, int first, int count)
{
    const long size = shape.size;
    real turned_k[size * KEY_TILE], turned_v[size * KEY_TILE];
    real share[QUERY_TILE][KEY_TILE], slope[QUERY_TILE][KEY_TILE];
    int start = 0;
    start = first; //% if causal
    attention_turn(at->k + first * size, turned_k, count, size);
    attention_turn(at->v + first * size, turned_v, count, size);
    for (; start < shape.length; start += QUERY_TILE) {
        const int end = start + QUERY_TILE < shape.length ? start + QUERY_TILE : (int)shape.length;
        for (int query = start; query < end; query++) {
            int last = first + count;
            last = query + 1 < last ? query + 1 : last; //% if causal
            real *shares = share[query - start], *slopes = slope[query - start];
            attention_products(at->q + query * size, turned_k, shares, size);
            attention_products(at->dy + query * size, turned_v, slopes, size);
            attention_slopes(shares, slopes, scale, at->lse[query], at->delta[query],
                             at->head, //% if head
                             query, //% if query
                             at->mask + first, //% if mask
                             first, last);
            attention_add(slopes, 1, at->k + first * size, at->dq + query * size, count, size);
        }
        for (int j = 0; j < count && at->dv; j++)
            attention_add(&share[0][j], KEY_TILE, at->dy + start * size, at->dv + (first + j) * size, end - start, size);
        for (int j = 0; j < count && at->dk; j++)
            attention_add(&slope[0][j], KEY_TILE, at->q + start * size, at->dk + (first + j) * size, end - start, size);
    }
}

/* delta of a query: dy times y */
static void attention_deltas(const real *dy, const real *y, real *delta, long length, long size)
{
    for (long i = 0; i < length; i++) {
        double sum = 0;
        for (long d = 0; d < size; d++)
            sum += dy[i * size + d] * y[i * size + d];
        delta[i] = (real)sum;
    }
}

static void attention_clear(real *x, long count)
{
    for (long i = 0; i < count && x; i++)
        x[i] = 0;
}

/* dq, dk, dv of attention (dk, dv: NULL when not wanted). A thread owns a head. */
static void attention_grad(const real *dy, const real *q, const real *k, const real *v, const real *y, const real *lse,
                           const real *mask, //% if mask
                           real *dq, real *dk, real *dv, attention_shape shape, real scale)
{
    const long length = shape.length, keys = shape.keys, size = shape.size;
#pragma omp parallel for
    for (long pair = 0; pair < shape.rows * shape.heads; pair++) {
        const long queries_at = pair * length * size, keys_at = pair * keys * size;
        real delta[length];
        attention_head at = { .dy = dy + queries_at, .q = q + queries_at, .k = k + keys_at, .v = v + keys_at };
        at.lse = lse + pair * length;
        at.delta = delta;
        at.dq = dq + queries_at;
        at.dk = dk ? dk + keys_at : NULL;
        at.dv = dv ? dv + keys_at : NULL;
        at.mask = mask + pair / shape.heads * keys; //% if mask
        at.head = (int)(pair % shape.heads); //% if head
        attention_clear(at.dq, length * size);
        attention_clear(at.dk, keys * size);
        attention_clear(at.dv, keys * size);
        attention_deltas(at.dy, y + queries_at, delta, length, size);
        for (long first = 0; first < keys; first += KEY_TILE)
            attention_grad_keys(&at, shape, scale, (int)first, (int)(keys - first < KEY_TILE ? keys - first : KEY_TILE));
    }
}
