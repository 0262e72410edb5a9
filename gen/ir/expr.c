/* expr.c -- the pool of scalar expressions: every expression exists once. */
#include "ir/expr_inside.h"

#include <math.h>

#include "base/diag.h"

enum { FLOAT = TYPE_FLOAT, INT = TYPE_INT, BOOL = TYPE_BOOL, SAME = -1 };

const ExprInfo expr_info[EXPR_COUNT] = {
#define EXPR(name_, operands_, type_, binds_, text_, meaning_)                                                     \
    [EXPR_##name_] = { #name_, operands_, type_ == SAME ? TYPE_FLOAT : (ScalarType)(type_), type_ == SAME,         \
                       binds_, text_, meaning_ },
#include "ir/exprs.def"
};

typedef struct Cell {
    Expr expr;                          /* first: an Expr of a pool is the start of its cell */
    ExprPool *pool;
    const Expr *self;
    ExprOrder *order;                   /* made when first asked for */
} Cell;

struct ExprPool {
    Arena *arena;
    Cell **slots;                       /* open addressing; capacity is a power of two, at most half full */
    int capacity, count;
    int *seen, seen_capacity;           /* by id: place in the order being made + 1 */
    char lock;                          /* orders may be asked for by several threads of an interpreter */
};

ExprPool *expr_pool(Arena *arena)
{
    ExprPool *pool = arena_new(arena, ExprPool);
    pool->arena = arena;
    pool->capacity = 256;
    pool->slots = arena_array(arena, Cell *, pool->capacity);
    return pool;
}

/* ---- interning ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const Expr *key)
{
    uint64_t hash = mix(mix(mix(17, key->op), key->type), (uint64_t)key->integer);
    hash = mix(hash, (uint64_t)key->slot);
    for (int i = 0; i < 3; i++)
        hash = mix(hash, key->operand[i] ? (uint64_t)key->operand[i]->id + 1 : 0);
    return hash;
}

static bool same(const Expr *a, const Expr *b)
{
    return a->op == b->op && a->type == b->type && a->integer == b->integer && a->slot == b->slot
        && a->operand[0] == b->operand[0] && a->operand[1] == b->operand[1] && a->operand[2] == b->operand[2];
}

static Cell **slot_of(Cell **slots, int capacity, const Expr *key)
{
    uint64_t at = hash_of(key);
    while (slots[at & (uint64_t)(capacity - 1)] && !same(&slots[at & (uint64_t)(capacity - 1)]->expr, key))
        at++;
    return &slots[at & (uint64_t)(capacity - 1)];
}

static void grow(ExprPool *pool)
{
    int capacity = 2 * pool->capacity;
    Cell **slots = arena_array(pool->arena, Cell *, capacity);
    for (int i = 0; i < pool->capacity; i++)
        if (pool->slots[i])
            *slot_of(slots, capacity, &pool->slots[i]->expr) = pool->slots[i];
    pool->slots = slots;
    pool->capacity = capacity;
}

const Expr *expr_find(const ExprPool *pool, const Expr *key)
{
    Cell *cell = *slot_of(pool->slots, pool->capacity, key);
    return cell ? &cell->expr : NULL;
}

const Expr *expr_intern(ExprPool *pool, const Expr *key)
{
    if (2 * pool->count >= pool->capacity)
        grow(pool);
    Cell **slot = slot_of(pool->slots, pool->capacity, key);
    if (!*slot) {
        Cell *cell = *slot = arena_new(pool->arena, Cell);
        cell->expr = *key;
        cell->expr.id = pool->count++;
        cell->pool = pool;
        cell->self = &cell->expr;
    }
    return &(*slot)->expr;
}

/* ---- leaves ---- */

/* There is one zero: -0.0 would print and compare as another constant. */
const Expr *expr_number(ExprPool *pool, double number)
{
    return expr_intern(pool, &(Expr){ .op = EXPR_number, .number = number == 0 ? 0 : number });
}

const Expr *expr_integer(ExprPool *pool, int64_t integer)
{
    return expr_intern(pool, &(Expr){ .op = EXPR_integer, .type = TYPE_INT, .integer = integer });
}

const Expr *expr_truth(ExprPool *pool, bool truth)
{
    return expr_intern(pool, &(Expr){ .op = EXPR_truth, .type = TYPE_BOOL, .integer = truth });
}

const Expr *expr_input(ExprPool *pool, int slot, ScalarType type)
{
    return expr_intern(pool, &(Expr){ .op = EXPR_input, .type = type, .slot = slot });
}

