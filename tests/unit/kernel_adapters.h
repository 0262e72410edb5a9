/* kernel_adapters.h -- the kernels under one type, test_NAME(tensors, sizes, numbers); part of the library under test. */
#pragma once

#define K(f, ...)                                                                                                       \
    void test_##f(void **p, const long *l, const double *r);                                                            \
    void test_##f(void **p, const long *l, const double *r)                                                             \
    {                                                                                                                   \
        (void)p, (void)l, (void)r;                                                                                      \
        f(__VA_ARGS__);                                                                                                 \
    }
#define IMAGES (image){ l[0], l[1], l[2], l[3] }, (image){ l[4], l[5], l[6], l[7] }
#define WINDOW (window){ { l[8], l[9] }, { l[10], l[11] }, { l[12], l[13] }, { l[14], l[15] } }
#define SIZES2 l[0], l[1]
#define SIZES4 l[0], l[1], l[2], l[3]
#define EPSILON (real)r[0]
#define SHAPE (attention_shape){ l[0], l[1], l[2], l[3], l[4] }, (real)r[0]

K(conv2d, p[0], p[1], p[2], IMAGES, WINDOW, l[16])
K(conv2d_grad_input, p[0], p[1], p[2], IMAGES, WINDOW, l[16])
K(conv2d_grad_weight, p[0], p[1], p[2], IMAGES, WINDOW, l[16])
K(max_pool2d, p[0], p[1], p[2], IMAGES, WINDOW)
K(max_pool2d_only, p[0], p[1], IMAGES, WINDOW)
K(max_pool2d_grad, p[0], p[1], p[2], IMAGES, WINDOW)
K(avg_pool2d, p[0], p[1], IMAGES, WINDOW, l[16])
K(avg_pool2d_grad, p[0], p[1], IMAGES, WINDOW, l[16])
K(adaptive_avg_pool2d, p[0], p[1], IMAGES)
K(adaptive_avg_pool2d_grad, p[0], p[1], IMAGES)
K(blur2d, p[0], p[1], IMAGES, l[8], l[9])
K(blur2d_grad, p[0], p[1], IMAGES, l[8], l[9])
K(resize2d_nearest, p[0], p[1], IMAGES, r[0], r[1])
K(resize2d_nearest_grad, p[0], p[1], IMAGES, r[0], r[1])
K(resize2d_bilinear, p[0], p[1], IMAGES, l[8], r[0], r[1])
K(resize2d_bilinear_grad, p[0], p[1], IMAGES, l[8], r[0], r[1])

K(batch_moments, p[0], p[1], SIZES4)
K(batch_normalize, p[0], p[1], p[2], p[3], p[4], SIZES4, EPSILON)
K(batch_normalize_grad_sums, p[0], p[1], p[2], p[3], SIZES4, EPSILON)
K(batch_normalize_grad, p[0], p[1], p[2], p[3], p[4], p[5], SIZES4, EPSILON)
K(batch_normalize_grad_affine, p[0], p[1], p[2], p[3], SIZES4, EPSILON)
K(running_update, p[0], p[1], p[2], l[0], l[1], l[2], (real)r[0], l[3], l[4])
K(row_moments, p[0], p[1], SIZES2)
K(rms_moments, p[0], p[1], SIZES2)
K(row_normalize, p[0], p[1], p[2], p[3], p[4], SIZES2, EPSILON)
K(row_normalize_grad_sums, p[0], p[1], p[2], p[3], p[4], SIZES2, EPSILON)
K(row_normalize_grad, p[0], p[1], p[2], p[3], p[4], p[5], SIZES2, EPSILON)
K(rms_normalize_grad, p[0], p[1], p[2], p[3], p[4], p[5], SIZES2, EPSILON)
K(row_normalize_grad_affine, p[0], p[1], p[2], p[3], SIZES2, EPSILON)
K(group_moments, p[0], p[1], SIZES4)
K(group_normalize, p[0], p[1], p[2], p[3], p[4], SIZES4, EPSILON)
K(group_normalize_grad_sums, p[0], p[1], p[2], p[3], p[4], SIZES4, EPSILON)
K(group_normalize_grad, p[0], p[1], p[2], p[3], p[4], p[5], SIZES4, EPSILON)
K(group_normalize_grad_affine, p[0], p[1], p[2], p[3], SIZES4, EPSILON)

K(softmax, p[0], p[1], SIZES2)
K(log_softmax, p[0], p[1], SIZES2)
K(strided_softmax, p[0], p[1], l[0], l[1], l[2])
K(strided_log_softmax, p[0], p[1], l[0], l[1], l[2])
K(gather, p[0], p[1], p[2], SIZES2)
K(gather_grad, p[0], p[1], p[2], SIZES4)
K(target_rank, p[0], p[1], p[2], l[0], l[1], (int)l[2])
K(confusion, p[0], p[1], p[2], l[0], l[1], (int)l[2])
K(product, p[0], p[1], p[2], l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7])
K(product_broadcast, p[0], p[1], p[2], 2, l, l + 2, l + 4, l[6], l[7], l[8], l[9], l[10])

K(attention, p[0], p[1], p[2], p[3], p[4], SHAPE)
K(attention_causal, p[0], p[1], p[2], p[3], p[4], SHAPE)
K(attention_mask, p[0], p[1], p[2], p[5], p[3], p[4], SHAPE)
K(attention_hook, p[0], p[1], p[2], p[3], p[4], SHAPE)
K(attention_grad, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], SHAPE)
K(attention_grad_causal, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], SHAPE)
K(attention_grad_mask, p[0], p[1], p[2], p[3], p[4], p[5], p[9], p[6], p[7], p[8], SHAPE)
K(attention_grad_hook, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], SHAPE)

/* numbers: own, mixed, whole, rest */
K(cross_entropy, p[0], p[1], p[3], SIZES2, (int)l[2])
K(cross_entropy_smooth, p[0], p[1], p[3], SIZES2, (real)r[0], (real)r[3], (int)l[2])
K(cross_entropy_mixed, p[0], p[1], p[2], p[3], SIZES2, (real)r[0], (real)r[1], (real)r[2], (int)l[2])
K(cross_entropy_both, p[0], p[1], p[2], p[3], SIZES2, (real)r[0], (real)r[1], (real)r[2], (real)r[3], (int)l[2])
K(cross_entropy_grad, p[0], p[1], p[4], p[5], SIZES2, (int)l[2])
K(cross_entropy_grad_smooth, p[0], p[1], p[4], p[5], SIZES2, (real)r[0], (real)r[3], (int)l[2])
K(cross_entropy_grad_mixed, p[0], p[1], p[2], p[4], p[5], SIZES2, (real)r[0], (real)r[1], (real)r[2], (int)l[2])
K(cross_entropy_grad_both, p[0], p[1], p[2], p[4], p[5], SIZES2, (real)r[0], (real)r[1], (real)r[2], (real)r[3], (int)l[2])
K(dense_cross_entropy, p[0], p[1], p[3], SIZES2)

/* Functions over arrays, to see them as loops see them. */
#define OVER(f)                                                                                                         \
    static void over_##f(const real *x, real *y, long n)                                                                \
    {                                                                                                                   \
        for (long i = 0; i < n; i++)                                                                                    \
            y[i] = f(x[i]);                                                                                             \
    }                                                                                                                   \
    K(over_##f, p[0], p[1], l[0])
OVER(real_exp)
OVER(real_log)
OVER(real_tanh)
OVER(real_erf)
