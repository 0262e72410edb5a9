/* model.h -- the recording twin of recipes/models/model.h: the same declarations for the system's C compiler, whose calls
 * recorder.c writes down. Functions that libc has too get other names. */
#pragma once
#define sqrt recorded_sqrt
#define exp recorded_exp
#define log recorded_log
#define log1p recorded_log1p
#define expm1 recorded_expm1
#define pow recorded_pow
#define sin recorded_sin
#define cos recorded_cos
#define tanh recorded_tanh
#define erf recorded_erf
#define floor recorded_floor
#define ceil recorded_ceil
#define rint recorded_rint
#define fabs recorded_fabs
#define fmin recorded_fmin
#define fmax recorded_fmax
#include "../../../recipes/models/model.h"
