/* scalar.h -- what models and methods share: numbers and the functions on them.
 *
 * `float` stands for a real number: constants are exact decimals, and the emitted program computes
 * in the precision of its recipe. There are no libc headers here, so that a file parses in
 * milliseconds; these functions are known to the compiler. */
#pragma once

typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

float sqrt(float x);
float exp(float x);
float log(float x);
float log1p(float x);
float expm1(float x);
float pow(float x, float y);
float sin(float x);
float cos(float x);
float tanh(float x);
float erf(float x);
float floor(float x);
float ceil(float x);
float rint(float x);                /* nearest whole number, ties to even */
float fabs(float x);
float fmin(float a, float b);
float fmax(float a, float b);
int imin(int a, int b);
int imax(int a, int b);

/* Random values. Each call is its own stream, keyed by seed, step, row and element: equal for every
 * layout, thread count and target. */
float draw_uniform(void);           /* [0, 1) */
float draw_normal(void);            /* mean 0, deviation 1 */
float draw_beta(float alpha, float beta);
int draw_integer(int below);        /* 0 .. below-1 */