const Expr *expr_index(ExprPool *pool, int axis)
{
    return expr_intern(pool, &(Expr){ .op = EXPR_index, .type = TYPE_INT, .slot = axis });
}

const Expr *expr_scalar(ExprPool *pool, const Scalar *scalar)
{
    return expr_intern(pool, &(Expr){ .op = EXPR_scalar, .type = scalar->type, .scalar = scalar });
}

const Expr *expr_random(ExprPool *pool, ExprOp op, uint64_t site, int ordinal, const Expr *a, const Expr *b)
{
    if (op != EXPR_uniform && op != EXPR_normal && op != EXPR_beta)
        bug("expr_random: %s is not random", expr_info[op].name);
    Expr key = { .op = op, .site = site, .slot = ordinal };
    if (op == EXPR_beta) {
        key.operand[0] = expr_convert(pool, a, TYPE_FLOAT);
        key.operand[1] = expr_convert(pool, b, TYPE_FLOAT);
    }
    return expr_intern(pool, &key);
}

const Expr *expr_table(ExprPool *pool, const Table *table, const Expr *index)
{
    index = expr_convert(pool, index, TYPE_INT);
    bool known = table->values && index->op == EXPR_integer;     /* some tables are filled at run time */
    if (known && index->integer >= 0 && index->integer < table->count)
        return expr_number(pool, table->values[index->integer]);
    return expr_intern(pool, &(Expr){ .op = EXPR_table, .table = table, .operand = { index } });
}

/* ---- order ---- */

typedef struct Walk {
    ExprPool *pool;
    Array(ExprStep) steps;
} Walk;

static int visit(Walk *walk, const Expr *expr)
{
    ExprPool *pool = walk->pool;
    if (pool->seen[expr->id])
        return pool->seen[expr->id] - 1;
    ExprStep step = { .expr = expr };
    for (int i = 0; i < expr_info[expr->op].operands; i++)
        step.operand[i] = visit(walk, expr->operand[i]);
    array_push(pool->arena, &walk->steps, step);
    pool->seen[expr->id] = walk->steps.count;
    return walk->steps.count - 1;
}

static ExprOrder *make_order(ExprPool *pool, const Expr *expr)
{
    if (pool->seen_capacity < pool->count) {
        pool->seen_capacity = 2 * pool->count;
        pool->seen = arena_array(pool->arena, int, pool->seen_capacity);
    }
    Walk walk = { .pool = pool };
    visit(&walk, expr);
    for (int i = 0; i < walk.steps.count; i++)
        pool->seen[walk.steps.items[i].expr->id] = 0;
    ExprOrder *order = arena_new(pool->arena, ExprOrder);
    *order = (ExprOrder){ walk.steps.count, walk.steps.items };
    return order;
}

const ExprOrder *expr_order(const Expr *expr)
{
    Cell *cell = (Cell *)expr;
    if (cell->self != expr)
        bug("an expression was copied out of its pool");
    ExprOrder *order = __atomic_load_n(&cell->order, __ATOMIC_ACQUIRE);
    if (order)
        return order;
    while (__atomic_test_and_set(&cell->pool->lock, __ATOMIC_ACQUIRE))
        ;
    if (!cell->order)
        __atomic_store_n(&cell->order, make_order(cell->pool, expr), __ATOMIC_RELEASE);
    __atomic_clear(&cell->pool->lock, __ATOMIC_RELEASE);
    return cell->order;
}

/* ---- questions ---- */

bool expr_is_constant(const Expr *expr)
{
    return expr->op == EXPR_number || expr->op == EXPR_integer || expr->op == EXPR_truth;
}

double expr_value(const Expr *expr)
{
    if (!expr_is_constant(expr))
        bug("expr_value of %s, which is no constant", expr_info[expr->op].name);
    return expr->op == EXPR_number ? expr->number : (double)expr->integer;
}

bool expr_is_number(const Expr *expr, double value)
{
    return expr->op != EXPR_truth && expr_is_constant(expr) && expr_value(expr) == value;
}

bool expr_uses_input(const Expr *expr, int slot)
{
    const ExprOrder *order = expr_order(expr);
    for (int i = 0; i < order->count; i++)
        if (order->steps[i].expr->op == EXPR_input && order->steps[i].expr->slot == slot)
            return true;
    return false;
}

bool expr_uses_op(const Expr *expr, ExprOp op)
{
    const ExprOrder *order = expr_order(expr);
    for (int i = 0; i < order->count; i++)
        if (order->steps[i].expr->op == op)
            return true;
    return false;
}

int expr_size(const Expr *expr)
{
    return expr_order(expr)->count;
}
